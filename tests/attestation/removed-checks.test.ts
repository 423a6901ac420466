// Each check of the verifier, removed alone, changes what a named case gives: most make it pass; behind the
// others stands another check, or there is nothing to go on with. A check that no case needs fails this test.
// The deep tier prints the whole list.
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import type { MintedCase } from "../../src/verify/attestation/mint/minted-case.test-kit.ts";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { checks, without } from "./removed-checks.test-kit.ts";

// After the kit above, which changes the verifier's modules as they are loaded.
const mint = "../../src/verify/attestation/mint";
const { nvidiaCases } = await import(`${mint}/cases-nvidia.test-kit.ts`);
const { cpuCases } = await import(`${mint}/cases-cpu.test-kit.ts`);
const { x509Readers } = await import(`${mint}/reader-cases-x509.test-kit.ts`);
const { nvidiaReaders } = await import(`${mint}/reader-cases-nvidia.test-kit.ts`);
const { cpuReaders } = await import(`${mint}/reader-cases-cpu.test-kit.ts`);
const { collateralReaders } = await import(`${mint}/reader-cases-collateral.test-kit.ts`);
const { mintedSettings } = await import(`${mint}/minted-rounds.test-kit.ts`);
const { rememberSignatures } = await import("../../src/verify/attestation/x509/signature.ts");

// Every other module of the verifier too: its checks are on the list.
const house = new URL("../../src/verify/attestation/", import.meta.url);
for (const file of globSync("**/*.ts", { cwd: fileURLToPath(house), exclude: (name) => name.includes(".test") }))
	await import(new URL(file, house).href);

const readers: readonly MintedCase[] = [...x509Readers(), ...nvidiaReaders(), ...cpuReaders(), ...collateralReaders()];
const all: readonly MintedCase[] = [...nvidiaCases(), ...cpuCases(), ...readers];
const verify = rememberSignatures(nodeSignatures);

/** What a case gives without a check, from the strongest proof that the check is needed to the weakest. */
const OUTCOMES = ["passes", "another check refuses it", "nothing to go on with", "another part refuses it"] as const;
type Outcome = (typeof OUTCOMES)[number];

function outcomeOf(check: number, one: MintedCase, whole: AttestationVerdict): Outcome | null {
	const { result, fired } = without(check, () => one.judge(mintedSettings(one.at, verify)));
	if (result.status === "valid") return "passes";
	if (result.code === "INTERNAL") return "nothing to go on with";
	if (result.code !== whole.code || result.detail !== whole.detail) return "another check refuses it";
	const isSibling = (other: number) => other !== check && checks[other]!.condition === checks[check]!.condition;
	return [...fired].some(isSibling) ? "another part refuses it" : null;
}

test("each check, removed alone, changes the verdict on a named case", (t) => {
	const best = new Map<number, { readonly outcome: Outcome; readonly name: string }>();
	for (const one of all) {
		const { result, fired } = without(-1, () => one.judge(mintedSettings(one.at, verify)));
		assert.equal(result.code, one.code, `${one.name}: ${result.detail}`);
		for (const check of fired) {
			if (best.get(check)?.outcome === "passes") continue;
			const outcome = outcomeOf(check, one, result);
			const before = best.get(check);
			const isBetter = before === undefined || OUTCOMES.indexOf(outcome!) < OUTCOMES.indexOf(before.outcome);
			if (outcome !== null && isBetter) best.set(check, { outcome, name: one.name });
		}
	}
	const needless = checks.filter((_, i) => !best.has(i)).map(({ name }) => name);
	assert.deepEqual(needless, [], "checks that no case needs");
	const passing = [...best.values()].filter(({ outcome }) => outcome === "passes").length;
	t.diagnostic(`${checks.length} checks, ${all.length} cases; without it alone, ${passing} make their case pass`);
	assert.ok(checks.length > 380 && passing > 0.7 * checks.length, `${passing} of ${checks.length}`);
	if (isDeep) for (const [i, { outcome, name }] of best) console.log(`${checks[i]!.name} | ${name} | ${outcome}`);
});
