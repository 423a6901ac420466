// What the agent would sign: only what its engine answered, whatever a validator sends. Frames are real; the
// engine's side is written by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { factsOfGemm } from "../../protocol/chain/probe-receipt.ts";
import { endOfRun } from "../../protocol/probe/countersign.ts";
import { type GemmRequest, KIND } from "../wire/frame-table.ts";
import { encodeFrame, encodeReply, encodeRequest } from "../wire/frames.ts";
import { RunWatch } from "./run-watch.ts";

const bytes = (fill: number) => new Uint8Array(32).fill(fill);
const gemm: GemmRequest = {
	session: 1,
	device: 0,
	precision: "fp16",
	m: 128,
	n: 512,
	k: 256,
	rounds: 3,
	keep: 1,
	seed: bytes(7),
};
const ask = (id: number, more: Partial<GemmRequest> = {}) => encodeRequest(id, { kind: "gemm", ...gemm, ...more });
const root = (id: number, index: number, fill: number) => encodeReply(id, { kind: "root", index, root: bytes(fill) });
const done = (id: number, count: number, cancelled = false) => encodeReply(id, { kind: "done", count, cancelled });
const error = (id: number) => encodeReply(id, { kind: "error", code: 4, message: "no memory" });
/** A millisecond at each look. */
let nowUs = 0;
const clock = () => {
	nowUs += 1000;
	return nowUs;
};
const roots = [bytes(1), bytes(2), bytes(3)];
const answer = (id: number) => [...roots.map((_, i) => root(id, i, i + 1)), done(id, 3)];
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

/** > to the engine, < from it. */
type Passed = readonly [">" | "<", ...Uint8Array[]];
function watched(...said: readonly Passed[]): RunWatch {
	const watch = new RunWatch(clock);
	for (const [way, ...frames] of said)
		for (const frame of frames) way === ">" ? watch.toEngine(frame) : watch.fromEngine(frame);
	return watch;
}
const right = factsOfGemm(0, gemm, gemm.seed, roots);

test("an answered gemm is known as it was asked and answered, and handed out once", () => {
	const watch = watched([">", ask(5)], ["<", ...answer(5)]);
	assert.deepEqual(watch.takeGemm(0), right);
	assert.equal(watch.takeGemm(0), null);
	assert.equal(watch.takeGemm(1), null);
	assert.equal(watch.isBlind, false);
});

test("however the bytes are cut, the same is seen", () => {
	const asked = join(encodeRequest(1, { kind: "hello", version: 3 }), ask(5), ask(6, { session: 9, seed: bytes(9) }));
	const said = join(encodeReply(1, { kind: "claim", json: "{}" }), ...answer(5), root(6, 0, 4), done(6, 1, true));
	fc.assert(
		fc.property(fc.array(fc.nat(said.length)), fc.array(fc.nat(asked.length)), (cutsIn, cutsOut) => {
			const watch = new RunWatch(clock);
			const cut = (all: Uint8Array, cuts: number[], take: (part: Uint8Array) => void) => {
				const places = [0, ...[...cuts].sort((a, b) => a - b), all.length];
				for (let i = 1; i < places.length; i++) take(all.slice(places[i - 1], places[i]));
			};
			cut(asked, cutsOut, (part) => watch.toEngine(part));
			cut(said, cutsIn, (part) => watch.fromEngine(part));
			assert.deepEqual(watch.takeGemm(0), right);
			assert.deepEqual(watch.takeGemm(8), factsOfGemm(8, gemm, bytes(9), [bytes(4)]));
		}),
		{ numRuns: scaled(60) },
	);
});

test("any answered run has an end, by its first seed, handed out once and only with all that are asked for", () => {
	const seed = bytes(8);
	const stream = { kind: "stream", session: 1, reader: 0, newest: 0, passes: 2, nonce: seed } as const;
	const talk = () =>
		watched([">", ask(5), encodeRequest(6, stream)], ["<", ...answer(5), root(6, 0, 4), root(6, 1, 5), done(6, 2)]);
	const [first, second] = [bytesToHex(gemm.seed), bytesToHex(seed)];
	const ends = [endOfRun(gemm.seed, roots), endOfRun(seed, [bytes(4), bytes(5)])];
	const endsOf = (seeds: string[], of: RunWatch) => of.takeRuns(seeds)?.map(({ end }) => end);
	const watch = talk();
	assert.equal(watch.takeRuns([first, "00".repeat(32)]), null, "one is not known: none is given, none is lost");
	assert.equal(watch.takeRuns([first, first]), null);
	assert.deepEqual(endsOf([second, first], watch), [ends[1], ends[0]]);
	assert.equal(watch.takeRuns([first]), null, "once");
	// From the request to the last root: four looks apart.
	assert.deepEqual(
		watched([">", ask(5)], ["<", ...answer(5)])
			.takeRuns([first])
			?.map(({ spanUs }) => spanUs),
		[3000],
	);
	const unfinished = watched([">", encodeRequest(6, stream)], ["<", root(6, 0, 4), done(6, 2)]);
	assert.equal(unfinished.takeRuns([second]), null);
});

test("a run that was stopped has the rounds that came", () => {
	const watch = watched([">", ask(5, { rounds: 1000 })], ["<", root(5, 0, 1), root(5, 1, 2), done(5, 2, true)]);
	assert.deepEqual(watch.takeGemm(0), factsOfGemm(0, gemm, gemm.seed, roots.slice(0, 2)));
});

test("a challenge that did not fit and was asked again smaller has its last answer; after its receipt it gets no other", () => {
	const watch = watched(
		[">", ask(1, { m: 256 })],
		["<", error(1)],
		[">", ask(2, { m: 256 })],
		["<", ...answer(2)],
		[">", ask(3)],
		["<", ...answer(3)],
	);
	assert.deepEqual(watch.takeGemm(0), right);
	watch.toEngine(ask(4, { seed: bytes(8) }));
	for (const frame of answer(4)) watch.fromEngine(frame);
	assert.equal(watch.takeGemm(0), null);
});

const unsigned: Readonly<Record<string, readonly Passed[]>> = {
	"not answered": [[">", ask(5)]],
	"answered in part": [
		[">", ask(5)],
		["<", root(5, 0, 1)],
	],
	refused: [
		[">", ask(5)],
		["<", root(5, 0, 1), error(5)],
	],
	"without a round": [
		[">", ask(5)],
		["<", done(5, 0, true)],
	],
	"roots out of order": [
		[">", ask(5)],
		["<", root(5, 1, 1), root(5, 0, 2), done(5, 2)],
	],
	"a root twice": [
		[">", ask(5)],
		["<", root(5, 0, 1), root(5, 0, 1), done(5, 2)],
	],
	"more roots than were asked for": [
		[">", ask(5, { rounds: 1 })],
		["<", root(5, 0, 1), root(5, 1, 2), done(5, 2)],
	],
	"another count": [
		[">", ask(5)],
		["<", root(5, 0, 1), done(5, 2)],
	],
	"answered under another id": [
		[">", ask(5)],
		["<", ...answer(6)],
	],
	"answered before it was asked": [
		["<", ...answer(5)],
		[">", ask(5)],
	],
	"roots that the validator sent": [[">", ask(5), ...answer(5)]],
	"a request that the engine sent": [["<", ask(5), ...answer(5)]],
	"a warm-up": [
		[">", ask(5, { session: 0x8000_0001 })],
		["<", ...answer(5)],
	],
	"session 0": [
		[">", ask(5, { session: 0 })],
		["<", ...answer(5)],
	],
	"another kind of work": [
		[
			">",
			encodeRequest(5, {
				kind: "fma",
				session: 1,
				device: 0,
				precision: "fp32",
				lanes: 256,
				steps: 512,
				rounds: 3,
				seed: bytes(1),
			}),
		],
		["<", ...answer(5)],
	],
	"an id used again while it runs": [
		[">", ask(5), ask(5, { seed: bytes(9) })],
		["<", ...answer(5)],
	],
	"an id used again afterwards": [
		[">", ask(5)],
		["<", ...answer(5)],
		[">", ask(5, { seed: bytes(9) })],
	],
	"an id of before": [
		[">", ask(9), encodeRequest(3, { kind: "ping", payload: new Uint8Array(4) })],
		["<", ...answer(9)],
	],
	"a gemm with a byte too many": [
		[">", encodeFrame(KIND.gemm, 5, new Uint8Array(61)), ask(6)],
		["<", ...answer(6)],
	],
	"a frame that is too long": [
		[">", new Uint8Array([255, 255, 255, 255]), ask(5)],
		["<", ...answer(5)],
	],
	"a length of nothing": [
		[">", new Uint8Array(4), ask(5)],
		["<", ...answer(5)],
	],
	"garbage from the engine": [
		[">", ask(5)],
		["<", new Uint8Array(9).fill(255), ...answer(5)],
	],
	"a root of the wrong size": [
		[">", ask(5)],
		["<", encodeFrame(KIND.root, 5, new Uint8Array(35)), ...answer(5)],
	],
	"129 gemms at once": [
		[">", ...Array.from({ length: 129 }, (_, i) => ask(i + 1, { session: i + 1 }))],
		["<", ...answer(1)],
	],
};
for (const [name, said] of Object.entries(unsigned))
	test(`nothing to sign: ${name}`, () => {
		const watch = watched(...said);
		for (let challenge = 0; challenge < 70; challenge++) assert.equal(watch.takeGemm(challenge), null);
	});

test("whatever a validator sends, a receipt is for a request of its own and the roots that followed it", () => {
	const frames = fc.array(
		fc.oneof(
			fc.tuple(fc.constant(">" as const), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 })),
			fc.tuple(fc.constant("root" as const), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 2 })),
			fc.tuple(fc.constant("done" as const), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 3 })),
		),
		{ maxLength: 30 },
	);
	fc.assert(
		fc.property(frames, (said) => {
			const watch = new RunWatch(clock);
			/** By id: every request made with it, and what the engine said after it. */
			const asked = new Map<number, { session: number; seed: Uint8Array; roots: Uint8Array[] }[]>();
			let number = 0;
			for (const [what, id, value] of said) {
				number += 1;
				if (what === ">") {
					const seed = bytes(number);
					asked.set(id, [...(asked.get(id) ?? []), { session: value, seed, roots: [] }]);
					watch.toEngine(ask(id, { session: value, seed }));
				} else if (what === "root") {
					asked
						.get(id)
						?.at(-1)
						?.roots.push(bytes(100 + number));
					watch.fromEngine(root(id, value, 100 + number));
				} else watch.fromEngine(done(id, value));
			}
			for (let challenge = 0; challenge < 3; challenge++) {
				const facts = watch.takeGemm(challenge);
				if (facts === null) continue;
				const fits = [...asked.values()].flat().filter(({ session, seed, roots: seen }) => {
					const expected = factsOfGemm(challenge, gemm, seed, seen.slice(0, facts.rounds));
					return session === challenge + 1 && JSON.stringify(expected) === JSON.stringify(facts);
				});
				assert.equal(fits.length, 1);
			}
		}),
		{ numRuns: scaled(500) },
	);
});
