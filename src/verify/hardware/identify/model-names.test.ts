// Words of people for cards: whole names mean one card, parts mean all that have them, never a piece of a
// number.
import assert from "node:assert/strict";
import { test } from "node:test";
import { profilesMeant } from "./model-names.ts";
import { unsupportedMeant, unsupportedName } from "./other-vendors.ts";
import { PROFILES } from "./profiles.ts";
import { shortName } from "./short-name.ts";

const ids = (typed: string) => profilesMeant(typed).map(({ id }) => id);

test("a part of a name means every card that has it", () => {
	assert.deepEqual(ids("h100"), ["H100 PCIe", "H100 80GB HBM3", "H100 NVL"]);
	assert.deepEqual(ids("A100"), ["A100-PCIE-40GB", "A100-SXM4-40GB", "A100 80GB PCIe", "A100-SXM4-80GB"]);
	assert.deepEqual(ids("rtx pro 6000").length, 3);
});

test("a whole name means that card alone, however it is written", () => {
	for (const typed of ["H200", "h200", "NVIDIA H200", "h200-sxm"]) assert.deepEqual(ids(typed), ["H200"], typed);
	for (const typed of ["h100-sxm", "H100 SXM5", "NVIDIA H100 80GB HBM3"])
		assert.deepEqual(ids(typed), ["H100 80GB HBM3"], typed);
	for (const typed of ["4090 d", "RTX-4090-D", "geforce rtx 4090 d"])
		assert.deepEqual(ids(typed), ["GeForce RTX 4090 D"], typed);
	// One driver name for two memory sizes.
	assert.deepEqual(ids("rtx-4090"), ["GeForce RTX 4090", "GeForce RTX 4090 48GB"]);
	assert.deepEqual(ids("4090"), ids("rtx-4090"));
	assert.deepEqual(ids("a10"), ["A10"]);
	assert.deepEqual(ids("l4"), ["L4"]);
});

test("no number is cut, no word is begun in its middle, nothing means nothing", () => {
	for (const typed of ["", "  ", "nvidia", "h10", "100", "00", "409", "x100", "100 80gb", "toaster", "("])
		assert.deepEqual(ids(typed), [], typed);
});

test("cards of other vendors are known by their PCI number and by what people type", () => {
	const named = (pciId: string, name = "", count = 1) => unsupportedName({ pciId, name, count });
	assert.equal(named("1002:74a1", "anything", 8), "8 × AMD Instinct MI300X");
	assert.equal(named("8086:0bda"), "1 × Intel Data Center GPU Max 1100");
	assert.equal(named("1da3:1060"), "1 × Intel Gaudi 3");
	assert.equal(named("1002:ffff"), "1 × AMD card with the PCI number 1002:ffff");
	assert.equal(named("10de:2335", "H200"), "1 × card with the PCI number 10de:2335 ('H200')");
	const meant: [string, string | null][] = [
		["mi300x", "AMD Instinct MI300X"],
		["AMD MI325X", "AMD Instinct MI325X"],
		["MI300", "MI300"],
		["Intel Gaudi 3", "Intel Gaudi 3"],
		["gaudi2", "Intel Gaudi 2"],
		["Max-1550", "Intel Data Center GPU Max 1550"],
		["RX 7900 XTX", "AMD Radeon RX 7900 XTX"],
		["AMD", "AMD"],
		...["", "toaster", "H1O0", "H1000", "x"].map((typed): [string, null] => [typed, null]),
	];
	for (const [typed, name] of meant) assert.equal(unsupportedMeant(typed), name, typed);
});

test("every card is found by its id and by each of its names", () => {
	for (const profile of PROFILES)
		for (const name of [profile.id, ...profile.names]) assert.ok(profilesMeant(name).includes(profile), name);
});

test("a short name is no longer than the card's, one for each card, and finds it", () => {
	assert.deepEqual(
		["H100 80GB HBM3", "H200", "GeForce RTX 4090", "RTX 6000 Ada Generation", "<b>", "A100-SXM4-80GB"].map(shortName),
		["H100 SXM", "H200", "RTX 4090", "RTX 6000 Ada", "<b>", "A100 SXM 80GB"],
	);
	for (const { id } of PROFILES) assert.ok(ids(shortName(id)).includes(id), id);
	assert.equal(new Set(PROFILES.map(({ id }) => shortName(id))).size, PROFILES.length);
});
