// Evidence with random changes: bytes, lengths, order, DER inside PEM, XML and JSON. However it was changed,
// the verdict is a verdict, and it is valid only if the evidence still means the same. 5,000 changes in `npm
// test`, 125,000 in the deep tier.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { mintedRounds } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import { verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { scaled, seed } from "../fuzz.test-kit.ts";
import { changed, type Random, randomFrom } from "./random-change.test-kit.ts";
import { judge, realCases, sample, samplesMissing } from "./real-cases.test-kit.ts";

const verify = rememberSignatures(nodeSignatures);

interface Target {
	readonly name: string;
	readonly files: readonly Uint8Array[];
	readonly judge: (files: readonly Uint8Array[]) => AttestationVerdict;
}

/** Real evidence where it is at hand: one valid case of every kind and form. */
function realTargets(): Target[] {
	if (samplesMissing) return [];
	const ids = ["gpu-h100-measured", "gpu-gb100-590-0", "switch-measured", "ocsp-brom", "tdx-v4", "sgx-v3", "tdx-v5"];
	const more = [
		"snp-milan-v2",
		"snp-turin",
		"snp-vlek",
		"azure-snp-v1",
		"events-dstack",
		"rim-gpu_driver_gh100_550.144.03",
	];
	const cases = realCases();
	return [...ids, ...more].map((id) => {
		const one = cases.find((row) => row.id === id)!;
		const names = [...new Set(JSON.stringify(one.files).match(/[^"]+\.[a-z]+(?=")/g))];
		return {
			name: id,
			files: names.map(sample),
			judge: (files) => judge(one, verify, (name) => files[names.indexOf(name)]!),
		};
	});
}

const mintedTargets = (): Target[] =>
	mintedRounds(verify).map(({ name, files, settings }) => ({
		name,
		files,
		judge: (given) => verifyFiles(given, { require: null, nonce: null }, settings),
	}));

function attack(targets: readonly Target[], count: number, random: Random): void {
	const whole = targets.map((target) => target.judge(target.files));
	for (const [i, verdict] of whole.entries())
		assert.equal(verdict.status, "valid", `${targets[i]!.name}: ${verdict.detail}`);
	for (let n = 0; n < count; n++) {
		const i = n % targets.length;
		const { name, files, judge } = targets[i]!;
		const which = random(files.length);
		const verdict = judge(files.with(which, changed(files[which]!, random)));
		assert.notEqual(verdict.code, "INTERNAL", `${name}, change ${n} of seed ${seed}: ${verdict.detail}`);
		if (verdict.status === "valid")
			assert.deepEqual(verdict.facts, whole[i]!.facts, `${name}, change ${n} of seed ${seed}`);
	}
}

test("minted evidence is valid only as it was meant", () => attack(mintedTargets(), scaled(2000), randomFrom(seed)));

test("so is real evidence", { skip: samplesMissing }, () => attack(realTargets(), scaled(3000), randomFrom(seed + 1)));
