// Figures from facts: exact where numbers pass 2^53, and none where nothing was proven.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, End, Figure, GemmSpec } from "../../protocol/probe/evidence.ts";
import { type AnsweredChallenge, packChallenges } from "../../protocol/probe/evidence-codec.ts";
import { readAnswers } from "./answers.ts";
import { deriveFigures, residencyOf } from "./derive-figures.ts";
import { CLAIM } from "./honest-evidence.test-kit.ts";

/** Answers whose roots are nobody's: figures look at times only. */
function answered(
	spec: ChallengeSpec,
	stage: number,
	rounds: number,
	tookUs: number,
	end: End = "complete",
): AnsweredChallenge {
	const sentAtUs = 1_000_000 * stage;
	const root = new Uint8Array(32);
	const roots = Array.from({ length: rounds }, (_, index) => ({
		index,
		atUs: sentAtUs + Math.floor((tookUs * (index + 1)) / rounds),
		root,
	}));
	return { spec, stage, attempt: 0, sentAtUs, roots, end, opens: [] };
}

function figuresOf(...list: AnsweredChallenge[]): Figure[] {
	const { challenges, attachments } = packChallenges(list);
	return deriveFigures({ challenges, claim: CLAIM, attestations: [] }, attachments);
}

const H200: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 65536,
	n: 65536,
	k: 16384,
	rounds: 15,
	keep: 15,
	samples: 128,
};
const STREAM: ChallengeSpec = { kind: "stream", device: 0, of: 0, newest: 0, passes: 4, samples: 128 };

test("numbers beyond 2^53 stay exact", () => {
	// 15·2·65536²·16384 = 2.1e15 operations: times a million that is far beyond what a double holds exactly.
	const [gemm] = figuresOf(answered(H200, 0, 15, 1_234_567));
	assert.equal(BigInt(gemm!.value), (15n * 2n * 65536n * 65536n * 16384n * 1_000_000n) / 1_234_567n);
	const [impossible] = figuresOf(answered(H200, 0, 15, 1));
	assert.equal(impossible!.value, Number.MAX_SAFE_INTEGER, "stated as at least that");
});

test("what could have been recomputed or fetched in a pass does not count as resident", () => {
	const figures = figuresOf(answered(H200, 0, 15, 1_200_000), answered(STREAM, 1, 4, 130_000));
	const value = (name: string) => figures.find((figure) => figure.name === name)!.value;
	const kept = 15 * 2 * 65536 * 65536;
	const recomputed = value("gemm.int8") / 16384;
	const elsewhere = (130_000 / 4 / 1e6) * (recomputed + 64e9);
	assert.ok(Math.abs(value("memory.resident") - (kept - elsewhere)) < 16_384);
	assert.equal(value("memory.bandwidth"), Math.floor((kept * 4) / 0.13));
	// A faster unit that was proven later in the probe can be put to recomputing too.
	const faster: GemmSpec = { ...H200, precision: "fp8", rounds: 30, keep: 1 };
	const after = figuresOf(
		answered(H200, 0, 15, 1_200_000),
		answered(STREAM, 1, 4, 130_000),
		answered(faster, 2, 30, 1_200_000),
	);
	assert.ok(after.find(({ name }) => name === "memory.resident")!.value < value("memory.resident"));
	// Another device's speed does not matter.
	const elsewhereDevice = figuresOf(
		answered(H200, 0, 15, 1_200_000),
		answered(STREAM, 1, 4, 130_000),
		answered({ ...faster, device: 1 }, 2, 30, 1_200_000),
	);
	assert.equal(elsewhereDevice.find(({ name }) => name === "memory.resident")!.value, value("memory.resident"));
});

test("a late stream proves nothing", () => {
	const figures = figuresOf(answered(H200, 0, 15, 1_200_000), answered(STREAM, 1, 4, 60_000_000));
	assert.deepEqual(
		figures.map(({ name }) => name),
		["gemm.int8"],
	);
});

test("what did not end well has no figure", () => {
	for (const end of ["refused", "silent", "garbage", "stopped"] as const)
		assert.deepEqual(figuresOf(answered(H200, 0, 3, 1_000, end)), []);
	assert.deepEqual(figuresOf(answered(H200, 0, 0, 0)), []);
	assert.deepEqual(figuresOf(answered(H200, 0, 3, 0)), [], "no time, no speed");
	const stopped = figuresOf(answered({ ...H200, rounds: 0 }, 0, 3, 1_000_000, "stopped"));
	assert.deepEqual(
		stopped.map(({ name }) => name),
		["gemm.int8.sustained", "gemm.int8.sustained-ratio"],
	);
	assert.deepEqual(figuresOf(answered(H200, 0, 3, 1_000, "refused"), answered(STREAM, 1, 4, 10)), []);
});

test("attachments that cannot be read give no figures", () => {
	const { challenges, attachments } = packChallenges([answered(H200, 0, 15, 1_000)]);
	assert.deepEqual(deriveFigures({ challenges, claim: CLAIM, attestations: [] }, [attachments[0]!.subarray(1)]), []);
	assert.deepEqual(deriveFigures({ challenges, claim: CLAIM, attestations: [] }, []), []);
});

test("a stream is late by the faster of recomputing and fetching", () => {
	const lateAfter = (gemmUs: number, passUs: number) => {
		const list = [answered(H200, 0, 15, gemmUs), answered(STREAM, 1, 4, 4 * passUs)];
		const { challenges, attachments } = packChallenges(list);
		const read = readAnswers({ challenges, claim: CLAIM, attestations: [] }, attachments);
		assert.ok(read.ok && STREAM.kind === "stream");
		return residencyOf(read.answers[1]!, STREAM, read.answers, CLAIM, figuresOf(...list))!.late;
	};
	// 129 GB kept. In 1.2 s of gemm the card proves 107 GB/s of recomputing, more than the 64 GB/s of fetching:
	// 0.4 s a pass.
	assert.deepEqual([lateAfter(1_200_000, 390_000), lateAfter(1_200_000, 410_000)], [false, true]);
	// A slow card recomputes less than it fetches: 129 GB at 64 GB/s, a third of that is 0.67 s.
	assert.deepEqual([lateAfter(60_000_000, 660_000), lateAfter(60_000_000, 680_000)], [false, true]);
});

test("what a CPU did beside a GPU counts until the GPU was done, over all of that time", () => {
	const cpu: GemmSpec = { ...H200, device: 1, m: 128, n: 512, k: 128, rounds: 10, keep: 1 };
	const ops = 2 * 128 * 512 * 128;
	const speedBeside = (cpuUs: number, gpuUs = 1_000_000) => {
		const figures = figuresOf(answered(H200, 0, 15, gpuUs), answered(cpu, 0, 10, cpuUs));
		assert.equal(figures[0]!.value, figuresOf(answered(H200, 0, 15, gpuUs))[0]!.value, "the GPU's own is not touched");
		return figures[1]!.value;
	};
	const alone = (us: number) => Math.floor((10 * ops * 1e6) / us);
	// Longer than the GPU: at the speed until then, which is the same when rounds come evenly.
	assert.equal(speedBeside(1_000_000), alone(1_000_000));
	assert.equal(speedBeside(1_600_000), alone(1_600_000));
	// Shorter: a fifth is forgiven; who does it all at once at the start shows no more than that.
	assert.equal(speedBeside(850_000), alone(850_000));
	assert.equal(speedBeside(800_000), alone(800_000));
	assert.equal(speedBeside(1000), alone(800_000));
	// All of it after the GPU was done.
	const late = { ...answered(cpu, 0, 10, 100_000) };
	const after = late.roots.map((root) => ({ ...root, atUs: root.atUs + 1_000_000 }));
	const [, turn] = figuresOf(answered(H200, 0, 15, 1_000_000), { ...late, roots: after });
	assert.ok(turn!.value < alone(1_000_000) / 9, "at most the round that it may have been at");
	// In a stage of its own nothing is beside it: the finding KINDS_APART says so.
	assert.equal(figuresOf(answered(H200, 0, 15, 1_000_000), answered(cpu, 1, 10, 1000))[1]!.value, alone(1000));
});
