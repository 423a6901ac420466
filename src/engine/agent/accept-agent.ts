// The validator's end of an agent link: lets a provider prove its key, then opens engines on it, asks it,
// hears of its changes. What it hands out is bounded in time and bytes whatever the provider does. Page:
// docs/agent-link.md. Not here: which providers to accept (`admit`), the HTTP server and limits per address
// (agent-door.ts).
import type { WebSocket } from "ws";
import { isInTime } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import type { Countersigner, Link } from "../links/link.ts";
import { AgentAsks } from "./agent-asks.ts";
import { AGENT_BOUNDS, type AgentBounds } from "./agent-bounds.ts";
import type { AnswerMessage, CallReply, CallRequest, OpenRequest, PlainCall } from "./agent-calls.ts";
import { isAnswer } from "./agent-calls.ts";
import { type AgentParties, createNonce, isProof, signProof } from "./agent-handshake.ts";
import { AGENT_VERSION, type AgentMessage, type AgentOffer, type Notice, verdictNotice } from "./agent-messages.ts";
import { type AgentEnd, AgentSocket, closeCodes } from "./agent-socket.ts";
import { type ChannelLink, createChannelLink } from "./channel-link.ts";

export interface AcceptAgentOptions {
	readonly signer: Signer;
	/** Where the provider dialled from; told on, not judged. */
	readonly address: string;
	/** Monotonic microseconds. */
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** Called before `welcome`; throwing AssayError sends a proven provider away (close 4003). */
	readonly admit?: (providerKey: string) => void;
	readonly bounds?: Partial<AgentBounds>;
}

/** Pings right before an engine is opened; the first may find everything asleep. */
const FRESH_PINGS = 3;
/** How long fresh pings may hold up an opening; the figure is a finding, not worth more. */
const PING_WAIT_MS = 3000;

/** Settles when the provider is proven and welcome. Throws AssayError once the WebSocket is closed. */
export async function acceptAgent(ws: WebSocket, options: AcceptAgentOptions): Promise<AgentConnection> {
	const agent = new AgentConnection(ws, options);
	try {
		await agent.proven.promise;
	} catch (error) {
		await agent.closed;
		throw error;
	}
	return agent;
}

/** Whatever the provider said was parsed strictly; none of it is proven but its key. */
export class AgentConnection {
	/** Where it dialled from, as the door saw it. */
	readonly address: string;
	/** Settles once; never rejects. */
	readonly closed: Promise<AgentEnd>;
	readonly proven = Promise.withResolvers<void>();
	private readonly options: AcceptAgentOptions;
	private readonly bounds: AgentBounds;
	private readonly socket: AgentSocket;
	private readonly asks: AgentAsks;
	private readonly channels = new Map<number, ChannelLink>();
	private readonly listeners = new Set<(claim: HostClaim) => void>();
	/** Known after `hello`. */
	private parties: AgentParties | null = null;
	/** Known after `proof`. */
	private asked: AgentOffer | null = null;
	private latestClaim: HostClaim | null = null;
	private lastChannel = 0;
	private lateBytes = 0;
	/** The last `unrent`: a host that is still removing an environment would refuse an engine as rented. */
	private leaving: Promise<unknown> = Promise.resolve();

	constructor(ws: WebSocket, options: AcceptAgentOptions) {
		const { address, clockUs, randomBytes } = options;
		this.options = options;
		this.address = address;
		this.bounds = { ...AGENT_BOUNDS, ...options.bounds };
		this.socket = new AgentSocket({
			...{ ws, side: "validator", bounds: this.bounds, clockUs, randomBytes },
			onMessage: (message) => this.onMessage(message),
			onData: (channel, bytes, isLate) => this.onData(channel, bytes, isLate),
		});
		this.asks = new AgentAsks(this.socket, this.bounds);
		this.closed = this.socket.closed;
		void this.closed.then((end) => this.onEnd(end));
	}

	/** Ed25519, 64 hex digits; proven. */
	get providerKey(): string {
		return this.parties!.providerKey;
	}

	/** The latest: the one of the proof, or of the last `changed`. */
	get claim(): HostClaim {
		return this.latestClaim!;
	}

	get offer(): AgentOffer {
		return this.asked!;
	}

	get isClosed(): boolean {
		return this.socket.isEnded;
	}

	/** Throws AssayError: what the provider refused with (PROVIDER_BUSY, …), AGENT_SILENT, AGENT_CLOSED. */
	async ask<N extends PlainCall>(name: N, request: CallRequest<N>): Promise<CallReply<N>> {
		const answer = this.asks.ask(name, request);
		if (name === "unrent") this.leaving = Promise.allSettled([this.leaving, answer]);
		return (await answer) as CallReply<N>;
	}

	/** A fresh engine. Throws AssayError as `ask` does. */
	async openLink({ probe, limits, receipts = null }: OpenRequest): Promise<Link> {
		await this.leaving;
		await isInTime(this.freshPings(), PING_WAIT_MS);
		const channel = ++this.lastChannel;
		await this.asks.ask("open", { channel, probe, limits, receipts });
		const opened = this.channels.get(channel);
		// Its engine may have ended in the same breath.
		if (!opened) throw new AssayError("LINK_CLOSED", "the provider's engine ended as soon as it was opened");
		return opened.link;
	}

	/** How a probe of it was judged; nothing comes of it but a line in its log. */
	tellVerdict(verdict: Parameters<typeof verdictNotice>[0]): void {
		this.socket.send(verdictNotice(verdict));
	}

	/** Returns how to stop listening. */
	onChanged(listener: (claim: HostClaim) => void): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	/** Orderly by default; `code` is a row of protocol/codes.ts and goes to the provider as the reason. */
	async close({ closeCode = closeCodes.normal, code = "AGENT_CLOSED" } = {}): Promise<void> {
		this.socket.end(closeCode, code, "this validator closed it");
		await this.closed;
	}

	private onMessage(message: AgentMessage): void {
		if (isAnswer(message)) {
			// Made at once: the engine's first bytes may be in the same packet.
			if (message.type === "opened") this.addChannel(message);
			this.asks.settle(message);
		} else if (message.type === "hello") this.onHello(message);
		else if (message.type === "proof") this.onProof(message);
		else if (message.type === "changed") {
			this.latestClaim = message.claim;
			for (const listener of [...this.listeners]) listener(message.claim);
		} else if (message.type === "close") {
			this.asks.drop(message.channel);
			this.channels.get(message.channel)?.onEnd("the provider says that its engine has ended");
			this.channels.delete(message.channel);
			this.lateBytes = 0;
		}
	}

	private onHello({ version, key, nonce }: Notice<"hello">): void {
		if (version !== AGENT_VERSION)
			throw new AssayError("AGENT_MESSAGE_BAD", `the provider speaks version ${version} of the agent link`);
		const { signer, randomBytes } = this.options;
		const own = createNonce(randomBytes(32));
		this.parties = {
			...{ providerNonce: nonce, validatorNonce: own.nonce },
			...{ providerKey: key, validatorKey: signer.key },
		};
		const shared = own.agree(nonce);
		const signature = signProof("validator", this.parties, signer);
		this.socket.send({ type: "prove", key: signer.key, nonce: own.nonce, signature });
		this.socket.seal(shared, this.parties);
	}

	private onProof(message: Notice<"proof">): void {
		if (!isProof("provider", this.parties!, message.signature))
			throw new AssayError("AGENT_PROOF_WRONG", "the provider's signature is not that of its key");
		this.asked = message.offer;
		this.latestClaim = message.claim;
		try {
			this.options.admit?.(this.providerKey);
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			this.socket.end(closeCodes.refused, error.code, error.message);
			return;
		}
		this.socket.send({ type: "welcome", providerId: this.providerKey });
		this.proven.resolve();
	}

	private onData(channel: number, bytes: Uint8Array, isLate: boolean): void {
		if (!isLate) {
			this.channels.get(channel)?.onData(bytes);
			return;
		}
		// Under way when we closed: what an engine can have in its pipes, not what it goes on sending.
		this.lateBytes += bytes.length;
		if (this.lateBytes > this.bounds.bufferedBytes)
			throw new AssayError("AGENT_FLOOD", "the provider goes on sending for a channel that was closed");
	}

	private onEnd({ code, detail }: AgentEnd): void {
		const error = new AssayError(code, detail, { hint: "The provider dials again by itself." });
		this.proven.reject(error);
		for (const [channel, link] of this.channels) {
			this.asks.drop(channel);
			link.onEnd(detail);
		}
		this.channels.clear();
		this.asks.rejectAll(error);
	}

	private async freshPings(): Promise<void> {
		for (let i = 0; i < FRESH_PINGS; i++) await this.socket.ping();
	}

	private addChannel({ channel, engineSha256, commitment }: AnswerMessage & { readonly type: "opened" }): void {
		const sign: Countersigner["sign"] = async (request) => {
			const isOpen = this.channels.get(channel)?.isClosing() === false;
			// An earlier question may still be unanswered.
			if (!isOpen || !this.socket.maySend({ type: "sign", channel, ...request })) return null;
			// A silent provider keeps its connection: its silence is what is recorded.
			return this.asks.ask("sign", { channel, ...request }).catch(() => null);
		};
		const facts = {
			...{ channel, engineSha256, providerKey: this.providerKey },
			...{ handshakeUs: this.socket.rttUs, closeMs: this.bounds.closeMs },
			sendClose: () => this.socket.send({ type: "close", channel }),
			countersigner: { key: this.providerKey, commitment, sign },
		};
		this.channels.set(channel, createChannelLink(this.socket, facts));
	}
}
