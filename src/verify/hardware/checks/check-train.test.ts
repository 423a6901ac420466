// A training run's answer: an honest one passes; whoever changes an element of a drawn segment, jumps to
// states made before, or shows other leaves is found.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tagged } from "../../../protocol/hash/tagged-hash.ts";
import type { TrainSpec } from "../../../protocol/probe/evidence.ts";
import type { OpeningRecord } from "../../../protocol/probe/records.ts";
import type { Answered } from "../answers.ts";
import type { ProbeSeeds } from "../probe-seeds.ts";
import { type Change, type TrainAnswer, toyTraining } from "../training/toy-trainer.test-kit.ts";
import { checkTrain } from "./check-train.ts";

const SPEC: TrainSpec = {
	kind: "train",
	device: 0,
	layers: 1,
	width: 16,
	heads: 2,
	context: 8,
	batch: 1,
	rounds: 3,
	draws: 2,
	samples: 1,
};
const SEED = new Uint8Array(32).fill(5);
const openSeed = (last: Uint8Array): Uint8Array => tagged("assay/open/1", SEED, last);

function seedsOf(roots: readonly Uint8Array[], first: Uint8Array = SEED): ProbeSeeds {
	return { first: () => first, open: () => openSeed(roots.at(-1)!), chain: () => [] };
}

function answerOf({ roots, trace, leaves }: TrainAnswer): Answered {
	const times = { sentAtUs: 0, receivedAtUs: 0, attachment: 0, end: "complete" as const };
	const open = (what: "trace" | "leaves", openings: readonly OpeningRecord[]) => ({
		record: { what, ...times },
		where: what,
		openings,
	});
	return {
		index: 0,
		where: "challenges[0]",
		record: { spec: SPEC, stage: 0, attempt: 0, sentAtUs: 0, roots: 0, end: "complete", opens: [] },
		roots: roots.map((root, index) => ({ index, atUs: index, root })),
		opens: [open("trace", trace), open("leaves", leaves)],
		ownUs: 1,
		workUs: 1,
	};
}

const judged = (answer: TrainAnswer, first?: Uint8Array) =>
	checkTrain(answerOf(answer), SPEC, seedsOf(answer.roots, first))?.code ?? null;

const honest = toyTraining(SPEC, SEED, openSeed);

test("an honest run passes, and every op of the drawn steps was looked at", () => {
	assert.equal(judged(honest), null);
	assert.equal(honest.roots.length, SPEC.rounds + 1);
	assert.ok(honest.leaves.length > 2 * 197);
});

test("a run under another seed proves nothing under this one", () => {
	const other = new Uint8Array(32).fill(6);
	const before = toyTraining(SPEC, other, openSeed);
	assert.equal(judged(before, other), null);
	// Its first state is not that of this seed.
	assert.equal(judged(before), "ELEMENT_WRONG");
});

test("an output that is wrong everywhere is found in whichever op it is", () => {
	for (const op of [0, 5, 40, 100, 150, 190]) {
		const change: Change = (segment, number, output) => {
			if (segment === 0 || number !== op) return;
			for (let i = 0; i < output.length; i++)
				if (output instanceof BigInt64Array) output[i] = output[i]! ^ 1n;
				else output[i] = output[i]! ^ 1;
		};
		assert.equal(judged(toyTraining(SPEC, SEED, openSeed, change)), "ELEMENT_WRONG", `op ${op}`);
	}
});

test("states that do not follow from each other are found when their segment is drawn", () => {
	// All states of another run but the first: every step saw other samples.
	const other = toyTraining(SPEC, new Uint8Array(32).fill(6), openSeed);
	const roots = honest.roots.map((root, i) => (i === 0 ? root : other.roots[i]!));
	assert.equal(judged({ ...honest, roots }), "TRACE_WRONG");
});

test("records that are cut, changed, moved, left out or added are refused", () => {
	const { trace, leaves } = honest;
	const flipped = (record: OpeningRecord): OpeningRecord => ({
		...record,
		leaf: record.leaf.map((byte, i) => (i === 9 ? byte ^ 1 : byte)),
	});
	const at = <T>(list: readonly T[], i: number, change: (one: T) => T) => list.with(i, change(list[i]!));
	const cases: readonly [string, Partial<TrainAnswer>][] = [
		["TRACE_WRONG", { trace: trace.slice(1) }],
		["TRACE_WRONG", { trace: [...trace, trace[0]!] }],
		["TRACE_WRONG", { trace: at(trace, 0, (one) => ({ ...one, leaf: one.leaf.subarray(32) })) }],
		["TRACE_WRONG", { trace: at(trace, 0, (one) => ({ ...one, path: [one.leaf.subarray(0, 32)] })) }],
		["TRACE_WRONG", { trace: at(trace, 1, (one) => ({ ...one, round: one.round ^ 1 })) }],
		["TRACE_WRONG", { trace: at(trace, 1, flipped) }],
		["OPENINGS_MISSING", { leaves: leaves.slice(0, -1) }],
		["OPENINGS_SURPLUS", { leaves: [...leaves, leaves[0]!] }],
		["OPENING_PLACE", { leaves: at(leaves, 3, (one) => ({ ...one, index: one.index + 1 })) }],
		["OPENING_PLACE", { leaves: at(leaves, 3, (one) => ({ ...one, round: one.round + 1 })) }],
		["ROOT_MISMATCH", { leaves: at(leaves, 3, flipped) }],
		["LEAF_LENGTH", { leaves: at(leaves, 3, (one) => ({ ...one, leaf: one.leaf.subarray(1) })) }],
	];
	for (const [code, change] of cases) assert.equal(judged({ ...honest, ...change }), code);
});
