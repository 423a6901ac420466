// fma32 and fma64 against the vectors, against whole-number arithmetic, and bit for bit against C's fmaf and
// fma on a million operands each, most of them hard to round. The C program is compiled when the test runs,
// by the compiler that the engine needs anyway.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { scaled } from "../../../tests/fuzz.test-kit.ts";
import { vectorRows } from "../vectors.test-kit.ts";
import { fma32, fma64 } from "./fma.ts";
import { fma64Exact } from "./fma-exact.ts";

const view = new DataView(new ArrayBuffer(8));

function fromBits(precision: string, hex: string): number {
	view.setBigUint64(0, BigInt(`0x${hex}`));
	return precision === "fp32" ? view.getFloat32(4) : view.getFloat64(0);
}

function toBits(precision: string, value: number): string {
	if (precision === "fp32") view.setFloat32(4, value);
	else view.setFloat64(0, value);
	const bits = view.getBigUint64(0);
	return (precision === "fp32" ? bits & 0xffff_ffffn : bits).toString(16).padStart(precision === "fp32" ? 8 : 16, "0");
}

test("fma gives the bits of the vectors", () => {
	for (const { precision, a, b, c, r } of vectorRows<Record<"precision" | "a" | "b" | "c" | "r", string>>("fma")) {
		const operands = [a, b, c].map((hex) => fromBits(precision, hex)) as [number, number, number];
		const result = precision === "fp32" ? fma32(...operands) : fma64(...operands);
		assert.equal(toBits(precision, result), r, `${precision} ${a} ${b} ${c}`);
		if (precision === "fp64") assert.equal(toBits("fp64", fma64Exact(...operands)), r);
	}
});

test("rounding twice is not enough: the cases exist, and fma gets them right", () => {
	let differ = 0;
	for (const { precision, a, b, c, r } of vectorRows<Record<"precision" | "a" | "b" | "c" | "r", string>>("fma")) {
		const [x, y, z] = [a, b, c].map((hex) => fromBits(precision, hex)) as [number, number, number];
		const twice = precision === "fp32" ? Math.fround(Math.fround(x * y) + z) : x * y + z;
		if (toBits(precision, twice) !== r) differ += 1;
	}
	assert.ok(differ > 50, `only ${differ} vectors tell a fused operation from two`);
});

test("infinities and NaN follow IEEE-754", () => {
	for (const fma of [fma32, fma64]) {
		assert.equal(fma(Infinity, 2, 1), Infinity);
		assert.equal(fma(Infinity, -2, 1), -Infinity);
		assert.ok(Number.isNaN(fma(Infinity, 0, 1)));
		assert.ok(Number.isNaN(fma(Infinity, 1, -Infinity)));
		assert.ok(Number.isNaN(fma(Number.NaN, 1, 1)));
		assert.equal(fma(2, 3, -Infinity), -Infinity);
		assert.ok(Object.is(fma(0, -1, -0), -0));
		assert.ok(Object.is(fma(1, 1, -1), 0));
	}
	assert.equal(fma64(1e308, 1e308, -Infinity), -Infinity);
});

const C_PROGRAM = `
#include <math.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "fp32") == 0) {
    float v[3];
    while (fread(v, sizeof v, 1, stdin) == 1) { float r = fmaf(v[0], v[1], v[2]); fwrite(&r, sizeof r, 1, stdout); }
  } else {
    double v[3];
    while (fread(v, sizeof v, 1, stdin) == 1) { double r = fma(v[0], v[1], v[2]); fwrite(&r, sizeof r, 1, stdout); }
  }
  return 0;
}
`;

const CASES = scaled(100_000);

/** A small generator of 32-bit words (xorshift): the same cases in every run. */
function createWords(seed: number): () => number {
	let x = seed;
	return () => {
		x ^= x << 13;
		x ^= x >>> 17;
		x ^= x << 5;
		return x >>> 0;
	};
}

/** Operand triples as bit patterns in `words` (one word a float, two a double): a sixth each of six kinds. */
function hardCases(precision: "fp32" | "fp64"): ArrayBuffer {
	const word = createWords(precision === "fp32" ? 0x9e3779b9 : 0x7f4a7c15);
	const wide = precision === "fp64";
	const values = wide ? new Float64Array(3 * CASES) : new Float32Array(3 * CASES);
	const bits = new Uint32Array(values.buffer);
	const bias = wide ? 1023 : 127;
	const shift = wide ? 20 : 23;
	/** Value i with this exponent field; `keep` masks the upper fraction word, so that few bits may be set. */
	const put = (i: number, field: number, keep = -1) => {
		const high = (((word() & 1) << 31) | (field << shift) | (word() & keep & ((1 << shift) - 1))) >>> 0;
		if (wide) {
			bits[2 * i] = keep === -1 ? word() : word() & 3 ? 0 : 1;
			bits[2 * i + 1] = high;
		} else bits[i] = high;
	};
	for (let n = 0; n < CASES; n++) {
		const i = 3 * n;
		const kind = n % 6;
		if (kind === 0) {
			// The recurrence's own operands: x·x + c near −2.
			put(i, bias - (word() % 6));
			values[i + 1] = values[i]!;
			values[i + 2] = -2 + (word() % 2 ** 18) * 2 ** -23 + (wide ? word() * 2 ** -52 : 0);
		} else if (kind === 1) {
			// Cancellation to a few units in the last place.
			put(i, bias - 30 + (word() % 60));
			put(i + 1, bias - 30 + (word() % 60));
			values[i + 2] = -(values[i]! * values[i + 1]!);
			bits[(wide ? 2 : 1) * (i + 2)]! ^= word() % 4;
		} else if (kind === 2) {
			// Halfway and beside it: a product of few bits, a whole width below c.
			const top = bias + (word() % 8);
			put(i, bias, 0x7 << (shift - 3));
			put(i + 1, top - (wide ? 54 : 25) + (word() % 4), 0x3 | (0x3 << (shift - 2)));
			put(i + 2, top);
		} else if (kind === 3) {
			// A product of 1 − u²·2^-46 (2^-104) halves of c's last place: in double arithmetic it lands on the
			// midpoint itself.
			const top = (word() % 40) - 20;
			const unit = wide ? 2 ** -52 : 2 ** -23;
			const u = 1 + (word() % 300);
			values[i] = 1 + u * unit;
			values[i + 1] = (word() % 2 ? -1 : 1) * (1 - u * unit) * 2 ** top * (unit / 2);
			put(i + 2, bias + top);
		} else if (kind === 4) {
			// At the edges: subnormal results and overflow.
			const small = word() % 2 === 0;
			put(i, small ? word() % (bias - 10) : bias + (word() % bias));
			put(i + 1, small ? bias - (word() % bias) : bias + (word() % bias));
			put(i + 2, small ? word() % 60 : 2 * bias - (word() % 40));
		} else for (let j = 0; j < 3; j++) put(i + j, word() % (2 * bias + 1));
	}
	return values.buffer as ArrayBuffer;
}

test(`${CASES} hard cases each agree with C's fmaf and fma, bit for bit`, () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-fma-"));
	try {
		const source = join(folder, "fma.c");
		const program = join(folder, "fma");
		writeFileSync(source, C_PROGRAM);
		execFileSync("gcc", ["-O2", "-ffp-contract=off", "-o", program, source, "-lm"], { stdio: "pipe" });
		for (const precision of ["fp32", "fp64"] as const) {
			const operands = hardCases(precision);
			const run = spawnSync(program, [precision], { input: new Uint8Array(operands), maxBuffer: 2 ** 28 });
			assert.equal(run.status, 0);
			const raw = new Uint8Array(run.stdout).buffer;
			const [inputs, expected] =
				precision === "fp32"
					? [new Float32Array(operands), new Float32Array(raw)]
					: [new Float64Array(operands), new Float64Array(raw)];
			assert.equal(expected.length, CASES);
			const fma = precision === "fp32" ? fma32 : fma64;
			let wrong = 0;
			let fused = 0;
			for (let n = 0; n < CASES; n++) {
				const [a, b, c] = [inputs[3 * n]!, inputs[3 * n + 1]!, inputs[3 * n + 2]!];
				if (!Object.is(fma(a, b, c), expected[n])) wrong += 1;
				if (!Object.is(precision === "fp32" ? Math.fround(a * b + c) : a * b + c, expected[n])) fused += 1;
			}
			assert.equal(wrong, 0, `${precision}: ${wrong} of ${CASES} differ`);
			// The cases must be hard ones: plain double arithmetic has to fail on many.
			assert.ok(fused > CASES * (precision === "fp32" ? 0.001 : 0.1), `${precision}: only ${fused} cases are hard`);
		}
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
});

test("the fast route of fma64 agrees with whole numbers inside and at its bounds", () => {
	const word = createWords(12345);
	for (let n = 0; n < scaled(20_000); n++) {
		const [a, b, c] = [0, 1, 2].map(() => {
			const exponent = n % 2 === 0 ? (word() % 900) - 450 : (word() % 8) - 4;
			return (word() % 2 ? -1 : 1) * (1 + (word() + word() * 2 ** -32) * 2 ** -32) * 2 ** exponent;
		}) as [number, number, number];
		assert.ok(Object.is(fma64(a, b, c), fma64Exact(a, b, c)), `${a} ${b} ${c}`);
	}
});
