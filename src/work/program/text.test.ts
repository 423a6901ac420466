// The text form: what is printed is read back, spellings of one's own are read, and what is wrong is named by
// its line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { mlpSample } from "../builder/samples.test-kit.ts";
import { sealProgram } from "./open-program.ts";
import { parseProgram } from "./parse-text.ts";
import { printProgram } from "./print-text.ts";

test("an MLP as text is the same program again", () => {
	const { program } = mlpSample();
	const text = printProgram(program);
	assert.deepEqual(parseProgram(text), program);
	assert.equal(printProgram(parseProgram(text)), text);
});

const TEXT = `
program k 2 # two steps
input data i8[40,12] -100..100
constant table i32[256] 0..65536 ${"0a".repeat(32)}
state w i32[1,12] -1000..1000

init
step
%x = map(data i8[40,12], table i32[256]) i8[8,12] -100..100 {
	first = load 0 [i0 + 16*segment + 8*step - 16 wrap, i1]
	r1 = load 1 [first + 100 clamp]
	r2 = clamp first r1 first
}
%1 = matmul(%x i8[1,8,12], w i32[1,1,12]) i64[1,8,1] -9600000..9600000
%2 = map(w i32[12]) i32[12] -1000..1000 -> w {
	r0 = load 0 [-1 + i0 + 1]
	repeat 8
	carry sum = r0 more -1000..1000
	more = add sum r0
	after
	r3 = rsh sum 1
}
%3 = reduce sum(%x i8[8,12]) i32[8] -1200..1200
`;

test("names are free and printed as numbers", () => {
	const program = parseProgram(TEXT);
	const printed = printProgram(program);
	assert.match(
		printed,
		/r0 = load 0 \[i0 \+ 16\*segment \+ 8\*step - 16 wrap, i1\]\n {2}r1 = load 1 \[r0 \+ 100 clamp\]/,
	);
	assert.match(printed, /carry r1 = r0 r2 -1000\.\.1000\n {2}r2 = add r1 r0\n {2}after\n {2}r3 = rsh r1 1\n\}/);
	assert.deepEqual(parseProgram(printed), program);
});

test("what is wrong is named by its line", () => {
	const wrong: readonly [string, string, number][] = [
		["program k 2", "programme", 2],
		["input data", "inputs data", 3],
		["i8[40,12] -100..100\nconst", "i8[40,12]\nconst", 3],
		["table i32[256] 0..65536 0a", "table i32[256] 0..65536 zz", 4],
		["state w", "state data", 5],
		["init\nstep", "step", 7],
		["%1 = matmul", "%x = matmul", 14],
		["%1 = matmul", "%1 = product", 14],
		["w i32[1,1,12]", "v i32[1,1,12]", 14],
		["clamp first r1 first", "clamp first r9 first", 12],
		["clamp first r1 first", "clamp first r1", 12],
		["clamp first r1 first", "squash first r1 first", 12],
		["[-1 + i0 + 1]", "[r0]", 16],
		["[-1 + i0 + 1]", "[2*first]", 16],
		["carry sum = r0 more", "carry sum = r0 none", 22],
		["rsh sum 1", "rsh more 1", 21],
		["reduce sum(", "reduce mean(", 23],
		["reduce sum(", "reduce(", 23],
		["i32[8] -1200..1200", "i32[8] -1200..1200 -> q", 23],
	];
	for (const [from, to, line] of wrong) {
		assert.ok(TEXT.includes(from), from);
		assert.throws(
			() => parseProgram(TEXT.replace(from, to)),
			(error) =>
				error instanceof AssayError && error.code === "PROGRAM_TEXT" && error.message.startsWith(`line ${line}:`),
			`${from} → ${to}`,
		);
	}
});

test("numbers that no field holds are refused with a sentence", () => {
	const small = "program k 1\nresult out i8[2] 0..1\ninit\nstep\n%0 = map() i8[2] 0..1 -> out {\n  r0 = iota 0\n}\n";
	assert.equal(sealProgram(parseProgram(small)).ok, true);
	for (const [from, to] of [
		["i8[2] 0..1 ->", "i8[9999999999] 0..1 ->"],
		["0..1 ->", "0..99999999999999999999 ->"],
		["iota 0", "iota 300"],
		["iota 0", "const 9223372036854775808"],
	] as const) {
		assert.ok(small.includes(from));
		assert.throws(
			() => sealProgram(parseProgram(small.replace(from, to))),
			(error) =>
				error instanceof AssayError && error.code === "PROGRAM_MALFORMED" && /does not fit/.test(error.message),
			to,
		);
	}
	const limited = sealProgram(parseProgram(small.replace("k 1", "k 70000")));
	assert.equal(limited.ok ? "" : limited.fault.code, "PROGRAM_LIMIT");
});
