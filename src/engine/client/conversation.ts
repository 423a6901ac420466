// The talk over one link: ids, deadlines, stamps, and the rule that one broken promise ends everything. It
// knows which request a reply belongs to, not what a request means (create-engine-client.ts) nor how frames
// look (frames.ts).
//
// Attacks it bounds: silence and trickling (a deadline per request), frames that nobody asked for (any
// unknown id is fatal), floods (handlers count; surplus bytes are added up here), huge lengths (FrameReader),
// a peer that never reads (unsent bytes are capped). After the first violation nothing more is believed: what
// is still running ends as `garbage` and the link is closed.
import { AssayError } from "../../protocol/assay-error.ts";
import type { Link } from "../links/link.ts";
import type { Frame } from "../wire/frame-fields.ts";
import { FrameReader } from "../wire/frame-reader.ts";
import { MAX_LENGTH_TO_VERIFIER, type Reply, type Request } from "../wire/frame-table.ts";
import { decodeReply, encodeRequest } from "../wire/frames.ts";
import type { Ending } from "./engine-answers.ts";
import { printable } from "./printable.ts";

/** Bytes beyond what an honest answer to what was asked could need, over the whole life of a link. */
const MAX_UNASKED_BYTES = 10_000_000;
/** Requests are small (OPEN at most 32 KiB); this much unsent means that the engine has stopped reading. */
const MAX_UNSENT_BYTES = 4 << 20;
/** How long to wait for the exit status and the stderr of an engine that is gone, to say why. */
const LAST_WORDS_MS = 1000;
const MAX_TIMER_MS = 2 ** 31 - 1;
const DEFAULT_GRACE_MS = 10_000;

/** Takes one reply; returns the ending when it was the last. Throws AssayError for a violation. */
export type ReplyHandler = (reply: Reply, atUs: number) => Ending | null;

export interface Outcome {
	readonly ending: Ending;
	readonly sentAtUs: number;
	readonly endedAtUs: number;
}

interface Running {
	readonly handler: ReplyHandler;
	readonly sentAtUs: number;
	readonly bytesAtSend: number;
	stopAsked: boolean;
	timer: NodeJS.Timeout | null;
	settle(ending: Ending, atUs: number): void;
}

export interface AskOptions {
	readonly deadlineMs: number;
	readonly stop?: AbortSignal | undefined;
	readonly graceMs?: number | undefined;
}

export function violation(message: string, code = "REPLY_WRONG"): AssayError {
	return new AssayError(code, message);
}

export class Conversation {
	private readonly link: Link;
	private readonly clockUs: () => number;
	private readonly reader = new FrameReader(MAX_LENGTH_TO_VERIFIER);
	private readonly running = new Map<number, Running>();
	private nextId = 1;
	private receivedBytes = 0;
	private unaskedBytes = 0;
	/** Why there is nothing more to say; every later request ends with it at once. */
	private dead: Ending | null = null;

	constructor(link: Link, clockUs: () => number) {
		this.link = link;
		this.clockUs = clockUs;
		link.output.on("data", (chunk: Uint8Array) => this.read(chunk, clockUs()));
		link.output.on("end", () => this.lost(clockUs()));
		link.output.on("close", () => this.lost(clockUs()));
		link.output.on("error", () => this.lost(clockUs()));
		// A broken pipe on our side says nothing that the end of the output or the deadline would not say.
		link.input.on("error", () => {});
	}

	/** Waits for the one reply that answers nothing: READY. To be called once, before anything is asked. */
	awaitReady(handler: ReplyHandler, deadlineMs: number): Promise<Outcome> {
		return this.run(0, handler, { deadlineMs }, () => {});
	}

	ask(request: Request, handler: ReplyHandler, options: AskOptions): Promise<Outcome> {
		const id = this.nextId;
		// Ids are never used twice: 2^32 requests do not happen on one link.
		const bytes = encodeRequest(id, request);
		this.nextId++;
		return this.run(id, handler, options, () => this.write(bytes));
	}

	/** Adds bytes that no honest answer needs. Throws LINK_FLOOD past the budget of the link. */
	countUnasked(bytes: number): void {
		this.unaskedBytes += bytes;
		if (this.unaskedBytes > MAX_UNASKED_BYTES) {
			throw violation(`more than ${MAX_UNASKED_BYTES} bytes that nobody asked for`, "LINK_FLOOD");
		}
	}

	async close(): Promise<void> {
		this.die({ end: "silent", code: "LINK_CLOSED", detail: "the verifier closed the link" }, this.clockUs());
		await this.link.close();
	}

	private run(id: number, handler: ReplyHandler, options: AskOptions, send: () => void): Promise<Outcome> {
		const { promise, resolve } = Promise.withResolvers<Outcome>();
		// Stamped before the bytes leave: the time on the wire counts against the provider, never for it.
		const sentAtUs = this.clockUs();
		if (this.dead) {
			resolve({ ending: this.dead, sentAtUs, endedAtUs: sentAtUs });
			return promise;
		}
		const stop = () => this.cancel(id, options);
		const running: Running = {
			handler,
			sentAtUs,
			bytesAtSend: this.receivedBytes,
			stopAsked: false,
			timer: null,
			settle: (ending, endedAtUs) => {
				if (running.timer) clearTimeout(running.timer);
				options.stop?.removeEventListener("abort", stop);
				this.running.delete(id);
				resolve({ ending, sentAtUs, endedAtUs });
			},
		};
		this.running.set(id, running);
		this.arm(id, running, options.deadlineMs);
		options.stop?.addEventListener("abort", stop, { once: true });
		send();
		if (options.stop?.aborted) stop();
		return promise;
	}

	private write(bytes: Uint8Array): void {
		if (this.link.input.destroyed || this.link.input.writableEnded) return;
		this.link.input.write(bytes);
		if (this.link.input.writableLength > MAX_UNSENT_BYTES) {
			this.die({ end: "silent", code: "LINK_SILENT", detail: "the engine does not read" }, this.clockUs());
		}
	}

	private arm(id: number, running: Running, deadlineMs: number): void {
		if (running.timer) clearTimeout(running.timer);
		running.timer = setTimeout(
			() => {
				// If this process was busy, the answer may be lying in the pipe: one turn of the event loop reads it
				// first.
				setImmediate(() => setImmediate(() => this.expire(id, running)));
			},
			Math.min(deadlineMs, MAX_TIMER_MS),
		);
	}

	private expire(id: number, running: Running): void {
		if (this.dead || this.running.get(id) !== running) return;
		const trickled = this.receivedBytes > running.bytesAtSend;
		const ending: Ending = trickled
			? { end: "silent", code: "LINK_DEADLINE", detail: "the answer was not complete at its deadline" }
			: { end: "silent", code: "LINK_SILENT", detail: "nothing came before the deadline" };
		const atUs = this.clockUs();
		running.settle(ending, atUs);
		this.die(
			{ end: "silent", code: "LINK_CLOSED", detail: `closed after another request ended with ${ending.code}` },
			atUs,
		);
	}

	private cancel(id: number, options: AskOptions): void {
		const running = this.running.get(id);
		if (!running || running.stopAsked || this.dead) return;
		running.stopAsked = true;
		const graceMs = Math.min(options.graceMs ?? DEFAULT_GRACE_MS, options.deadlineMs);
		this.arm(id, running, graceMs);
		const handler: ReplyHandler = (reply) => {
			if (reply.kind === "done") return { end: "complete", code: null, detail: "" };
			throw violation(`${reply.kind} in answer to CANCEL`);
		};
		void this.ask({ kind: "cancel", target: id }, handler, { deadlineMs: graceMs });
	}

	private read(chunk: Uint8Array, atUs: number): void {
		if (this.dead) return;
		this.receivedBytes += chunk.length;
		try {
			this.reader.push(chunk, (frame) => this.take(frame, atUs));
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			this.die({ end: "garbage", code: error.code, detail: error.message }, atUs);
		}
	}

	/** False once the conversation is dead: the rest of the chunk is not read. */
	private take(frame: Frame, atUs: number): boolean {
		const reply = decodeReply(frame);
		const running = this.running.get(frame.id);
		if (!running) {
			if (frame.id === 0 && reply.kind === "error") {
				throw violation(`the engine could not read us: ${printable(reply.message, 200)}`, "ENGINE_LOST");
			}
			throw violation(`${reply.kind} for request ${frame.id}, which is not running`, "REPLY_UNASKED");
		}
		if (reply.kind === "error" && frame.id !== 0) {
			const message = printable(reply.message, 1024);
			const detail = `error ${reply.code}: ${message}`;
			running.settle(
				{ end: "refused", code: "ENGINE_REFUSED", detail, engineError: { code: reply.code, message } },
				atUs,
			);
			return true;
		}
		const ending = running.handler(reply, atUs);
		if (ending?.end === "stopped" && !running.stopAsked) throw violation("DONE says cancelled, but nobody cancelled");
		if (ending) running.settle(ending, atUs);
		return this.dead === null;
	}

	/** The output ended: say why if the link can tell soon. Stamped with the moment the end was seen. */
	private lost(atUs: number): void {
		if (this.dead) return;
		const where = this.reader.midFrame ? "in the middle of a frame" : "before the answer was complete";
		// A host that we hung up on, because it took too long, is not gone.
		const how = this.link.isClosing?.() ? "silent" : "cut";
		this.dead = { end: how, code: "LINK_CLOSED", detail: `the connection ended ${where}` };
		const lastWords = new Promise<null>((resolve) => setTimeout(resolve, LAST_WORDS_MS, null));
		void Promise.race([this.link.closed, lastWords]).then((end) => {
			const exit = end?.signal ? `; killed by ${end.signal}` : end?.code != null ? `; exit code ${end.code}` : "";
			const stderr = end?.stderrTail ? `; it said: ${printable(end.stderrTail.slice(-300), 300)}` : "";
			this.bury({ end: how, code: "LINK_CLOSED", detail: `${this.dead?.detail}${exit}${stderr}` }, atUs);
		});
	}

	private die(ending: Ending, atUs: number): void {
		if (this.dead) return;
		this.bury(ending, atUs);
	}

	private bury(ending: Ending, atUs: number): void {
		this.dead = ending;
		for (const running of [...this.running.values()]) running.settle(ending, atUs);
		void this.link.close();
	}
}
