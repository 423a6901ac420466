// Every real sample gets the verdict, the code and the facts that were computed for it by another verifier,
// with Node's signatures and with noble's alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { nobleSignatures, rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { differences } from "./judge-case.test-kit.ts";
import { judge, realCases, samplesMissing } from "./real-cases.test-kit.ts";

test("each real case has its status, code and facts, by Node's signatures", { skip: samplesMissing }, () => {
	const cases = realCases();
	assert.ok(cases.length >= 100);
	assert.deepEqual(
		cases.flatMap((one) => differences(one, judge(one, nodeSignatures))),
		[],
	);
});

test("and by noble's alone", { skip: samplesMissing }, () => {
	const verify = rememberSignatures(nobleSignatures);
	assert.deepEqual(
		realCases().flatMap((one) => differences(one, judge(one, verify))),
		[],
	);
});
