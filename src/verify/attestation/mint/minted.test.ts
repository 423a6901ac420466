// Every minted case has its code, with noble's signatures as with Node's; together they reach every code of
// docs/attestation.md; and nothing of it counts, because the roots are our own.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { scaled } from "../../../../tests/fuzz.test-kit.ts";
import { nodeSignatures } from "../../../platform/node-signatures.ts";
import { nobleSignatures, rememberSignatures } from "../x509/signature.ts";
import { cpuCases } from "./cases-cpu.test-kit.ts";
import { nvidiaCases } from "./cases-nvidia.test-kit.ts";
import { mintedSettings } from "./minted-rounds.test-kit.ts";

const all = [...nvidiaCases(), ...cpuCases()];
const byNode = rememberSignatures(nodeSignatures);
const byNoble = rememberSignatures(nobleSignatures);

/** noble is slow: `npm run check` compares every tenth case. */
const step = Math.max(1, Math.round(10 / scaled(10)));

test("every minted case has its code, and both libraries say the same", () => {
	const wrong: string[] = [];
	for (const [i, { name, code, at, judge }] of all.entries()) {
		const verdict = judge(mintedSettings(at, byNode));
		if (verdict.code !== code) wrong.push(`${name}: ${verdict.code} ${verdict.where} ${verdict.detail}, not ${code}`);
		if (verdict.status === "valid") {
			if (verdict.level !== "none") wrong.push(`${name}: level ${verdict.level} under roots of our own`);
			if (!verdict.findings.some((one) => one.code === "SIMULATED_ROOTS"))
				wrong.push(`${name}: not marked as simulated`);
		}
		if (i % step === 0) assert.deepEqual(judge(mintedSettings(at, byNoble)), verdict, name);
	}
	assert.deepEqual(wrong, []);
	assert.ok(all.length >= 200, `${all.length} cases`);
});

test("every code of a verdict on the page has a case", () => {
	const page = readFileSync(new URL("../../../../docs/attestation.md", import.meta.url), "utf8");
	const rows = page.slice(page.indexOf("| check | codes |"), page.indexOf("| findings |"));
	const named = [...rows.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code!);
	const reached = new Set(all.map(({ code }) => code));
	assert.ok(named.length > 20);
	assert.deepEqual(
		named.filter((code) => !reached.has(code)),
		[],
	);
});

test("findings are told when they are due, and only then", () => {
	const found = (name: string, policy = {}) => {
		const one = all.find((row) => row.name === name)!;
		const settings = mintedSettings(one.at, byNode);
		const { findings } = one.judge({ ...settings, policy: { ...settings.policy, ...policy } });
		return findings.map(({ code }) => code).filter((code) => code !== "SIMULATED_ROOTS");
	};
	assert.deepEqual(found("gpu: whole"), ["RELAYABLE", "CC_MODE_UNPROVEN"]);
	assert.deepEqual(found("gpu: genuine alone"), ["REVOCATION_UNASKED", "RELAYABLE", "CC_MODE_UNPROVEN"]);
	assert.ok(found("gpu: whole", { oldestDriver: "570.10.2" }).includes("FIRMWARE_OLD"));
	assert.ok(!found("gpu: whole", { oldestDriver: "570.9.99" }).includes("FIRMWARE_OLD"));
	assert.deepEqual(found("tdx: whole"), []);
	assert.deepEqual(found("tdx: level, SWHardeningNeeded"), ["TCB_HARDENING"]);
	assert.deepEqual(found("tdx: level, ConfigurationNeeded"), ["TCB_CONFIGURATION"]);
	const both = found("tdx: level, ConfigurationAndSWHardeningNeeded");
	assert.deepEqual(both.sort(), ["TCB_CONFIGURATION", "TCB_HARDENING"]);
	assert.deepEqual(found("snp: a list without it"), []);
	assert.deepEqual(found("snp: no alias check"), ["REVOCATION_UNASKED", "ALIAS_CHECK_MISSING"]);
});
