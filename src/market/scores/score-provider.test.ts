// Scores of single hosts, term by term. What holds for all hosts is in score-properties.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import { createParams, DEFAULT_PARAMS } from "../params.ts";
import type { Term } from "./explanation.ts";
import { mismatchesOf, recompute } from "./recompute.ts";
import { nextReliabilityPpm, nextUptimePpm } from "./reliability.ts";
import type { Proof, ScoreInput } from "./score-input.ts";
import { scoreProvider } from "./score-provider.ts";
import {
	CARDS,
	EVIDENCE,
	inputOf,
	measuredH200,
	NOW_MS,
	past,
	profile,
	proofOf,
	usedFigures,
} from "./scored-host.test-kit.ts";

const P = DEFAULT_PARAMS;
const score = (proof: Proof | null, more: Partial<ScoreInput> = {}, params = P) =>
	scoreProvider(inputOf(proof, more), CARDS, params).scorePpm;
const leaves = (at: Term): Term[] =>
	at.rule === "given" ? [at] : at.from.flatMap((part) => (typeof part === "string" ? [] : leaves(part)));
const find = (at: Term, name: string): Term | undefined =>
	at.name === name
		? at
		: at.from.reduce<Term | undefined>(
				(found, part) => found ?? (typeof part === "string" ? undefined : find(part, name)),
				undefined,
			);

test("a real H200, as it was measured, is a whole H200", () => {
	const proof: Proof = {
		...proofOf({ cards: ["H200"] }),
		devices: [
			{ kind: "gpu", uuid: "GPU-0" },
			{ kind: "cpu", uuid: "" },
			{ kind: "disk", uuid: "" },
		],
		figures: measuredH200(),
	};
	const { root, scorePpm } = scoreProvider(inputOf(proof), CARDS, P);
	assert.equal(find(root, "gpu 0")?.value, 4_000_000);
	assert.equal(find(root, "gpu")?.value, 100_000, "4.0 of 8 × 5.0");
	// Its host is a virtual machine whose CPU figures differ by tens of percent from probe to probe: a part, not a whole.
	const [cpu, ram, disk] = ["cpu", "ram", "disk"].map((name) => find(root, name)!.value);
	for (const part of [cpu!, ram!, disk!]) assert.ok(part > 200_000 && part <= 1_000_000, String(part));
	const holistic = 0.55 + (0.2 * cpu! + 0.15 * ram! + 0.1 * disk!) / 1e6;
	assert.ok(Math.abs(scorePpm - 100_000 * holistic) <= 2, `${scorePpm} is 0.1 × ${holistic}`);
});

test("eight B200 in a full host are the whole score; nothing is more", () => {
	const full = proofOf({ cards: Array<string>(8).fill("B200") });
	assert.equal(score(full), 1_000_000);
	assert.equal(score(proofOf({ cards: Array<string>(12).fill("B200") })), 1_000_000, "maxDevices");
	assert.equal(score(full, { rented: true }), 1_000_000, "the bonus is capped");
	assert.equal(score(proofOf({ cards: ["B200"] })), 125_000);
});

test("every score multiplies out from terms that end in evidence, parameters and profiles", () => {
	const explanation = scoreProvider(
		inputOf(proofOf({ cards: ["L4", "Tesla T4"], state: "consistent" }), {
			rented: true,
			reliabilityPpm: null,
			history: past("success", "failure"),
		}),
		CARDS,
		P,
	);
	assert.equal(recompute(explanation), explanation.scorePpm);
	assert.deepEqual(mismatchesOf(explanation), []);
	assert.equal(explanation.evidence, EVIDENCE);
	for (const leaf of leaves(explanation.root)) {
		assert.ok(leaf.from.length > 0, leaf.name);
		for (const source of leaf.from)
			assert.match(String(source), /^([0-9a-f]{64}|params:\w+|profile:.+|state:\w+|constant|not measured)$/, leaf.name);
	}
	// Within something else it can still be signed: canonical JSON, integers only, not too deep.
	assert.ok(encodeCanonicalJson({ explanation }).length > 1000);
});

test("a stated value that is not what its terms give is found", () => {
	const explanation = scoreProvider(inputOf(proofOf({ cards: ["H200"] })), CARDS, P);
	assert.equal(mismatchesOf({ ...explanation, scorePpm: explanation.scorePpm + 1 }).length, 1);
});

test("no proof, a paused provider, no GPU: 0, with a reason", () => {
	const cpuOnly: Proof = { ...proofOf({ cards: [] }), identity: [] };
	const cases: [Proof | null, Partial<ScoreInput>, RegExp][] = [
		[null, {}, /nothing was proven/],
		[proofOf({ cards: ["H200"] }), { active: false }, /paused or removed/],
		[cpuOnly, {}, /no GPU/],
		[{ ...proofOf({ cards: ["H200"] }), identity: [] }, {}, /no GPU/],
	];
	for (const [proof, more, why] of cases)
		for (const hostParts of ["carried", "plain"]) {
			const explanation = scoreProvider(inputOf(proof, more), CARDS, createParams({ hostParts }));
			assert.equal(explanation.scorePpm, 0);
			assert.equal(recompute(explanation), 0);
			assert.match(explanation.why, why);
		}
	assert.equal(scoreProvider(inputOf(proofOf({ cards: ["H200"] })), CARDS, P).why, "");
});

test("a proof ages: three intervals, rented time apart, and not for ever", () => {
	const at = (ageMs: number, more: Partial<ScoreInput> = {}) =>
		score({ ...proofOf({ cards: ["H200"] }), provenAtMs: NOW_MS - ageMs }, more);
	assert.equal(at(P.maxAgeMs), 100_000);
	assert.equal(at(P.maxAgeMs + 1), 0);
	assert.equal(at(P.maxAgeMs + 5000, { rented: true, rentedMs: 5000 }), 110_000);
	assert.equal(at(P.maxAgeMs + 5000, { rentedMs: 4999 }), 0);
	assert.equal(at(P.maxRentedAgeMs, { rented: true, rentedMs: P.maxRentedAgeMs }), 110_000);
	assert.equal(at(P.maxRentedAgeMs + 1, { rented: true, rentedMs: P.maxRentedAgeMs }), 0, "who rents from itself");
	assert.equal(at(P.maxAgeMs + 1, { rentedMs: -5 }), 0);
	assert.equal(at(-1000), 100_000, "clocks of two validators differ");
});

test("the share of speed is the least one, and a hidden figure is a share of 0", () => {
	for (const id of ["H200", "GeForce RTX 4090", "Tesla T4", "L40S"]) {
		const whole = proofOf({ cards: [id] });
		const full = score(whole);
		for (const name of usedFigures(profile(id))) {
			const without = { ...whole, figures: whole.figures.filter((f) => f.device !== 0 || f.name !== name) };
			assert.equal(score(without), 0, `${id} without ${name}`);
			const slow = whole.figures.map((f) =>
				f.device === 0 && f.name === name ? { ...f, value: Math.floor(f.value / 20) } : f,
			);
			const slowed = score({ ...whole, figures: slow });
			assert.ok(slowed > 0 && slowed < full, `${id} with a slow ${name}: ${slowed} of ${full}`);
		}
		// What is not used may be absent: it is asked for by the validator and answered by the same units.
		assert.equal(score({ ...whole, figures: whole.figures.filter((f) => f.name !== "gemm.tf32") }), full);
	}
});

test("a figure in another unit, of another device or not an integer is no figure", () => {
	const whole = proofOf({ cards: ["H200"] });
	const bent = (change: object) =>
		score({
			...whole,
			figures: whole.figures.map((f) => (f.device === 0 && f.name === "gemm.fp16" ? { ...f, ...change } : f)),
		});
	for (const change of [
		{ unit: "B" },
		{ device: 7 },
		{ device: -1 },
		{ value: 1.5 },
		{ value: Number.NaN },
		{ value: -1 },
	])
		assert.equal(bent(change), 0, JSON.stringify(change));
	assert.equal(bent({}), 100_000);
	// A fill and a longer run both give gemm.int8: the better one counts, in whatever order they come.
	const slow = whole.figures.filter((f) => f.device === 0).map((f) => ({ ...f, value: Math.floor(f.value / 16) }));
	assert.equal(score({ ...whole, figures: [...whole.figures, ...slow] }), 100_000);
	assert.equal(score({ ...whole, figures: [...slow, ...whole.figures] }), 100_000);
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
		identity: [...one.identity, { device: 3, state: "consistent" as const, profile: "B200", alike: ["B200"] }],
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

test("among equals the least valued counts; a confirmed name adds a little and no more", () => {
	const as = (state: Proof["identity"][number]["state"], named: string, alike: string[], params = P) =>
		score({ ...proofOf({ cards: [named] }), identity: [{ device: 0, state, profile: named, alike }] }, {}, params);
	const pair = ["A100-SXM4-80GB", "A100 80GB PCIe"];
	assert.equal(as("consistent", "A100-SXM4-80GB", pair), as("consistent", "A100 80GB PCIe", pair));
	assert.equal(as("confirmed", "A100-SXM4-80GB", pair), 47_500, "1.9 of 40");
	const least = createParams({ namePremiumPpm: 1_000_000 });
	assert.equal(as("confirmed", "A100-SXM4-80GB", pair, least), 42_500, "1.7 of 40");
	// Of cards that differ by more than a name is worth, even a confirmed name gives no more than a quarter above the least.
	const wide = ["RTX A5500", "RTX A5000"];
	assert.equal(as("confirmed", "RTX A5500", wide), 8_125, "0.26 × 1.25 of 40");
	assert.equal(as("confirmed", "RTX A5500", ["RTX A5500"]), 13_956, "when it is singled out");
	assert.equal(
		as("other", "L40", ["L40", "L20"]),
		as("consistent", "L20", ["L40", "L20"]),
		"as its figures explain it",
	);
});

test("SN27 cannot tell these apart: under any of the two names the same hardware is worth the same, if not confirmed", () => {
	for (const pair of [
		["L40", "RTX 6000 Ada Generation"],
		["RTX 4000 Ada Generation", "RTX A5000"],
		["A100 80GB PCIe", "A100-SXM4-80GB"],
		["H100 PCIe", "H100 80GB HBM3"],
		["A40", "RTX A6000"],
	]) {
		const [figuresOf = "", other = ""] = pair;
		const named = (name: string) => {
			const proof = proofOf({ cards: [figuresOf], state: "consistent" });
			return score({ ...proof, identity: [{ device: 0, state: "consistent", profile: name, alike: pair }] });
		};
		assert.equal(named(figuresOf), named(other), pair.join(" – "));
		assert.ok(named(figuresOf) > 0);
	}
});

test("a card that no profile explains: the formula on what was proven, discounted", () => {
	const as = (state: Proof["identity"][number]["state"], id = "H200") =>
		score({ ...proofOf({ cards: [id], share: 0.7 }), identity: [{ device: 0, state, profile: null, alike: [] }] });
	assert.ok(as("unknown") > 0);
	assert.equal(as("unknown"), as("unknown-name"));
	assert.ok(as("unknown") < score(proofOf({ cards: ["H200"], share: 0.7 })));
	const whole = createParams({ unknownCardPpm: 1_000_000 });
	const unknown = {
		...proofOf({ cards: ["H200"], share: 0.7 }),
		identity: [{ device: 0, state: "unknown" as const, profile: null, alike: [] }],
	};
	assert.ok(Math.abs(score(unknown, {}, whole) - 2 * as("unknown")) <= 1, "the discount is a half");
	assert.equal(as("unjudged"), 0);
	const noFp16 = proofOf({ cards: ["H200"] });
	const hidden = { ...noFp16, figures: noFp16.figures.filter((f) => f.name !== "gemm.fp16") };
	assert.equal(score({ ...hidden, identity: [{ device: 0, state: "unknown", profile: null, alike: [] }] }), 0);
});

test("sustained and scaling lower their device; neither lifts it above 1; not measured is 1", () => {
	const one = proofOf({ cards: ["H200", "H200"] });
	const ratio = (device: number, name: string, value: number) => ({ device, name, unit: "ppm", value, challenge: 0 });
	const withRatios = (...figures: ReturnType<typeof ratio>[]) =>
		score({ ...one, figures: [...one.figures, ...figures] });
	assert.equal(score(one), 200_000);
	assert.equal(withRatios(ratio(0, "gemm.int8.sustained-ratio", 500_000)), 150_000);
	assert.equal(withRatios(ratio(0, "gemm.int8.sustained-ratio", 1_400_000)), 200_000);
	assert.equal(withRatios(ratio(1, "scaling.int8", 500_000), ratio(0, "scaling.int8", 1_000_000)), 150_000);
	assert.equal(
		withRatios(ratio(0, "scaling.int8", 500_000)),
		100_000,
		"the host's, where a device has none of its own",
	);
});

test("claimed RAM never counts more than the proven bandwidth allows", () => {
	const host = proofOf({ cards: ["H200"], hostShare: 0.5 });
	const ram = (proof: Proof) => find(scoreProvider(inputOf(proof), CARDS, P).root, "ram")?.value;
	assert.equal(ram(host), 500_000);
	assert.equal(ram({ ...host, claimedRamBytes: 2 ** 50 }), 500_000, "a lie gains nothing");
	assert.equal(ram({ ...host, claimedRamBytes: 32 * 2 ** 30 }), 250_000, "the truth about little");
	for (const claimedRamBytes of [0, -1, Number.NaN]) assert.equal(ram({ ...host, claimedRamBytes }), 0);
	const unproven = { ...host, figures: host.figures.filter((f) => f.device !== 1 || f.name !== "memory.resident") };
	assert.equal(ram(unproven), 0);
});

test("CPU and disk: means of proven speeds, the best single device, nothing without its bytes", () => {
	const host = proofOf({ cards: ["H200"], hostShare: 0.5 });
	const part = (name: string, proof: Proof) => find(scoreProvider(inputOf(proof), CARDS, P).root, name)?.value;
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
	const proof = proofOf({ cards: Array<string>(8).fill("B200") });
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

test("uptime: an inconclusive probe lowers it, a false answer is still an answer, our own death is not theirs", () => {
	assert.ok(nextUptimePpm(900_000, "inconclusive", P) < 900_000);
	assert.ok(nextUptimePpm(900_000, "invalid", P) > 900_000);
	assert.ok(nextUptimePpm(900_000, "valid", P) > 900_000);
});

test("a host without a GPU is worth what the operator says, and only an honest one", () => {
	const trial = createParams({ hostOnlyPpm: 10_000 });
	const bare = proofOf({ cards: [] });
	assert.equal(score(bare), 0, "the default");
	assert.equal(score(bare, {}, trial), 4500, "1 % of 0.2 + 0.15 + 0.1");
	assert.equal(score(bare, { reliabilityPpm: 500_000 }, trial), 2250);
	assert.equal(score(bare, { rented: true }, trial), 4950);
	assert.equal(score(proofOf({ cards: [], hostShare: 0 }), {}, trial), 0);
	assert.equal(score(bare, {}, createParams({ hostOnlyPpm: 10_000, hostParts: "plain" })), 4500);
	assert.equal(score(bare, {}, createParams({ hostOnlyPpm: 10_000, scoring: "sn27" })), 0, "cards alone");
	const explanation = scoreProvider(inputOf(bare), CARDS, trial);
	assert.deepEqual([mismatchesOf(explanation), explanation.why], [[], ""]);
	assert.deepEqual(find(explanation.root, "host only")?.from, ["params:hostOnlyPpm"]);

	const claimed = proofOf({ cards: ["L4"], state: "unjudged" });
	assert.equal(score(claimed, {}, trial), 0, "claimed and not proven");
	assert.equal(score(proofOf({ cards: ["L4"], share: 0 }), {}, trial), 0, "claimed and without figures");
	assert.equal(score(proofOf({ cards: ["L4"] }), { creditedElsewhere: ["GPU-0"] }, trial), 0, "somebody else's");
	assert.equal(score(bare, { history: past("success", "failure", "nothing") }, trial), 0, "caught since then");
	assert.ok(score(bare, { history: past("failure", "success") }, trial) > 4000, "and proven again");
	const weak = proofOf({ cards: ["GeForce RTX 2060"], share: 0.05 });
	assert.equal(score(weak, {}, trial), 4500, "a GPU that is worth less than the share is not worth hiding");
	assert.equal(score(proofOf({ cards: ["H200"] }), {}, trial), score(proofOf({ cards: ["H200"] })));
});
