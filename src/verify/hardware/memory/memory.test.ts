// A GPU's memory at each edge, by hand-made answers: what accuses, what only does not count, and what counts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, ChaseSpec, GemmSpec } from "../../../protocol/probe/evidence.ts";
import type { Answered } from "../answers.ts";
import { figuresOf } from "../derive-figures.ts";
import { CLAIM } from "../honest-evidence.test-kit.ts";
import { POLICY } from "../policy.ts";
import { checkNotRemade, checkOneMemory } from "./check-memory.ts";
import { countedFigures } from "./counted-figures.ts";

const root = new Uint8Array(32);
function answer(index: number, spec: ChallengeSpec, rounds: number, ownUs: number): Answered {
	const roots = Array.from({ length: rounds }, (_, i) => ({ index: i, atUs: i + 1, root }));
	const record = { spec, stage: index, attempt: 0, sentAtUs: 0, roots: 0, end: "complete" as const, opens: [] };
	return { index, where: `challenges[${index}]`, record, roots, opens: [], ownUs, workUs: ownUs };
}
/** 128 rounds of 32 MiB: 4 GiB, in a second at 2.2·10¹³ op/s, so that they can be made anew at 4.3 GB/s. */
const FILL: GemmSpec = {
	...{ kind: "gemm", device: 0, precision: "int8", m: 4096, n: 4096, k: 8192, rounds: 128, keep: 128, samples: 1 },
};
const BYTES = 2 ** 32;
const chase = (newest = 0, device = 0): ChaseSpec => ({
	...{ kind: "chase", device, of: 0, newest, intervals: 15_625, samples: 1 },
});
const stream = (device = 0): ChallengeSpec => ({
	...{ kind: "stream", device, of: 0, newest: 0, passes: 4, samples: 1 },
});
/** A million hops of so many picoseconds. */
const hopped = (index: number, spec: ChaseSpec, hopPs: number) => answer(index, spec, 1, hopPs);
const fill = (device = 0) => answer(0, { ...FILL, device }, 128, 1e6);

function judge(answers: readonly Answered[]) {
	const figures = figuresOf(answers, CLAIM);
	const fault = checkNotRemade(answers, CLAIM) ?? checkOneMemory(answers, CLAIM);
	const counted = countedFigures(answers, { claim: CLAIM, figures });
	return {
		code: fault && `${fault.code} ${fault.where}`,
		found: counted.findings.map(({ code }) => code),
		names: counted.figures.map(({ name }) => name).filter((name) => name.startsWith("memory.")),
		resident: counted.figures.find(({ name }) => name === "memory.resident")?.value ?? null,
	};
}

test("apart: three times a part's hop, and slower than one memory; the slowest part counts", () => {
	const apart = (whole: number, ...parts: [newest: number, hopPs: number][]) =>
		judge([
			fill(),
			...[1, 2, 3].map((i) => hopped(i, chase(), whole)),
			...parts.map(([newest, hopPs], i) => hopped(i + 4, chase(newest), hopPs)),
		]).code;
	assert.equal(apart(1_800_000, [2, 600_000]), "MEMORY_APART challenges[1]");
	assert.equal(apart(1_799_000, [2, 600_000]), null);
	assert.equal(apart(1_200_000, [2, 300_000]), null, "no slower than one memory may be");
	assert.equal(apart(1_300_000, [2, 300_000]), "MEMORY_APART challenges[1]");
	assert.equal(apart(9_000_000), null, "nothing to compare with");
	assert.equal(apart(9_000_000, [0, 600_000]), null, "all of it is no part");
	assert.equal(apart(9_000_000, [1, 600_000]), null, "a part that a cache may hold");
	assert.equal(apart(9_000_000, [2, 600_000], [4, 3_100_000]), null, "one part was slow, too");
	// Half of its time, and a neighbour that came in between: twice, and slower all over.
	for (const [whole, part] of [
		[1_220_000, 1_220_000],
		[1_220_000, 610_000],
		[6_000_000, 3_000_000],
	] as const)
		assert.equal(apart(whole, [2, part]), null);
});

test("apart: all of three runs at least; one that was fast, or is too short to say it, is none of them", () => {
	const part = hopped(5, chase(2), 600_000);
	const runs = (...hops: number[]) => judge([fill(), ...hops.map((ps, i) => hopped(i + 1, chase(), ps)), part]).code;
	assert.equal(runs(3_000_000, 3_000_000), null);
	assert.equal(runs(3_000_000, 3_000_000, 3_000_000), "MEMORY_APART challenges[1]");
	assert.equal(runs(3_000_000, 610_000, 3_000_000, 3_000_000), null, "a packet was lost in the others");
	const short = answer(3, { ...chase(), intervals: 8 }, 1, 1e6);
	assert.equal(judge([fill(), ...[1, 2].map((i) => hopped(i, chase(), 3_000_000)), short, part]).code, null);
});

test("apart is asked of GPUs; a part before the whole is a whole of its own", () => {
	const slow = (device: number) => [
		fill(device),
		...[1, 2, 3].map((i) => hopped(i, chase(0, device), 3_000_000)),
		hopped(4, chase(2, device), 600_000),
	];
	assert.equal(judge(slow(0)).code, "MEMORY_APART challenges[1]");
	assert.equal(judge(slow(1)).code, null);
	const turned = [fill(), hopped(1, chase(2), 600_000), ...[2, 3, 4].map((i) => hopped(i, chase(), 3_000_000))];
	assert.equal(judge(turned).code, null);
});

test("far: a hop above 1.2 µs or a pass above 150 ms costs the bytes and accuses nobody", () => {
	const far = (hopPs: number, passUs: number, device = 0) =>
		judge([fill(device), answer(1, stream(device), 4, 4 * passUs), hopped(2, chase(0, device), hopPs)]);
	const good = { code: null, found: [], names: ["memory.resident", "memory.bandwidth", "memory.latency"] };
	const near = far(POLICY.maxHopPs, 10_000);
	assert.deepEqual(near, { ...good, resident: near.resident });
	assert.ok(near.resident! > 0.8 * BYTES);
	for (const bad of [far(POLICY.maxHopPs + 1_000, 10_000), far(600_000, POLICY.maxPassUs + 1)])
		assert.deepEqual(bad, { code: null, found: ["MEMORY_FAR"], names: ["memory.latency"], resident: null });
	// The fastest run counts: a packet was lost in the other one.
	const again = [fill(), answer(1, stream(), 4, 40_000), hopped(2, chase(), 9_000_000), hopped(3, chase(), 600_000)];
	assert.deepEqual(judge(again).found, []);
	assert.equal(judge(again).resident, near.resident);
	// CPUs are not asked.
	const cpu = far(9_000_000, 300_000, 1);
	assert.deepEqual([cpu.found, cpu.names], [[], good.names]);
});

test("slow: nothing beyond what the fastest link could have brought, and a pass half as long as making accuses", () => {
	const at = (bytesPerS: number) => judge([fill(), answer(1, stream(), 4, Math.ceil((4 * BYTES * 1e6) / bytesPerS))]);
	const share = (bytesPerS: number) => (at(bytesPerS).resident ?? 0) / BYTES;
	const made = 4.3e9;
	for (const [bytesPerS, left] of [
		[400e9, 1 - (64e9 + made) / 400e9],
		[193e9, 1 - (64e9 + made) / 193e9],
		[191e9, 1 - (128e9 + made) / 191e9],
		[140e9, 1 - (128e9 + made) / 140e9],
	] as const)
		assert.ok(Math.abs(share(bytesPerS) - left) < 0.01, `${bytesPerS}: ${share(bytesPerS)}, not ${left}`);
	for (const bytesPerS of [132e9, 100e9, 57e9, 30e9])
		assert.deepEqual(at(bytesPerS), { code: null, found: ["MEMORY_SLOW"], names: [], resident: null });
	assert.deepEqual([at(8.8e9).code, at(8.4e9).code], [null, "STREAM_LATE challenges[1]"]);
	// On a CPU it is a finding of its own (findings.ts).
	const cpu = judge([fill(1), answer(1, stream(1), 4, 8e6)]);
	assert.deepEqual([cpu.code, cpu.found], [null, []]);
});

test("of several streams of one memory the best counts, and a finding is told where none does", () => {
	const passes = (...passMs: number[]) =>
		judge([fill(), ...passMs.map((ms, i) => answer(i + 1, stream(), 4, 4000 * ms))]);
	const [good, worse] = [passes(10), passes(15)];
	assert.ok(good.resident! > worse.resident!);
	for (const order of [
		[10, 15],
		[15, 10],
		[100, 10],
	])
		assert.deepEqual(passes(...order), good, order.join());
	assert.deepEqual(passes(100, 100).found, ["MEMORY_SLOW"]);
	// A network that stood still during one of them accuses nobody.
	assert.deepEqual(
		[passes(900).code, passes(900, 900).code],
		["STREAM_LATE challenges[1]", "STREAM_LATE challenges[1]"],
	);
	assert.deepEqual([passes(900, 100).code, passes(100, 900).code], [null, null]);
	assert.deepEqual(passes(900, 10), good);
});

test("bytes that lie in the host and are fetched while they are read are never counted", () => {
	// So much is on the card, the rest comes over the link; both at once, the card's own for nothing.
	for (const link of [25e9, 57e9, 121e9])
		for (const share of [0, 0.2, 0.5, 0.7, 0.9]) {
			const passUs = Math.ceil((BYTES * (1 - share) * 1e6) / link);
			const { resident } = judge([fill(), answer(1, stream(), 4, 4 * passUs)]);
			// Where a card reads at 192 GB/s and more no host is joined to it by more than PCIe 5 (§9).
			const isFast = BYTES / passUs >= 192_000;
			if (link <= 64e9 || !isFast) assert.ok((resident ?? 0) <= share * BYTES, `${share} at ${link}: ${resident}`);
		}
});
