// Devices and guests whose evidence is in a format that this release does not know, beside others that it
// does: nobody is accused, nothing of it counts, and what can still be checked is checked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../../platform/node-signatures.ts";
import { reportDataOf, setOf } from "../../../protocol/attest/binding.ts";
import { bytesToHex, concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { ruleOfMeasurement } from "../guest-rules.ts";
import { keyOf } from "../mint/der-writer.test-kit.ts";
import { collateralPlan, mintCollateral, mintQuote, quotePlan } from "../mint/mint-intel.test-kit.ts";
import {
	type GpuPlan,
	manifestPlan,
	mintDevice,
	mintManifest,
	NONCE,
	switchPlan,
	versionedPlan,
} from "../mint/mint-nvidia.test-kit.ts";
import { mintedSettings } from "../mint/minted-rounds.test-kit.ts";
import { showFile } from "../show-file.ts";
import { type FilesVerdict, verifyFiles } from "../verify-files.ts";
import { areOthers, type RoundEvidence, type RoundVerdict, verifyRound } from "../verify-round.ts";
import { rememberSignatures } from "../x509/signature.ts";
import type { DeviceEvidence } from "./verify-device.ts";

const verify = rememberSignatures(nodeSignatures);
const atMs = Date.parse("2025-06-20T12:00:00Z");
const settings = mintedSettings("2025-06-20T12:00:00Z", verify);
const manifests = (["driver", "vbios"] as const).map((part) => {
	const plan = manifestPlan(part);
	if (part === "driver") plan.floors.set(37, "5");
	return { kind: "manifest" as const, id: `${plan.product} ${plan.version}`, bytes: mintManifest(plan) };
});
const intel = { kind: "Intel collateral" as const, id: "of the mint", bytes: mintCollateral(collateralPlan()) };

const card = (number: number, major = 2, change: Partial<GpuPlan> = {}): DeviceEvidence =>
	mintDevice({ ...versionedPlan(major), card: `card ${number}`, pdi: `${number}`.repeat(16), ...change });
const quoteOf = (devices: readonly DeviceEvidence[]) =>
	mintQuote({ ...quotePlan(), reportData: reportDataOf(NONCE, setOf(devices)) });
const spdm12 = (bytes: Uint8Array) => concatBytes(Uint8Array.of(0x12), bytes.subarray(1));

function judge(devices: readonly DeviceEvidence[], quote: Uint8Array | null = quoteOf(devices)): RoundVerdict {
	const guest = quote === null ? null : { quote, certificates: null };
	const round: RoundEvidence = { devices, guest, collateral: [...manifests, intel] };
	const guests = [ruleOfMeasurement(bytesToHex(quotePlan().mrTd))];
	return verifyRound(round, { bind: NONCE, atMs, verify, guests });
}
const told = ({ fault, shown, devices, untold, guest, reasons }: RoundVerdict) => ({
	...{
		fault: fault?.code ?? null,
		shown,
		levels: devices.map(({ level }) => level),
		untold,
		guest: guest?.tee ?? null,
	},
	reasons: reasons.filter(({ code }) => code === "ATTEST_VERSION").map(({ detail }) => detail),
});
const FORMAT_3 = "the opaque data has the format NVDAOD 3.0.0, profile 0, which this release does not know";
const NO_SPDM = "it does not begin as an SPDM 1.1 report of measurements, the only kind that is read here";
const right = { fault: null, shown: "hosted", levels: ["measured", "measured"], untold: 0, guest: "tdx", reasons: [] };

test("one card in a format to come takes the level of all, by whatever guest; its key counts", () => {
	assert.deepEqual(told(judge([card(1), card(2)])), right);
	const mixed = { ...right, shown: "none", levels: ["measured", "none"], reasons: [FORMAT_3] };
	assert.deepEqual(told(judge([card(1), card(2, 3)])), mixed);
	assert.deepEqual(told(judge([card(1, 3), card(2, 3)])), { ...mixed, levels: ["none", "none"] });
	const unsigned = card(2, 2, { editReport: spdm12 });
	assert.deepEqual(told(judge([card(1), unsigned])), { ...mixed, levels: ["measured"], untold: 1, reasons: [NO_SPDM] });
	assert.deepEqual(told(judge([unsigned])), { ...mixed, levels: [], untold: 1, reasons: [NO_SPDM] });
	// A switch says only which machine it is in.
	const hub = { ...switchPlan(), header: versionedPlan(3).header };
	assert.deepEqual(told(judge([card(1), mintDevice(hub)], null)).shown, "none", "its card names no switch");
});

test("a format to come hides no forgery", () => {
	const signer = keyOf("another");
	for (const [devices, code] of [
		[[card(1), card(2, 3, { signer })], "ATTEST_SIGNATURE"],
		[[card(1, 2, { signer }), card(2, 3)], "ATTEST_SIGNATURE"],
		[[card(1, 2, { signer }), card(2, 2, { editReport: spdm12 })], "ATTEST_SIGNATURE"],
		[[card(1), card(2, 3, { nonce: new Uint8Array(32) })], "NONCE_WRONG"],
		[[card(1), card(1, 3)], "DEVICE_REPEATED"],
	] as const)
		assert.deepEqual(told(judge(devices)), {
			...right,
			fault: code,
			shown: "none",
			levels: [],
			untold: 2,
			guest: null,
		});
	const swapped = [card(2, 3), card(1, 3)];
	assert.equal(judge(swapped, quoteOf(swapped.toReversed())).fault?.code, "BINDING_WRONG");
});

test("what a CPU signed in a kind to come is no guest, and no fault", () => {
	const devices = [card(1), card(2)];
	const quote = quoteOf(devices);
	const without = { ...right, shown: "measured", guest: null };
	for (const [strange, reason] of [
		[quote.with(0, 6), "a quote of version 6, and 3 to 5 are known here"],
		[quote.with(2, 3), "an attestation key of kind 3, and only P-256 is known here"],
		[utf8ToBytes("a token of a kind to come"), "what the CPU signed is of no kind that is known here"],
	] as const)
		assert.deepEqual(told(judge(devices, strange)), { ...without, reasons: [reason] });
	assert.equal(judge(devices, quote.with(900, 1)).fault?.code, "ATTEST_SIGNATURE");
	assert.equal(judge(devices, quote.subarray(0, -1)).fault?.code, "ATTEST_FORM");
});

test("two rounds: of what cannot be read, anything may be; what can be is compared", () => {
	const hidden = (number: number) => card(number, 2, { editReport: spdm12 });
	const rounds = {
		whole: judge([card(1), card(2)], null),
		format3: judge([card(1, 3), card(2)], null),
		others: judge([card(1), card(3, 3)], null),
		half: judge([card(1), hidden(2)], null),
		otherHalf: judge([card(3), hidden(2)], null),
		dark: judge([hidden(1), hidden(2)], null),
		single: judge([card(1)], null),
	};
	const { whole, format3, others, half, otherHalf, dark, single } = rounds;
	for (const same of [
		[whole, format3],
		[whole, half],
		[whole, dark],
		[half, otherHalf],
		[format3, dark],
	] as const)
		assert.equal(areOthers(...same), false);
	for (const other of [
		[whole, others],
		[whole, otherHalf],
		[whole, single],
		[dark, single],
	] as const) {
		assert.equal(areOthers(...other), true);
		assert.equal(areOthers(other[1], other[0]), true);
	}
});

test("files: both layouts, those to come, and what they are shown as", () => {
	const files = (one: DeviceEvidence, ...more: readonly Uint8Array[]): FilesVerdict =>
		verifyFiles([one.report, one.chain, ...more], { require: null, nonce: NONCE }, settings);
	const good = files(card(1), ...manifests.map(({ bytes }) => bytes));
	assert.deepEqual([good.status, good.facts.format, good.facts.measurements], ["valid", "NVDAOD 2.0.0", 8]);
	const later = files(card(1, 3), ...manifests.map(({ bytes }) => bytes));
	assert.deepEqual(
		[later.status, later.code, later.level, later.detail],
		["inconclusive", "ATTEST_VERSION", "none", FORMAT_3],
	);
	assert.equal(later.facts.spkiSha256, files(card(1)).facts.spkiSha256);
	const hub = mintDevice({ ...switchPlan(), header: versionedPlan(3).header });
	assert.deepEqual([files(hub).code, files(hub).facts.chip], ["ATTEST_VERSION", "LS_10"], "known by its certificates");
	// A quote beside reports that cannot be read is judged, its nonce apart.
	const [dark, quote] = [card(1, 2, { editReport: spdm12 }), quoteOf([card(1)])];
	assert.equal(files(dark, quote).code, "ATTEST_VERSION");
	assert.equal(files(dark, quote.with(900, 1)).code, "ATTEST_SIGNATURE");
	const shown = (bytes: Uint8Array) => [showFile(bytes).kind, showFile(bytes).status, showFile(bytes).code];
	assert.deepEqual(shown(card(1).report), ["device report", "valid", null]);
	assert.equal(showFile(card(1).report).facts.format, "NVDAOD 2.0.0");
	assert.deepEqual(shown(card(1, 3).report), ["device report", "inconclusive", "ATTEST_VERSION"]);
	assert.deepEqual(shown(dark.report), ["device report", "inconclusive", "ATTEST_VERSION"]);
});
