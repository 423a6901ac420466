// A proof of samples/mlp-proof.json over Ignition's powers, as a file: valid for anybody, and after no
// change. vectors/mlp-segment.proof is what `assay job prove` writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { encodeProofFile, openProofFile } from "./proof-file.ts";
import { proofSizes } from "./verify-segment.ts";

const file = new Uint8Array(
	readFileSync(fileURLToPath(new URL("../../../vectors/mlp-segment.proof", import.meta.url))),
);
const REAL = { isDevAllowed: false } as const;
const codeOf = (bytes: Uint8Array) => {
	const found = openProofFile(bytes, REAL);
	return found.status === "valid" ? "valid" : found.code;
};

test("a proof over real powers is valid, and says what of", () => {
	const found = openProofFile(file, REAL);
	assert.equal(found.status, "valid");
	if (found.status !== "valid") return;
	const { statement, plan, program } = found;
	assert.deepEqual([statement.firstStep, statement.steps, plan.links.length], [0, 4, 2]);
	const { bytes } = proofSizes(plan);
	const proof = file.subarray(file.length - bytes);
	const encoded = (change: Partial<typeof statement>, own = proof) =>
		encodeProofFile(program, plan.chunkBits, { statement: { ...statement, ...change }, proof: own });
	assert.deepEqual(encoded({}), file);
	assert.equal(codeOf(encoded({ job: "1" })), "PROOF_LOOKUPS");
	assert.equal(codeOf(encoded({ srs: "dev" })), "SRS_DEV");
	assert.equal(codeOf(encoded({ stateAfter: statement.stateBefore })), "PROOF_LOOKUPS");
	assert.equal(codeOf(encoded({}, proof.subarray(32))), "PROOF_FORM");
	const flipped = proof.slice();
	flipped[bytes - 1]! ^= 1;
	assert.equal(codeOf(encoded({}, flipped)), "PROOF_FORM");
	const scalar = proof.slice();
	scalar[64 * proofSizes(plan).points + 31]! ^= 1;
	assert.equal(codeOf(encoded({}, scalar)), "PROOF_LOOKUPS");
});
