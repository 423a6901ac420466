// Each instruction against the golden values; the block's plain numbers against the definition; intervals
// against the golden ones, and against values drawn from them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { vectorRows } from "../../protocol/vectors.test-kit.ts";
import { arithmeticInterval } from "../program/intervals.ts";
import { blockArithmetic, isBitwise } from "./block-arithmetic.ts";
import { evaluate } from "./evaluate.ts";
import { type Arithmetic, INSTRUCTIONS } from "./instruction.ts";
import { I64, type Interval } from "./tensor-type.ts";

interface ValueRow {
	readonly instruction: Arithmetic["op"];
	readonly bits: number;
	readonly a: string;
	readonly b: string;
	readonly c: string;
	readonly value: string;
}
type IntervalRow = Readonly<
	Record<"a1" | "a2" | "b1" | "b2" | "c1" | "c2" | "lo" | "hi" | "refused", string | undefined>
> & {
	readonly instruction: Arithmetic["op"];
	readonly bits: number;
	readonly square: number;
};

const ARITHMETIC = INSTRUCTIONS.slice(7).map(([name]) => name as Arithmetic["op"]);
const SHIFTS: readonly string[] = ["shl", "shr", "rsh"];

/** In plain numbers, where all of them are below 2^53. */
function inBlock(op: Arithmetic["op"], bits: number, values: readonly bigint[]): number {
	const [a, b, c] = values.map((value) => Float64Array.of(Number(value))) as [Float64Array, Float64Array, Float64Array];
	const out = new Float64Array(1);
	blockArithmetic({ op } as Arithmetic, bits, [a, b, c], out, 1);
	return out[0]!;
}
const isSafe = (value: bigint, op: string) => {
	const bound = isBitwise(op) ? 2n ** 31n : 2n ** 53n;
	return value > -bound && value < bound;
};

test("every instruction gives the golden values", () => {
	const rows = vectorRows<ValueRow>("work-instructions");
	assert.deepEqual([...new Set(rows.map(({ instruction }) => instruction))], ARITHMETIC);
	for (const { instruction, bits, a, b, c, value } of rows)
		assert.equal(
			evaluate(instruction, bits, BigInt(a), BigInt(b), BigInt(c)),
			BigInt(value),
			`${instruction} ${a} ${b} ${c}`,
		);
});

test("plain numbers give what the definition gives, up to their ends", () => {
	const near = (power: bigint) => [power - 1n, power, power + 1n, -power + 1n, -power, -power - 1n];
	const ends = [
		0n,
		1n,
		-1n,
		2n,
		3n,
		-3n,
		...[7n, 26n, 31n, 32n, 33n, 51n, 52n].flatMap((bits) => near(2n ** bits)),
		2n ** 53n - 1n,
		1n - 2n ** 53n,
	];
	let compared = 0;
	for (const op of ARITHMETIC)
		for (const bits of SHIFTS.includes(op) ? [1, 2, 26, 52, 53, 61, 62] : [0])
			for (const a of ends)
				for (const b of op === "rshv" ? [-31n, -1n, 0n, 1n, 2n, 30n, 53n, 54n, 62n] : ends) {
					const value = evaluate(op, bits, a, b, b + 1n);
					if (value === null || ![a, b, b + 1n, value].every((one) => isSafe(one, op))) continue;
					assert.equal(BigInt(inBlock(op, bits, [a, b, b + 1n])), value, `${op} ${bits} ${a} ${b}`);
					compared += 1;
				}
	assert.ok(compared > 20_000, String(compared));
});

function intervalFrom(row: IntervalRow, name: "a" | "b" | "c"): Interval | null {
	const lo = row[`${name}1`];
	return lo === undefined ? null : { lo: BigInt(lo), hi: BigInt(row[`${name}2`]!) };
}

test("every instruction has the golden interval, or the golden refusal", () => {
	const refused = new Set<string>();
	for (const row of vectorRows<IntervalRow>("work-intervals")) {
		const a = intervalFrom(row, "a")!;
		const one = { op: row.instruction, bits: row.bits, a: 0, b: row.square ? 0 : 1, c: 2 } as Arithmetic;
		const found = arithmeticInterval(one, a, intervalFrom(row, "b") ?? a, intervalFrom(row, "c") ?? a);
		if ("code" in found) {
			assert.equal(found.code, row.refused, JSON.stringify(row));
			refused.add(found.code);
		} else assert.deepEqual({ lo: `${found.lo}`, hi: `${found.hi}` }, { lo: row.lo, hi: row.hi }, JSON.stringify(row));
	}
	assert.deepEqual([...refused].sort(), ["PROGRAM_DIVISOR", "PROGRAM_DOMAIN", "PROGRAM_OVERFLOW"]);
});

const number64 = fc.oneof(fc.bigInt(-20n, 20n), fc.bigInt(-(2n ** 33n), 2n ** 33n), fc.bigInt(I64.lo, I64.hi));
const interval64 = fc
	.tuple(number64, number64)
	.map(([p, q]): Interval => (p < q ? { lo: p, hi: q } : { lo: q, hi: p }));

test("values of operands inside their intervals lie inside the instruction's interval; most ends are reached", () => {
	const reached = { ends: 0, all: 0 };
	const inside = (interval: Interval, share: bigint) => interval.lo + ((interval.hi - interval.lo) * share) / 16n;
	fc.assert(
		fc.property(
			fc.constantFrom(...ARITHMETIC),
			fc.integer({ min: 1, max: 62 }),
			interval64,
			interval64,
			interval64,
			(op, bits, a, b, c) => {
				const small =
					op === "rshv"
						? { lo: b.lo < 0n ? -31n : 3n, hi: 17n }
						: op === "div" || op === "rdiv"
							? { lo: 1n, hi: b.hi < 1n ? 5n : b.hi }
							: b;
				const found = arithmeticInterval({ op, bits, a: 0, b: 1, c: 2 } as Arithmetic, a, small, c);
				if ("code" in found) return;
				const values: bigint[] = [];
				for (const x of [0n, 5n, 16n])
					for (const y of [0n, 7n, 16n])
						for (const z of [0n, 16n]) values.push(evaluate(op, bits, inside(a, x), inside(small, y), inside(c, z))!);
				for (const value of values) assert.ok(value >= found.lo && value <= found.hi, `${op} ${value}`);
				if (isBitwise(op)) return;
				reached.all += 1;
				if (values.includes(found.lo) && values.includes(found.hi)) reached.ends += 1;
			},
		),
		{ numRuns: scaled(4000) },
	);
	assert.ok(reached.ends > 0.75 * reached.all, JSON.stringify(reached));
});

test("bitwise intervals hold for every pair of small ones", () => {
	const ranges: Interval[] = [];
	for (let lo = -9n; lo <= 9n; lo += 3n) for (let hi = lo; hi <= 9n; hi += 2n) ranges.push({ lo, hi });
	for (const op of ["and", "or", "xor"] as const)
		for (const a of ranges)
			for (const b of ranges) {
				const found = arithmeticInterval({ op, a: 0, b: 1 }, a, b, b) as Interval;
				for (let x = a.lo; x <= a.hi; x++)
					for (let y = b.lo; y <= b.hi; y++) {
						const value = evaluate(op, 0, x, y, 0n)!;
						assert.ok(value >= found.lo && value <= found.hi);
					}
			}
});
