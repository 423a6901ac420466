// A prover that skips a share f of the rows is caught with probability 1 − (1 − f)^S: measured over many
// secrets with the real verify, file by file. Also exactly: a file is invalid if and only if a drawn leaf was
// skipped.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GemmSpec } from "../src/protocol/probe/evidence.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { countedBytes, SIGNER } from "./toy/probe-toy.ts";
import { evidenceOf, prepare } from "./toy/toy-evidence.ts";

const SPEC: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 256,
	n: 512,
	k: 128,
	rounds: 1,
	keep: 1,
	samples: 16,
};
const SECRETS = 100;

test("skipped rows are caught as often as the formula says", () => {
	const shares = [0, 0.01, 0.05, 0.1];
	const caught = shares.map(() => 0);
	const random = countedBytes("skipped rows");
	for (let trial = 0; trial < SECRETS; trial++) {
		const prepared = prepare(SPEC, random(32));
		shares.forEach((share, at) => {
			const rows = Math.round(share * SPEC.m);
			// Which rows are skipped does not matter: the draw knows nothing of them.
			const skipped = (leaf: number) => (leaf + 31 * trial) % SPEC.m < rows;
			const { file, samples, id } = evidenceOf(prepared, skipped, SIGNER);
			const verdict = verifyEvidence(file, { signers: [SIGNER.key], probeId: id });
			const hit = samples.some(({ leaf }) => skipped(leaf));
			assert.equal(verdict.status, hit ? "invalid" : "valid");
			if (verdict.status === "invalid") assert.equal(verdict.code, "ELEMENT_WRONG");
			caught[at]! += hit ? 1 : 0;
		});
	}
	shares.forEach((share, at) => {
		const rows = Math.round(share * SPEC.m);
		const expected = 1 - (1 - rows / SPEC.m) ** SPEC.samples;
		// Four standard deviations of a binomial count; places are distinct, which only helps, by less than one
		// of them here.
		const bound = 4 * Math.sqrt(SECRETS * expected * (1 - expected));
		assert.ok(
			Math.abs(caught[at]! - SECRETS * expected) <= bound,
			`${caught[at]} of ${SECRETS} caught at ${share}, expected ${(SECRETS * expected).toFixed(1)} ± ${bound.toFixed(1)}`,
		);
	});
	assert.equal(caught[0], 0, "an honest prover is never caught");
});
