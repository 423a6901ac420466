// snarkjs beside us, both ways: we take its proofs, it takes ours. It is no dependency (35 packages, 64 MB):
// a proof that it made is in tests/zk/, and where ASSAY_SNARKJS names a folder that has it (`npm i
// snarkjs@0.7.6`), both ways are tried anew.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { GROTH16_BYTES, verifyGroth16 } from "../../receipts/groth16.ts";
import { VECTOR as WRAPPED } from "../run/run.test-kit.ts";
import { LINE_BYTES } from "../run/verify-run.ts";
import { loadSnarkjs, provenBySnarkjs, type SnarkjsVector, VECTOR } from "./snarkjs.test-kit.ts";
import { fromSnarkjsKey, fromSnarkjsProof, toSnarkjsKey, toSnarkjsProof } from "./snarkjs-form.ts";

const snarkjs = loadSnarkjs();
const skip =
	snarkjs === null
		? "snarkjs is not installed: npm i snarkjs@0.7.6 somewhere, and name that folder as ASSAY_SNARKJS"
		: false;

function taken({ key, proof, inputs }: SnarkjsVector): void {
	const [own, bytes, numbers] = [fromSnarkjsKey(key), fromSnarkjsProof(proof), inputs.map(BigInt)];
	assert.equal(verifyGroth16(own, bytes, numbers), "true");
	assert.equal(verifyGroth16(own, bytes, [numbers[0]! + 1n, ...numbers.slice(1)]), "false");
	assert.equal(verifyGroth16(own, bytes, [...numbers].reverse()), "false");
	// There and back.
	const { IC, vk_alpha_1, vk_beta_2, vk_gamma_2, vk_delta_2, nPublic } = key;
	assert.deepEqual(toSnarkjsKey(own), {
		...{ protocol: "groth16", curve: "bn128", nPublic, vk_alpha_1, vk_beta_2, vk_gamma_2, vk_delta_2, IC },
	});
	assert.deepEqual(toSnarkjsProof(bytes), proof);
}

test("a proof that snarkjs made with its own key is true here, for its inputs alone", () =>
	taken(JSON.parse(readFileSync(VECTOR, "utf8"))));

test("snarkjs makes one anew, of our circuit's file", { skip }, async () => taken(await provenBySnarkjs(snarkjs)));

test("snarkjs takes the wrapped run with its exported key, for its inputs alone", { skip }, async () => {
	const { key, inputs, proof } = JSON.parse(readFileSync(WRAPPED, "utf8"));
	const bytes = hexToBytes(proof)!;
	const groth16 = bytes.subarray(-LINE_BYTES - GROTH16_BYTES, -LINE_BYTES);
	const ask = (said: readonly string[]) => snarkjs.groth16.verify(toSnarkjsKey(key), said, toSnarkjsProof(groth16));
	assert.equal(await ask(inputs), true);
	assert.equal(await ask([inputs[0], inputs[2], inputs[1]]), false);
	// Its threads would go on for ever.
	await (await snarkjs.curves.getCurveFromName("bn128")).terminate();
});
