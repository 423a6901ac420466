// A toy engine: the other side of engine/FRAMES.md in TypeScript, at toy sizes. Honest, unless a cheat
// changes one of its steps. It keeps every product and tree in memory and computes in one thread; it is here
// for what it answers, not for how fast. The cheats are in cheats.ts, the program that tests start as a
// process in toy-main.ts.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { FrameReader } from "../../src/engine/wire/frame-reader.ts";
import {
	ERROR_CODE,
	MAX_LENGTH_TO_ENGINE,
	PROTOCOL_VERSION,
	type Reply,
	type Request,
} from "../../src/engine/wire/frame-table.ts";
import { decodeRequest, encodeReply } from "../../src/engine/wire/frames.ts";
import { INTERVAL_HOPS } from "../../src/protocol/hash/chase.ts";
import { merklePath } from "../../src/protocol/hash/merkle.ts";
import type { HostClaim } from "../../src/protocol/probe/evidence.ts";
import { chaseOf, type ToyChase } from "./toy-chase.ts";
import { digestsOf, lanesOf, leavesOf, nextNonce, nextSeed, productOf, type Tree, treeOf } from "./toy-maths.ts";

export type GemmAsk = Extract<Request, { kind: "gemm" }>;
export type FmaAsk = Extract<Request, { kind: "fma" }>;
export type StreamAsk = Extract<Request, { kind: "stream" }>;
export type CopyAsk = Extract<Request, { kind: "copy" }>;
export type ChaseAsk = Extract<Request, { kind: "chase" }>;
export type OpenAsk = Extract<Request, { kind: "open" }>;
export type RunAsk = GemmAsk | FmaAsk | StreamAsk | CopyAsk | ChaseAsk;
export type OpeningOut = Extract<Reply, { kind: "opening" }>;
export type RootOut = Extract<Reply, { kind: "root" }>;

const PROBES = new Set<string>(["gemm", "fma", "stream", "copy", "chase", "open"]);
const isProbe = (request: Request): request is RunAsk | OpenAsk => PROBES.has(request.kind);

/** One run of rounds (gemm, fma), and the passes of the last stream over it. */
export interface Session {
	readonly ask: GemmAsk | FmaAsk;
	readonly seeds: Uint8Array[];
	readonly rounds: { bytes: Uint8Array; tree: Tree }[];
	passes: Tree[];
	/** What each disk holds of it, and the digests made while writing. */
	readonly copies: Map<number, { kept: readonly Uint8Array[]; newest: number; tree: Tree }>;
	/** The last chase, and how many rounds it covered. */
	chase?: ToyChase & { readonly rounds: number };
	/** How long all rounds took: a cheat that is late wants to be late against this. */
	spentUs: number;
}

/**
 * What a cheater does differently. Each hook gets what an honest engine would do and may do something else.
 */
export interface Cheat {
	/** At the start, instead of READY. True: say nothing more on your own. */
	readonly start?: (toy: ToyEngine) => boolean | Promise<boolean>;
	readonly claim?: (claim: HostClaim) => HostClaim;
	/** Sees every request first; true means that it has been dealt with. */
	readonly request?: (toy: ToyEngine, id: number, request: Request) => boolean | Promise<boolean>;
	/** What is really computed instead of what was asked. */
	readonly instead?: (ask: GemmAsk | FmaAsk) => GemmAsk | FmaAsk;
	readonly bytes?: (ask: GemmAsk | FmaAsk, seed: Uint8Array, round: number, honest: () => Uint8Array) => Uint8Array;
	readonly tree?: (bytes: Uint8Array) => Tree;
	readonly nextSeed?: (seed: Uint8Array, root: Uint8Array) => Uint8Array;
	/** Before the first pass of a stream. */
	readonly beforeStream?: (session: Session, ask: StreamAsk, toy: ToyEngine) => Promise<void>;
	/** What a stream really reads instead of the rounds that were asked for. */
	readonly read?: (kept: readonly Uint8Array[], ask: StreamAsk, toy: ToyEngine) => readonly Uint8Array[];
	/** What is really written to the disk, and digested, instead. */
	readonly written?: (kept: readonly Uint8Array[], ask: CopyAsk, session: Session) => readonly Uint8Array[];
	/** Microseconds that a hop of a chase over so many rounds takes more than within one memory. */
	readonly hopUs?: (rounds: number) => number;
	/** All roots of an answer at once, before they are sent. */
	readonly roots?: (roots: RootOut[], ask: RunAsk) => RootOut[];
	readonly openings?: (openings: OpeningOut[], ask: OpenAsk, session: Session) => OpeningOut[];
}

/** The time a toy lives in, microseconds. */
export interface ToyTime {
	readonly nowUs: () => number;
	/** What was computed or read takes this long on the modelled card. */
	readonly spend: (us: number) => void;
	/** Does nothing for so long. */
	readonly rest: (us: number) => Promise<void>;
}

/** The wall's: a toy takes as long as its JavaScript does. */
const WALL: ToyTime = {
	nowUs: () => performance.now() * 1000,
	spend: () => {},
	rest: (us) => sleep(us / 1000),
};

/** Time that only this toy's work makes pass: it takes as long on a busy machine as on an idle one. */
export function createToyTime(): ToyTime {
	let nowUs = 0;
	const spend = (us: number) => {
		nowUs += us;
	};
	return { nowUs: () => nowUs, spend, rest: async (us) => spend(us) };
}

/** A modelled card: no answer within the microsecond of its request, 10¹² operations and 4 TB a second. */
const REQUEST_US = 1;
const OPS_PER_US = 1e6;
const BYTES_PER_US = 4e6;
const HOP_US = 0.6;
export const TOY_OPS_PER_S = 1e6 * OPS_PER_US;

/**
 * Thrown by a wire that has ended: ends whatever the toy was at, for an engine that is killed does nothing
 * more either.
 */
export class WireEnded extends Error {}

function unlessEnded(error: unknown): void {
	if (!(error instanceof WireEnded)) throw error;
}

export class ToyEngine {
	readonly claim: HostClaim;
	/** The verifier has gone: nothing more is worth computing. */
	private gone = false;
	/** Leaves without a word, as an engine that is killed. */
	readonly hangUp: () => void;
	private readonly write: (bytes: Uint8Array) => void;
	private readonly cheat: Cheat;
	readonly sessions = new Map<number, Session>();
	private readonly cancelled = new Set<number>();
	/** One queue a device: requests to one device run in order of arrival. */
	private readonly queues = new Map<number, Promise<void>>();

	private readonly time: ToyTime;

	constructor(
		claim: HostClaim,
		cheat: Cheat,
		wire: { write: (bytes: Uint8Array) => void; hangUp: () => void },
		time = WALL,
	) {
		this.claim = claim;
		this.cheat = cheat;
		this.time = time;
		this.write = wire.write;
		this.hangUp = wire.hangUp;
	}

	raw(bytes: Uint8Array): void {
		this.write(bytes);
	}

	send(id: number, reply: Reply): void {
		this.write(encodeReply(id, reply));
	}

	/** As long as computing all kept bytes takes, in each pass. */
	async late({ spentUs }: Session, { passes }: StreamAsk): Promise<void> {
		await this.time.rest(passes * (spentUs + 50_000));
	}

	/** Until a gemm or fma on this device is done: so one device serves two of them in turn. */
	async until(device: number): Promise<void> {
		while (![...this.sessions.values()].some(({ ask }) => ask.device === device)) await nextTurn();
	}

	rest(us: number): Promise<void> {
		return this.time.rest(us);
	}

	/** Makes the rounds of a session once more. */
	recompute({ ask, seeds }: Session): void {
		for (const seed of seeds) this.compute(ask, seed);
	}

	private compute(ask: GemmAsk | FmaAsk, seed: Uint8Array): Uint8Array {
		const ops = 2 * (ask.kind === "gemm" ? ask.m * ask.n * ask.k : ask.lanes * ask.steps);
		this.time.spend(ops / OPS_PER_US);
		return ask.kind === "gemm" ? productOf(ask, seed) : lanesOf(ask.precision, seed, ask.lanes, ask.steps);
	}

	private digest(kept: readonly Uint8Array[], nonce: Uint8Array): Tree {
		this.time.spend(kept.reduce((sum, { length }) => sum + length, 0) / BYTES_PER_US);
		return treeOf(digestsOf(kept, nonce));
	}

	/** Reads requests until the input ends. */
	async serve(input: AsyncIterable<Uint8Array>): Promise<void> {
		if (await this.cheat.start?.(this)) {
			for await (const _ of input);
			return;
		}
		this.send(0, { kind: "ready", version: PROTOCOL_VERSION, engineVersion: "toy" });
		const reader = new FrameReader(MAX_LENGTH_TO_ENGINE);
		for await (const chunk of input) {
			reader.push(chunk, (frame) => {
				const request = decodeRequest(frame);
				void this.take(frame.id, request).catch(unlessEnded);
				return true;
			});
		}
		this.gone = true;
	}

	private async take(id: number, request: Request): Promise<void> {
		if (await this.cheat.request?.(this, id, request)) return;
		if (request.kind === "hello") {
			const claim = this.cheat.claim?.(this.claim) ?? this.claim;
			this.send(id, { kind: "claim", json: JSON.stringify(claim) });
		} else if (request.kind === "ping") this.send(id, { kind: "pong", payload: request.payload });
		else if (request.kind === "cancel") {
			this.cancelled.add(request.target);
			this.send(id, { kind: "done", count: 0, cancelled: false });
		} else if (request.kind === "release") {
			this.sessions.delete(request.session);
			this.send(id, { kind: "done", count: 0, cancelled: false });
		} else if (request.kind === "read") {
			const isGpu = this.claim.devices[request.device]?.kind === "gpu";
			const said = { coreMHz: 1500, memoryMHz: 2000, powerMw: 300_000, temperatureC: 50, throttle: 0 };
			const nothing = { coreMHz: 0, memoryMHz: 0, powerMw: 0, temperatureC: 0, throttle: 0 };
			this.send(id, { kind: "reading", ...(isGpu ? said : nothing) });
		} else if (!isProbe(request)) {
			this.send(id, { kind: "error", code: ERROR_CODE.unsupported, message: "a toy runs no programs" });
		} else {
			// Openings of a stream run where its bytes lie; the order on the wire keeps them behind it.
			const device =
				request.kind === "stream"
					? request.reader
					: "device" in request
						? request.device
						: (this.sessions.get(request.session)?.ask.device ?? 0);
			const before = this.queues.get(device) ?? Promise.resolve();
			this.queues.set(device, before.then(() => this.work(id, request)).catch(unlessEnded));
		}
	}

	private async work(id: number, request: RunAsk | OpenAsk): Promise<void> {
		this.time.spend(REQUEST_US);
		if (request.kind === "gemm" || request.kind === "fma") return this.rounds(id, request);
		const session = this.sessions.get(request.session);
		if (!session) return this.send(id, { kind: "error", code: ERROR_CODE.no_session, message: "no such session" });
		if (request.kind === "stream") return this.stream(id, request, session);
		if (request.kind === "copy") return this.copy(id, request, session);
		if (request.kind === "chase") return this.chase(id, request, session);
		this.open(id, request, session);
	}

	private roomFor(ask: GemmAsk): boolean {
		return 2 * ask.m * ask.n * Math.min(ask.keep, ask.rounds) <= (this.claim.devices[ask.device]?.freeBytes ?? 0);
	}

	private async rounds(id: number, asked: GemmAsk | FmaAsk): Promise<void> {
		if (asked.kind === "gemm" && !this.roomFor(asked)) {
			return this.send(id, { kind: "error", code: ERROR_CODE.no_memory, message: "no room" });
		}
		const ask = this.cheat.instead?.(asked) ?? asked;
		const session: Session = { ask, seeds: [], rounds: [], passes: [], copies: new Map(), spentUs: 0 };
		const beganUs = this.time.nowUs();
		const roots: RootOut[] = [];
		let seed = ask.seed;
		for (let round = 0; round < ask.rounds && !this.cancelled.has(id) && !this.gone; round++) {
			const honest = () => this.compute(ask, seed);
			const bytes = this.cheat.bytes?.(ask, seed, round, honest) ?? honest();
			const tree = (this.cheat.tree ?? treeOf)(bytes);
			session.seeds.push(seed);
			session.rounds.push({ bytes, tree });
			const root: RootOut = { kind: "root", index: round, root: tree.root };
			roots.push(root);
			if (!this.cheat.roots) this.send(id, root);
			seed = (this.cheat.nextSeed ?? nextSeed)(seed, tree.root);
			await nextTurn(); // lets CANCEL and PING in
		}
		session.spentUs = this.time.nowUs() - beganUs;
		this.sessions.set(asked.session, session);
		this.finish(id, asked, roots);
	}

	/** The newest kept products, oldest first; 0 for all. */
	newestOf(session: Session, newest: number): Uint8Array[] {
		const kept = Math.min(session.ask.kind === "gemm" ? session.ask.keep : 1, session.rounds.length);
		return session.rounds.slice(-(newest === 0 ? kept : Math.min(newest, kept))).map(({ bytes }) => bytes);
	}

	private async copy(id: number, ask: CopyAsk, session: Session): Promise<void> {
		const honest = this.newestOf(session, ask.newest);
		const kept = this.cheat.written?.(honest, ask, session) ?? honest;
		const tree = this.digest(kept, ask.nonce);
		session.copies.set(ask.device, { kept, newest: ask.newest, tree });
		const root: RootOut = { kind: "root", index: 0, root: tree.root };
		if (!this.cheat.roots) this.send(id, root);
		this.finish(id, ask, [root]);
	}

	private async stream(id: number, ask: StreamAsk, session: Session): Promise<void> {
		const copy = session.copies.get(ask.reader);
		const isDisk = this.claim.devices[ask.reader]?.kind === "disk";
		if (isDisk && copy?.newest !== ask.newest)
			return this.send(id, { kind: "error", code: ERROR_CODE.bad_request, message: "no such copy" });
		const honest = isDisk ? copy!.kept : this.newestOf(session, ask.newest);
		const kept = this.cheat.read?.(honest, ask, this) ?? honest;
		const roots: RootOut[] = [];
		session.passes = [];
		await this.cheat.beforeStream?.(session, ask, this);
		let nonce = ask.nonce;
		for (let pass = 0; pass < ask.passes && !this.gone; pass++) {
			const tree = this.digest(kept, nonce);
			session.passes.push(tree);
			const root: RootOut = { kind: "root", index: pass, root: tree.root };
			roots.push(root);
			if (!this.cheat.roots) this.send(id, root);
			nonce = nextNonce(nonce, tree.root);
			await nextTurn();
		}
		this.finish(id, ask, roots);
	}

	private chase(id: number, ask: ChaseAsk, session: Session): void {
		const kept = this.newestOf(session, ask.newest);
		this.time.spend(INTERVAL_HOPS * ask.intervals * (HOP_US + (this.cheat.hopUs?.(kept.length) ?? 0)));
		session.chase = { ...chaseOf(kept.flatMap(leavesOf), ask.nonce, ask.intervals), rounds: kept.length };
		const root: RootOut = { kind: "root", index: 0, root: session.chase.tree.root };
		if (!this.cheat.roots) this.send(id, root);
		this.finish(id, ask, [root]);
	}

	/** Where in the rounds the hops of an interval's chain went. */
	private hopsOf({ chase, rounds }: Session, interval: number, chain: number): { round: number; index: number }[] {
		const leaves = rounds[0]!.tree.leaves.length;
		const first = rounds.length - chase!.rounds;
		return chase!.visited[interval]![chain]!.map((q) => ({ round: first + Math.floor(q / leaves), index: q % leaves }));
	}

	private finish(id: number, ask: RunAsk, honest: RootOut[]): void {
		const roots = this.cheat.roots?.(honest, ask) ?? honest;
		if (this.cheat.roots) for (const root of roots) this.send(id, root);
		this.send(id, { kind: "done", count: roots.length, cancelled: this.cancelled.has(id) });
	}

	private open(id: number, ask: OpenAsk, session: Session): void {
		const ofRounds = session.rounds.map(({ tree }) => tree);
		const trees = {
			leaves: ofRounds,
			digests: session.passes,
			"copied-digests": [...session.copies.values()].map(({ tree }) => tree),
			labels: session.chase ? [session.chase.tree] : [],
			hops: ofRounds,
		}[ask.what];
		const places =
			ask.what === "hops" ? ask.places.flatMap(({ round, index }) => this.hopsOf(session, round, index)) : ask.places;
		const honest = places.map(({ round, index }): OpeningOut => {
			// A cheater's own smaller run has fewer of both: it opens what it has.
			const tree = trees[round % trees.length]!;
			const leaf = index % tree.leaves.length;
			const path = Uint8Array.from(merklePath(tree.levels, leaf).flatMap((node) => [...node]));
			return { kind: "opening", round, index, leaf: tree.leaves[leaf]!, path };
		});
		const openings = this.cheat.openings?.(honest, ask, session) ?? honest;
		for (const opening of openings) this.send(id, opening);
		this.send(id, { kind: "done", count: openings.length, cancelled: false });
	}
}
