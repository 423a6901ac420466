// Sessions that prove a segment of training over an engine's frames (engine/FRAMES.md, "Proofs"): plan, data, weights and powers go in, points and the proof come out. What
// comes out is believed by nobody before verify/zk has seen it.
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
/** What GIVE names. */
export const GIVEN = { features: 0, labels: 1, powers: 2, weights: 3 } as const;

export interface OpenProof {
	readonly device: number;
	/** encodePlan. */
	readonly plan: Uint8Array;
}

interface Watched {
	/** Aborting ends it soon; then nothing comes. */
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** All throw AssayError. */
export interface ProveSession {
	/** Whole, once: features (i16), labels (i32), powers (x ‖ y, big-endian), weights of a link (GIVEN.weights + link; i32 or i64, as the plan says); after the last link's, where commitments shall hide what is in them, a
	 * blinder for each chunk of each group (scalars). */
	give(number: number, bytes: Uint8Array): Promise<void>;
	/** Runs the segment; the points of features, labels, weights before and after, 64 bytes each. Null: it was stopped. */
	commit(of: { readonly seed: Uint8Array; readonly firstStep: number } & Watched): Promise<Uint8Array | null>;
	prove(of: { readonly statement: Uint8Array } & Watched): Promise<Uint8Array | null>;
	/** The next segment of a run (docs/zk.md §13), all but its opening; then its weights are forgotten, and those of the next one can be given. */
	provePart(of: { readonly statement: Uint8Array; readonly nonce: Uint8Array } & Watched): Promise<Uint8Array | null>;
	/** What a run proof ends with: the mask, the fold of all parts since the last one, and their opening. `secret`: what the mask follows from; zeros for none. */
	fold(of: { readonly secret: Uint8Array } & Watched): Promise<Uint8Array | null>;
	release(): Promise<void>;
}

export type OpenProveSession = (proof: OpenProof) => Promise<ProveSession>;

const finished = (reply: Extract<Reply, { kind: "done" }>, count: number) => {
	if (reply.count !== count) throw violation(`DONE counts ${reply.count} where ${count} came`);
	return { end: reply.cancelled ? "stopped" : "complete", code: null, detail: "" } as const;
};

class EngineProveSession implements ProveSession {
	private readonly talk: Conversation;
	private readonly session: number;

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

	commit({ seed, firstStep, ...watched }: Parameters<ProveSession["commit"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "commit", session: this.session, firstStep, seed }, watched);
	}

	prove({ statement, ...watched }: Parameters<ProveSession["prove"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "prove", session: this.session, statement }, watched);
	}

	provePart({ statement, nonce, ...watched }: Parameters<ProveSession["provePart"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "part", session: this.session, statement, nonce }, watched);
	}

	fold({ secret, ...watched }: Parameters<ProveSession["fold"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "fold", session: this.session, secret }, watched);
	}

	async release(): Promise<void> {
		await this.ask({ kind: "release", session: this.session });
	}

	/** BYTES of any length, then DONE. */
	private async ask(request: Request, { signal, onProgress }: Watched = {}): Promise<Uint8Array | null> {
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

/** `session` is a name that this link does not use yet. */
export async function openProveSession(
	talk: Conversation,
	session: number,
	{ device, plan }: OpenProof,
): Promise<ProveSession> {
	const handler: ReplyHandler = (reply) => {
		if (reply.kind !== "plan") throw violation(`${reply.kind} in answer to PROVER`);
		return { end: "complete", code: null, detail: "" };
	};
	const { ending } = await talk.ask({ kind: "prover", session, device, plan }, handler, { deadlineMs: NO_DEADLINE_MS });
	if (ending.end !== "complete") throw refusalToError(ending);
	return new EngineProveSession(talk, session);
}
