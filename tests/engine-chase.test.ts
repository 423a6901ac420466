// `chase` by the real engine, built if it is not there, against the toy's, which is plain TypeScript; and, as
// a verifier would, from the answers alone. docs/hardware-proof.md §13.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../src/engine/client/create-engine-client.ts";
import type { OpeningRecord } from "../src/engine/client/engine-answers.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { chaseFeed, hopFrom, hopTarget, leftSiblings, statesOf } from "../src/protocol/hash/chase.ts";
import { leafHash, rootFromPath } from "../src/protocol/hash/merkle.ts";
import { mixKeys } from "../src/protocol/hash/mix.ts";
import { chaseSamples } from "../src/protocol/probe/samples.ts";
import { chaseOf } from "./toy/toy-chase.ts";
import { leavesOf, nextSeed, productOf } from "./toy/toy-maths.ts";

const within = { deadlineMs: 600_000 };
const SHAPE = { precision: "int8", m: 128, n: 512, k: 128 } as const;
const LEAVES = 128;
const ROUNDS = 4;
const INTERVALS = 16;
const seed = new Uint8Array(32).fill(1);
const nonce = new Uint8Array(32).fill(7);
let engine: EngineClient;
let roots: readonly Uint8Array[];

before(async () => {
	const build = await findEngine(hostPlatform());
	const link = await createLocalLink({ command: build.path, env: process.env });
	engine = await createEngineClient(link, {
		clockUs: () => Math.round(performance.now() * 1000),
		readyDeadlineMs: 600_000,
		randomBytes: (size) => new Uint8Array(size),
	});
	const device = (await engine.hello(within)).devices.findIndex(({ kind }) => kind === "cpu");
	const made = await engine.gemm({ session: 1, device, ...SHAPE, rounds: ROUNDS, keep: 3, seed }, within);
	roots = made.roots.map(({ root }) => root);
});
after(() => engine?.close());

const ask = (newest: number) => ({ session: 1, newest, intervals: INTERVALS, nonce });
const nodesOf = ({ path }: OpeningRecord) =>
	Array.from({ length: path.length / 32 }, (_, i) => path.subarray(32 * i, 32 * (i + 1)));
const open = async (what: "labels" | "hops", places: { round: number; index: number }[]) => {
	const answer = await engine.open({ session: 1, what, places }, within);
	assert.equal(answer.end, "complete", answer.detail);
	return answer.openings;
};

test("the engine's chase is the toy's: root, labels and every hop", { timeout: 600_000 }, async () => {
	const products: Uint8Array[] = [];
	for (let r = 0, at: Uint8Array = seed; r < ROUNDS; at = nextSeed(at, roots[r++]!))
		products.push(productOf(SHAPE, at));
	for (const [newest, rounds] of [
		[0, 3],
		[1, 1],
	] as const) {
		const toy = chaseOf(products.slice(-rounds).flatMap(leavesOf), nonce, INTERVALS);
		const answer = await engine.chase(ask(newest), within);
		assert.equal(answer.end, "complete", answer.detail);
		assert.deepEqual(
			answer.roots.map(({ root }) => bytesToHex(root)),
			[bytesToHex(toy.tree.root)],
		);
		const all = Array.from({ length: INTERVALS }, (_, index) => ({ round: 0, index }));
		const labels = await open("labels", all);
		assert.deepEqual(
			labels.map(({ leaf }) => bytesToHex(leaf)),
			toy.tree.leaves.map(bytesToHex),
		);
		const some = [0, 5, 15].flatMap((round) => [0, 3].map((index) => ({ round, index })));
		const hops = await open("hops", some);
		const visited = some.flatMap(({ round, index }) => toy.visited[round]![index]!);
		assert.deepEqual(
			hops.map(({ round, index }) => (round - (ROUNDS - rounds)) * LEAVES + index),
			visited,
		);
	}
});

test("sampled intervals verify from the openings alone, and a changed leaf is found", async () => {
	const answer = await engine.chase(ask(0), within);
	const { root } = answer.roots[0]!;
	const samples = chaseSamples(root, INTERVALS, 6);
	const labels = await open(
		"labels",
		samples.flatMap(({ interval }) => [interval - 1, interval].map((index) => ({ round: 0, index }))),
	);
	const hops = await open(
		"hops",
		samples.map(({ interval, chain }) => ({ round: interval, index: chain })),
	);
	assert.equal(hops.length, 64 * samples.length);
	for (const [i, { interval, chain }] of samples.entries()) {
		const [before, label] = [labels[2 * i]!, labels[2 * i + 1]!];
		for (const opened of [before, label])
			assert.deepEqual(rootFromPath(leafHash(opened.leaf), opened.index, INTERVALS, nodesOf(opened)), root);
		const feed = chaseFeed(nonce, interval - 1, leftSiblings(interval - 1, nodesOf(before)));
		const run = (openings: readonly OpeningRecord[]) => {
			let state = statesOf(before.leaf)[chain]! ^ statesOf(feed)[chain]!;
			for (const { round, index, leaf } of openings) {
				if (hopTarget(state, 3 * LEAVES) !== (round - 1) * LEAVES + index) return null;
				state = hopFrom(state, mixKeys(nonce), leaf);
			}
			return state;
		};
		const mine = hops.slice(64 * i, 64 * (i + 1));
		for (const hop of mine)
			assert.deepEqual(rootFromPath(leafHash(hop.leaf), hop.index, LEAVES, nodesOf(hop)), roots[hop.round]);
		assert.equal(run(mine), statesOf(label.leaf)[chain]);
		const changed = mine.with(63, {
			...mine[63]!,
			leaf: mine[63]!.leaf.map((byte, at) => (at === 100 ? byte ^ 1 : byte)),
		});
		assert.notEqual(run(changed), statesOf(label.leaf)[chain]);
		assert.equal(run([...mine.slice(1), mine[0]!]), null, "in another order they lead nowhere");
	}
});

test("wrong requests are refused by their code, a long one is stopped", async () => {
	for (const intervals of [0, 1, 3, 131072])
		assert.equal((await engine.chase({ ...ask(0), intervals }, within)).engineError?.code, 2);
	assert.equal((await engine.chase({ ...ask(0), session: 9 }, within)).engineError?.code, 6);
	const none = await engine.open({ session: 1, what: "hops", places: [{ round: INTERVALS, index: 0 }] }, within);
	assert.equal(none.engineError?.code, 2);
	const stop = new AbortController();
	const long = engine.chase({ ...ask(0), intervals: 65536 }, { ...within, stop: stop.signal });
	await engine.ping(within);
	stop.abort();
	assert.equal((await long).end, "stopped");
});
