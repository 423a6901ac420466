// The provider's end of an agent link: dials a validator, has it prove its key before saying anything of itself, then does what its handlers
// allow. A validator is hostile too: what it sends is parsed strictly and bounded, and it can ask for nothing but what the page lists.
// Page: docs/network.md §2. Not here: whom to trust (`trust`), when to dial again, engines and rentals (src/provider/).
import { WebSocket } from "ws";
import { AssayError } from "../../protocol/assay-error.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { printable } from "../client/printable.ts";
import type { Link } from "../links/link.ts";
import { AGENT_BOUNDS, type AgentBounds } from "./agent-bounds.ts";
import type {
	AgentHandlers,
	AgentOffer,
	OpenRequest,
	SignedChallenge,
	ValidatorConnection,
} from "./agent-connection.ts";
import { type AgentParties, createNonce, isProof, signProof } from "./agent-handshake.ts";
import { AGENT_VERSION, type AgentMessage, errorToRefusal, type ValidatorMessage } from "./agent-messages.ts";
import { AgentSocket, closeCodes, SOCKET_OPTIONS } from "./agent-socket.ts";
import { createEnginePipe, type EnginePipe } from "./engine-pipe.ts";
import { ReceiptWatch } from "./receipt-watch.ts";

export interface DialAgentOptions {
	/** As parseValidatorUrl gave it. */
	readonly url: string;
	readonly signer: Signer;
	/** Throws AssayError (VALIDATOR_UNTRUSTED, VALIDATOR_KEY_CHANGED) for a proven key that is not to be served. */
	readonly trust: (validatorKey: string) => void | Promise<void>;
	/** Asked for when the validator is proven and trusted: nothing of the host is told to a stranger. */
	readonly claim: () => HostClaim;
	readonly offer: AgentOffer;
	readonly handlers: AgentHandlers;
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	readonly bounds?: Partial<AgentBounds>;
	/** Aborting ends the dialling and the connection. */
	readonly signal?: AbortSignal;
}

/** Settles when the validator has welcomed us. Throws AssayError; nothing is left open then. */
export async function dialAgent(o: DialAgentOptions): Promise<ValidatorConnection> {
	const bounds = { ...AGENT_BOUNDS, ...o.bounds };
	const ws = await connect(o, bounds);
	const own = createNonce(o.randomBytes(32));
	const welcomed = Promise.withResolvers<void>();
	const pipes = new Map<number, EnginePipe>();
	const watched = new Map<number, Pick<OpenRequest, "probe" | "receipts"> & { readonly watch: ReceiptWatch }>();
	let validatorKey = "";
	let refusal: AssayError | null = null;

	async function prove(message: ValidatorMessage & { type: "prove" }): Promise<void> {
		const parties: AgentParties = {
			providerNonce: own.nonce,
			validatorNonce: message.nonce,
			providerKey: o.signer.key,
			validatorKey: message.key,
		};
		if (!isProof("validator", parties, message.signature))
			throw new AssayError("AGENT_PROOF_WRONG", "the validator's signature is not that of its key");
		const shared = own.agree(message.nonce);
		// At once, before anything is waited for: what follows from there is sealed.
		socket.seal(shared, parties);
		await o.trust(message.key);
		validatorKey = message.key;
		socket.send({
			type: "proof",
			signature: signProof("provider", parties, o.signer),
			claim: o.claim(),
			offer: o.offer,
		});
	}

	function onMessage(message: AgentMessage): void {
		switch (message.type) {
			case "prove":
				prove(message).catch(endWith);
				return;
			case "welcome":
				if (message.providerId !== o.signer.key) throw new AssayError("AGENT_MESSAGE_BAD", "welcome for somebody else");
				welcomed.resolve();
				return;
			case "open":
				void open(message);
				return;
			case "sign":
				void sign(message);
				return;
			case "close":
				void pipes.get(message.channel)?.close();
				return;
			case "rent":
			case "extend":
			case "unrent":
			case "check":
				void answerRental(message);
		}
	}

	function endWith(error: unknown): void {
		if (error instanceof AssayError) refusal = error;
		const code = refusal?.code ?? "AGENT_CLOSED";
		if (code === "AGENT_PROOF_WRONG") socket.fail(code, refusal!.message);
		else socket.end(closeCodes.refused, code, refusal?.message ?? `a fault of this end: ${String(error)}`);
	}

	async function open(message: ValidatorMessage & { type: "open" }): Promise<void> {
		const { channel, probe, limits, receipts } = message;
		let link: Link;
		try {
			link = await o.handlers.open({ probe, limits, receipts, validatorKey });
		} catch (error) {
			socket.send({ type: "refused", channel, ...errorToRefusal(error) });
			return;
		}
		if (socket.isEnded) {
			await link.close();
			return;
		}
		socket.send({ type: "opened", channel, engineSha256: link.engineSha256 });
		const watch = receipts === null || !o.handlers.signReceipts ? null : new ReceiptWatch();
		if (watch) watched.set(channel, { probe, receipts, watch });
		const pipe = createEnginePipe(socket, { channel, link, unreadBytes: bounds.bufferedBytes, watch });
		pipes.set(channel, pipe);
		await pipe.ended;
		pipes.delete(channel);
		watched.delete(channel);
		socket.send({ type: "close", channel });
	}

	/** Only what our own engine answered on this very channel; the rest, and whatever goes wrong here, is left out. */
	async function sign({ channel, challenges }: ValidatorMessage & { type: "sign" }): Promise<void> {
		const seen = watched.get(channel);
		let receipts: readonly SignedChallenge[] = [];
		const facts = challenges.flatMap((challenge) => seen?.watch.take(challenge) ?? []);
		if (seen?.receipts && facts.length > 0) {
			const { probe, receipts: wanted } = seen;
			const signing = o.handlers.signReceipts?.({ validatorKey, probe, wanted, facts });
			receipts = (await signing?.catch(() => [])) ?? [];
		}
		// Ended meanwhile: our `close` was the answer.
		if (pipes.has(channel)) socket.send({ type: "signed", channel, receipts });
	}

	async function answerRental(message: ValidatorMessage & { rental: string }): Promise<void> {
		const { rental } = message;
		try {
			socket.send(await rentalAnswer(message));
		} catch (error) {
			socket.send({ type: "refused", rental, ...errorToRefusal(error) });
		}
	}

	async function rentalAnswer(message: ValidatorMessage & { rental: string }): Promise<AgentMessage> {
		const { rental } = message;
		switch (message.type) {
			case "rent": {
				const { publicKey, untilMs, devices } = message;
				const ssh = await o.handlers.rent({ rental, publicKey, untilMs, devices, validatorKey });
				return { type: "rented", rental, ssh };
			}
			case "extend":
				await o.handlers.extend({ rental, untilMs: message.untilMs, validatorKey });
				return { type: "extended", rental };
			case "unrent":
				await o.handlers.unrent({ rental, validatorKey });
				return { type: "unrented", rental };
			default: {
				const { healthy, detail } = await o.handlers.checkRental({ rental, validatorKey });
				return { type: "checked", rental, healthy, detail: printable(detail, 300) };
			}
		}
	}

	const socket = new AgentSocket({
		ws,
		side: "provider",
		bounds,
		clockUs: o.clockUs,
		randomBytes: o.randomBytes,
		onMessage,
		onData(channel, bytes, late) {
			if (!late) pipes.get(channel)?.write(bytes);
		},
	});
	const abort = () => socket.end(closeCodes.away, "PROVIDER_STOPPING", "this provider is being stopped");
	o.signal?.addEventListener("abort", abort, { once: true });
	void socket.closed.then((end) => {
		o.signal?.removeEventListener("abort", abort);
		for (const pipe of pipes.values()) void pipe.close();
		welcomed.reject(refusal ?? new AssayError(end.code, end.detail));
	});
	ws.resume();
	if (o.signal?.aborted) abort();
	else socket.send({ type: "hello", version: AGENT_VERSION, key: o.signer.key, nonce: own.nonce });

	try {
		await welcomed.promise;
	} catch (error) {
		await socket.closed;
		throw error;
	}
	return {
		url: o.url,
		validatorKey,
		sendChanged(claim) {
			socket.send({ type: "changed", claim });
		},
		closed: socket.closed,
		async close() {
			abort();
			await socket.closed;
			// Whoever waits for the end waits for the engines too.
			await Promise.all([...pipes.values()].map((pipe) => pipe.ended));
		},
	};
}

/** The WebSocket, open. Throws AssayError VALIDATOR_UNREACHABLE. */
function connect(o: DialAgentOptions, bounds: AgentBounds): Promise<WebSocket> {
	return new Promise((resolve, reject) => {
		const ws = new WebSocket(o.url, {
			...SOCKET_OPTIONS,
			followRedirects: false,
			handshakeTimeout: bounds.handshakeMs,
		});
		const abort = () => ws.terminate();
		o.signal?.addEventListener("abort", abort, { once: true });
		ws.once("open", () => {
			o.signal?.removeEventListener("abort", abort);
			// Nothing may come before somebody listens: an error that nobody hears ends the process.
			ws.on("error", () => {});
			ws.pause();
			resolve(ws);
		});
		ws.once("error", (cause) => {
			o.signal?.removeEventListener("abort", abort);
			// After the first error the library may tell of another while it closes.
			ws.on("error", () => {});
			const words = printable(cause.message || (cause as NodeJS.ErrnoException).code || "no answer", 200);
			reject(
				new AssayError("VALIDATOR_UNREACHABLE", `${o.url} cannot be reached: ${words}`, {
					hint: "Check the URL, and that the validator runs.",
					cause,
				}),
			);
		});
		if (o.signal?.aborted) abort();
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
