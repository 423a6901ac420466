// The table of profiles: sane by itself, in line with printed rates, its names, and the page made from it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FMA_PRECISIONS } from "../../../protocol/maths/precision.ts";
import { FAMILIES } from "./families.ts";
import { card, headroom, isDoubtful, normalName, type Profile } from "./profile.ts";
import { PROFILES, profilesNamed } from "./profiles.ts";
import { PROFILES_PAGE, profilesPage } from "./profiles-page.test-kit.ts";
import { RULES } from "./rules.ts";
import { BANDWIDTH_SHARE, INT32_SHARE, LOWEST_CLOCK, SCALAR_SHARE } from "./shares.ts";

/** What is wrong with a profile by itself; the tests below spoil one to see that each line can fail. */
function insane(profile: Profile): string[] {
	const { compute, rates, memoryBytes, reportedBytes, bytesPerS, sms, boostMHz, tensorMHz, powerW } = profile;
	const found: string[] = [];
	const expect = (holds: boolean, what: string) => {
		if (!holds) found.push(`${profile.id}: ${what}`);
	};
	const has = { fp8: Number(compute) >= 8.9, bf16: Number(compute) >= 8, tf32: Number(compute) >= 8 };
	for (const [precision, there] of Object.entries(has))
		expect(precision in rates === there, `${precision} from ${compute}`);
	for (const precision of ["int8", "fp16", ...FMA_PRECISIONS] as const)
		expect((rates[precision] ?? 0) > 0, `${precision} everywhere`);
	const { int8 = 0, fp8, fp16 = 0, bf16, tf32, fp32 = 0, fp64 = 0 } = rates;
	if (bf16 !== undefined) expect(bf16 === fp16, "bf16 as fast as fp16");
	if (tf32 !== undefined) expect(Math.abs(fp16 / tf32 - 2) < 0.01, "tf32 half of fp16");
	if (fp8 !== undefined) expect(Math.abs(fp8 / fp16 - 2) < 0.01, "fp8 twice fp16");
	const byInt8 = int8 / fp16;
	expect(
		isDoubtful(profile, "int8") || Math.abs(byInt8 - 2) < 0.01 || Math.abs(byInt8 - 4) < 0.01,
		"int8 2 or 4 × fp16",
	);
	expect(fp64 <= fp32 / 2 + 1 && fp64 >= fp32 / 80, "fp64 between 1/80 and 1/2 of fp32");
	expect(fp16 >= 1.9 * fp32 && fp16 <= 35 * fp32, "fp16 2 … 34 × fp32");
	expect(sms >= 10 && sms <= 200 && boostMHz >= 1000 && boostMHz <= 3000 && tensorMHz <= boostMHz, "SMs and clocks");
	expect(memoryBytes >= 4 * 2 ** 30 && memoryBytes <= 300 * 2 ** 30, "memory");
	if (reportedBytes !== null)
		expect(reportedBytes / memoryBytes > 0.92 && reportedBytes / memoryBytes <= 1, "reported within the soldered");
	expect(bytesPerS >= 160e9 && bytesPerS <= 8e12 && powerW >= 60 && powerW <= 1400, "bandwidth and power");
	expect(headroom(profile, "fp16") >= headroom(profile, "fp32") && headroom(profile, "fp16") < 1.4, "headroom");
	return found;
}

const find = (id: string): Profile => PROFILES.find((profile) => profile.id === id)!;

test("at least 60 cards, from Turing to Blackwell, each sane by itself", () => {
	assert.ok(PROFILES.length >= 60, String(PROFILES.length));
	assert.deepEqual(PROFILES.flatMap(insane), []);
	for (const architecture of ["turing", "ampere", "ada", "hopper", "blackwell-dc", "blackwell"])
		assert.ok(PROFILES.filter((profile) => profile.architecture === architecture).length >= 5, architecture);
});

test("an insane profile is seen", () => {
	const { rates, ...rest } = find("L40S");
	const spoiled = (change: Partial<Profile>) => insane({ ...rest, rates, ...change }).length;
	assert.equal(spoiled({}), 0);
	// The sparse rate, the fp16-accumulation rate, decimal memory, a precision the chip lacks.
	assert.ok(spoiled({ rates: { ...rates, fp16: 2 * rates.fp16! } }) > 0);
	assert.ok(spoiled({ rates: { ...rates, int8: 1.5 * rates.int8! } }) > 0);
	assert.ok(spoiled({ compute: "8.6" }) > 0);
	assert.ok(spoiled({ reportedBytes: 1.01 * rest.memoryBytes }) > 0);
	assert.ok(spoiled({ bytesPerS: 864 }) > 0);
});

test("rates that data sheets print follow from the units", () => {
	const printed: [string, keyof Profile["rates"], number][] = [
		["Tesla T4", "int8", 130],
		["Tesla T4", "fp16", 65],
		["A100-SXM4-80GB", "fp16", 312],
		["A100-SXM4-80GB", "fp64", 9.7],
		["A30", "int8", 330],
		["A10", "fp16", 125],
		["A40", "fp16", 149.7],
		["RTX A6000", "fp32", 38.7],
		["GeForce RTX 3090", "fp16", 71],
		["L4", "fp8", 242],
		["L40", "fp16", 181],
		["L40S", "fp8", 733],
		["GeForce RTX 4090", "fp16", 165.2],
		["GeForce RTX 4090", "fp32", 82.6],
		["H100 PCIe", "bf16", 756],
		["H100 80GB HBM3", "int8", 1979],
		["H200", "fp32", 67],
		["H100 NVL", "fp16", 835],
		["B200", "fp8", 4500],
		["GeForce RTX 5090", "fp16", 209.5],
		["GeForce RTX 5090", "fp32", 104.8],
	];
	for (const [id, precision, tera] of printed) {
		const ratio = find(id).rates[precision]! / (tera * 1e12);
		assert.ok(Math.abs(ratio - 1) < 0.01, `${id} ${precision}: ${ratio}`);
	}
});

test("larger editions of a card are no worse than the smaller", () => {
	const ladders = [
		[
			"GeForce RTX 2060 SUPER",
			"GeForce RTX 2070",
			"GeForce RTX 2070 SUPER",
			"GeForce RTX 2080",
			"GeForce RTX 2080 SUPER",
		],
		["GeForce RTX 3070", "GeForce RTX 3070 Ti", "GeForce RTX 3080", "GeForce RTX 3080 12GB", "GeForce RTX 3080 Ti"],
		["GeForce RTX 3080 Ti", "GeForce RTX 3090", "GeForce RTX 3090 Ti"],
		[
			"GeForce RTX 4060",
			"GeForce RTX 4070",
			"GeForce RTX 4070 SUPER",
			"GeForce RTX 4070 Ti",
			"GeForce RTX 4070 Ti SUPER",
		],
		[
			"GeForce RTX 4070 Ti SUPER",
			"GeForce RTX 4080",
			"GeForce RTX 4080 SUPER",
			"GeForce RTX 4090 D",
			"GeForce RTX 4090",
		],
		["GeForce RTX 5060", "GeForce RTX 5060 Ti 16GB", "GeForce RTX 5070 Ti", "GeForce RTX 5080", "GeForce RTX 5090"],
		["RTX A2000", "RTX A4000", "RTX A4500", "RTX A5000", "RTX A6000"],
		["RTX 4000 Ada Generation", "RTX 4500 Ada Generation", "RTX 5000 Ada Generation", "RTX 6000 Ada Generation"],
		["H100 PCIe", "H100 80GB HBM3", "H200", "B200", "GB200"],
	];
	for (const ladder of ladders)
		for (let i = 1; i < ladder.length; i++) {
			const [less, more] = [find(ladder[i - 1]!), find(ladder[i]!)];
			assert.ok(more.bytesPerS >= less.bytesPerS && more.memoryBytes >= less.memoryBytes, `${less.id} < ${more.id}`);
			for (const precision of ["int8", "fp16", "fp32"] as const)
				assert.ok(more.rates[precision]! >= less.rates[precision]!, `${less.id} < ${more.id}: ${precision}`);
		}
});

test("a name belongs to one card, or to several memory sizes of it", () => {
	assert.equal(new Set(PROFILES.map(({ id }) => id)).size, PROFILES.length);
	const owners = new Map<string, Profile[]>();
	for (const profile of PROFILES) {
		assert.equal(new Set(profile.names.map(normalName)).size, profile.names.length, profile.id);
		for (const name of profile.names) owners.set(normalName(name), [...(owners.get(normalName(name)) ?? []), profile]);
	}
	const shared = [...owners].filter(([, profiles]) => profiles.length > 1);
	for (const [name, profiles] of shared) {
		assert.equal(new Set(profiles.map(({ memoryBytes }) => memoryBytes)).size, profiles.length, name);
		assert.equal(new Set(profiles.map(({ compute }) => compute)).size, 1, name);
	}
	assert.equal(shared.length, 8);
});

test("names are found as drivers write them, whole and not in part", () => {
	const ids = (name: string) => profilesNamed(name).map(({ id }) => id);
	assert.deepEqual(ids("NVIDIA H100 80GB HBM3"), ["H100 80GB HBM3"]);
	assert.deepEqual(ids("Tesla T4"), ["Tesla T4"]);
	assert.deepEqual(ids("  nvidia   geforce RTX 4090 "), ["GeForce RTX 4090", "GeForce RTX 4090 48GB"]);
	assert.deepEqual(ids("GeForce RTX 2080 Ti"), ["GeForce RTX 2080 Ti", "GeForce RTX 2080 Ti 22GB"]);
	for (const other of [
		"NVIDIA GeForce RTX 4090 Laptop GPU",
		"NVIDIA A100-SXM4-80GB MIG 3g.40gb",
		"GRID A100-40C",
		"RTX 4090",
		"NVIDIA GeForce RTX\u00a04090 X",
		"",
		"NVIDIA",
	])
		assert.deepEqual(ids(other), [], other);
});

test("a card's own clock and rates override its family's", () => {
	const plain = card("X", FAMILIES.hopper, 100, 2000, 80, 0, 1000, 100);
	const own = card("X", FAMILIES.hopper, 100, 2000, 80, 0, 1000, 100, { tensorMHz: 1000, rates: { fp64: 5 } });
	assert.equal(own.rates.fp16! * 2, plain.rates.fp16);
	assert.equal(own.rates.fp32, plain.rates.fp32);
	assert.equal(own.rates.fp64, 5);
	assert.equal(headroom(own, "fp16"), 2 * headroom(plain, "fp16"));
	assert.equal(plain.reportedBytes, null);
});

/** The numbers in the table's reasons, worked out from shares.ts, so that neither moves alone. */
const DERIVED_LIMITS = {
	"bandwidth-below": BANDWIDTH_SHARE.low * LOWEST_CLOCK,
	"scalar-below": LOWEST_CLOCK * SCALAR_SHARE.low * 0.92,
	"scalar-to-bandwidth": ((LOWEST_CLOCK * SCALAR_SHARE.low) / BANDWIDTH_SHARE.high) * 0.85,
	"int32-below": LOWEST_CLOCK * INT32_SHARE.low * 0.85,
};

test("the margins are no tighter than the shares they follow from", () => {
	for (const [rule, derived] of Object.entries(DERIVED_LIMITS)) {
		const { limit } = RULES[rule as keyof typeof RULES];
		assert.ok(limit <= derived + 0.005 && limit > 0.9 * derived, `${rule}: ${limit} against ${derived}`);
	}
});

test("docs/profiles.md is what the table makes", () => {
	const command = "run node src/verify/hardware/identify/profiles-page.test-kit.ts";
	assert.equal(readFileSync(PROFILES_PAGE, "utf8"), profilesPage(), command);
});
