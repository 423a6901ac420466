// What sessions that are given bytes and answer with bytes have in common (engine/FRAMES.md, GIVE): proofs of
// segments, and proofs of circuits.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import type { Reply, Request } from "../wire/frame-table.ts";
import { type Conversation, type ReplyHandler, violation } from "./conversation.ts";
import { refusalToError } from "./open-work-session.ts";

/** Proofs last as long as they last; an engine that is gone or stuck is found by the client's own pings. */
const NO_DEADLINE_MS = 2 ** 31 - 1;
const PIECE_BYTES = 256 << 10;
const PIECES_AHEAD = 6;
/** Of points or a proof: one point for 2^2 of 2^30 values, at the very most of what an engine takes. */
const MOST_BYTES = 64 << 20;

export interface Watched {
	/** Aborting ends it soon; then nothing comes. */
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

const finished = (reply: Extract<Reply, { kind: "done" }>, count: number) => {
	if (reply.count !== count) throw violation(`DONE counts ${reply.count} where ${count} came`);
	return { end: reply.cancelled ? "stopped" : "complete", code: null, detail: "" } as const;
};

/** All throw AssayError. */
export class GivingSession {
	private readonly talk: Conversation;
	protected readonly session: number;

	constructor(talk: Conversation, session: number) {
		this.talk = talk;
		this.session = session;
	}

	async give(number: number, bytes: Uint8Array): Promise<void> {
		const waiting: Promise<unknown>[] = [];
		for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
			if (waiting.length === PIECES_AHEAD) await waiting.shift();
			const piece = bytes.subarray(at, at + PIECE_BYTES);
			const sent = this.ask({ kind: "give", session: this.session, number, offset: at, bytes: piece });
			// Whoever waits first tells; the others must not count as unheard.
			sent.catch(() => {});
			waiting.push(sent);
		}
		await Promise.all(waiting);
	}

	async release(): Promise<void> {
		await this.ask({ kind: "release", session: this.session });
	}

	/** BYTES of any length, then DONE. Null: it was stopped. */
	protected async ask(request: Request, { signal, onProgress }: Watched = {}): Promise<Uint8Array | null> {
		const pieces: Uint8Array[] = [];
		let length = 0;
		const handler: ReplyHandler = (reply) => {
			if (reply.kind === "done") return finished(reply, pieces.length);
			if (reply.kind === "progress") {
				this.talk.countUnasked(16);
				onProgress?.(reply.done, reply.total);
				return null;
			}
			if (reply.kind !== "bytes") throw violation(`${reply.kind} in answer to ${request.kind.toUpperCase()}`);
			length += reply.bytes.length;
			if (length > MOST_BYTES) throw violation("more bytes than any proof has", "LINK_FLOOD");
			pieces.push(reply.bytes);
			return null;
		};
		const options = { deadlineMs: NO_DEADLINE_MS, graceMs: NO_DEADLINE_MS, stop: signal };
		const { ending } = await this.talk.ask(request, handler, options);
		if (ending.end === "stopped") return null;
		if (ending.end !== "complete") throw refusalToError(ending);
		return concatBytes(...pieces);
	}
}

/** Makes a session that PLAN answers. Throws AssayError. */
export async function openGiving(talk: Conversation, request: Request): Promise<void> {
	const handler: ReplyHandler = (reply) => {
		if (reply.kind !== "plan") throw violation(`${reply.kind} in answer to ${request.kind.toUpperCase()}`);
		return { end: "complete", code: null, detail: "" };
	};
	const { ending } = await talk.ask(request, handler, { deadlineMs: NO_DEADLINE_MS });
	if (ending.end !== "complete") throw refusalToError(ending);
}
