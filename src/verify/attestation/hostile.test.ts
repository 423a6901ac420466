// Input that is made to cost: long, deep, wide, endless. Each is refused with its code; a hang would end the
// test's process.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { concatBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { keyOf, type MintKey, mintCertificate, name, pem } from "./mint/der-writer.test-kit.ts";
import { chainOf, gpuPlan, manifestPlan, mintDevice, mintManifest } from "./mint/mint-nvidia.test-kit.ts";
import { mintedRounds, mintedSettings } from "./mint/minted-rounds.test-kit.ts";
import { readSdkJson } from "./nvidia/sdk-json.ts";
import { verifyDevice } from "./nvidia/verify-device.ts";
import { verifyManifest } from "./nvidia/verify-manifest.ts";
import { verifyDeviceSet } from "./nvidia/verify-set.ts";
import { verifyFiles } from "./verify-files.ts";

const settings = mintedSettings("2025-06-20T12:00:00Z", nodeSignatures);
const question = { ask: "genuine" as const, nonce: null, chip: null, manifests: [], ocsp: [] };
const device = mintDevice(gpuPlan());

test("reports and chains of any length", () => {
	const long = concatBytes(device.report, new Uint8Array(64 * 1024 * 1024));
	assert.equal(verifyDevice({ ...device, report: long }, question, settings).code, "ATTEST_FORM");
	const [leaf] = chainOf(gpuPlan());
	const many = utf8ToBytes(pem(leaf!).repeat(10_000));
	assert.equal(verifyDevice({ ...device, chain: many }, question, settings).code, "ATTEST_FORM");
	const open = utf8ToBytes("-----BEGIN CERTIFICATE-----\n".repeat(4_000));
	assert.equal(verifyDevice({ ...device, chain: open }, question, settings).code, "ATTEST_FORM");
	const circle = chainOf(gpuPlan()).with(4, chainOf(gpuPlan())[3]!);
	assert.equal(
		verifyDevice({ ...device, chain: utf8ToBytes(pem(...circle)) }, question, settings).code,
		"ATTEST_CHAIN",
	);
});

test("1 GiB where a report, a quote or a list is due", () => {
	const huge = new Uint8Array(2 ** 30);
	const ask = { require: null, nonce: null };
	for (const { name, files } of mintedRounds(nodeSignatures))
		for (const [i, file] of files.entries()) {
			// The first bytes say what it is; the file ends long after any of its kind.
			huge.set(file);
			const { status, code } = verifyFiles(files.with(i, huge), ask, settings);
			huge.fill(0, 0, file.length);
			assert.notEqual(status, "valid", `${name}, file ${i}`);
			assert.notEqual(code, "INTERNAL", `${name}, file ${i}`);
		}
});

test("certificates that vouch for each other, and for themselves", () => {
	const [a, b] = [keyOf("a"), keyOf("b")];
	const named = (CN: string) => name({ CN, serialNumber: undefined });
	const of = (CN: string, key: MintKey, issuer: { name: Uint8Array; key: MintKey }) =>
		mintCertificate({ CN, key, issuer, isCa: true });
	const [first, second] = [of("a", a, { name: named("b"), key: b }), of("b", b, { name: named("a"), key: a })];
	const self = of("a", a, { name: named("a"), key: a });
	for (const chain of [
		[first, second, first, second, first],
		[self, self, self, self, self],
	])
		assert.equal(
			verifyDevice({ ...device, chain: utf8ToBytes(pem(...chain)) }, question, settings).code,
			"ATTEST_CHAIN",
		);
});

test("more devices and more collateral than anybody has", () => {
	assert.equal(verifyDeviceSet(() => new Array(33).fill(device), null, settings).code, "ATTEST_FORM");
	const rows = JSON.stringify(new Array(33).fill({ evidence: "AA==", certificate: "AA==" }));
	assert.equal(verifyDeviceSet(() => readSdkJson(utf8ToBytes(rows), "list"), null, settings).code, "ATTEST_FORM");
	const manifests = new Array(17).fill(mintManifest(manifestPlan("driver")));
	const asked = { ...question, ask: "measured" as const, manifests };
	assert.equal(verifyDevice(device, asked, settings).code, "COLLATERAL_WRONG");
	const deep = utf8ToBytes(`{"hcl_report":${"[".repeat(100_000)}`);
	assert.equal(verifyFiles([deep], { require: null, nonce: null }, settings).code, "ATTEST_FORM");
});

test("manifests that are long, deep or wide", () => {
	const refused = (xml: string) => assert.equal(verifyManifest(utf8ToBytes(xml), settings).code, "RIM_WRONG");
	refused(`<a>${"x".repeat(600_000)}</a>`);
	refused("<a>".repeat(100_000));
	refused(`<a ${Array.from({ length: 20_000 }, (_, i) => `k${i}="v"`).join(" ")}/>`);
	const spaces = Array.from({ length: 250 }, (_, i) => `xmlns:n${i}="urn:${i}"`).join(" ");
	refused(`<a ${spaces}>${'<b xmlns:m="urn:m"/>'.repeat(19_000)}</a>`);
	refused(`<a>${"<b/>".repeat(30_000)}</a>`);
	refused(`<a>${"&amp;".repeat(100_000)}`);
	refused(`<!DOCTYPE a [<!ENTITY b "${"c".repeat(1000)}">]><a>&b;</a>`);
});
