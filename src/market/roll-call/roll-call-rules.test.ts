// What a host must show in a roll call.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createParams, DEFAULT_PARAMS as P } from "../params.ts";
import { gpuFigures, hostFigures, profile, proofOf } from "../scores/scored-host.test-kit.ts";
import {
	isEnough,
	presenceOf,
	type RollOutcome,
	requiredOfHost,
	rollCallDeadlineMs,
	rollCallDevices,
} from "./roll-call-rules.ts";

const kinds = (...names: readonly string[]) => names.map((kind) => ({ kind }));

test("all GPUs answer; a host without one answers with its first CPU", () => {
	assert.deepEqual(rollCallDevices(kinds("gpu", "cpu", "gpu", "disk")), [0, 2]);
	assert.deepEqual(rollCallDevices(kinds("disk", "cpu", "cpu")), [1]);
	assert.deepEqual(rollCallDevices(kinds("disk")), []);
});

test("the deadline is two blocks, and never below the least", () => {
	assert.equal(rollCallDeadlineMs(12_000, P), 24_000);
	assert.equal(rollCallDeadlineMs(1000, P), P.rollCallLeastMs);
});

test("work and bytes follow from the proven figures, of each device its own", () => {
	const proof = proofOf({ cards: ["H200", "H200"], share: 0.65 });
	const required = requiredOfHost(proof, 24_000, P);
	assert.deepEqual(
		required.map(({ device }) => device),
		[0, 1],
	);
	const { rates, memoryBytes } = profile("H200");
	const ops = BigInt(Math.floor(0.65 * rates.int8!));
	assert.equal(required[0]!.ops, (ops * 24n * 7n) / 10n);
	assert.equal(required[0]!.bytes, Math.floor(Math.floor(0.65 * memoryBytes) * 0.9));
	const cpuOnly = { devices: [{ kind: "cpu" as const, uuid: "" }], figures: hostFigures(0), evidence: "" };
	assert.equal(requiredOfHost(cpuOnly, 5000, P)[0]!.ops, (1_400_000_000_000n * 5n * 55n) / 100n);
});

test("of several figures of one name the least counts, and one that is missing asks for nothing", () => {
	const twice = [...gpuFigures(profile("H200"), 0, 1), ...gpuFigures(profile("L4"), 0, 1)];
	const devices = [{ kind: "gpu" as const, uuid: "" }];
	const of = (figures: typeof twice) => requiredOfHost({ devices, figures, evidence: "" }, 5000, P)[0]!;
	assert.equal(of(twice).ops, of(gpuFigures(profile("L4"), 0, 1)).ops);
	assert.deepEqual(of([]), { device: 0, ops: 0n, bytes: 0 });
});

test("an answer is enough with all of the work and all of the bytes, of the device that was meant", () => {
	const spec = { device: 1, m: 2048, n: 2048, k: 1024, rounds: 8, keep: 8 };
	const ops = 2n * 2048n * 2048n * 1024n * 8n;
	const bytes = 2 * 2048 * 2048 * 8;
	assert.ok(isEnough(spec, { device: 1, ops, bytes }));
	assert.ok(!isEnough(spec, { device: 1, ops: ops + 1n, bytes }));
	assert.ok(!isEnough(spec, { device: 1, ops, bytes: bytes + 1 }));
	assert.ok(!isEnough(spec, { device: 0, ops, bytes }));
	assert.ok(!isEnough({ ...spec, keep: 7 }, { device: 1, ops, bytes }), "only what is kept is held");
	assert.ok(!isEnough({ ...spec, rounds: 4, keep: 8 }, { device: 1, ops: 0n, bytes }), "nor more than was made");
});

test("no operator can ask for so little that one device does for two", () => {
	for (const name of ["rollCallGpuSharePpm", "rollCallCpuSharePpm", "rollCallBytesPpm"]) {
		assert.throws(() => createParams({ [name]: 500_000 }), /must be an integer from 500001/);
		createParams({ [name]: 500_001 });
	}
});

test("excused calls count neither way, and only the newest of the others do", () => {
	const many = (outcome: RollOutcome, times: number) => Array.from({ length: times }, () => outcome);
	assert.deepEqual(presenceOf([], P), { counted: 0, answered: 0 });
	const outcomes = [...many("excused", 30), ...many("answered", 20), ...many("absent", 100)];
	assert.deepEqual(presenceOf(outcomes, P), { counted: 24, answered: 20 });
});
