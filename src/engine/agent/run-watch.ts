// What a provider's agent saw its own engine answer: reads the frames that pass in both directions and keeps,
// of every run, the one hash that binds its seed and its roots, and of every gemm the tree that a receipt
// signs (docs/slashing.md). What the provider signs comes from here and from nowhere else, so that a
// validator cannot have anything signed that this engine did not produce. Not here: signing.
//
// The validator is hostile. What must never happen is a signature over a seed that the engine did not compute
// with. So a root belongs to a run by its request's id alone, ids must grow (a second use of one could mix
// two answers up), and anything that this reader cannot read, or could read otherwise than the engine does,
// ends the watching: nothing more is signed on this channel. The engine itself is not judged: if it lies, the
// signature says what it said.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { type ReceiptFacts, roundLeaf } from "../../protocol/chain/probe-receipt.ts";
import { GrowingTree } from "../../protocol/hash/keccak-tree.ts";
import { PRECISION_NUMBER } from "../../protocol/maths/precision.ts";
import { nextSeed } from "../../protocol/probe/challenge-seed.ts";
import { claimHash, type SeenRun } from "../../protocol/probe/countersign.ts";
import { MAX_CHALLENGES } from "../../protocol/probe/evidence.ts";
import { parseClaim } from "../client/parse-claim.ts";
import type { Frame } from "../wire/frame-fields.ts";
import { FrameReader } from "../wire/frame-reader.ts";
import {
	type GemmRequest,
	KIND,
	MAX_LENGTH_TO_ENGINE,
	MAX_LENGTH_TO_VERIFIER,
	type Request,
} from "../wire/frame-table.ts";
import { decodeReply, decodeRequest } from "../wire/frames.ts";

interface Run {
	readonly seed: Uint8Array;
	/** Roots that were asked for. */
	readonly asked: number;
	readonly gemm: GemmRequest | null;
	rounds: number;
	/** The seed that follows the last root. */
	end: Uint8Array;
	/** Of a gemm: over its rounds. */
	readonly tree: GrowingTree | null;
	readonly beganUs: number;
	lastUs: number;
	/** Roots out of order, or more than were asked for. */
	isBroken: boolean;
}

/** Unfinished runs: one a device in a stage, and warm-ups beside them. */
const MAX_RUNNING = 128;
/** Finished runs that nobody asked a signature for: warm-ups, mostly. */
const MAX_FINISHED = 4 * MAX_CHALLENGES;

export class RunWatch {
	private readonly requests = new FrameReader(MAX_LENGTH_TO_ENGINE);
	private readonly replies = new FrameReader(MAX_LENGTH_TO_VERIFIER);
	private readonly running = new Map<number, Run>();
	/** By the first seed. */
	private readonly ends = new Map<string, SeenRun>();
	private readonly clockUs: () => number;
	/** Of the engine's answer to HELLO. */
	private claim: Uint8Array | null = null;
	private readonly gemms = new Map<number, ReceiptFacts>();
	private readonly taken = new Set<number>();
	private lastId = 0;
	private blind = false;

	/** Monotonic. */
	constructor(clockUs: () => number) {
		this.clockUs = clockUs;
	}

	/** What the engine claimed on this channel, hashed; null before it did. */
	get claimHash(): Uint8Array | null {
		return this.blind ? null : this.claim;
	}

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

	/**
	 * These runs as they were seen, by their first seeds, each once; null when one of them was not answered
	 * whole.
	 */
	takeRuns(seeds: readonly string[]): SeenRun[] | null {
		const ends = seeds.map((seed) => this.ends.get(seed));
		if (this.blind || new Set(seeds).size !== seeds.length || ends.includes(undefined)) return null;
		for (const seed of seeds) this.ends.delete(seed);
		return ends as SeenRun[];
	}

	/** What the engine answered to this gemm challenge, once; null when it did not, or it was taken before. */
	takeGemm(challenge: number): ReceiptFacts | null {
		const facts = this.blind ? undefined : this.gemms.get(challenge);
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
		this.ends.clear();
		this.gemms.clear();
	}

	private request(frame: Frame): void {
		if (frame.id <= this.lastId) {
			this.blind = true;
			return;
		}
		this.lastId = frame.id;
		const request = decodeRequest(frame);
		const run = runOf(request);
		if (run === null) return;
		// The reader's bytes are valid during the call only.
		const seed = run.seed.slice();
		const gemm = request.kind === "gemm" ? { ...request, seed } : null;
		const beganUs = this.clockUs();
		const seen = { rounds: 0, end: seed, beganUs, lastUs: beganUs, isBroken: false };
		const tree = gemm === null ? null : new GrowingTree();
		this.running.set(frame.id, { seed, asked: run.roots, gemm, tree, ...seen });
		if (this.running.size > MAX_RUNNING) this.blind = true;
	}

	private reply(frame: Frame): void {
		if (frame.kind === KIND.claim) this.claim = hashOfClaim((decodeReply(frame) as { json: string }).json);
		const run = this.running.get(frame.id);
		if (run === undefined) return;
		const reply = decodeReply(frame);
		if (reply.kind === "root") {
			run.isBroken ||= reply.index !== run.rounds || run.rounds >= run.asked;
			run.tree?.add(roundLeaf(run.end, reply.root));
			run.end = nextSeed(run.end, reply.root);
			run.lastUs = this.clockUs();
			run.rounds += 1;
		} else if (reply.kind === "done" || reply.kind === "error") {
			this.running.delete(frame.id);
			const isWhole = reply.kind === "done" && !run.isBroken && reply.count === run.rounds && run.rounds > 0;
			if (isWhole) this.finish(run);
		}
	}

	/** A challenge asked again (the first did not fit) has the newest answer, until its receipt is taken. */
	private finish({ seed, gemm, tree, rounds, end, beganUs, lastUs }: Run): void {
		this.ends.set(bytesToHex(seed), { end, spanUs: Math.floor(lastUs - beganUs) });
		if (this.ends.size > MAX_FINISHED) this.blind = true;
		// Warm-ups have sessions far above those of challenges.
		if (gemm === null || tree === null || gemm.session < 1 || gemm.session > MAX_CHALLENGES) return;
		const { precision, m, n, k } = gemm;
		const challenge = gemm.session - 1;
		this.gemms.set(challenge, {
			challenge,
			precision: PRECISION_NUMBER[precision],
			...{ m, n, k, rounds },
			tree: toHex(tree.root),
		});
	}
}

/** Null for one that is not well formed: the validator refuses it too, and there will be nothing to sign. */
function hashOfClaim(json: string): Uint8Array | null {
	try {
		return claimHash(parseClaim(json));
	} catch {
		return null;
	}
}

/** The seed of a request that is answered by roots, and how many; null for any other. */
function runOf(request: Request): { readonly seed: Uint8Array; readonly roots: number } | null {
	if (request.kind === "gemm" || request.kind === "fma") return { seed: request.seed, roots: request.rounds };
	if (request.kind === "stream") return { seed: request.nonce, roots: request.passes };
	return request.kind === "copy" || request.kind === "chase" ? { seed: request.nonce, roots: 1 } : null;
}
