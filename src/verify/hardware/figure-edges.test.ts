// The rules behind figures and findings at their edges: when bytes count as there, what ran beside what,
// whose memory a reader proves, what is about distance. Found by changing one comparison at a time and
// looking which change no other test saw.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, EvidenceBody, Figure, GemmSpec, KeptSpec } from "../../protocol/probe/evidence.ts";
import type { Answered } from "./answers.ts";
import { isBeside, withCommonTime } from "./common-time.ts";
import { figuresOf, residencyOf } from "./derive-figures.ts";
import { findingsOf } from "./findings.ts";
import { CLAIM } from "./honest-evidence.test-kit.ts";
import { POLICY } from "./policy.ts";
import { isReach, reachUs } from "./reach.ts";
import { readerOf } from "./reader-of.ts";
import { inOneInstant, togetherRunOf } from "./scaling.ts";

const [GPU, CPU, DISK, GPU2] = [0, 1, 2, 3] as const;
const root = new Uint8Array(32);
const GEMM: GemmSpec = {
	...{ kind: "gemm", device: GPU, precision: "int8", m: 65536, n: 65536, k: 16384, rounds: 15, keep: 15, samples: 128 },
};
const kept = (kind: "stream" | "copy" | "chase", device: number, of = 0): KeptSpec =>
	({ kind, device, of, newest: 0, passes: 1, intervals: 8, samples: 1 }) as unknown as KeptSpec;

interface Given {
	readonly stage?: number;
	readonly sentAtUs?: number;
	readonly end?: Answered["record"]["end"];
}
/** Roots come evenly. */
function answered(index: number, spec: ChallengeSpec, rounds: number, tookUs: number, given: Given = {}): Answered {
	const { stage = index, sentAtUs = 0, end = "complete" } = given;
	const record = { spec, stage, attempt: 0, sentAtUs, roots: 0, end, opens: [] };
	const atUs = (i: number) => sentAtUs + Math.floor((tookUs * (i + 1)) / rounds);
	const roots = Array.from({ length: rounds }, (_, i) => ({ index: i, atUs: atUs(i), root }));
	return { index, where: `challenges[${index}]`, record, roots, opens: [], ownUs: tookUs, workUs: tookUs };
}

test("bytes are there when a pass takes a third of what fetching them takes, to the microsecond; the doubt is rounded up", () => {
	// 25 passes over 15·2³³ bytes at 64 GB/s: a third of that is 2²⁴ µs. The gemm is so slow that fetching is
	// faster.
	const stream = { ...kept("stream", GPU), passes: 25 } as ChallengeSpec & { kind: "stream" };
	const judge = (totalUs: number, more: readonly Figure[] = []) => {
		const answers = [answered(0, GEMM, 15, 600_000_000), answered(1, stream, 25, totalUs)];
		const figures = [...figuresOf(answers, CLAIM), ...more];
		return residencyOf(answers[1]!, stream, answers, CLAIM, figures)!;
	};
	assert.deepEqual([judge(2 ** 24).late, judge(2 ** 24 + 1).late], [false, true]);
	const bytes = 15n * 2n * 65536n ** 2n;
	const ops = (15n * 2n * 65536n ** 2n * 16384n * 1_000_000n) / 600_000_000n;
	const product = 1_234_567n * (ops / 16384n + 64_000_000_000n);
	const inAPass = 25n * 1_000_000n;
	assert.notEqual(product % inAPass, 0n);
	assert.equal(judge(1_234_567).residentBytes, bytes - (product / inAPass + 1n));
	// Only products of this device can make the bytes again.
	const figure = (name: string, device: number = GPU): Figure => ({
		device,
		name,
		value: 9e15,
		unit: "op/s",
		challenge: 0,
	});
	assert.equal(judge(4_000_000, [figure("fma.int32"), figure("gemm.int8", GPU2)]).late, false);
	assert.equal(judge(4_000_000, [figure("gemm.fp8")]).late, true);
	const none = (device: number) =>
		residencyOf(answered(1, stream, 25, 5), { ...stream, device }, [answered(0, GEMM, 15, 5)], CLAIM, []);
	assert.deepEqual([none(DISK), none(9)], [null, null], "a disk and nobody have no memory");
});

test("beside: each GPU was busy for a part of the time, and an instant is no part", () => {
	const cpu = answered(0, GEMM, 2, 100, { sentAtUs: 100 });
	const gpu = (sentAtUs: number, tookUs: number) => answered(1, GEMM, 2, tookUs, { sentAtUs });
	assert.equal(isBeside(cpu, [gpu(0, 101)]), true);
	assert.equal(isBeside(cpu, [gpu(0, 100)]), false, "it ended as the CPU began");
	assert.equal(isBeside(cpu, [gpu(199, 100)]), true);
	assert.equal(isBeside(cpu, [gpu(200, 100)]), false, "it began as the CPU ended");
	assert.equal(isBeside(cpu, [gpu(0, 150), gpu(0, 100)]), false, "each of them");
	assert.equal(isBeside(cpu, []), false);
	assert.equal(isBeside(cpu, [answered(1, GEMM, 0, 0)]), false, "without a root nothing is known of it");
	assert.equal(isBeside(answered(0, GEMM, 0, 0), [gpu(0, 150)]), false);
});

test("the common time: one device alone keeps its own; of two the way that leaves them more, rounded up", () => {
	const workOf = (...answers: Answered[]) => withCommonTime(answers, CLAIM).map(({ workUs }) => workUs);
	const at = { stage: 0 };
	assert.deepEqual(workOf({ ...answered(0, GEMM, 3, 300, at), ownUs: 299 }), [299]);
	const other = { ...GEMM, device: GPU2 };
	// Alike: the window. Apart: the rounds done until the first was ready, of 7 in 700 µs that is 3 in 310.
	assert.deepEqual(workOf(answered(0, GEMM, 10, 1000, at), answered(1, other, 10, 1001, at)), [1001, 1001]);
	assert.deepEqual(workOf(answered(0, GEMM, 3, 310, at), answered(1, other, 7, 700, at)), [
		310,
		Math.ceil((310 * 7) / 3),
	]);
	// A device without a root is in nobody's way.
	assert.deepEqual(
		workOf(answered(0, GEMM, 3, 300, at), answered(1, other, 0, 0, { ...at, end: "refused" })),
		[300, 0],
	);
	// A CPU's round that ends with the GPU is done; its next one counts by its share.
	const cpu = { ...GEMM, device: CPU };
	assert.equal(workOf(answered(0, GEMM, 1, 100, at), answered(1, cpu, 4, 400, at))[1], 400);
});

test("whose memory a reader proves", () => {
	const devices = CLAIM.devices;
	const of = (spec: KeptSpec, holder: number) => readerOf(spec, [{ ...GEMM, device: holder }], devices);
	assert.deepEqual(
		[GPU, GPU2, CPU, DISK].map((device) => of(kept("stream", device), GPU)),
		["own", "peer", null, null],
	);
	assert.deepEqual(
		[GPU, CPU, DISK, 9].map((device) => of(kept("stream", device), CPU)),
		[null, "own", "disk", null],
	);
	assert.deepEqual(
		[GPU, GPU2, CPU, DISK].map((device) => of(kept("copy", device), CPU)),
		[null, null, null, "disk"],
	);
	assert.deepEqual([of(kept("copy", DISK), GPU), of(kept("copy", GPU), GPU)], [null, null]);
	assert.deepEqual(
		[GPU, GPU2].map((device) => of(kept("chase", device), GPU)),
		["own", null],
	);
	assert.equal(of(kept("chase", DISK), CPU), null, "a disk has no hops");
	assert.equal(of(kept("chase", CPU), CPU), "own");
	assert.equal(readerOf(kept("stream", GPU), [kept("stream", GPU)], devices), null, "of what is no gemm");
	assert.equal(readerOf(kept("stream", 9), [{ ...GEMM, device: 9 }], devices), null, "devices that nobody claims");
});

test("a chase over bytes that were chased before is about distance; the shortest that was answered counts", () => {
	const chase = kept("chase", GPU);
	assert.deepEqual([isReach(1, [GEMM, chase]), isReach(2, [GEMM, chase, chase])], [false, true]);
	assert.equal(isReach(2, [GEMM, kept("stream", GPU), chase]), false, "a stream before it is no chase");
	assert.equal(isReach(3, [GEMM, GEMM, chase, kept("chase", GPU, 1)]), false, "other bytes");
	assert.equal(isReach(2, [GEMM, chase, kept("stream", GPU)]), false);
	const answers = [
		answered(0, GEMM, 15, 9),
		answered(1, chase, 1, 50),
		answered(2, chase, 1, 40),
		answered(3, chase, 1, 30),
	];
	assert.equal(reachUs(answers), 30);
	assert.equal(
		reachUs([...answers, answered(4, chase, 1, 1, { end: "cut" })]),
		30,
		"one that was not answered is no answer",
	);
	assert.equal(reachUs(answers.slice(0, 2)), null);
});

test("together is in one instant: all were asked before the first was done", () => {
	const two = (sentAtUs: number) => [
		answered(0, GEMM, 1, 100),
		answered(1, { ...GEMM, device: GPU2 }, 1, 100, { sentAtUs, stage: 0 }),
	];
	assert.deepEqual([inOneInstant(two(99)), inOneInstant(two(100))], [true, false]);
	const alone = answered(2, GEMM, 1, 100, { stage: 1, sentAtUs: 500 });
	const found = (answer: Answered, answers: Answered[]) => togetherRunOf(answer, answers, CLAIM)?.index ?? null;
	assert.equal(found(alone, [...two(0), alone]), 0);
	assert.equal(found(alone, [...two(100), alone]), null);
	assert.equal(
		found({ ...alone, record: { ...alone.record, spec: { ...GEMM, rounds: 0 } } }, [...two(0), alone]),
		null,
		"a sustained run",
	);
	const stream = answered(2, kept("stream", GPU), 1, 100, { stage: 1 });
	assert.equal(found(stream, [...two(0), stream]), null);
});

test("findings at their limits: nine tenths of the memory, three handshakes and 20 ms", () => {
	const codes = (figures: readonly Figure[], rttUs: number, handshakeUs: number | null = 1000) => {
		const body = { claim: CLAIM, challenges: [], link: { handshakeUs, rttUs: [rttUs] } };
		return findingsOf([], body as unknown as EvidenceBody, figures).map(
			({ code, detail }) => `${code} ${detail.slice(0, 8)}`,
		);
	};
	const { memoryBytes } = CLAIM.devices[GPU]!;
	const most = Math.ceil(POLICY.memoryShare * memoryBytes);
	const proven = (value: number, device: number = GPU): Figure => ({
		device,
		name: "memory.resident",
		value,
		unit: "B",
		challenge: 0,
	});
	const partial = (...figures: Figure[]) => codes(figures, 0).filter((one) => one.startsWith("MEMORY_PARTIAL"));
	const [of0, of3] = ["MEMORY_PARTIAL device 0", "MEMORY_PARTIAL device 3"];
	assert.deepEqual(partial(proven(most), proven(most, GPU2)), []);
	assert.deepEqual(partial(proven(most - 1), proven(most, GPU2)), [of0], "not by another card's");
	assert.deepEqual(partial({ ...proven(most), name: "memory.bandwidth" }), [of0, of3]);
	const isFar = (rttUs: number, handshakeUs: number | null = 1000) =>
		codes([], rttUs, handshakeUs).some((one) => one.startsWith("DISTANT"));
	assert.deepEqual([isFar(23_000), isFar(23_001), isFar(23_001, null)], [false, true, false]);
});
