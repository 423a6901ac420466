// The engine's prover against the reference one, byte for byte, on random plans; and what it refuses.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GIVEN } from "../../src/engine/client/open-prove-session.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { bigOf, R } from "../../src/protocol/maths/bn254.ts";
import { PLAN, STARTS } from "../../src/verify/zk/run/run.test-kit.ts";
import { verifyRun } from "../../src/verify/zk/run/verify-run.ts";
import { devCommit, drawnStart, planFor, shapeOf, startOf, TOLD } from "../../src/verify/zk/segment.test-kit.ts";
import { verifySegment } from "../../src/verify/zk/verify-segment.ts";
import { encodePlan } from "../../src/work/plan/encode-plan.ts";
import { word } from "../../vectors/naive-bn254.ts";
import { leftRange, runSegment, type Shape, type Window } from "../../vectors/naive-plan.ts";
import { proveRun } from "../../vectors/naive-run.ts";
import { SegmentProver, statementHash } from "../../vectors/naive-segment.ts";
import { numbers } from "../../vectors/rows.ts";
import { isDeep, seed } from "../fuzz.test-kit.ts";
import { engineProof, giveData, giveWeights, littleEndian, startProver } from "./engine-prover.test-kit.ts";
import { drawnSegment } from "./random-plans.test-kit.ts";

const PLANS = isDeep ? 300 : 4;
const { open, close } = await startProver();
after(close);

const scalarOf = (bytes: Uint8Array) => bigOf(bytes) % R;
const RUN_SHAPE = shapeOf({ epochs: 8 });
const state = (i: number): string => i.toString(16).padStart(64, "0");
const RUN_TOLD = STARTS.map((_, i) => ({ ...TOLD, stateBefore: state(i), stateAfter: state(i + 1) }));
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const refusal = async (promise: Promise<unknown>): Promise<string> => {
	const error = await promise.then(
		() => null,
		(thrown: unknown) => thrown,
	);
	return error instanceof AssayError ? `${error.code} ${error.message}` : `none: ${error}`;
};

test(`${PLANS} random plans: points and proofs are those of the reference prover`, async () => {
	let links = 0;
	for (let i = 0; i < PLANS; i++) {
		const name = `plan ${isDeep ? seed : 0} ${i}`;
		const { shape, start } = drawnSegment(name);
		const prover = new SegmentProver(shape, start, devCommit);
		const { statement, proof } = prover.prove(TOLD);
		// Weights come as 32 bits, or as 64.
		const plan = planFor(shape, i % 2 === 0 ? 32 : 64);
		const made = await engineProof(open, plan, start, hex(statementHash(statement)));
		const { featurePoints, labelPoints, pointsBefore, pointsAfter } = statement;
		const points = [featurePoints, labelPoints, pointsBefore, pointsAfter].flat().join("");
		assert.equal(hex(made.points), points, name);
		assert.equal(hex(made.proof), hex(proof), name);
		if (i === 0) assert.equal(verifySegment(plan, statement, made.proof, { isDevAllowed: true }).status, "valid");
		links = Math.max(links, shape.sizes.length - 1);
	}
	assert.ok(links > 1);
});

/**
 * Of convolutions one after the other, and of softmax; chunks that are smaller than the lists, and larger.
 */
function wideShapes(): readonly Shape[] {
	const [wide, draw] = [{ limbs: [5, 5, 5], d: 8 } as const, numbers(`wide ${isDeep ? seed : 0}`)];
	return Array.from({ length: isDeep ? 60 : 3 }, (_, i) => {
		const windows: Window[] = [];
		const sizes: number[] = [];
		let [channels, height, width] = [1 + draw(2), 2 + draw(3), 2 + draw(3)];
		for (let link = 0; link < 2 - (i % 3 === 2 ? 2 : draw(2)); link++) {
			const size = 1 + draw(Math.min(3, height, width));
			const window = { channels, height, width, size, stride: 1 + draw(2), pad: draw(size) };
			const along = (length: number) => Math.floor((length + 2 * window.pad - size) / window.stride) + 1;
			sizes.push(channels * height * width);
			windows.push(window);
			[channels, height, width] = [2 ** draw(2), along(height), along(width)];
		}
		const all = [...sizes, channels * height * width, 2 + draw(3)];
		const shape = { sizes: all, windows: [...windows, null], batch: 2 ** draw(2), steps: 2 ** draw(2), ...wide };
		return shapeOf({ ...shape, chunkBits: [8, 12][i % 2]!, ...(i % 3 === 0 ? {} : { quotient: 6 + draw(3) }) });
	});
}

test("plans with convolutions and softmax: points and proofs are those of the reference prover", async () => {
	let proven = 0;
	for (const [i, shape] of wideShapes().entries()) {
		const start = { ...drawnStart(shape, `wide ${i}`, 6), firstStep: 0 };
		if (leftRange(shape, runSegment(shape, start)) !== null) continue;
		const { statement, proof } = new SegmentProver(shape, start, devCommit).prove(TOLD);
		const plan = planFor(shape, i % 2 === 0 ? 32 : 64);
		const made = await engineProof(open, plan, start, hex(statementHash(statement)));
		const { featurePoints, labelPoints, pointsBefore, pointsAfter } = statement;
		assert.equal(hex(made.points), [featurePoints, labelPoints, pointsBefore, pointsAfter].flat().join(""));
		assert.equal(hex(made.proof), hex(proof), JSON.stringify(shape));
		if (i < 2) assert.equal(verifySegment(plan, statement, made.proof, { isDevAllowed: true }).status, "valid");
		proven += 1;
	}
	assert.ok(proven > 1);
});

test("plans with windows that fit nowhere, or say nothing, are refused", async () => {
	const window = { channels: 1, height: 3, width: 3, size: 2, stride: 1, pad: 0 };
	const plan = planFor(shapeOf({ sizes: [9, 8, 2], windows: [window, null] }));
	const told = encodePlan(plan, true);
	const at = told.length - 4 * 12;
	const changes: Readonly<Record<string, readonly [number, number]>> = {
		"a window that fits nowhere": [3, 60],
		"a window over another picture": [1, 4],
		"a window out of range": [4, 0],
		"a quotient out of range": [-1, 1],
		"another version": [0, 0],
		"a convolution after a plain link": [6, 1],
	};
	for (const [why, [place, value]] of Object.entries(changes)) {
		const other = told.slice();
		new DataView(other.buffer).setUint32(at + 4 * place, value, true);
		const all = place === 6 ? { device: 0, plan: lastWindow(other, at) } : { device: 0, plan: other };
		assert.match(await refusal(open(all)), new RegExp(why), why);
	}
	assert.match(await refusal(open({ device: 0, plan: told.subarray(0, -4) })), /another length/);
});

/** The first window is the last link's. */
function lastWindow(plan: Uint8Array, at: number): Uint8Array {
	const window = plan.slice(at, at + 24);
	const other = plan.slice();
	other.fill(0, at, at + 24);
	other.set(window, at + 24);
	return other;
}

/** What hides a run, as the engine has it from nonces, blinders and a secret. */
function hidingOf(chunks: readonly number[], isHidden: boolean) {
	const draw = (what: string) => (isHidden ? scalarOf(keccak(Buffer.from(what))) : 0n);
	const secret = isHidden ? Buffer.from(keccak(Buffer.from("secret"))) : Buffer.alloc(32);
	const place = (i: number) => Buffer.from(Uint8Array.of(i >> 24, i >> 16, i >> 8, i));
	const segments = STARTS.map((_, j) => ({
		nonce: draw(`nonce ${j}`),
		// Weights that one segment ends and the next begins with have the same commitments.
		blinder: (group: number, chunk: number) =>
			draw(group < 2 ? `${group} ${chunk}` : group < 4 ? `w ${j + group} ${chunk}` : `${j} ${group} ${chunk}`),
	}));
	const mask = Array.from({ length: 2 ** PLAN.chunkBits + 1 }, (_, i) =>
		isHidden ? scalarOf(keccak(Buffer.concat([secret, place(i)]))) : 0n,
	);
	const blinders = segments.map(({ blinder }) =>
		Buffer.concat(chunks.flatMap((count, g) => Array.from({ length: count }, (_, i) => word(blinder(g, i))))),
	);
	return { segments, mask, secret, blinders };
}

for (const isHidden of [false, true])
	test(`a run's segments, ${isHidden ? "hidden and " : ""}folded: the proof is that of the reference prover`, async () => {
		const chunks = PLAN.groups.map((one) => one.chunks);
		const hiding = hidingOf(chunks, isHidden);
		const { statements, proof } = proveRun(RUN_SHAPE, STARTS, RUN_TOLD, devCommit, {}, hiding);
		const session = await open({ device: 0, plan: encodePlan(PLAN, true) });
		const { secret } = hiding;
		await giveData(session, STARTS[0]!);
		assert.match(await refusal(session.fold({ secret })), /PART comes before FOLD/);
		const parts: Uint8Array[] = [];
		for (const [i, start] of STARTS.entries()) {
			const part = { statement: statementHash(statements[i]!), nonce: word(hiding.segments[i]!.nonce) };
			await giveWeights(session, PLAN, start);
			if (isHidden) await session.give(GIVEN.weights + PLAN.links.length, hiding.blinders[i]!);
			assert.match(await refusal(session.provePart(part)), /COMMIT comes before PART/);
			await session.commit(start);
			assert.match(await refusal(session.provePart({ ...part, nonce: new Uint8Array(32).fill(255) })), /no scalar/);
			// A proof of its own changes nothing of what comes after it, and holds: what hides is no part of a
			// value.
			const own = (await session.prove(part))!;
			assert.equal(verifySegment(PLAN, statements[i]!, own, { isDevAllowed: true }).status, "valid");
			parts.push((await session.provePart(part))!);
		}
		const made = Buffer.concat([...parts, (await session.fold({ secret }))!]);
		assert.equal(hex(made), hex(proof));
		assert.equal(verifyRun(PLAN, statements, made, { isDevAllowed: true }).status, "valid");
		// What was folded is forgotten.
		assert.match(await refusal(session.fold({ secret })), /PART comes before FOLD/);
		assert.match(await refusal(session.commit(STARTS[0]!)), /was not given whole/);
		await session.release();
	});

test("a run in which a value leaves its range has no proof, and where is said", async () => {
	const shape = shapeOf();
	const start = startOf(shape, "honest");
	const weights = start.weights.with(0, [...start.weights[0]!].with(1, [200n, 200n, 200n]));
	const features = start.features.map((row) => row.map(() => 3n));
	const said = await refusal(engineProof(open, planFor(shape), { ...start, features, weights }, "00".repeat(32)));
	assert.match(said, /^TENSOR_RANGE no proof: a sum of link 0 left its range in step 0 of the segment/);
});

test("what is not given whole, in order and in range is refused", async () => {
	const shape = shapeOf();
	const plan = planFor(shape);
	const session = await open({ device: 0, plan: encodePlan(plan, true) });
	const bytes = (count: number, type: "i16" | "i32", value = 0) => littleEndian(Array(count).fill(value), type);
	const seed = new Uint8Array(32);
	assert.match(await refusal(session.commit({ seed, firstStep: 0 })), /^TENSOR_SIZE number 0 was not given whole/);
	assert.match(await refusal(session.prove({ statement: seed })), /COMMIT comes before PROVE/);
	assert.match(await refusal(session.give(GIVEN.features, bytes(25, "i16"))), /^TENSOR_SIZE/);
	assert.match(await refusal(session.give(GIVEN.features, bytes(24, "i16", 8))), /^TENSOR_RANGE/);
	assert.match(await refusal(session.give(GIVEN.labels, bytes(8, "i32", 2))), /^TENSOR_RANGE a label/);
	assert.match(await refusal(session.give(GIVEN.labels, bytes(8, "i32", -1))), /^TENSOR_RANGE a label/);
	assert.match(await refusal(session.give(GIVEN.weights + 3, bytes(1, "i32"))), /nothing of number 6/);
	const [blinders, wrong] = [GIVEN.weights + 2, new Uint8Array(64).fill(255, 32)];
	assert.match(await refusal(session.give(blinders, wrong)), /^TENSOR_RANGE a blinder is no scalar/);
	assert.match(await refusal(session.give(GIVEN.powers, new Uint8Array(64))), /are made, not given/);
	await session.give(GIVEN.features, bytes(24, "i16"));
	await session.give(GIVEN.labels, bytes(8, "i32"));
	assert.match(await refusal(session.give(GIVEN.labels, bytes(8, "i32"))), /^TENSOR_SIZE/);
	for (const l of [0, 1]) await session.give(GIVEN.weights + l, bytes(l === 0 ? 9 : 6, "i32"));
	assert.match(await refusal(session.commit({ seed, firstStep: 1 })), /no segment begins with step 1/);
	const points = await session.commit({ seed, firstStep: 0 });
	assert.equal(points?.length, 64 * plan.groups.slice(0, 4).reduce((sum, { chunks }) => sum + chunks, 0));
	// Stopped, or done before the word came; and then it goes on as if nothing had been.
	const stopped = await session.commit({ seed, firstStep: 0, signal: AbortSignal.abort() });
	assert.ok(stopped === null || hex(stopped) === hex(points!));
	assert.equal(hex((await session.commit({ seed, firstStep: 0 }))!), hex(points!));
	// Of blinders all or none.
	await session.give(blinders, wrong.subarray(0, 32));
	assert.match(await refusal(session.commit({ seed, firstStep: 0 })), /^TENSOR_SIZE number 5 was not given whole/);
	await session.release();
	const real = await open({ device: 0, plan: encodePlan(plan, false) });
	assert.match(await refusal(real.give(GIVEN.powers, new Uint8Array(64).fill(1))), /power 0 is no point of the curve/);
	assert.match(await refusal(real.give(GIVEN.powers, new Uint8Array(64))), /power 0 is no point of the curve/);
	await real.release();
	const wide = await open({ device: 0, plan: encodePlan(planFor(shape, 64), true) });
	for (const weight of [2 ** 39, -(2 ** 39)])
		assert.match(
			await refusal(wide.give(GIVEN.weights, littleEndian(Array(9).fill(weight), "i64"))),
			/^TENSOR_RANGE a weight is outside its range/,
		);
	await wide.give(GIVEN.weights, littleEndian(Array(9).fill(2 ** 39 - 1), "i64"));
	await wide.release();
});

test("plans that nobody could prove are refused before memory is taken", async () => {
	const shape = shapeOf();
	const good = encodePlan(planFor(shape), true);
	const changed = (at: number, value: number) => {
		const bytes = good.slice();
		new DataView(bytes.buffer).setUint32(4 * at, value, true);
		return bytes;
	};
	const wrong = [
		...[changed(0, 2), changed(1, 7), changed(1, 26), changed(2, 17), changed(4, 27), changed(4, 1), changed(5, 1)],
		...[changed(5, 37), changed(6, 17), changed(7, 21), changed(8, 4), changed(9, 2 ** 32 - 1), changed(10, 0)],
		...[changed(13, 2), changed(14, 2), changed(15, 0), changed(15, 3), changed(15, 65), changed(16, 0)],
		...[changed(17, 65537), good.subarray(4), good.subarray(0, 40)],
	];
	for (const [i, plan] of wrong.entries())
		assert.match(await refusal(open({ device: 0, plan })), /the plan of the proof has/, `${i}`);
	// Everything within its own limit, too much together.
	const large = changed(16, 65536);
	new DataView(large.buffer).setUint32(4 * 17, 65536, true);
	assert.match(await refusal(open({ device: 0, plan: large })), /the plan of the proof has|DEVICE_NO_ROOM/);
});
