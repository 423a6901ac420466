// The cheaters: one small strategy each, by name. What each of them must end in is in tests/cheaters.test.ts.
// None of them breaks a hash or a signature; each does what a host that owns less than it sells could try.
import { setTimeout as sleep } from "node:timers/promises";
import { ERROR_CODE, type Request } from "../../src/engine/wire/frame-table.ts";
import { encodeReply } from "../../src/engine/wire/frames.ts";
import { leafHash, merkleLevels, nodeHash } from "../../src/protocol/hash/merkle.ts";
import { DOMAIN, philoxKey } from "../../src/protocol/hash/philox.ts";
import { fillRow } from "../../src/protocol/maths/entries.ts";
import type { DeviceKind } from "../../src/protocol/probe/evidence.ts";
import { changed, KEPT_CHEATS } from "./cheats-kept.ts";
import { diagonalProduct } from "./diagonal-shortcut.ts";
import type { Cheat, FmaAsk, GemmAsk, OpeningOut, Session, ToyEngine } from "./toy-engine.ts";
import { leavesOf, notFusedLanes, productOf } from "./toy-maths.ts";

const isGemm = (ask: GemmAsk | FmaAsk): ask is GemmAsk => ask.kind === "gemm";

/** Only the products are wrong; everything else is as an honest engine does it. */
function products(of: (ask: GemmAsk, seed: Uint8Array, round: number, honest: () => Uint8Array) => Uint8Array): Cheat {
	return { bytes: (ask, seed, round, honest) => (isGemm(ask) ? of(ask, seed, round, honest) : honest()) };
}

/** Rows of A and B by their entries, for cheats that compute something of their own. */
function rowsOf(ask: GemmAsk, seed: Uint8Array, domain: number, count: number): Int16Array[] {
	return Array.from({ length: count }, (_, row) => {
		const out = new Int16Array(ask.k);
		fillRow(ask.precision, philoxKey(seed), domain, row, ask.k, out);
		return out;
	});
}

/** C with a narrower n, its columns repeated to the asked width: half the work, the right number of bytes. */
function repeatedColumns(ask: GemmAsk, seed: Uint8Array): Uint8Array {
	const narrow = ask.n / 2;
	const half = productOf({ ...ask, n: narrow }, seed);
	const wide = new Uint8Array(2 * ask.m * ask.n);
	for (let row = 0; row < ask.m; row++) {
		const bytes = half.subarray(2 * row * narrow, 2 * (row + 1) * narrow);
		wide.set(bytes, 2 * row * ask.n);
		wide.set(bytes, 2 * row * ask.n + bytes.length);
	}
	return wide;
}

/**
 * A tree whose leaves are hashed as if they were nodes, and the reverse: what a hash without tags could not
 * tell apart.
 */
function untaggedTree(bytes: Uint8Array) {
	const leaves = leavesOf(bytes);
	const levels = merkleLevels(leaves.map((leaf) => nodeHash(leaf.subarray(0, 512), leaf.subarray(512))));
	return { leaves, levels, root: levels.at(-1)![0]! };
}

/**
 * The node above the asked leaf, offered as the leaf: 64 bytes that hash to the parent if tags did not
 * differ.
 */
function parentAsLeaf(opening: OpeningOut): OpeningOut {
	const own = leafHash(opening.leaf);
	const sibling = opening.path.subarray(0, 32);
	const pair = opening.index % 2 === 0 ? [own, sibling] : [sibling, own];
	return { ...opening, leaf: Uint8Array.from(pair.flatMap((half) => [...half])), path: opening.path.subarray(32) };
}

/** The path of any leaf in a whole tree of zero leaves. */
function pathOfZeros(bytes: number): Uint8Array {
	const path = new Uint8Array(bytes);
	let node = leafHash(new Uint8Array(1024));
	for (let at = 0; at < bytes; at += 32) {
		path.set(node, at);
		node = nodeHash(node, node);
	}
	return path;
}

function hangUpOn(toy: ToyEngine, now: boolean): boolean {
	if (now) toy.hangUp();
	return now;
}

async function inTurn(toy: ToyEngine, request: Request, kind: DeviceKind): Promise<boolean> {
	const isAsked = request.kind === "gemm" && toy.claim.devices[request.device]?.kind === kind;
	if (isAsked && request.device > 0) await toy.until(request.device - 1);
	return false;
}

let stalePrepared: Uint8Array | null = null;
let residentSession: Session | null = null;

export const CHEATS: Readonly<Record<string, Cheat>> = {
	// — less or other work
	diagonal: products((ask, seed) => {
		const a = rowsOf(ask, seed, DOMAIN.a, ask.m);
		const b = rowsOf(ask, seed, DOMAIN.b, ask.n);
		return diagonalProduct(ask, a, b).bytes;
	}),
	"smaller-n": { instead: (ask) => (isGemm(ask) ? { ...ask, n: ask.n / 2 } : ask) },
	"smaller-n-repeated": products((ask, seed) => repeatedColumns(ask, seed)),
	"smaller-k": products((ask, seed) => productOf({ ...ask, k: ask.k / 2 }, seed)),
	"fewer-rounds": { instead: (ask) => ({ ...ask, rounds: ask.rounds - 1 }) },
	"fewer-lanes": { instead: (ask) => (isGemm(ask) ? ask : { ...ask, lanes: ask.lanes / 2 }) },
	"fewer-steps": { instead: (ask) => (isGemm(ask) ? ask : { ...ask, steps: ask.steps / 2 }) },
	"skipped-rows": products((ask, _seed, _round, honest) => honest().fill(0, 2 * ask.n * Math.floor(0.9 * ask.m))),
	"precision-fp8": products((ask, seed) => productOf({ ...ask, precision: "fp8" }, seed)),
	"precision-int8": products((ask, seed) => productOf({ ...ask, precision: "int8" }, seed)),
	// Rounds after the product as well as after the sum: what a card without fma, or a careless compiler,
	// gives.
	"not-fused": { bytes: (ask, seed, _round, honest) => (isGemm(ask) ? honest() : notFusedLanes(ask, seed)) },

	// — other seeds, other order
	"stale-seed": { instead: (ask) => ({ ...ask, seed: new Uint8Array(32).fill(7) }) },
	"stale-product": products((_ask, _seed, _round, honest) => {
		stalePrepared ??= honest();
		return stalePrepared;
	}),
	"unchained-rounds": { nextSeed: (seed) => seed },
	"reordered-rounds": { roots: (roots) => [...roots].reverse() },
	"reordered-roots": {
		roots: (roots) => roots.map((root, i) => ({ ...root, root: roots[roots.length - 1 - i]!.root })),
	},
	"repeated-round": {
		roots: (roots) => roots.flatMap((root, i) => (i === 0 ? [root, root] : [root])).slice(0, roots.length),
	},
	"surplus-round": { roots: (roots) => [...roots, { ...roots[0]!, index: roots.length }] },
	"no-rounds": { roots: () => [] },

	// — openings
	"empty-openings": { openings: () => [] },
	"missing-opening": { openings: (openings) => openings.slice(0, -1) },
	"surplus-opening": { openings: (openings) => [...openings, openings[0]!] },
	"duplicated-opening": { openings: (openings) => openings.map((o, i) => (i === 1 ? openings[0]! : o)) },
	"reordered-openings": { openings: (openings) => [...openings].reverse() },
	"short-path": { openings: (openings) => openings.map((o) => ({ ...o, path: o.path.subarray(32) })) },
	"long-path": {
		openings: (openings) =>
			openings.map((o) => ({ ...o, path: Uint8Array.from([...o.path, ...o.path.subarray(0, 32)]) })),
	},
	"wrong-path": { openings: (openings) => openings.map((o) => ({ ...o, path: changed(o.path, 0) })) },
	"wrong-leaf": { openings: (openings) => openings.map((o) => ({ ...o, leaf: changed(o.leaf, 100) })) },
	"short-leaf": { openings: (openings) => openings.map((o) => ({ ...o, leaf: o.leaf.subarray(0, 1000) })) },
	"parent-as-leaf": { openings: (openings) => openings.map(parentAsLeaf) },
	"leaves-hashed-as-nodes": { tree: untaggedTree },
	"wrong-digest": {
		openings: (openings, ask) =>
			ask.what === "digests" ? openings.map((o) => ({ ...o, leaf: o.leaf.map((byte) => byte ^ 1) })) : openings,
	},
	"wrong-leaf-below-digest": {
		openings: (openings, ask, session) =>
			ask.what === "leaves" && session.passes.length > 0
				? openings.map((o) => ({ ...o, leaf: changed(o.leaf, 100) }))
				: openings,
	},

	// — memory that is not there
	"recomputed-late": {
		async beforeStream(session, ask, toy) {
			toy.recompute(session);
			await toy.late(session, ask);
		},
	},
	"fetched-late": { beforeStream: (session, ask, toy) => toy.late(session, ask) },
	"one-device-as-two": {
		claim: (claim) => ({
			...claim,
			devices: claim.devices.map((d) => (d.kind === "gpu" ? { ...d, uuid: "GPU-toy-0" } : d)),
		}),
	},
	"one-memory-as-two": {
		async beforeStream(session, ask, toy) {
			if (session.ask.device === 1) await toy.late(session, ask);
		},
	},

	// Two cards with names of their own, each claiming the whole memory, both served from one: what one of them
	// filled last is there, the other's bytes are made again when they are asked for.
	"one-card-as-two": {
		async beforeStream(session, ask, toy) {
			if (residentSession === session) return;
			residentSession = session;
			toy.recompute(session);
			await toy.late(session, ask);
		},
	},
	// The same card that does not even try: it has no room for the second fill, however small.
	"second-card-refuses": {
		request: (toy, id, request) => {
			const isSecond = request.kind === "gemm" && request.device === 1;
			if (isSecond) toy.send(id, { kind: "error", code: ERROR_CODE.no_memory, message: "no room" });
			return isSecond;
		},
	},
	"all-cards-refuse": {
		request: (toy, id, request) => {
			if (request.kind === "gemm") toy.send(id, { kind: "error", code: ERROR_CODE.no_memory, message: "no room" });
			return request.kind === "gemm";
		},
	},

	...KEPT_CHEATS,

	// — the commitment
	"commitment-changed": {
		// Keeps the committed leaves to itself and opens others, with the paths of a tree made after the draw was
		// known.
		openings: (openings) =>
			openings.map((o) => ({ ...o, leaf: new Uint8Array(1024), path: pathOfZeros(o.path.length) })),
	},
	"commitment-withheld": { request: (_toy, _id, request) => request.kind === "gemm" },
	"commitment-after-draw": {
		request: (toy, id, request) => {
			if (request.kind === "open") toy.send(id, { kind: "root", index: 0, root: new Uint8Array(32).fill(1) });
			return false;
		},
	},
	"hang-up-on-claim": { request: (toy, _id, request) => hangUpOn(toy, request.kind === "gemm") },
	"hang-up-on-draw": { request: (toy, _id, request) => hangUpOn(toy, request.kind === "open") },
	"refuses-draw": {
		request: (toy, id, request) => {
			if (request.kind === "open") toy.send(id, { kind: "error", code: 7, message: "the card fell off the bus" });
			return request.kind === "open";
		},
	},
	"silent-on-draw": { request: (_toy, _id, request) => request.kind === "open" },

	// — the wire
	silence: { start: () => true },
	"silence-after-claim": { request: (_toy, _id, request) => request.kind !== "hello" },
	trickle: {
		async start(toy) {
			const ready = encodeReply(0, { kind: "ready", version: 3, engineVersion: "toy" });
			for (const byte of ready) {
				toy.raw(Uint8Array.of(byte));
				await sleep(200);
			}
			return true;
		},
	},
	"trickled-openings": {
		request: async (toy, id, request) => {
			if (request.kind !== "open") return false;
			const bytes = encodeReply(id, {
				kind: "opening",
				round: 0,
				index: 0,
				leaf: new Uint8Array(1024),
				path: new Uint8Array(),
			});
			for (const byte of bytes) {
				toy.raw(Uint8Array.of(byte));
				await sleep(50);
			}
			return true;
		},
	},
	endless: {
		async start(toy) {
			for (;;) {
				toy.raw(new Uint8Array(1 << 16).fill(0x41));
				await sleep(0);
			}
		},
	},
	"endless-progress": {
		request: async (toy, id, request) => {
			if (request.kind !== "gemm") return false;
			for (;;) {
				for (let i = 0; i < 100; i++) toy.send(id, { kind: "progress", done: 0, total: 1 });
				await sleep(0);
			}
		},
	},
	"endless-roots": {
		request: async (toy, id, request) => {
			if (request.kind !== "gemm") return false;
			for (let index = 0; ; index++) {
				toy.send(id, { kind: "root", index, root: new Uint8Array(32) });
				if (index % 100 === 0) await sleep(0);
			}
		},
	},
	"endless-openings": {
		request: async (toy, id, request) => {
			if (request.kind !== "open") return false;
			for (let index = 0; ; index++) {
				toy.send(id, { kind: "opening", round: 0, index, leaf: new Uint8Array(60_000), path: new Uint8Array(32) });
				if (index % 10 === 0) await sleep(0);
			}
		},
	},
	"giant-frame": {
		start: (toy) => {
			toy.raw(Uint8Array.of(0, 0, 0, 0x40, 0x80, 0, 0, 0, 0));
			return true;
		},
	},
	"giant-frame-later": {
		request: (toy, _id, request) => {
			if (request.kind === "gemm") toy.raw(Uint8Array.of(0, 0, 0, 0x40, 0x82, 0, 0, 0, 0));
			return request.kind === "gemm";
		},
	},
};

/**
 * One device that answers for several, several that answer for one, and one far away. Not accused where all
 * they show is there: red-team.test.ts counts what they gain.
 */
export const POSERS: Readonly<Record<string, Cheat>> = {
	// The cards of a stage one after the other, each at the whole speed of the one that there is.
	"cards-in-turn": { request: (toy, _id, request) => inTurn(toy, request, "gpu") },
	// The card answers for the CPU, when it is done with what it was asked itself.
	"gpu-as-cpu": { request: (toy, _id, request) => inTurn(toy, request, "cpu") },
	// Several machines behind one device, each with rounds of its own: every second hop crosses a network of
	// 3 µs, but none within a round.
	pool: { hopUs: (rounds) => (rounds > 1 ? 1.5 : 0) },
	// The same with a part of every round on each machine.
	"pool-in-halves": { hopUs: () => 1.5 },
	// The card answers, the CPU beside it refuses: it has no figure, and the card keeps its own.
	"cpu-refuses": {
		request: (toy, id, request) => {
			const isCpu = request.kind === "gemm" && toy.claim.devices[request.device]?.kind === "cpu";
			if (isCpu) toy.send(id, { kind: "error", code: ERROR_CODE.no_memory, message: "no room" });
			return isCpu;
		},
	},
	// No lie: a card that has half of its time, whatever it is asked.
	"half-its-time": { hopUs: () => 0.65 },
	// Somebody near who passes everything on to a machine 150 ms away, and answers echoes himself.
	relay: {
		request: async (toy, _id, request) => {
			if (request.kind !== "ping") await toy.rest(150_000);
			return false;
		},
	},
};
