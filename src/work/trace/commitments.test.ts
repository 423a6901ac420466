// What is committed binds every field: change one and the hash is another.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { mlpSample } from "../builder/samples.test-kit.ts";
import { bytesToElements, elementsToBytes } from "../operators/tensor-type.ts";
import { encodeProgram } from "../program/encode.ts";
import { orThrow } from "../program/fault.ts";
import { openProgram, programRoot } from "../program/open-program.ts";
import { createMachine } from "../program/run-program.ts";
import { claimHash, inputsHash, type JobClaim, segmentTree, stateHash, traceLeafHash } from "./commitments.ts";
import { machineInputs, machineResult, machineState } from "./run-trace.ts";

const bytes = (fill: number, length = 32) => new Uint8Array(length).fill(fill);

/** All hashes differ. */
function assertApart(hashes: readonly Uint8Array[]): void {
	assert.equal(new Set(hashes.map(bytesToHex)).size, hashes.length);
}

test("a claim binds every field", () => {
	const { program, given } = mlpSample();
	const machine = createMachine(orThrow(openProgram(encodeProgram(program))), bytes(3), given);
	const states = [machineState(machine)];
	for (let i = 0; i < 3; i++) {
		machine.runSegment();
		states.push(machineState(machine));
	}
	const claim: JobClaim = {
		chainId: 31337n,
		escrow: bytes(1, 20),
		job: 7n,
		part: 0,
		program: programRoot(program),
		inputs: machineInputs(machine),
		first: 0,
		segments: 3,
		segmentRoot: segmentTree(states).root,
		resultRoot: machineResult(machine),
	};
	const changes: readonly Partial<JobClaim>[] = [
		{ chainId: 1n },
		{ escrow: bytes(2, 20) },
		{ job: 8n },
		{ part: 1 },
		{ program: programRoot({ ...program, k: 3 }) },
		{ inputs: bytes(4) },
		{ first: 1 },
		{ segments: 4 },
		{ segmentRoot: segmentTree(states.slice(1)).root },
		{ resultRoot: bytes(5) },
	];
	assert.equal(changes.length, Object.keys(claim).length);
	assertApart([claimHash(claim), ...changes.map((change) => claimHash({ ...claim, ...change }))]);
});

test("state, inputs and trace leaves bind order, number and side", () => {
	const [a, b, c] = [bytes(1), bytes(2), bytes(3)] as const;
	const of = (...roots: readonly Uint8Array[]) => roots.map((root, tensor) => ({ tensor, root }));
	assertApart([
		stateHash(0, of(a, b), of(c)),
		stateHash(1, of(a, b), of(c)),
		stateHash(0, of(b, a), of(c)),
		stateHash(0, of(a), of(b, c)),
		stateHash(0, of(a, b, c), []),
		stateHash(0, [], []),
		stateHash(
			0,
			[
				{ tensor: 1, root: a },
				{ tensor: 0, root: b },
			],
			of(c),
		),
	]);
	assertApart([inputsHash(a, of(b, c)), inputsHash(b, of(b, c)), inputsHash(a, of(c, b)), inputsHash(a, [])]);
	assertApart([inputsHash(a, [{ tensor: 3, root: b }]), inputsHash(a, [{ tensor: 4, root: b }])]);
	const leaf = { step: 1, op: 2, inputs: [a, b], output: c };
	assertApart(
		[
			leaf,
			{ ...leaf, step: 2 },
			{ ...leaf, op: 1 },
			{ ...leaf, inputs: [b, a] },
			{ ...leaf, inputs: [a], output: b },
		].map(traceLeafHash),
	);
});

test("elements are their bytes", () => {
	for (const type of ["i8", "i16", "i32", "i64"] as const) {
		const size = { i8: 1, i16: 2, i32: 4, i64: 8 }[type];
		const raw = Uint8Array.from({ length: 5 * size }, (_, i) => (i * 89 + 127) % 256);
		const elements = bytesToElements(raw, type, 5)!;
		assert.deepEqual(elementsToBytes(elements), raw);
		assert.equal(bytesToElements(raw.subarray(1), type, 5), null);
	}
});
