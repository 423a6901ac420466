// The agent link's public shapes: what a validator holds of a connected provider, and what a provider holds
// of a validator it dialled. Types only; accept-agent.ts and dial-agent.ts make them, agent-calls.ts lists
// the questions. Page: docs/agent-link.md.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ReceiptFacts } from "../../protocol/chain/probe-receipt.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Link } from "../links/link.ts";
import type {
	CallReply,
	CallRequest,
	EngineLimits,
	PlainCall,
	ReceiptsWanted,
	SignedChallenge,
} from "./agent-calls.ts";
import type { AgentOffer } from "./agent-messages.ts";

export interface OpenRequest {
	/** 32 hex digits. */
	readonly probe: string;
	readonly limits: EngineLimits;
	/** Null or absent: no receipts will be asked for. */
	readonly receipts?: ReceiptsWanted | null;
}

/** Why a connection is over; the same words at both ends, as far as each can know. */
export interface AgentEnd {
	/** Of the WebSocket: 1000 and 1001 are orderly, 4000 … 4999 are ours (docs/agent-link.md). */
	readonly closeCode: number;
	/** A row of protocol/codes.ts. */
	readonly code: string;
	readonly detail: string;
}

/** The validator's end. Whatever the provider said was parsed strictly; none of it is proven but its key. */
export interface AgentConnection {
	/** Ed25519, 64 hex digits; proven. */
	readonly providerKey: string;
	/** The latest claim: the one of the proof, or of the last `changed`. */
	readonly claim: HostClaim;
	readonly offer: AgentOffer;
	/** Where it dialled from, as the door saw it. */
	readonly address: string;
	/** The best WebSocket ping so far; null before the first one came back. */
	readonly rttUs: number | null;
	readonly isClosed: boolean;
	/** A fresh engine. Throws AssayError as `ask` does. */
	openLink(request: OpenRequest): Promise<Link>;
	/** Throws AssayError: what the provider refused with (PROVIDER_BUSY, …), AGENT_SILENT, AGENT_CLOSED. */
	ask<N extends PlainCall>(name: N, request: CallRequest<N>): Promise<CallReply<N>>;
	/** Returns how to stop listening. */
	onChanged(listener: (claim: HostClaim) => void): () => void;
	/** Settles once; never rejects. */
	readonly closed: Promise<AgentEnd>;
	/** Orderly by default; `code` is a row of protocol/codes.ts and goes to the provider as the reason. */
	close(why?: { readonly closeCode?: number; readonly code?: string }): Promise<void>;
}

interface ByValidator {
	readonly validatorKey: string;
}

/** What a provider does when a proven, trusted validator asks. An AssayError, or no handler, refuses. */
export type AgentHandlers = {
	readonly [N in PlainCall]?: (request: CallRequest<N> & ByValidator) => Promise<CallReply<N>>;
} & {
	/** The link's engine is piped to the channel and closed when the channel or the connection ends. */
	open(request: OpenRequest & ByValidator): Promise<Link>;
	/** Signs what the engine answered on a channel of this probe; what is left out or throws stays unsigned. */
	signReceipts?(request: ReceiptsRequest): Promise<readonly SignedChallenge[]>;
};

interface ReceiptsRequest extends ByValidator {
	readonly probe: string;
	readonly wanted: ReceiptsWanted;
	readonly facts: readonly ReceiptFacts[];
}

/** The provider's end of one connection. */
export interface ValidatorConnection {
	readonly url: string;
	/** Proven, and accepted by `trust`. */
	readonly validatorKey: string;
	sendChanged(claim: HostClaim): void;
	readonly closed: Promise<AgentEnd>;
	close(): Promise<void>;
}

/** The validator's door for agents: give it the upgrade requests of `/agent` of any HTTP server. */
export interface AgentDoor {
	/** For node:http's `upgrade` event. Never throws; a refused one gets an HTTP status or a close code. */
	handleUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void;
	/** Proven and still connected, by provider key. A newer connection of a key replaces the older. */
	readonly connections: ReadonlyMap<string, AgentConnection>;
	/** Ends every connection and lets nobody in any more. */
	close(): Promise<void>;
}
