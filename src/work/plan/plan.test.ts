// Plans of proofs: what a small MLP's is, that no operator of it can be another, and what else is refused by
// which name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn } from "../builder/samples.test-kit.ts";
import { exactMlpProgram } from "../models/exact-mlp.ts";
import { gptProgram } from "../models/gpt.ts";
import { mlpProgram } from "../models/mlp.ts";
import type { OrderedSchedule } from "../models/order.ts";
import { SEED } from "../models/training.test-kit.ts";
import { encodeProgram } from "../program/encode.ts";
import { openProgram } from "../program/open-program.ts";
import type { Op, Program } from "../program/shapes.ts";
import { compilePlan, type ZkPlan } from "./compile-plan.ts";
import { provingPlan } from "./proving-plan.ts";

const SCHEDULE: OrderedSchedule = { batch: 8, steps: 64, k: 4, seed: SEED, order: "cube" };
const ADAMW = { kind: "adamw", rate: 0.02, warmup: 2, floor: 0.1, beta1: 0.9, beta2: 0.99, decay: 0.1 } as const;
const samples = (rows: number, inputs: number) => ({
	features: drawn("i16", [rows, inputs], -4096, 4096, 4) as Int16Array,
	labels: Int16Array.from({ length: rows }, (_, i) => i % 3),
});
const exact = (schedule: Partial<OrderedSchedule> = {}, sizes = [6, 5, 3], shift = 7, rows = 64): Program =>
	exactMlpProgram(sizes, { ...SCHEDULE, ...schedule }, shift, samples(rows, sizes[0]!)).program;
const refused = (program: Program) => {
	const found = compilePlan(program);
	return "code" in found ? found : null;
};

test("a job has no more segments than its epochs", () => {
	// Eight epochs of two segments, and segment 0.
	assert.equal("code" in provingPlan(exact(), 17), false);
	const more = provingPlan(exact(), 18);
	assert.equal("code" in more && more.message, "its 8 epochs have 17 segments, and it is to have 18");
});

test("the plan of a small MLP", () => {
	const plan = compilePlan(exact()) as ZkPlan;
	assert.deepEqual(
		[plan.steps, plan.batch, plan.rowBits, plan.epochs, plan.scale, plan.lowBits, plan.chunkBits],
		[4, 8, 6, 8, 27, 14, 16],
	);
	assert.deepEqual(plan.links, [
		{ inputs: 6, outputs: 5, inputBits: 3, outputBits: 3 },
		{ inputs: 5, outputs: 3, inputBits: 3, outputBits: 2 },
	]);
	const bits = (column: string) => plan.blocks.filter((one) => one.column === column).map((one) => one.bits);
	assert.deepEqual(["h", "a", "d", "limb0", "biasHelper"].map(bits), [[8, 7], [8], [8, 7], [6, 5], [5]]);
	for (const c of [undefined, 4, 8, 14]) placesFit(compilePlan(exact(), c) as ZkPlan);
	// Weights of three chunks, which take the room of four.
	const uneven = compilePlan(exact({}, [8, 4, 4]), 4) as ZkPlan;
	assert.deepEqual(
		uneven.groups.slice(2, 4).map(({ chunks, bits: size }) => [chunks, size]),
		[
			[3, 6],
			[3, 6],
		],
	);
	placesFit(uneven);
});

/**
 * No two blocks overlap, each stands at a multiple of its size and inside its group, and each group at a
 * multiple of its own.
 */
function placesFit({ blocks, groups, chunkBits, bits }: ZkPlan): void {
	let end = 0;
	for (const group of groups.toSorted((a, b) => a.firstChunk - b.firstChunk)) {
		const at = group.firstChunk * 2 ** chunkBits;
		assert.ok(at >= end && at % 2 ** group.bits === 0);
		end = at + 2 ** group.bits;
		const own = blocks.filter((one) => one.at >= at && one.at < end).toSorted((a, b) => a.at - b.at);
		let next = at;
		for (const block of own) {
			assert.equal(block.at, next);
			assert.equal(block.at % 2 ** block.bits, 0);
			next += 2 ** block.bits;
		}
		assert.ok(next <= at + group.chunks * 2 ** chunkBits && own.length > 0);
	}
	assert.ok(end <= 2 ** bits);
}

test("a program from its bytes has the same plan, another program another one", () => {
	const program = exact();
	const opened = openProgram(encodeProgram(program));
	assert.ok(opened.ok);
	assert.deepEqual(compilePlan(opened.value.program), compilePlan(program));
	const root = (one: Program) => (compilePlan(one) as ZkPlan).programRoot;
	assert.equal(
		new Set([exact(), exact({}, [6, 5, 3], 6), exact({}, [6, 7, 3]), exact({ k: 2 }), exact({ steps: 128 })].map(root))
			.size,
		5,
	);
});

test("whatever operator is another, it is named", () => {
	const program = exact();
	for (const phase of ["init", "step"] as const)
		for (const [i, op] of program[phase].entries()) {
			const other: Op = { ...op, output: { ...op.output, hi: op.output.hi + 1n } };
			const found = refused({ ...program, [phase]: program[phase].with(i, other) });
			assert.deepEqual([found?.phase, found?.op], [phase, i]);
			assert.match(found!.message, new RegExp(`%${i} of ${phase} \\(${op.operator}`));
		}
	// Each instruction of each map by another number, or left out.
	for (const [i, op] of program.step.entries())
		if (op.operator === "map")
			for (const at of op.code.before.keys()) {
				const less: Op = { ...op, code: { ...op.code, before: op.code.before.toSpliced(at, 1) } };
				assert.equal(refused({ ...program, step: program.step.with(i, less) })?.op, i);
			}
	assert.match(refused({ ...program, step: program.step.slice(0, -1) })!.message, /ends before/);
	assert.equal(refused({ ...program, step: [...program.step, program.step[0]!] })?.op, program.step.length);
	for (const [i, tensor] of program.tensors.entries())
		assert.notEqual(
			refused({ ...program, tensors: program.tensors.with(i, { ...tensor, lo: tensor.lo - 1n }) }),
			null,
			tensor.name,
		);
	assert.notEqual(refused({ ...program, tensors: [...program.tensors, program.tensors[0]!] }), null);
	assert.equal(refused({ ...program, k: program.k / 2 })?.op, 0);
});

test("other models, orders and sizes are refused by name", () => {
	const text = Int16Array.from(new TextEncoder().encode("the quick brown fox ".repeat(8)));
	const gpt = gptProgram(
		{ layers: 1, width: 16, heads: 2, context: 8, vocabulary: 128 },
		{ ...SCHEDULE, batch: 4 },
		ADAMW,
		text,
	);
	assert.match(refused(gpt.program)!.message, /%\d+ of step \((reduce max|scatter_add)\) has no proof yet/);
	assert.match(
		refused(mlpProgram([6, 5, 3], SCHEDULE, ADAMW, samples(64, 6)).program)!.message,
		/%\d+ of (init|step) \(/,
	);
	assert.match(refused(exact({ order: "affine" }))!.message, /%0 of step \(map\) is not what exact SGD does there/);
	assert.match(refused(exact({ k: 3 }))!.message, /3 steps of a segment: a proof wants a power of two/);
	assert.match(refused(exact({ batch: 6 }))!.message, /6 batch/);
	assert.match(
		refused(exact({ batch: 16 }))!.message,
		/64 rows a segment: weights of 32 bits could leave .* at most 32 can be proven, and more with weightBits 64/,
	);
	const wide = (k: number, rows: number) =>
		exactMlpProgram([6, 5, 3], { ...SCHEDULE, batch: 64, k, steps: 2 * k }, 7, samples(rows, 6), 64).program;
	const plan = compilePlan(wide(32, 2 ** 11)) as ZkPlan;
	assert.deepEqual([plan.steps * plan.batch, plan.limbs, plan.weightBits], [2048, [13, 13, 13], 64]);
	placesFit(plan);
	assert.equal((compilePlan(wide(128, 2 ** 13)) as ZkPlan).steps, 128);
	assert.match(
		refused(wide(256, 2 ** 14))!.message,
		/16384 rows a segment: weights of 64 bits .* at most 8192 can be proven$/,
	);
	assert.match(refused(exact({ batch: 16, k: 2 }, [6, 5, 3], 7, 16))!.message, /do not divide an epoch of 16/);
	assert.match(refused(exact({}, [6, 5, 3], 21))!.message, /lose 41 bits/);
	assert.match(refused({ k: 1, tensors: [], init: [], step: [] })!.message, /no steps/);
});
