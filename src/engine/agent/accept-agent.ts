// The validator's end of an agent link: lets a provider prove its key, then opens engines on it, rents it, hears of its changes.
// What it hands out is bounded in time and bytes whatever the provider does. Page: docs/network.md §2.
// Not here: which providers to accept (`admit`), the HTTP server and limits per address (create-agent-door.ts).
import type { WebSocket } from "ws";
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { printable } from "../client/printable.ts";
import { AGENT_BOUNDS, type AgentBounds } from "./agent-bounds.ts";
import type { AgentConnection, AgentOffer, RentalHealth, RentedAccess, SignedChallenge } from "./agent-connection.ts";
import { type AgentParties, createNonce, isProof, signProof } from "./agent-handshake.ts";
import {
	AGENT_VERSION,
	type AgentMessage,
	MAX_RECEIPTS,
	type ProviderMessage,
	type ValidatorMessage,
} from "./agent-messages.ts";
import { AgentSocket, closeCodes } from "./agent-socket.ts";
import { type ChannelLink, createChannelLink } from "./channel-link.ts";

export interface AcceptAgentOptions {
	readonly signer: Signer;
	/** Where the provider dialled from; told on, not judged. */
	readonly address: string;
	/** Monotonic microseconds. */
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** May throw AssayError to send a proven provider away (close 4003 with its code). Called before `welcome`. */
	readonly admit?: (providerKey: string) => void;
	readonly bounds?: Partial<AgentBounds>;
}

/** Pings right before an engine is opened; the first may find everything asleep. */
const FRESH_PINGS = 3;
/** How long fresh pings may hold up an opening; the figure is a finding, not worth more. */
const PING_WAIT_MS = 3000;
/** A provider runs one engine at a time; more open questions than this are a mistake of ours. */
const MAX_UNANSWERED = 32;

type Answer = Exclude<ProviderMessage, { type: "hello" | "proof" | "close" | "changed" | "signed" }>;
interface Waiting {
	resolve(answer: Answer): void;
	reject(error: AssayError): void;
}

/** Settles when the provider is proven and welcome. Throws AssayError otherwise; the WebSocket is closed then. */
export async function acceptAgent(ws: WebSocket, o: AcceptAgentOptions): Promise<AgentConnection> {
	const bounds = { ...AGENT_BOUNDS, ...o.bounds };
	const own = createNonce(o.randomBytes(32));
	const proven = Promise.withResolvers<void>();
	const waiting = new Map<string, Waiting>();
	const channels = new Map<number, ChannelLink>();
	const listeners = new Set<(claim: HostClaim) => void>();
	/** Channels whose `sign` is unanswered; the entry stays when we stop waiting, for a late answer is no offence. */
	const signing = new Map<number, (receipts: readonly SignedChallenge[]) => void>();
	let parties: AgentParties | null = null;
	let claim: HostClaim | null = null;
	let offer: AgentOffer | null = null;
	let lastChannel = 0;
	let lateBytes = 0;

	function hello(message: ProviderMessage & { type: "hello" }): void {
		if (message.version !== AGENT_VERSION)
			throw new AssayError("AGENT_MESSAGE_BAD", `the provider speaks version ${message.version} of the agent link`);
		parties = {
			providerNonce: message.nonce,
			validatorNonce: own.nonce,
			providerKey: message.key,
			validatorKey: o.signer.key,
		};
		const shared = own.agree(message.nonce);
		socket.send({
			type: "prove",
			key: o.signer.key,
			nonce: own.nonce,
			signature: signProof("validator", parties, o.signer),
		});
		socket.seal(shared, parties);
	}

	function proof(message: ProviderMessage & { type: "proof" }): void {
		if (!isProof("provider", parties!, message.signature))
			throw new AssayError("AGENT_PROOF_WRONG", "the provider's signature is not that of its key");
		claim = message.claim;
		offer = message.offer;
		try {
			o.admit?.(parties!.providerKey);
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			socket.end(closeCodes.refused, error.code, error.message);
			return;
		}
		socket.send({ type: "welcome", providerId: parties!.providerKey });
		proven.resolve();
	}

	function onMessage(message: AgentMessage): void {
		switch (message.type) {
			case "hello":
				hello(message);
				return;
			case "proof":
				proof(message);
				return;
			case "changed":
				claim = message.claim;
				for (const listener of [...listeners]) listener(message.claim);
				return;
			case "signed":
				signing.get(message.channel)?.(message.receipts);
				signing.delete(message.channel);
				return;
			case "close":
				channels.get(message.channel)?.onEnd("the provider says that its engine has ended");
				channels.delete(message.channel);
				signing.delete(message.channel);
				lateBytes = 0;
				return;
			default: {
				const answer = message as Answer;
				// Made at once: the engine's first bytes may be in the same packet.
				if (answer.type === "opened") channels.set(answer.channel, channelLink(answer));
				const key = String("channel" in answer ? answer.channel : answer.rental);
				waiting.get(key)?.resolve(answer);
				waiting.delete(key);
			}
		}
	}

	function channelLink({ channel, engineSha256 }: Answer & { type: "opened" }): ChannelLink {
		return createChannelLink(socket, {
			channel,
			engineSha256,
			providerKey: parties!.providerKey,
			handshakeUs: socket.rttUs,
			closeMs: bounds.closeMs,
			sendClose: () => socket.send({ type: "close", channel }),
			signReceipts: (challenges) => signReceipts(channel, challenges),
		});
	}

	/** Null: no answer in time, or an earlier question is still unanswered. A silent provider keeps its connection: its silence is what is recorded. */
	async function signReceipts(
		channel: number,
		challenges: readonly number[],
	): Promise<readonly SignedChallenge[] | null> {
		const receipts: SignedChallenge[] = [];
		for (let at = 0; at < challenges.length; at += MAX_RECEIPTS) {
			const open = channels.get(channel);
			if (socket.isEnded || !open || open.isClosing() || signing.has(channel)) return null;
			const { promise, resolve } = Promise.withResolvers<readonly SignedChallenge[] | null>();
			signing.set(channel, resolve);
			const timer = setTimeout(() => resolve(null), bounds.signMs);
			void open.link.closed.then(() => resolve(null));
			socket.send({ type: "sign", channel, challenges: challenges.slice(at, at + MAX_RECEIPTS) });
			const answer = await promise;
			clearTimeout(timer);
			if (answer === null) return null;
			receipts.push(...answer);
		}
		return receipts;
	}

	const socket = new AgentSocket({
		ws,
		side: "validator",
		bounds,
		clockUs: o.clockUs,
		randomBytes: o.randomBytes,
		onMessage,
		onData(channel, bytes, late) {
			if (!late) {
				channels.get(channel)?.onData(bytes);
				return;
			}
			// Under way when we closed: what an engine can have in its pipes, not what it goes on sending.
			lateBytes += bytes.length;
			if (lateBytes > bounds.bufferedBytes)
				throw new AssayError("AGENT_FLOOD", "the provider goes on sending for a channel that was closed");
		},
	});
	void socket.closed.then((end) => {
		const error = new AssayError(end.code, end.detail, { hint: "The provider dials again by itself." });
		proven.reject(error);
		for (const channel of channels.values()) channel.onEnd(end.detail);
		channels.clear();
		for (const { reject } of waiting.values()) reject(error);
		waiting.clear();
	});

	/**
	 * Sends a request and waits for its answer. Throws AssayError when it is refused or the connection ends. A question left unanswered leaves
	 * unknown what the provider has done: the connection ends, and starts anew with everything asked again.
	 */
	async function ask(request: ValidatorMessage, key: string, timeoutMs: number): Promise<Answer> {
		if (socket.isEnded) throw new AssayError("AGENT_CLOSED", "the agent link is closed");
		if (waiting.has(key) || waiting.size + channels.size >= MAX_UNANSWERED)
			throw new AssayError("PROVIDER_BUSY", "an earlier request to this provider is still unanswered");
		const { promise, resolve, reject } = Promise.withResolvers<Answer>();
		waiting.set(key, { resolve, reject });
		const timer = setTimeout(() => {
			socket.fail("AGENT_SILENT", `the provider did not answer to ${request.type} in time`);
		}, timeoutMs);
		try {
			socket.send(request);
			const answer = await promise;
			if (answer.type === "refused") throw refusalToError(answer);
			return answer;
		} finally {
			clearTimeout(timer);
		}
	}

	const askRental = (request: ValidatorMessage & { rental: string }) => ask(request, request.rental, bounds.rentalMs);
	/** The last `unrent`, answered or not: a host still busy with removing an environment would refuse an engine as rented. */
	let leaving: Promise<unknown> = Promise.resolve();

	try {
		await proven.promise;
	} catch (error) {
		await socket.closed;
		throw error;
	}
	const { providerKey } = parties! as AgentParties;

	return {
		providerKey,
		get claim() {
			return claim!;
		},
		offer: offer!,
		address: o.address,
		get rttUs() {
			return socket.rttUs;
		},
		get isClosed() {
			return socket.isEnded;
		},
		async openLink({ probe, limits, receipts = null }) {
			await leaving;
			const pings = (async () => {
				for (let i = 0; i < FRESH_PINGS; i++) await socket.ping();
			})();
			await Promise.race([pings, new Promise((resolve) => setTimeout(resolve, PING_WAIT_MS).unref())]);
			const channel = ++lastChannel;
			await ask({ type: "open", channel, probe, limits, receipts }, String(channel), bounds.openMs);
			const opened = channels.get(channel);
			// Its engine may have ended in the same breath.
			if (!opened) throw new AssayError("LINK_CLOSED", "the provider's engine ended as soon as it was opened");
			return opened.link;
		},
		async rent(request) {
			const answer = await askRental({ type: "rent", ...request });
			return (answer as Answer & { type: "rented" }).ssh satisfies RentedAccess;
		},
		async extend({ rental, untilMs }) {
			await askRental({ type: "extend", rental, untilMs });
		},
		async unrent({ rental }) {
			const answer = askRental({ type: "unrent", rental });
			leaving = Promise.allSettled([leaving, answer]);
			try {
				await answer;
			} catch (error) {
				if (!(error instanceof AssayError && error.code === "RENTAL_UNKNOWN")) throw error;
			}
		},
		async checkRental({ rental }) {
			const { healthy, detail } = (await askRental({ type: "check", rental })) as Answer & { type: "checked" };
			return { healthy, detail } satisfies RentalHealth;
		},
		onChanged(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		closed: socket.closed,
		async close({ closeCode = closeCodes.normal, code = "AGENT_CLOSED" } = {}) {
			socket.end(closeCode, code, "this validator closed it");
			await socket.closed;
		},
	};
}

/** What a provider may refuse with; any other word of its own is told as AGENT_REFUSED. */
const REFUSALS: readonly string[] = [
	...[
		"PROVIDER_BUSY",
		"PROVIDER_RENTED",
		"PROVIDER_LIMIT",
		"PROVIDER_STOPPING",
		"PUBLIC_KEY_BAD",
		"ENGINE_NOT_STARTED",
	],
	...["RENTAL_UNAVAILABLE", "RENTAL_UNKNOWN", "RENTAL_TIME", "RENTAL_FAILED"],
];

function refusalToError({ code, detail }: { readonly code: string; readonly detail: string }): AssayError {
	const known = REFUSALS.includes(code) ? (code as keyof typeof codes) : "AGENT_REFUSED";
	return new AssayError(known, `the provider refused: ${printable(detail, 300)}`, { hint: codes[known].hint });
}
