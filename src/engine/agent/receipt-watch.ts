// What a provider's agent saw its own engine answer: reads the frames that pass in both directions and keeps,
// of every gemm, what a receipt says of it (docs/slashing.md). Its facts come from here and from nowhere
// else, so that a validator cannot have anything signed that this engine did not produce. Not here: signing.
//
// The validator is hostile. What must never happen is a receipt over a seed that the engine did not compute
// with. So a root belongs to a gemm by its request's id alone, ids must grow (a second use of one could mix
// two answers up), and anything that this reader cannot read, or could read otherwise than the engine does,
// ends the watching: nothing more is signed on this channel. The engine itself is not judged: if it lies, the
// receipt says what it said.
import { toHex } from "../../protocol/chain/hex.ts";
import type { ReceiptFacts } from "../../protocol/chain/probe-receipt.ts";
import { PRECISION_NUMBER } from "../../protocol/maths/precision.ts";
import { nextSeed } from "../../protocol/probe/challenge-seed.ts";
import { MAX_CHALLENGES } from "../../protocol/probe/evidence.ts";
import type { Frame } from "../wire/frame-fields.ts";
import { FrameReader } from "../wire/frame-reader.ts";
import { type GemmRequest, KIND, MAX_LENGTH_TO_ENGINE, MAX_LENGTH_TO_VERIFIER } from "../wire/frame-table.ts";
import { decodeReply, decodeRequest } from "../wire/frames.ts";

interface RunningGemm {
	readonly request: GemmRequest;
	rounds: number;
	/** The seed that follows the last root. */
	end: Uint8Array;
	/** Roots out of order, or more than were asked for. */
	isBroken: boolean;
}

/** Unfinished gemms; an engine has at most 64 sessions. */
const MAX_RUNNING = 64;

export class ReceiptWatch {
	private readonly requests = new FrameReader(MAX_LENGTH_TO_ENGINE);
	private readonly replies = new FrameReader(MAX_LENGTH_TO_VERIFIER);
	private readonly running = new Map<number, RunningGemm>();
	private readonly finished = new Map<number, ReceiptFacts>();
	private readonly taken = new Set<number>();
	private lastId = 0;
	private blind = false;

	/** Whether it gave up: something could not be read for certain. */
	get isBlind(): boolean {
		return this.blind;
	}

	/** Bytes that the engine is given, before it has them. */
	toEngine(bytes: Uint8Array): void {
		this.read(this.requests, bytes, (frame) => this.request(frame));
	}

	/** Bytes that the engine wrote, before the validator has them. */
	fromEngine(bytes: Uint8Array): void {
		this.read(this.replies, bytes, (frame) => this.reply(frame));
	}

	/** What the engine answered to this challenge, once; null when it did not, or it was taken before. */
	take(challenge: number): ReceiptFacts | null {
		const facts = this.blind ? undefined : this.finished.get(challenge);
		if (facts === undefined || this.taken.has(challenge)) return null;
		this.taken.add(challenge);
		return facts;
	}

	private read(reader: FrameReader, bytes: Uint8Array, onFrame: (frame: Frame) => void): void {
		if (this.blind) return;
		try {
			reader.push(bytes, (frame) => {
				onFrame(frame);
				return !this.blind;
			});
		} catch {
			this.blind = true;
		}
		if (!this.blind) return;
		this.running.clear();
		this.finished.clear();
	}

	private request(frame: Frame): void {
		if (frame.id <= this.lastId) {
			this.blind = true;
			return;
		}
		this.lastId = frame.id;
		if (frame.kind !== KIND.gemm) return;
		const { kind: _, ...request } = decodeRequest(frame) as { kind: "gemm" } & GemmRequest;
		// Warm-ups have sessions far above those of challenges.
		if (request.session < 1 || request.session > MAX_CHALLENGES) return;
		// The reader's bytes are valid during the call only.
		const seed = request.seed.slice();
		this.running.set(frame.id, { request: { ...request, seed }, rounds: 0, end: seed, isBroken: false });
		if (this.running.size > MAX_RUNNING) this.blind = true;
	}

	private reply(frame: Frame): void {
		const gemm = this.running.get(frame.id);
		if (gemm === undefined) return;
		const reply = decodeReply(frame);
		if (reply.kind === "root") {
			gemm.isBroken ||= reply.index !== gemm.rounds || gemm.rounds >= gemm.request.rounds;
			gemm.end = nextSeed(gemm.end, reply.root);
			gemm.rounds += 1;
		} else if (reply.kind === "done" || reply.kind === "error") {
			this.running.delete(frame.id);
			const isWhole = reply.kind === "done" && !gemm.isBroken && reply.count === gemm.rounds && gemm.rounds > 0;
			if (isWhole) this.finish(gemm);
		}
	}

	/** A challenge asked again (the first did not fit) has the newest answer, until its receipt is taken. */
	private finish({ request, rounds, end }: RunningGemm): void {
		const { m, n, k, session } = request;
		const challenge = session - 1;
		const precision = PRECISION_NUMBER[request.precision];
		const ends = { seed: toHex(request.seed), end: toHex(end) };
		this.finished.set(challenge, { challenge, precision, m, n, k, rounds, ...ends });
	}
}
