// Scores of single hosts, term by term. What holds for all hosts is in score-properties.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import { createParams, DEFAULT_PARAMS, SN27_SCORES_PPM } from "../params.ts";
import type { Term } from "./explanation.ts";
import { mismatchesOf, recompute } from "./recompute.ts";
import { convictionOf, type JobWork, nextAnsweredPpm, nextReliabilityPpm, workAsProbes } from "./reliability.ts";
import type { Proof, ScoreInput } from "./score-input.ts";
import { scoreProvider } from "./score-provider.ts";
import { CARDS, EVIDENCE, inputOf, measuredH200, NOW_MS, past, proofOf, SCORED } from "./scored-host.test-kit.ts";

const P = DEFAULT_PARAMS;
const score = (proof: Proof | null, more: Partial<ScoreInput> = {}, params = P) =>
	scoreProvider(inputOf(proof, more), params).scorePpm;
const leaves = (at: Term): Term[] =>
	at.rule === "given" ? [at] : at.from.flatMap((part) => (typeof part === "string" ? [] : leaves(part)));
const find = (at: Term, name: string): Term | undefined =>
	at.name === name
		? at
		: at.from.reduce<Term | undefined>(
				(found, part) => found ?? (typeof part === "string" ? undefined : find(part, name)),
				undefined,
			);

test("a real H200, as it was measured: each figure by its weight", () => {
	const proof: Proof = {
		...proofOf({ cards: ["H200"] }),
		devices: [
			{ kind: "gpu", uuid: "GPU-0" },
			{ kind: "cpu", uuid: "" },
			{ kind: "disk", uuid: "" },
		],
		figures: measuredH200(),
	};
	const { root, scorePpm } = scoreProvider(inputOf(proof), P);
	const ratios = [1312.303 / 5000, 707.491 / 2500, 61.6629 / 126, 30.9501 / 40, 4285.13 / 8000, 143.713 / 309.238];
	const sum = ratios.reduce((all, ratio, i) => all + ratio * [0.15, 0.25, 0.05, 0.1, 0.2, 0.25][i]!, 0);
	const gpu = find(root, "gpu")!.value;
	assert.ok(Math.abs(find(root, "gpu 0")!.value - 1e6 * sum) < 10, `${sum}`);
	assert.equal(gpu, Math.floor(find(root, "gpu 0")!.value / 8), "one of eight");
	// Its host is a virtual machine whose CPU figures differ by tens of percent from probe to probe: a part,
	// not a whole.
	const [cpu, ram, disk] = ["cpu", "ram", "disk"].map((name) => find(root, name)!.value);
	for (const part of [cpu!, ram!, disk!]) assert.ok(part > 200_000 && part <= 1_000_000, String(part));
	const holistic = 0.55 + (0.2 * cpu! + 0.15 * ram! + 0.1 * disk!) / 1e6;
	assert.ok(Math.abs(scorePpm - gpu * holistic) <= 2, `${scorePpm} is ${gpu} × ${holistic}`);
});

test("eight full cards in a full host are the whole score; nothing is more, and no card of the table is fuller", () => {
	const full = proofOf({ cards: Array<string>(8).fill("full card"), share: 1 });
	assert.equal(score(full), 1_000_000);
	assert.equal(score(proofOf({ cards: Array<string>(12).fill("full card"), share: 1 })), 1_000_000);
	assert.equal(score(full, { rented: { calls: 24, paidPpm: 1_100_000 } }), 1_000_000, "the bonus is capped");
	assert.equal(score(proofOf({ cards: ["full card"], share: 1 })), 125_000);
	for (const { id } of CARDS) assert.ok(score(proofOf({ cards: [id], share: 1 })) < 125_000, id);
});

test("every score multiplies out from terms that end in evidence, parameters and states", () => {
	const explanation = scoreProvider(
		inputOf(proofOf({ cards: ["L4", "Tesla T4"] }), {
			rented: { calls: 24, paidPpm: 1_100_000 },
			reliabilityPpm: null,
			history: past("success", "failure"),
		}),
		P,
	);
	assert.equal(recompute(explanation), explanation.scorePpm);
	assert.deepEqual(mismatchesOf(explanation), []);
	assert.equal(explanation.evidence, EVIDENCE);
	for (const leaf of leaves(explanation.root)) {
		assert.ok(leaf.from.length > 0, leaf.name);
		for (const source of leaf.from)
			assert.match(String(source), /^([0-9a-f]{64}|params:\w+|state:\w+|constant)$/, leaf.name);
	}
	// Within something else it can still be signed: canonical JSON, integers only, not too deep.
	assert.ok(encodeCanonicalJson({ explanation }).length > 1000);
});

test("a stated value that is not what its terms give is found", () => {
	const explanation = scoreProvider(inputOf(proofOf({ cards: ["H200"] })), P);
	assert.equal(mismatchesOf({ ...explanation, scorePpm: explanation.scorePpm + 1 }).length, 1);
});

test("no proof, a paused provider, no GPU: 0, with a reason", () => {
	const cpuOnly: Proof = { ...proofOf({ cards: [] }), identity: [] };
	const cases: [Proof | null, Partial<ScoreInput>, RegExp][] = [
		[null, {}, /nothing was proven/],
		[proofOf({ cards: ["H200"] }), { active: false }, /paused or removed/],
		[cpuOnly, {}, /no GPU/],
		[proofOf({ cards: ["H200"], share: 0 }), {}, /no GPU/],
	];
	for (const [proof, more, why] of cases)
		for (const hostParts of ["carried", "plain"]) {
			const explanation = scoreProvider(inputOf(proof, more), createParams({ hostParts }));
			assert.equal(explanation.scorePpm, 0);
			assert.equal(recompute(explanation), 0);
			assert.match(explanation.why, why);
		}
	assert.equal(scoreProvider(inputOf(proofOf({ cards: ["H200"] })), P).why, "");
});

test("a proof ages: three intervals, rented time apart, and not for ever", () => {
	const at = (ageMs: number, more: Partial<ScoreInput> = {}) =>
		score({ ...proofOf({ cards: ["full card"], share: 1 }), provenAtMs: NOW_MS - ageMs }, more);
	assert.equal(at(P.maxAgeMs), 125_000);
	assert.equal(at(P.maxAgeMs + 1), 0);
	assert.equal(at(P.maxAgeMs + 5000, { rented: { calls: 24, paidPpm: 1_100_000 }, rentedMs: 5000 }), 137_500);
	assert.equal(at(P.maxAgeMs + 5000, { rentedMs: 4999 }), 0);
	assert.equal(
		at(P.maxRentedAgeMs, { rented: { calls: 24, paidPpm: 1_100_000 }, rentedMs: P.maxRentedAgeMs }),
		137_500,
	);
	assert.equal(
		at(P.maxRentedAgeMs + 1, { rented: { calls: 24, paidPpm: 1_100_000 }, rentedMs: P.maxRentedAgeMs }),
		0,
		"who rents from itself",
	);
	assert.equal(at(P.maxAgeMs + 1, { rentedMs: -5 }), 0);
	assert.equal(at(-1000), 125_000, "clocks of two validators differ");
});

test("each figure adds its own: without one exactly its weight is gone, with half of it half", () => {
	for (const id of ["H200", "GeForce RTX 4090", "Tesla T4", "L40S"]) {
		const whole = proofOf({ cards: [id] });
		const gpu = (proof: Proof) => find(scoreProvider(inputOf(proof), P).root, "gpu 0")!;
		const terms = gpu(whole).from as Term[];
		for (const [i, name] of SCORED.entries()) {
			const change = (to: (value: number) => number) =>
				whole.figures.map((f) => (f.device === 0 && f.name === name ? { ...f, value: Math.floor(to(f.value)) } : f));
			// Memory that cannot be read counts as little as memory that is not there.
			const lost = name === "memory.bandwidth" ? [i, i + 1] : [i];
			const worth = lost.reduce((sum, at) => sum + (terms[at]!.value * gpu(whole).weights![at]!) / 1e6, 0);
			const without = { ...whole, figures: whole.figures.filter((f) => f.device !== 0 || f.name !== name) };
			assert.ok(Math.abs(gpu(whole).value - gpu(without).value - worth) <= 2, `${id} without ${name}`);
			assert.deepEqual(gpu({ ...whole, figures: change(() => 0) }).value, gpu(without).value);
			if (name === "memory.bandwidth") continue;
			const half = gpu({ ...whole, figures: change((value) => value / 2) });
			assert.ok(Math.abs(gpu(whole).value - half.value - worth / 2) <= 2, `${id} with half of its ${name}`);
		}
		const others = whole.figures.filter((f) => f.device !== 0 || SCORED.includes(f.name));
		assert.equal(score({ ...whole, figures: others }), score(whole), "nothing else counts");
	}
});

test("a figure in another unit, of another device or not an integer is no figure; of two the lesser counts", () => {
	const whole = proofOf({ cards: ["H200"] });
	const bent = (change: object) =>
		score({
			...whole,
			figures: whole.figures.map((f) => (f.device === 0 && f.name === "gemm.fp16" ? { ...f, ...change } : f)),
		});
	const none = bent({ value: 0 });
	assert.ok(none < bent({}));
	for (const change of [
		{ unit: "B" },
		{ device: 7 },
		{ device: -1 },
		{ value: 1.5 },
		{ value: Number.NaN },
		{ value: -1 },
	])
		assert.equal(bent(change), none, JSON.stringify(change));
	const slow = whole.figures.filter((f) => f.device === 0).map((f) => ({ ...f, value: Math.floor(f.value / 16) }));
	const least = score({ ...whole, figures: [...whole.figures.filter((f) => f.device !== 0), ...slow] });
	assert.equal(score({ ...whole, figures: [...whole.figures, ...slow] }), least);
	assert.equal(score({ ...whole, figures: [...slow, ...whole.figures] }), least);
});

test("devices without figures are worth nothing, however many are claimed", () => {
	const one = proofOf({ cards: ["H200"] });
	const claimed: Proof = {
		...one,
		devices: [
			...one.devices,
			...Array.from({ length: 7 }, (_, i) => ({ kind: "gpu" as const, uuid: `GPU-more-${i}` })),
		],
	};
	assert.equal(score(claimed), score(one));
	// Nor with an identity of their own, as long as nothing was proven.
	const named = {
		...claimed,
		identity: [...one.identity, { device: 3, profile: "B200" }],
	};
	assert.equal(score(named), score(one));
});

test("one UUID counts once, whatever its spelling, and as the least of those who show it", () => {
	const twice = proofOf({ cards: ["H200", "L4"], uuid: (i) => (i === 0 ? "GPU-AB" : " gpu-ab ") });
	assert.equal(score(twice), score(proofOf({ cards: ["L4"] })));
	assert.ok(score(proofOf({ cards: ["H200", "L4"] })) > score(proofOf({ cards: ["H200"] })), "two UUIDs are two");
	const elsewhere = { creditedElsewhere: ["gpu-0"] };
	assert.equal(score(proofOf({ cards: ["H200", "L4"] }), elsewhere), score(proofOf({ cards: ["L4"] })));
});

test("SN27 cannot tell these apart: a name is worth nothing, the same figures give the same score", () => {
	for (const pair of [
		["L40", "RTX 6000 Ada Generation"],
		["RTX 4000 Ada Generation", "RTX A5000"],
		["A100 80GB PCIe", "A100-SXM4-80GB"],
		["H100 PCIe", "H100 80GB HBM3"],
		["A40", "RTX A6000"],
	]) {
		const proof = proofOf({ cards: [pair[0]!] });
		assert.ok(score(proof) > 0);
		for (const name of [...pair, "a name that nobody knows", null])
			assert.equal(score({ ...proof, identity: [{ device: 0, profile: name }] }), score(proof), pair.join(" – "));
		assert.equal(score({ ...proof, identity: [] }), score(proof));
	}
});

test("up to a common factor the weights miss SN27's scores above 0 by 25 % in the mean", () => {
	const logs = Object.entries(SN27_SCORES_PPM).flatMap(([id, sn27]) => {
		const { root } = scoreProvider(inputOf(proofOf({ cards: [id], share: 1 })), P);
		return sn27 ? [Math.log(sn27 / find(root, "gpu 0")!.value)] : [];
	});
	const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
	const rms = Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length);
	assert.equal(logs.length, 14);
	assert.ok(rms > 0.24 && rms < 0.26, `${rms}`);
});

test("a sustained run counts where it is the slower one, for its own precision alone", () => {
	const one = proofOf({ cards: ["full card"], share: 1 });
	const sustained = (share: number) => {
		const value = share * P.gpuInt8OpsPerS;
		const figure = { device: 0, name: "gemm.int8.sustained", unit: "op/s", value, challenge: 0 };
		return score({ ...one, figures: [...one.figures, figure] });
	};
	assert.equal(sustained(1.2), 125_000);
	assert.equal(sustained(0.5), 125_000 - (125_000 * 0.15) / 2);
	const ratio = { device: 0, name: "scaling.fp16", unit: "ppm", value: 1, challenge: 0 };
	assert.equal(
		score({ ...one, figures: [...one.figures, ratio] }),
		125_000,
		"figures are of all cards at once already",
	);
});

test("memory counts as far as it can be read in a tenth of a second: RAM behind a CPU is no GPU's, and there is no cliff", () => {
	const worth = (bytesPerS: number, bytes: number) => {
		const figure = (name: string, unit: string, value: number) => ({ device: 0, name, unit, value, challenge: 0 });
		const figures = [figure("memory.bandwidth", "B/s", bytesPerS), figure("memory.resident", "B", bytes)];
		const { root } = scoreProvider(inputOf({ ...proofOf({ cards: ["H200"] }), figures }), P);
		return find(root, "memory in reach")!.value;
	};
	assert.equal(worth(460e9, 2e12), 46e9, "two terabytes on twelve channels");
	assert.equal(worth(460e9, 45e9), 45e9);
	for (const { id, bytesPerS, memoryBytes } of CARDS) {
		assert.equal(worth(bytesPerS, memoryBytes), memoryBytes, `${id} counts whole`);
		assert.ok(worth(0.75 * bytesPerS, Math.floor(0.95 * memoryBytes)) > 0.87 * memoryBytes, `${id}, slow`);
	}
});

test("claimed RAM never counts more than the proven bandwidth allows", () => {
	const host = proofOf({ cards: ["H200"], hostShare: 0.5 });
	const ram = (proof: Proof) => find(scoreProvider(inputOf(proof), P).root, "ram")?.value;
	assert.equal(ram(host), 500_000);
	assert.equal(ram({ ...host, claimedRamBytes: 2 ** 50 }), 500_000, "a lie gains nothing");
	assert.equal(ram({ ...host, claimedRamBytes: 32 * 2 ** 30 }), 250_000, "the truth about little");
	for (const claimedRamBytes of [0, -1, Number.NaN]) assert.equal(ram({ ...host, claimedRamBytes }), 0);
	const unproven = { ...host, figures: host.figures.filter((f) => f.device !== 1 || f.name !== "memory.resident") };
	assert.equal(ram(unproven), 0);
});

test("CPU and disk: means of proven speeds, the best single device, nothing without its bytes", () => {
	const host = proofOf({ cards: ["H200"], hostShare: 0.5 });
	const part = (name: string, proof: Proof) => find(scoreProvider(inputOf(proof), P).root, name)?.value;
	assert.equal(part("cpu", host), 500_000);
	assert.equal(part("disk", host), 500_000);
	const without = (device: number, name: string) => ({
		...host,
		figures: host.figures.filter((f) => f.device !== device || f.name !== name),
	});
	assert.equal(part("cpu", without(1, "fma.fp64")), 333_333);
	assert.equal(part("disk", without(2, "disk.write")), 250_000);
	assert.equal(part("disk", without(2, "disk.stored")), 0);
	// A CPU cut in pieces: four virtual ones are not added up.
	const pieces: Proof = {
		...host,
		devices: [...host.devices, { kind: "cpu", uuid: "" }],
		figures: [...host.figures, ...host.figures.filter((f) => f.device === 1).map((f) => ({ ...f, device: 3 }))],
	};
	assert.equal(part("cpu", pieces), 500_000);
});

test("reliability: weighted by age, reached at both ends, and a new name is worth half", () => {
	const proof = proofOf({ cards: Array<string>(8).fill("full card"), share: 1 });
	const after = (...counts: PastProbe["counts"][]) => score(proof, { reliabilityPpm: null, history: past(...counts) });
	assert.equal(after(), 500_000);
	assert.equal(after("success"), 550_000);
	assert.equal(after("failure"), 450_000);
	assert.equal(after("nothing", "nothing"), 500_000, "inconclusive leaves it");
	assert.ok(after("failure", "success") > after("success", "failure"), "the newer counts more");
	assert.equal(after(...Array<"success">(200).fill("success")) >= 999_000, true);
	assert.ok(after(...Array<"failure">(200).fill("failure")) < 1_000);
	const short = createParams({ reliabilityWindow: 1 });
	assert.equal(
		score(proof, { reliabilityPpm: null, history: past("failure", "failure", "success") }, short),
		550_000,
		"what is older than the window is gone",
	);
	let kept: number | null = null;
	for (let i = 0; i < 200; i++) kept = nextReliabilityPpm(kept, "success", P);
	assert.equal(kept, 1_000_000);
	assert.equal(nextReliabilityPpm(kept, "failure", P), 900_000);
	assert.equal(nextReliabilityPpm(kept, "nothing", P), 1_000_000);
	assert.equal(score(proof, { reliabilityPpm: 7_000_000 }), 1_000_000, "nobody is more than reliable");
	assert.equal(score(proof, { reliabilityPpm: Number.NaN }), 0);
});

test("work: a checked part counts like a valid probe, one an interval; a conviction makes it worth nothing for its time", () => {
	const row = (outcome: JobWork["outcome"], intervals: number, part = 0): JobWork => ({
		...{ outcome, atMs: 1000 + intervals * P.intervalMs, job: "ab".repeat(32), part, attempt: 1 },
	});
	const rows = [row("checked", 0.5), row("checked", 1, 1), row("paid", 1.5), row("checked", 1.9, 2)];
	const names = (sinceMs: number | null, untilMs = 1e15, of: readonly JobWork[] = rows) =>
		workAsProbes(of, { sinceMs, untilMs }, P).map(({ evidence }) => evidence.slice(-3));
	assert.deepEqual(names(1000), ["1/1"], "the first came too soon, the third too soon after the second");
	assert.deepEqual(names(1000 - P.intervalMs), ["0/1", "2/1"]);
	assert.deepEqual(names(1000, 1000 + 0.9 * P.intervalMs), [], "not yet");
	assert.deepEqual(names(null), [], "never after a probe that failed");
	assert.deepEqual(names(1000, 1e15, [row("paid", 3), row("lost", 4), row("convicted", 5)]), []);
	const all = workAsProbes(rows, { sinceMs: 1000, untilMs: 1e15 }, P);
	const proof = proofOf({ cards: Array<string>(8).fill("full card"), share: 1 });
	assert.equal(score(proof, { reliabilityPpm: null, history: [...past("success"), ...all] }), 595_000);
	const [atMs, bad] = [row("convicted", 2).atMs, [...rows, row("convicted", 2, 3), row("checked", 9)]];
	assert.equal(convictionOf(rows, atMs, P), null);
	assert.equal(convictionOf(bad, atMs + P.jobConvictionMs, P), null, "its time is over");
	const convicted = convictionOf(bad, atMs + P.jobConvictionMs - 1, P);
	assert.equal(convicted, `job:${"ab".repeat(32)}/3/1`);
	assert.equal(score(proof, { reliabilityPpm: 1_000_000, convicted }), 0);
});

test("uptime: an inconclusive probe lowers it, a false answer is still an answer, our own death is not theirs", () => {
	assert.ok(nextAnsweredPpm(900_000, "inconclusive", P) < 900_000);
	assert.ok(nextAnsweredPpm(900_000, "invalid", P) > 900_000);
	assert.ok(nextAnsweredPpm(900_000, "valid", P) > 900_000);
});

test("a host without a GPU is worth what the operator says, and only an honest one", () => {
	const trial = createParams({ hostOnlyPpm: 10_000 });
	const bare = proofOf({ cards: [] });
	assert.equal(score(bare), 0, "the default");
	assert.equal(score(bare, {}, trial), 4500, "1 % of 0.2 + 0.15 + 0.1");
	assert.equal(score(bare, { reliabilityPpm: 500_000 }, trial), 2250);
	assert.equal(score(bare, { rented: { calls: 24, paidPpm: 1_100_000 } }, trial), 4950);
	assert.equal(score(proofOf({ cards: [], hostShare: 0 }), {}, trial), 0);
	assert.equal(score(bare, {}, createParams({ hostOnlyPpm: 10_000, hostParts: "plain" })), 4500);
	assert.equal(score(bare, {}, createParams({ hostOnlyPpm: 10_000, scoring: "sn27" })), 0, "cards alone");
	const explanation = scoreProvider(inputOf(bare), trial);
	assert.deepEqual([mismatchesOf(explanation), explanation.why], [[], ""]);
	assert.deepEqual(find(explanation.root, "host only")?.from, ["params:hostOnlyPpm"]);

	assert.equal(score(proofOf({ cards: ["L4"], share: 0 }), {}, trial), 0, "claimed and not proven");
	assert.equal(score(proofOf({ cards: ["L4"] }), { creditedElsewhere: ["GPU-0"] }, trial), 0, "somebody else's");
	assert.equal(score(bare, { history: past("success", "failure", "nothing") }, trial), 0, "caught since then");
	assert.ok(score(bare, { history: past("failure", "success") }, trial) > 4000, "and proven again");
	const weak = proofOf({ cards: ["GeForce RTX 2060"], share: 0.05 });
	assert.equal(score(weak, {}, trial), 4500, "a GPU that is worth less than the share is not worth hiding");
	assert.equal(score(proofOf({ cards: ["H200"] }), {}, trial), score(proofOf({ cards: ["H200"] })));
});
