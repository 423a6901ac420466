// Sizes of answers: enough, within every limit, and hardly more than was asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_ROLL_ROUNDS, type RollRequired, rollBytes, rollOps } from "../../protocol/roll-call/roll-call.ts";
import { PROFILES } from "../hardware/identify/profiles.ts";
import { POLICY } from "../hardware/policy.ts";
import { planRollCall } from "./plan-roll-call.ts";

const MiB = 2 ** 20;

function checked(required: RollRequired, freeBytes: number, most: { ops: number; bytes: number }, name: string) {
	const spec = planRollCall(required, freeBytes);
	assert.ok(spec !== null, name);
	const { m, n, k, rounds, keep } = spec;
	assert.equal(m % POLICY.gemm.mStep, 0, name);
	assert.equal(n % POLICY.gemm.nStep, 0, name);
	assert.ok(k % POLICY.gemm.kStep === 0 && k <= 65536, name);
	assert.ok(keep <= rounds && rounds <= MAX_ROLL_ROUNDS, `${name}: ${keep} of ${rounds}`);
	assert.ok(rollOps(spec) >= required.ops, name);
	assert.ok(rollBytes(spec) >= required.bytes, name);
	assert.ok(rollBytes(spec) + (m + n) * k <= freeBytes, name);
	const [ops, bytes] = [Number(rollOps(spec)) / Number(required.ops), rollBytes(spec) / required.bytes];
	assert.ok(ops <= most.ops, `${name}: ${ops} times the work`);
	assert.ok(bytes <= most.bytes, `${name}: ${bytes} times the bytes`);
	return spec;
}

test("every card of the profiles gets an answer of its size, for deadlines of 5, 24 and 60 s", () => {
	for (const { id, rates, memoryBytes } of PROFILES)
		for (const seconds of [5, 24, 60]) {
			// What our kernels prove of a card, and what a probe finds free.
			const ops = BigInt(Math.floor(0.7 * seconds * 0.67 * (rates.int8 ?? 0)));
			const bytes = Math.floor(0.9 * 0.95 * memoryBytes);
			if (ops > 0n)
				checked({ device: 0, ops, bytes }, 0.98 * memoryBytes, { ops: 1.05, bytes: 1.05 }, `${id}, ${seconds} s`);
		}
});

test("CPUs: some hundred MiB, made with the k that takes the time", () => {
	for (const opsPerS of [2e10, 2e11, 1.4e12, 2e13])
		for (const bytes of [32, 256, 512].map((size) => Math.floor(0.9 * size * MiB))) {
			const required = { device: 3, ops: BigInt(Math.floor(0.55 * 5 * opsPerS)), bytes };
			const spec = checked(required, 2 ** 33, { ops: 1.3, bytes: 1.15 }, `${opsPerS} op/s, ${bytes} B`);
			assert.equal(spec.device, 3);
		}
});

test("a card too fast for the largest k computes more than it keeps", () => {
	const spec = planRollCall({ device: 0, ops: 22_000_000_000_000_000n, bytes: 127e9 }, 141e9)!;
	assert.equal(spec.k, 65536);
	assert.ok(spec.rounds > spec.keep);
});

test("what does not fit is refused; operands that do not fit are made smaller", () => {
	assert.equal(planRollCall({ device: 0, ops: 1n, bytes: 2 ** 32 }, 2 ** 32), null);
	assert.equal(planRollCall({ device: 0, ops: 10n ** 20n, bytes: 2 ** 30 }, 2 ** 40), null, "no answer is so long");
	const tight = planRollCall({ device: 0, ops: 5n * 10n ** 15n, bytes: 67 * 2 ** 30 }, 68 * 2 ** 30)!;
	assert.ok(tight.k < 65536 && tight.rounds > tight.keep);
});

test("nothing required is still an answer", () => {
	assert.deepEqual(planRollCall({ device: 0, ops: 0n, bytes: 0 }, 2 ** 30), {
		device: 0,
		m: 2048,
		n: 2048,
		k: 128,
		rounds: 1,
		keep: 1,
	});
});
