// What tensors are at the point of a proof: the engine says what TypeScript says, of every type and reading;
// and one changed number among millions is another answer. ASSAY_VALUES sets how many there are (67108864 is
// what docs/zk.md §6 measures).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { R } from "../../src/protocol/maths/bn254.ts";
import { buildProgram } from "../../src/work/builder/build-program.ts";
import { at, constant } from "../../src/work/builder/expression.ts";
import { bytesToElements, type TensorType } from "../../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { evaluateTensor, type TensorQuestion } from "../../src/work/trace/evaluate-tensor.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { fc, scaled } from "../fuzz.test-kit.ts";
import { startProver } from "./engine-prover.test-kit.ts";

const { openWork, close } = await startProver();
after(close);

const MOST = { i8: 2 ** 7 - 1, i16: 2 ** 15 - 1, i32: 2 ** 31 - 1, i64: 2 ** 52 } as const;
const WIDTH = { i8: 1, i16: 2, i32: 4, i64: 8 } as const;
const bitsFor = (n: number) => Math.ceil(Math.log2(n));

/** A program that takes one tensor of numbers and does next to nothing with it. */
async function holding(type: TensorType, count: number, lo: number, hi: number) {
	const b = buildProgram();
	const numbers = b.tensor("input", "numbers", type, [count], lo, hi);
	const first = b.tensor("result", "first", type, [1], lo, hi);
	b.step.map([1], (i) => at(numbers, i!).add(constant(0)), { to: first });
	return openWork({ device: 0, program: encodeProgram(b.program()), seed: new Uint8Array(32) });
}

const scalar = fc.bigInt({ min: 0n, max: R - 1n });
const question = fc
	.record({
		type: fc.constantFrom<TensorType>("i8", "i16", "i32", "i64"),
		reading: fc.constantFrom<TensorQuestion["reading"]>("numbers", "entering", "classes"),
		rows: fc.integer({ min: 1, max: 40 }),
		columns: fc.integer({ min: 1, max: 40 }),
		shift: fc.integer({ min: 1, max: 7 }),
		point: fc.array(scalar, { minLength: 16, maxLength: 16 }),
		numbers: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
			minLength: 1600,
			maxLength: 1600,
			size: "max",
		}),
	})
	.map(({ type, reading, rows, columns, shift, point, numbers }) => {
		const isClasses = reading === "classes";
		const width = isClasses ? 1 : columns;
		const classBits = bitsFor(columns);
		const count = rows * width;
		const [lo, hi] = isClasses ? [0, columns - 1] : [-MOST[type], MOST[type]];
		const drawn = numbers.slice(0, count).map((one) => Math.floor(lo + one * (hi - lo + 1)));
		const bits = bitsFor(rows) + (isClasses ? classBits : bitsFor(columns));
		const asked: TensorQuestion = {
			...{ reading, columns: width, shift: reading === "entering" ? shift : 0 },
			...{ add: reading === "numbers" ? 0 : 256, most: reading === "entering" ? 2047 : 0, point: point.slice(0, bits) },
		};
		return { type, lo, hi, drawn, asked };
	});

test("an engine evaluates tensors of every type and reading as TypeScript does", async () => {
	await fc.assert(
		fc.asyncProperty(question, async ({ type, lo, hi, drawn, asked }) => {
			const bytes = new Uint8Array(drawn.length * WIDTH[type]);
			const view = new DataView(bytes.buffer);
			for (const [i, one] of drawn.entries())
				if (type === "i64") view.setBigInt64(8 * i, BigInt(one), true);
				else if (type === "i32") view.setInt32(4 * i, one, true);
				else if (type === "i16") view.setInt16(2 * i, one, true);
				else view.setInt8(i, one);
			const elements = bytesToElements(bytes, type, drawn.length)!;
			const session = await holding(type, drawn.length, lo, hi);
			try {
				await session.write(0, bytes);
				assert.equal(await session.evaluate(0, asked), evaluateTensor(asked, elements));
				assert.deepEqual(await session.root(0), tensorRoot(elements));
			} finally {
				await session.release();
			}
		}),
		{ numRuns: scaled(40) },
	);
});

test("points and classes that do not fit are refused", async () => {
	const session = await holding("i16", 12, -5, 5);
	const asked: TensorQuestion = { reading: "numbers", columns: 3, shift: 0, add: 0, most: 0, point: [1n, 2n, 3n, 4n] };
	const refused = (change: Partial<TensorQuestion>) =>
		assert.rejects(session.evaluate(0, { ...asked, ...change }), (error: unknown) => error instanceof AssayError);
	await refused({});
	await session.write(0, new Uint8Array(new Int16Array(12).fill(-5).buffer));
	await session.evaluate(0, asked);
	await refused({ point: [1n, 2n, 3n] });
	await refused({ columns: 5 });
	await refused({ columns: 0 });
	await refused({ point: [1n, 2n, 3n, R] });
	await refused({ reading: "classes", columns: 1, add: 1, point: [1n, 2n, 3n, 4n, 5n] });
	await session.release();
});

test("one changed number is another value, wherever it is", async (t) => {
	const count = Number(process.env.ASSAY_VALUES ?? 2 ** 18);
	const session = await holding("i16", count, -(2 ** 15), 2 ** 15 - 1);
	const bytes = new Uint8Array(2 * count);
	for (let at = 0; at < bytes.length; at += 2 ** 16) bytes.set(randomBytes(Math.min(2 ** 16, bytes.length - at)), at);
	const point = Array.from({ length: bitsFor(count) }, () => BigInt(`0x${randomBytes(32).toString("hex")}`) % R);
	const asked: TensorQuestion = { reading: "numbers", columns: 1, shift: 0, add: 0, most: 0, point };
	await session.write(0, bytes);
	const started = performance.now();
	const root = await session.root(0);
	const hashed = performance.now();
	const honest = await session.evaluate(0, asked);
	t.diagnostic(
		`${count} values: root ${Math.round(hashed - started)} ms, value ${Math.round(performance.now() - hashed)} ms`,
	);
	const tries = count > 2 ** 20 ? 100 : 10;
	for (let i = 0; i < tries; i++) {
		const place = 2 * (randomBytes(4).readUInt32LE() % count);
		const changed = bytes.slice(place, place + 2).map((byte, j) => (j === 0 ? byte ^ 1 : byte));
		await session.write(0, changed, place);
		assert.notEqual(await session.evaluate(0, asked), honest);
		if (i === 0) assert.notDeepEqual(await session.root(0), root);
		await session.write(0, bytes.slice(place, place + 2), place);
	}
	assert.equal(await session.evaluate(0, asked), honest);
	await session.release();
});
