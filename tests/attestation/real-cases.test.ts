// Every real sample gets the verdict, the code and the facts that were computed for it by another verifier, with Node's signatures and
// with noble's alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import {
	nobleSignatures,
	rememberSignatures,
	type VerifySignature,
} from "../../src/verify/attestation/x509/signature.ts";
import { judge, type RealCase, realCases, samplesMissing } from "./real-cases.test-kit.ts";

function check(one: RealCase, verify: VerifySignature): void {
	const verdict = judge(one, verify);
	const { status, code, also = [], facts = {} } = one.expect;
	const told = `${one.id}: ${verdict.code} ${verdict.where} ${verdict.detail}`;
	assert.equal(verdict.status, status, told);
	if (code !== undefined) assert.ok([code, ...also].includes(verdict.code ?? ""), told);
	for (const [name, value] of Object.entries(facts))
		if (name === "findings") assert.deepEqual(verdict.findings.map((one) => one.code).sort(), value, told);
		else assert.deepEqual(verdict.facts[name], value, `${one.id}: ${name}`);
	assert.equal(
		verdict.findings.some((one) => one.code === "SIMULATED_ROOTS"),
		false,
	);
}

test("each real case has its status, code and facts, by Node's signatures", { skip: samplesMissing }, () => {
	const cases = realCases();
	assert.ok(cases.length >= 100);
	for (const one of cases) check(one, nodeSignatures);
});

test("and by noble's alone", { skip: samplesMissing }, () => {
	const verify = rememberSignatures(nobleSignatures);
	for (const one of realCases()) check(one, verify);
});
