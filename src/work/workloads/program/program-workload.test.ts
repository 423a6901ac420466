// A program of one's own as a job: bytes or text, arrays for its inputs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { npyBytes } from "../../formats/arrays.test-kit.ts";
import { readNpy } from "../../formats/npy.ts";
import { encodeProgram } from "../../program/encode.ts";
import { orThrow } from "../../program/fault.ts";
import { sealProgram } from "../../program/open-program.ts";
import { parseProgram } from "../../program/parse-text.ts";
import { createMachine } from "../../program/run-program.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const TEXT = `program k 2
input x i16[3] -10..10
state s i32[3] -1000..1000
metric top i32[1] -1000..1000
init
step
%0 = map(s i32[3], x i16[3]) i32[3] -1000..1000 -> s {
  r0 = load 0 [i0]
  r1 = load 1 [i0]
  r2 = add r0 r1
  r3 = const -1000
  r4 = const 1000
  r5 = clamp r2 r3 r4
}
%1 = reduce max(%0 i32[1,3]) i32[1] -1000..1000 -> top
`;
const SEED = `0x${"01".repeat(32)}`;
const numbers = (...values: number[]) =>
	npyBytes("<f8", [values.length], new Uint8Array(Float64Array.from(values).buffer));

function build(
	inputs: Readonly<Record<string, string>>,
	x: Uint8Array,
	program: Uint8Array = new TextEncoder().encode(TEXT),
) {
	const spec = readJob({ workload: "program", program: "p", inputs, segments: 3, seed: SEED });
	return buildWorkload(spec, (name) => (name === "p" ? program : x));
}

test("a program in text or bytes runs with arrays", async () => {
	for (const program of [new TextEncoder().encode(TEXT), encodeProgram(parseProgram(TEXT))]) {
		const work = await build({ x: "x.npy" }, numbers(1, -2, 7), program);
		const machine = createMachine(orThrow(sealProgram(work.program)), work.seed, work.given);
		while (machine.next <= work.segments) machine.runSegment();
		assert.deepEqual([...machine.tensors[1]!], [6, -12, 42]);
		assert.deepEqual(
			work.metrics.map(({ label, read }) => [label, read(machine.tensors[2]!)]),
			[["top", 42]],
		);
		assert.deepEqual(
			work.files.map(({ name }) => name),
			["state/s.npy"],
		);
		const state = readNpy(await work.files[0]!.make(() => machine.tensors[1]!), "s");
		assert.deepEqual([...state.values], [6, -12, 42]);
	}
});

const refused = (code: string, work: Promise<unknown>) =>
	assert.rejects(work, (error) => error instanceof AssayError && error.code === code);

test("inputs that do not fit are refused", async () => {
	await refused("JOB_FIELD", build({}, numbers(1, 2, 3)));
	await refused("JOB_FIELD", build({ x: "x", s: "x" }, numbers(1, 2, 3)));
	await refused("TENSOR_SIZE", build({ x: "x" }, numbers(1, 2)));
	await refused("TENSOR_RANGE", build({ x: "x" }, numbers(1, 2, 11)));
	await refused("TENSOR_RANGE", build({ x: "x" }, numbers(1, 2, 0.5)));
	await refused("DATA_FORMAT", build({ x: "x" }, new Uint8Array(9)));
	await refused("PROGRAM_TEXT", build({ x: "x" }, numbers(1, 2, 3), new Uint8Array(9)));
});
