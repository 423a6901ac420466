// A proof that an H200 made: 32 steps of batch 64 of an MLP of ten million parameters that learns to read
// digits (bench/zk/digits.ts). Over test parameters (not secure), and said so.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { encodeProofFile, openProofFile, verifyProofFile } from "../../src/verify/zk/proof-file.ts";
import { elementCount } from "../../src/work/operators/tensor-type.ts";

const file = new Uint8Array(readFileSync(new URL("digits.proof", import.meta.url)));
const opened = openProofFile(file, { isDevAllowed: true });
const PROOF_BYTES = 13_824;

test("a proof of 32 steps of ten million parameters holds, and is not taken for one over real powers", () => {
	assert.equal(opened.status, "valid");
	if (opened.status !== "valid") return;
	const { plan, program } = opened;
	assert.equal(plan.steps * plan.batch, 2048);
	const weights = program.tensors.filter(({ kind }) => kind === "state");
	assert.ok(weights.reduce((sum, { dims }) => sum + elementCount(dims), 0) >= 10_000_000);
	const refused = verifyProofFile(file, { isDevAllowed: false });
	assert.equal(refused.status === "inconclusive" && refused.code, "SRS_DEV");
});

test("another statement, or a byte of it changed, and it is refused", () => {
	if (opened.status !== "valid") return assert.fail("it is not valid itself");
	const { plan, program, statement } = opened;
	const proof = file.slice(file.length - PROOF_BYTES);
	const told = (change: object, bytes = proof) => {
		const made = encodeProofFile(program, plan.chunkBits, { statement: { ...statement, ...change }, proof: bytes });
		const verdict = verifyProofFile(made, { isDevAllowed: true });
		return verdict.status === "invalid" ? verdict.code : verdict.status;
	};
	assert.deepEqual(encodeProofFile(program, plan.chunkBits, { statement, proof }), file);
	assert.equal(told({ firstStep: statement.firstStep + plan.steps }), "PROOF_LOOKUPS");
	assert.equal(told({ stateAfter: statement.stateBefore }), "PROOF_LOOKUPS");
	const last = proof.slice();
	last[last.length - 1]! ^= 1;
	assert.match(told({}, last), /^PROOF_(FORM|OPENING)$/);
});
