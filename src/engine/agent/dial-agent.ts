// The provider's end of an agent link: dials a validator, has it prove its key before saying anything of
// itself, then does what its handlers allow. A validator is hostile too: what it sends is parsed strictly and
// bounded, and it can ask for nothing but what agent-calls.ts lists. Page: docs/agent-link.md. Not here: whom
// to trust (`trust`), when to dial again, engines and rentals (src/provider/).
import { WebSocket } from "ws";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { ReceiptFacts } from "../../protocol/chain/probe-receipt.ts";
import { nonceChain, stageHash } from "../../protocol/probe/countersign.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { printable } from "../client/printable.ts";
import type { Link } from "../links/link.ts";
import type { AcceptAgentOptions } from "./accept-agent.ts";
import { answerAsk } from "./agent-asks.ts";
import { AGENT_BOUNDS, type AgentBounds } from "./agent-bounds.ts";
import type {
	AskMessage,
	CallReply,
	CallRequest,
	OpenRequest,
	PlainCall,
	ReceiptsWanted,
	SignedChallenge,
	StageSignatures,
} from "./agent-calls.ts";
import { isAsk } from "./agent-calls.ts";
import { type AgentParties, createNonce, isProof, type NoncePair, signProof } from "./agent-handshake.ts";
import { AGENT_VERSION, type AgentMessage, type AgentOffer, type Notice } from "./agent-messages.ts";
import { type AgentEnd, AgentSocket, closeCodes, SOCKET_OPTIONS } from "./agent-socket.ts";
import { createEnginePipe, type EnginePipe } from "./engine-pipe.ts";
import { RunWatch } from "./run-watch.ts";

interface ByValidator {
	readonly validatorKey: string;
}

interface ReceiptsRequest extends ByValidator {
	readonly probe: string;
	readonly wanted: ReceiptsWanted;
	readonly facts: readonly ReceiptFacts[];
}

/** What a provider does when a proven, trusted validator asks. An AssayError, or no handler, refuses. */
export type AgentHandlers = {
	readonly [N in PlainCall]?: (request: CallRequest<N> & ByValidator) => Promise<CallReply<N>>;
} & {
	/** The link's engine is piped to the channel and closed when the channel or the connection ends. */
	open(request: OpenRequest & ByValidator): Promise<Link>;
	/** How a probe was judged: for the log. */
	verdict?(verdict: Notice<"verdict"> & ByValidator): void;
	/** Signs what the engine answered on a channel of this probe; what is left out or throws stays unsigned. */
	signReceipts?(request: ReceiptsRequest): Promise<readonly SignedChallenge[]>;
};

export interface DialAgentOptions extends Pick<AcceptAgentOptions, "signer" | "clockUs" | "randomBytes" | "bounds"> {
	/** As parseValidatorUrl gave it. */
	readonly url: string;
	/** Throws AssayError VALIDATOR_UNTRUSTED or _KEY_CHANGED for a proven key that is not to be served. */
	readonly trust: (validatorKey: string) => void | Promise<void>;
	/** Asked for when the validator is proven and trusted: nothing of the host is told to a stranger. */
	readonly claim: () => HostClaim;
	readonly offer: AgentOffer;
	readonly handlers: AgentHandlers;
	/** What the engine's runs are timed by, where a toy lives in a time of its own. Default: `clockUs`. */
	readonly engineClockUs?: () => number;
	/** Aborting ends the dialling and the connection. */
	readonly signal?: AbortSignal;
}

/** Settles when the validator has welcomed us. Throws AssayError; nothing is left open then. */
export async function dialAgent(options: DialAgentOptions): Promise<ValidatorConnection> {
	const bounds = { ...AGENT_BOUNDS, ...options.bounds };
	const validator = new ValidatorConnection(await connect(options, bounds), options, bounds);
	try {
		await validator.welcomed.promise;
	} catch (error) {
		await validator.closed;
		throw error;
	}
	return validator;
}

/** An engine that a channel leads to. */
interface Channel {
	readonly pipe: EnginePipe;
	readonly probe: string;
	/** The contract that receipts are for; null: none are wanted. */
	readonly wanted: ReceiptsWanted | null;
	readonly watch: RunWatch;
	readonly nonces: ReturnType<typeof nonceChain>;
	/** Stages that have our word. */
	stages: number;
}

/** The provider's end of one connection. */
export class ValidatorConnection {
	readonly url: string;
	readonly closed: Promise<AgentEnd>;
	readonly welcomed = Promise.withResolvers<void>();
	/** Proven, and accepted by `trust`. */
	validatorKey = "";
	private readonly options: DialAgentOptions;
	private readonly bounds: AgentBounds;
	private readonly socket: AgentSocket;
	private readonly own: NoncePair;
	private readonly channels = new Map<number, Channel>();
	/** Why we hung up, in our own words. */
	private refusal: AssayError | null = null;

	constructor(ws: WebSocket, options: DialAgentOptions, bounds: AgentBounds) {
		const { url, signer, signal, clockUs, randomBytes } = options;
		this.url = url;
		this.options = options;
		this.bounds = bounds;
		this.own = createNonce(randomBytes(32));
		this.socket = new AgentSocket({
			...{ ws, side: "provider", bounds, clockUs, randomBytes },
			onMessage: (message) => this.onMessage(message),
			onData: (channel, bytes, isLate) => void (isLate || this.channels.get(channel)?.pipe.write(bytes)),
		});
		this.closed = this.socket.closed;
		const abort = () => this.hangUp();
		signal?.addEventListener("abort", abort, { once: true });
		void this.closed.then((end) => {
			signal?.removeEventListener("abort", abort);
			for (const { pipe } of this.channels.values()) void pipe.close();
			this.welcomed.reject(this.refusal ?? new AssayError(end.code, end.detail));
		});
		ws.resume();
		if (signal?.aborted) this.hangUp();
		else this.socket.send({ type: "hello", version: AGENT_VERSION, key: signer.key, nonce: this.own.nonce });
	}

	sendChanged(claim: HostClaim): void {
		this.socket.send({ type: "changed", claim });
	}

	async close(): Promise<void> {
		this.hangUp();
		await this.closed;
		// Whoever waits for the end waits for the engines too.
		await Promise.all([...this.channels.values()].map(({ pipe }) => pipe.ended));
	}

	private hangUp(): void {
		this.socket.end(closeCodes.away, "PROVIDER_STOPPING", "this provider is being stopped");
	}

	private onMessage(message: AgentMessage): void {
		if (message.type === "prove") this.onProve(message).catch((error) => this.endWith(error));
		else if (message.type === "welcome") {
			if (message.providerId !== this.options.signer.key)
				throw new AssayError("AGENT_MESSAGE_BAD", "welcome for somebody else");
			this.welcomed.resolve();
		} else if (message.type === "verdict")
			this.options.handlers.verdict?.({ ...message, validatorKey: this.validatorKey });
		else if (message.type === "close") void this.channels.get(message.channel)?.pipe.close();
		else if (message.type === "open") void this.open(message);
		else if (message.type === "sign") void answerAsk(this.socket, message, async () => this.signStage(message));
		else if (isAsk(message)) void answerAsk(this.socket, message, () => this.runHandler(message));
	}

	private async onProve({ key, nonce, signature }: Notice<"prove">): Promise<void> {
		const { signer, trust, claim, offer } = this.options;
		const parties: AgentParties = {
			...{ providerNonce: this.own.nonce, validatorNonce: nonce },
			...{ providerKey: signer.key, validatorKey: key },
		};
		if (!isProof("validator", parties, signature))
			throw new AssayError("AGENT_PROOF_WRONG", "the validator's signature is not that of its key");
		// At once, before anything is waited for: what follows from there is sealed.
		this.socket.seal(this.own.agree(nonce), parties);
		await trust(key);
		this.validatorKey = key;
		const proof = signProof("provider", parties, signer);
		this.socket.send({ type: "proof", signature: proof, claim: claim(), offer });
	}

	private endWith(error: unknown): void {
		if (error instanceof AssayError) this.refusal = error;
		const code = this.refusal?.code ?? "AGENT_CLOSED";
		if (code === "AGENT_PROOF_WRONG") this.socket.fail(code, this.refusal!.message);
		else this.socket.end(closeCodes.refused, code, this.refusal?.message ?? `a fault of this end: ${String(error)}`);
	}

	private async runHandler({ type, ...request }: AskMessage & { readonly type: PlainCall }): Promise<unknown> {
		const handler = this.options.handlers[type] as ((request: object) => Promise<unknown>) | undefined;
		if (handler === undefined) throw new AssayError("AGENT_REFUSED", `this provider does not do ${type}`);
		return handler({ ...request, validatorKey: this.validatorKey });
	}

	private async open(message: AskMessage & { readonly type: "open" }): Promise<void> {
		const { channel, probe, limits, receipts: wanted } = message;
		const { handlers, randomBytes, clockUs, engineClockUs = clockUs } = this.options;
		const nonces = nonceChain(randomBytes(32));
		let link: Link | null = null;
		const isOpened = await answerAsk(this.socket, message, async () => {
			link = await handlers.open({ probe, limits, receipts: wanted, validatorKey: this.validatorKey });
			return { engineSha256: link.engineSha256, commitment: bytesToHex(nonces.commitment) };
		});
		if (link === null) return;
		if (!isOpened) return (link as Link).close();
		const watch = new RunWatch(engineClockUs);
		const pipe = createEnginePipe(this.socket, { channel, link, unreadBytes: this.bounds.bufferedBytes, watch });
		this.channels.set(channel, { pipe, probe, wanted, watch, nonces, stages: 0 });
		await pipe.ended;
		this.channels.delete(channel);
		this.socket.send({ type: "close", channel });
	}

	/** Only what our own engine answered on this channel; the rest, and what goes wrong, is left out. */
	private async signStage(request: CallRequest<"sign">): Promise<StageSignatures> {
		const channel = this.channels.get(request.channel);
		if (channel === undefined) return { word: null, receipts: [] };
		return { word: this.giveWord(channel, request), receipts: await this.signReceipts(channel, request.challenges) };
	}

	/**
	 * Each stage once and in order: a nonce that is known before the roots would let a validator choose the
	 * places.
	 */
	private giveWord(channel: Channel, { stage, runs }: CallRequest<"sign">): StageSignatures["word"] {
		const { watch, probe: probeId } = channel;
		const claim = watch.claimHash;
		const seen = stage === channel.stages && runs.length > 0 && claim !== null ? watch.takeRuns(runs) : null;
		if (seen === null) return null;
		channel.stages += 1;
		const { signer } = this.options;
		const nonce = channel.nonces.nonceOf(stage);
		const hash = stageHash({ probeId, verifier: this.validatorKey, claim: claim!, stage }, nonce, seen);
		const spansUs = seen.map(({ spanUs }) => spanUs);
		return { nonce: bytesToHex(nonce), signature: bytesToHex(signer.sign(hash)), spansUs };
	}

	private async signReceipts(channel: Channel, challenges: readonly number[]): Promise<readonly SignedChallenge[]> {
		const { probe, wanted, watch } = channel;
		const facts = challenges.flatMap((challenge) => watch.takeGemm(challenge) ?? []);
		if (!wanted || facts.length === 0) return [];
		const { validatorKey } = this;
		const signing = this.options.handlers.signReceipts?.({ validatorKey, probe, wanted, facts });
		return (await signing?.catch(() => [])) ?? [];
	}
}

/** The WebSocket, open. Throws AssayError VALIDATOR_UNREACHABLE. */
function connect({ url, signal }: DialAgentOptions, bounds: AgentBounds): Promise<WebSocket> {
	return new Promise((resolve, reject) => {
		const ws = new WebSocket(url, {
			...SOCKET_OPTIONS,
			followRedirects: false,
			handshakeTimeout: bounds.handshakeMs,
		});
		const abort = () => ws.terminate();
		signal?.addEventListener("abort", abort, { once: true });
		ws.once("open", () => {
			signal?.removeEventListener("abort", abort);
			// Nothing may come before somebody listens: an error that nobody hears ends the process.
			ws.on("error", () => {});
			ws.pause();
			resolve(ws);
		});
		ws.once("error", (cause) => {
			signal?.removeEventListener("abort", abort);
			// After the first error the library may tell of another while it closes.
			ws.on("error", () => {});
			const words = printable(cause.message || (cause as NodeJS.ErrnoException).code || "no answer", 200);
			reject(
				new AssayError("VALIDATOR_UNREACHABLE", `${url} cannot be reached: ${words}`, {
					hint: "Check the URL, and that the validator runs.",
					cause,
				}),
			);
		});
		if (signal?.aborted) abort();
	});
}

/** ws://, wss://, http:// or https://; `/agent` when no path is given. Throws AssayError TARGET_BAD. */
export function parseValidatorUrl(text: string): string {
	const bad = (why: string) =>
		new AssayError("TARGET_BAD", `'${printable(text, 100)}' is no validator's URL: ${why}`, {
			hint: "Use wss://host[:port] (or https://…); the validator's operator knows it.",
		});
	if (!URL.canParse(text)) throw bad("not a URL");
	const url = new URL(text);
	const scheme = { "ws:": "ws:", "wss:": "wss:", "http:": "ws:", "https:": "wss:" }[url.protocol];
	if (scheme === undefined) throw bad("neither ws:// nor wss://");
	if (url.username !== "" || url.password !== "") throw bad("it holds a user or a password");
	if (url.search !== "" || url.hash !== "") throw bad("it holds a query or a fragment");
	if (url.hostname === "") throw bad("it names no host");
	const path = url.pathname === "/" ? "/agent" : url.pathname;
	return `${scheme}//${url.host}${path}`;
}
