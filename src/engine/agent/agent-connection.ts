// The agent link's public shapes: what a validator holds of a connected provider, and what a provider holds of a validator it dialled.
// Types only; accept-agent.ts and dial-agent.ts make them. Page: docs/network.md §2.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ReceiptFacts } from "../../protocol/chain/probe-receipt.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Link } from "../links/link.ts";

/** What a provider asks for its devices. Its own words: nothing here is proven. */
export interface AgentOffer {
	readonly name: string;
	readonly pricePerHourMicros: number;
	/** Whether `rent` can succeed at all on this host. */
	readonly rentable: boolean;
	/** Where customers reach the environments; null when not rentable. */
	readonly ssh: { readonly host: string; readonly port: number } | null;
}

export interface EngineLimits {
	/** Of host memory, for the engine's process. */
	readonly memoryBytes: number;
	/** From the start of the engine to its end; the provider kills it then. */
	readonly minutes: number;
}

export interface OpenRequest {
	/** 32 hex digits. */
	readonly probe: string;
	readonly limits: EngineLimits;
	/** Null or absent: no receipts will be asked for. */
	readonly receipts?: ReceiptsWanted | null;
}

/** The contract that receipts are signed for (docs/chain.md §5). */
export interface ReceiptsWanted {
	readonly chainId: number;
	/** 40 hex digits. */
	readonly slashing: string;
}

export interface SignedChallenge {
	readonly challenge: number;
	/** By the provider's account on the chain, 130 hex digits. Hostile: not checked here. */
	readonly signature: string;
}

export interface RentRequest {
	/** 32 hex digits. */
	readonly rental: string;
	/** One line as in authorized_keys, without options. */
	readonly publicKey: string;
	readonly untilMs: number;
	/** UUIDs of devices of the claim; empty: all of them. */
	readonly devices: readonly string[];
}

/** How a customer logs in. */
export interface RentedAccess {
	readonly host: string;
	readonly port: number;
	readonly user: string;
	/** `ssh-ed25519 AAAA…` of the server that answers there. */
	readonly hostKey: string;
}

export interface RentalHealth {
	readonly healthy: boolean;
	readonly detail: string;
}

/** Why a connection is over; the same words at both ends, as far as each can know. */
export interface AgentEnd {
	/** Of the WebSocket: 1000 and 1001 are orderly, 4000 … 4999 are ours (docs/network.md §2). */
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
	/** A fresh engine. Throws AssayError: what the provider refused with (PROVIDER_BUSY, PROVIDER_RENTED, …), AGENT_SILENT, AGENT_CLOSED. */
	openLink(o: OpenRequest): Promise<Link>;
	/** Throws AssayError like openLink. One request at a time per rental. */
	rent(o: RentRequest): Promise<RentedAccess>;
	extend(o: { readonly rental: string; readonly untilMs: number }): Promise<void>;
	/** A rental that the provider does not (or no longer) know counts as ended. */
	unrent(o: { readonly rental: string }): Promise<void>;
	/** Whether the environment of a rental answers, as the provider sees it. */
	checkRental(o: { readonly rental: string }): Promise<RentalHealth>;
	/** Returns how to stop listening. */
	onChanged(listener: (claim: HostClaim) => void): () => void;
	/** Settles once; never rejects. */
	readonly closed: Promise<AgentEnd>;
	/** Orderly by default; `code` is a row of protocol/codes.ts and goes to the provider as the reason. */
	close(o?: { readonly closeCode?: number; readonly code?: string }): Promise<void>;
}

/** What a provider does when a proven, trusted validator asks. Throwing AssayError refuses with its code. */
export interface AgentHandlers {
	/** The link's engine is piped to the channel and closed when the channel or the connection ends. */
	open(o: OpenRequest & { readonly validatorKey: string }): Promise<Link>;
	rent(o: RentRequest & { readonly validatorKey: string }): Promise<RentedAccess>;
	extend(o: { readonly rental: string; readonly untilMs: number; readonly validatorKey: string }): Promise<void>;
	unrent(o: { readonly rental: string; readonly validatorKey: string }): Promise<void>;
	checkRental(o: { readonly rental: string; readonly validatorKey: string }): Promise<RentalHealth>;
	/** Receipts for what the engine answered on a channel of this probe; what is left out or throws stays unsigned. Absent: nothing is ever signed. */
	signReceipts?(o: {
		readonly validatorKey: string;
		readonly probe: string;
		readonly wanted: ReceiptsWanted;
		readonly facts: readonly ReceiptFacts[];
	}): Promise<readonly SignedChallenge[]>;
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
	/** As the `upgrade` event of node:http gives them. Never throws; a refused one gets an HTTP status or a close code. */
	handleUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void;
	/** Proven and still connected, by provider key. A provider that dials in again replaces its older connection. */
	readonly connections: ReadonlyMap<string, AgentConnection>;
	/** Ends every connection and lets nobody in any more. */
	close(): Promise<void>;
}
