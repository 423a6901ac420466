// Honest hosts, whole and partial probes, published figures, strange ones: what identification makes of each.
// Lies are in rules.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Figure } from "../../../protocol/probe/evidence.ts";
import { alikePairs } from "./alike.test-kit.ts";
import { identifyDevice } from "./identify.ts";
import type { Profile } from "./profile.ts";
import { PROFILES } from "./profiles.ts";
import { figuresFrom, H200_PROVEN, H200_TOTAL_BYTES, PUBLISHED_ALIKE, PUBLISHED_TERA } from "./published.test-kit.ts";
import { type Conditions, honestClaim, simulate } from "./simulate.test-kit.ts";

const find = (id: string): Profile => PROFILES.find((profile) => profile.id === id)!;
const honest = (profile: Profile, seed: number, conditions: Conditions = {}) =>
	identifyDevice(simulate(profile, seed, conditions), honestClaim(profile));

test("every card is found among its equals and never accused, capped down to 60 % of its clock", () => {
	const states = new Map<string, number>();
	PROFILES.forEach((profile, i) => {
		for (const cap of [1, 0.9, 0.8, 0.7, 0.6])
			for (let draw = 0; draw < 3; draw++) {
				const judged = honest(profile, 1000 * i + 100 * draw + Math.round(10 * cap), { cap });
				const where = `${profile.id} at ${cap}: ${JSON.stringify(judged)}`;
				assert.ok(judged.alike.includes(profile.id), where);
				assert.ok(judged.state === "confirmed" || judged.state === "consistent", where);
				assert.equal(judged.objections.length, 0, where);
				states.set(judged.state, (states.get(judged.state) ?? 0) + 1);
			}
	});
	// Most are confirmed: a judgement that never commits itself would pass all of the above.
	assert.ok(states.get("confirmed")! > 4 * (states.get("consistent") ?? 0), JSON.stringify([...states]));
});

test("likelihoods are shares, best first, and the right card leads or ties", () => {
	for (const id of ["H200", "GeForce RTX 4090", "A100-SXM4-40GB", "Tesla T4", "GeForce RTX 5090", "RTX A4500"]) {
		const { ranked, alike } = honest(find(id), 5);
		assert.deepEqual(
			ranked.map(({ likelihood }) => likelihood),
			ranked.map(({ likelihood }) => likelihood).sort((a, b) => b - a),
		);
		const sum = ranked.reduce((total, { likelihood }) => total + likelihood, 0);
		assert.ok(sum > 0.999 && sum <= 1.000001, String(sum));
		assert.equal(alike[0], ranked[0]!.id);
		assert.ok(ranked.find((one) => one.id === id)!.likelihood > ranked[0]!.likelihood / 30, id);
	}
});

test("busy hosts, quick probes and partial fills are not accused, and not confirmed either", () => {
	const cases: Conditions[] = [
		{ attention: 0.6, cap: 0.9, fill: 0.5 },
		{ attention: 0.5, fill: 0.4 },
		{ cap: 0.6, fill: 0.3 },
		{ only: ["gemm.int8", "fma.fp32"] },
		{ only: ["gemm.fp16"], cap: 0.6, attention: 0.6 },
		{ only: ["memory.resident", "memory.bandwidth"], fill: 0.3, attention: 0.7 },
	];
	PROFILES.forEach((profile, i) => {
		for (const conditions of cases) {
			const judged = honest(profile, 77 * i + 3, conditions);
			const where = `${profile.id} ${JSON.stringify(conditions)}: ${JSON.stringify(judged)}`;
			assert.notEqual(judged.state, "contradicted", where);
			assert.notEqual(judged.state, "confirmed", where);
		}
		// The whole memory was ours, and yet somebody had a quarter of the time.
		assert.notEqual(honest(profile, 91 * i, { attention: 0.75 }).state, "contradicted", profile.id);
	});
});

test("missing figures carry no information", () => {
	const { figures, claim } = { figures: simulate(find("L4"), 3), claim: honestClaim(find("L4")) };
	const all = identifyDevice(figures, claim);
	const fewer = identifyDevice(
		figures.filter(({ name }) => name !== "gemm.fp8" && name !== "fma.int32"),
		claim,
	);
	assert.ok(all.alike.includes("L4") && fewer.alike.includes("L4"));
	assert.ok(fewer.alike.length >= all.alike.length);
});

test("tf32 is not leaned on: 16-bit units may have answered it, or none at all", () => {
	const plain = simulate(find("H100 80GB HBM3"), 9);
	const claim = honestClaim(find("H100 80GB HBM3"));
	const withTf32 = (value: number) =>
		identifyDevice(
			plain.map((figure) => (figure.name === "gemm.tf32" ? { ...figure, value } : figure)),
			claim,
		);
	const fp16 = plain.find(({ name }) => name === "gemm.fp16")!.value;
	assert.deepEqual(withTf32(fp16), identifyDevice(plain, claim));
	assert.deepEqual(withTf32(1e9), identifyDevice(plain, claim));
	// But no unit of the card does this.
	assert.deepEqual(
		withTf32(2500e12).objections.map(({ rule }) => rule),
		["rate-above"],
	);
});

test("published figures accuse nobody, and leave the known pairs equal", () => {
	const judge = (id: string, claimed: string) => {
		const [, fp16, fp32] = PUBLISHED_TERA.find(([name]) => name === id)!;
		const figures = figuresFrom({ "gemm.fp16": fp16 * 1e12, "fma.fp32": fp32 * 1e12 });
		return identifyDevice(figures, honestClaim(find(claimed)));
	};
	for (const [id] of PUBLISHED_TERA) {
		const judged = judge(id, id);
		assert.ok(judged.state === "consistent" || judged.state === "other", `${id}: ${JSON.stringify(judged)}`);
		assert.deepEqual(judged.objections, [], id);
	}
	for (const [a, b] of PUBLISHED_ALIKE)
		for (const [truth, claimed] of [
			[a, b],
			[b, a],
		] as const)
			assert.equal(judge(truth, claimed).state, judge(truth, truth).state, `${truth} as ${claimed}`);
	// The negative twin: the same two figures do accuse where nothing explains them; slowness explains the
	// first.
	const a40 = figuresFrom({ "gemm.fp16": 40e12, "fma.fp32": 22.8e12 });
	assert.equal(identifyDevice(a40, honestClaim(find("B200"))).state, "other");
	const b200 = figuresFrom({ "gemm.fp16": 1205e12, "fma.fp32": 67.2e12 });
	assert.equal(identifyDevice(b200, honestClaim(find("A40"))).state, "contradicted");
});

test("an H200 as proven is an H200, and no H100, B200 or RTX PRO 6000", () => {
	const figures = figuresFrom(H200_PROVEN);
	const as = (id: string) => identifyDevice(figures, honestClaim(find(id), { memoryBytes: H200_TOTAL_BYTES }));
	const judged = as("H200");
	assert.equal(judged.state, "confirmed");
	assert.equal(judged.profile, "H200");
	assert.deepEqual([...judged.alike].sort(), ["GH200 144G HBM3e", "H200", "H200 NVL"]);
	for (const id of ["H100 80GB HBM3", "H100 PCIe", "B200", "H20-3e", "RTX PRO 6000 Blackwell Server Edition"])
		assert.equal(as(id).state, "contradicted", id);
});

test("the pairs that cannot be told apart are those one expects", () => {
	const pairs = new Set(alikePairs(PROFILES).map((pair) => pair.join(" = ")));
	for (const pair of [
		"L40 = RTX 6000 Ada Generation",
		"L40S = RTX 6000 Ada Generation",
		"A100 80GB PCIe = A100-SXM4-80GB",
		"A100-PCIE-40GB = A100-SXM4-40GB",
		"A100-SXM4-80GB = A800-SXM4-80GB",
		"A40 = RTX A6000",
		"A2 = A16",
		"H200 = GH200 144G HBM3e",
		"TITAN RTX = Quadro RTX 6000",
		"GeForce RTX 4090 = GeForce RTX 4090 D",
		"GeForce RTX 4080 = GeForce RTX 4080 SUPER",
	])
		assert.ok(pairs.has(pair), pair);
	// What two figures leave equal, memory, bandwidth and fp64 tell apart.
	for (const pair of [
		"H100 PCIe = H100 80GB HBM3",
		"RTX A5000 = RTX 4000 Ada Generation",
		"H100 80GB HBM3 = H800",
		"H100 80GB HBM3 = H200",
		"A100-SXM4-40GB = A100-SXM4-80GB",
		"GeForce RTX 3090 = GeForce RTX 4090",
		"GeForce RTX 4060 Ti 8GB = GeForce RTX 4060 Ti 16GB",
		"GeForce RTX 4090 = L40S",
	])
		assert.ok(!pairs.has(pair), pair);
	assert.ok(pairs.size < 0.03 * ((PROFILES.length * (PROFILES.length - 1)) / 2), String(pairs.size));
});

test("the name decides only between equals", () => {
	const figures = simulate(find("A100-SXM4-80GB"), 4);
	const as = (id: string) => identifyDevice(figures, honestClaim(find(id)));
	assert.equal(as("A100 80GB PCIe").profile, "A100 80GB PCIe");
	assert.equal(as("A800-SXM4-80GB").profile, "A800-SXM4-80GB");
	assert.notEqual(as("A100-SXM4-40GB").profile, "A100-SXM4-40GB");
	// One name, two sizes: the figures say which.
	assert.equal(honest(find("GeForce RTX 4060 Ti 16GB"), 8).profile, "GeForce RTX 4060 Ti 16GB");
	assert.equal(honest(find("GeForce RTX 4060 Ti 8GB"), 8).profile, "GeForce RTX 4060 Ti 8GB");
});

test("a name in no profile is an unknown card, with the nearest named, and never a contradiction", () => {
	for (const name of ["NVIDIA GeForce RTX 4090 Laptop GPU", "AMD Instinct MI300X", "", "H100", "GRID A100-40C"]) {
		const judged = identifyDevice(simulate(find("A30"), 2), honestClaim(find("A30"), { name }));
		assert.equal(judged.state, "unknown-name", name);
		assert.equal(judged.profile, "A30");
		assert.deepEqual(judged.objections, []);
	}
});

test("figures that no card has are unknown", () => {
	// More memory and bandwidth than an H200, the arithmetic of an RTX 3050.
	const odd = figuresFrom({
		"gemm.int8": 40e12,
		"gemm.fp16": 10e12,
		"fma.fp32": 8e12,
		"fma.fp64": 8e12,
		"memory.resident": 200e9,
		"memory.bandwidth": 6000e9,
	});
	const judged = identifyDevice(odd, honestClaim(find("H200"), { name: "Something else", memoryBytes: 210e9 }));
	assert.equal(judged.state, "unknown-name");
	assert.equal(judged.profile, null);
	assert.deepEqual(judged.alike, []);
	// Under a known name, where no rule is broken: an H200 in all but its bandwidth, which is half of it.
	const half = figuresFrom({ ...H200_PROVEN, "memory.bandwidth": 2300e9, "memory.resident": 135e9 });
	const known = identifyDevice(half, honestClaim(find("H200"), { memoryBytes: H200_TOTAL_BYTES }));
	assert.equal(known.state, "unknown", JSON.stringify(known));
	assert.equal(known.profile, null);
});

test("a card that is worth 1.25 times the one it may be is not confirmed; one that is worth less than that more, is", () => {
	const figures = figuresFrom({
		...H200_PROVEN,
		"fma.fp32": 0.8 * find("H200").rates.fp32!,
		"fma.fp64": 0.8 * find("H200").rates.fp64!,
		"memory.bandwidth": 0.78 * find("H200").bytesPerS,
	});
	const h200 = find("H200");
	const { rates } = h200;
	/** A card that explains the figures as well as an H200 does, and has so much less of one fact. */
	const less: Record<string, (times: number) => Partial<Profile>> = {
		memory: (times) => ({ memoryBytes: h200.memoryBytes / times }),
		bandwidth: (times) => ({ bytesPerS: h200.bytesPerS / times }),
		int8: (times) => ({ rates: { ...rates, int8: rates.int8! / times } }),
		fp16: (times) => ({ rates: { ...rates, fp16: rates.fp16! / times } }),
		fp32: (times) => ({ rates: { ...rates, fp32: rates.fp32! / times } }),
	};
	const claim = honestClaim(h200, { memoryBytes: H200_TOTAL_BYTES });
	for (const [fact, changed] of Object.entries(less))
		for (const [times, state] of [
			[1.24, "confirmed"],
			[1.26, "consistent"],
		] as const) {
			const other = { ...h200, ...changed(times), id: "a lesser one" };
			const judged = identifyDevice(figures, claim, [h200, other]);
			assert.ok(judged.alike.includes(other.id), `${fact}: ${JSON.stringify(judged)}`);
			assert.equal(judged.state, state, `${fact} ${times}`);
			assert.deepEqual(judged.lesser, state === "confirmed" ? [] : [other.id]);
		}
});

test("nothing proven, hostile numbers and CPUs are not judged", () => {
	const claim = honestClaim(find("L4"));
	assert.equal(identifyDevice([], claim).state, "unjudged");
	assert.equal(identifyDevice(simulate(find("L4"), 1), { ...claim, kind: "cpu" }).state, "unjudged");
	const spoiled = (value: number): Figure[] => simulate(find("L4"), 1).map((figure) => ({ ...figure, value }));
	for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
		assert.equal(identifyDevice(spoiled(value), claim).state, "unjudged", String(value));
	for (const [value, state] of [
		[1, "unknown"],
		[Number.MAX_SAFE_INTEGER, "contradicted"],
	] as const) {
		const judged = identifyDevice(spoiled(value), claim);
		assert.equal(judged.state, state, String(value));
		assert.ok(judged.ranked.every(({ likelihood }) => Number.isFinite(likelihood)));
	}
	assert.notEqual(identifyDevice(simulate(find("L4"), 1), { ...claim, memoryBytes: 0 }).state, "confirmed");
});
