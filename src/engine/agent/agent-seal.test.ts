// The handshake's proof and the seal: what one end writes the other reads; a wrong role, key, nonce, order or
// bit is seen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { makeSigner, random } from "./agent.test-kit.ts";
import { type AgentParties, createNonce, isProof, sealingKey, signProof } from "./agent-handshake.ts";
import { createSealer, createUnsealer, MAX_MESSAGE_BYTES } from "./agent-seal.ts";

const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;

const [p, v] = [makeSigner(), makeSigner()];
const [nP, nV] = [createNonce(random(32)), createNonce(random(32))];
const parties: AgentParties = {
	providerNonce: nP.nonce,
	validatorNonce: nV.nonce,
	providerKey: p.key,
	validatorKey: v.key,
};

test("a proof holds for its role, its keys and its nonces only", () => {
	const proof = signProof("validator", parties, v);
	assert.equal(isProof("validator", parties, proof), true);
	// Shown back to its maker, or used for the other role.
	assert.equal(isProof("provider", parties, proof), false);
	assert.equal(isProof("provider", { ...parties, providerKey: v.key }, proof), false);
	for (const field of Object.keys(parties))
		assert.equal(isProof("validator", { ...parties, [field]: makeSigner().key }, proof), false, field);
	assert.equal(isProof("validator", parties, signProof("validator", parties, p)), false);
});

test("both ends agree on the same keys, one for each direction; a third party on none", () => {
	assert.deepEqual(nP.agree(nV.nonce), nV.agree(nP.nonce));
	const shared = nP.agree(nV.nonce);
	assert.notDeepEqual(sealingKey("provider", shared, parties), sealingKey("validator", shared, parties));
	assert.notDeepEqual(nP.agree(nV.nonce), createNonce(random(32)).agree(nV.nonce));
	const other = { ...parties, validatorKey: makeSigner().key };
	assert.notDeepEqual(sealingKey("provider", shared, parties), sealingKey("provider", shared, other));
});

test("a nonce of small order is refused", () => {
	for (const nonce of ["00".repeat(32), `01${"00".repeat(31)}`])
		assert.throws(() => nP.agree(nonce), isCode("AGENT_PROOF_WRONG"));
});

test("sealed messages open in their order, whatever their size", () => {
	const key = random(32);
	const [sealer, unseal] = [createSealer(key), createUnsealer(key)];
	assert.deepEqual(unseal(sealer.control('{"ü":1}')), { kind: "control", json: '{"ü":1}' });
	for (const size of [1, 100, 64 << 10]) {
		const bytes = random(size);
		const opened = unseal(sealer.data(0xffff_fffe, bytes));
		assert.ok(opened.kind === "data" && opened.channel === 0xffff_fffe);
		assert.equal(bytesToHex(opened.bytes), bytesToHex(bytes));
	}
});

test("changed, repeated, skipped, swapped or foreign messages do not open", () => {
	const key = random(32);
	const make = () => {
		const sealer = createSealer(key);
		return [sealer.control("1"), sealer.control("2"), sealer.control("3")] as const;
	};
	const [first, second] = make();
	for (let i = 0; i < first.length; i++) {
		const flipped = Uint8Array.from(first);
		flipped[i] = flipped[i]! ^ 1;
		assert.throws(() => createUnsealer(key)(flipped), isCode("AGENT_PROOF_WRONG"));
	}
	assert.throws(() => createUnsealer(key)(second), isCode("AGENT_PROOF_WRONG"));
	const repeated = createUnsealer(key);
	repeated(first);
	assert.throws(() => repeated(first), isCode("AGENT_PROOF_WRONG"));
	assert.throws(() => createUnsealer(random(32))(first), isCode("AGENT_PROOF_WRONG"));
	assert.throws(() => createUnsealer(key)(first.subarray(0, -1)), isCode("AGENT_PROOF_WRONG"));
});

test("messages of no sense inside a right seal are refused", () => {
	const key = random(32);
	for (const length of [0, 1, 16, MAX_MESSAGE_BYTES + 1])
		assert.throws(() => createUnsealer(key)(new Uint8Array(length)), isCode("AGENT_MESSAGE_BAD"));
	assert.throws(() => createUnsealer(key)(createSealer(key).data(1, new Uint8Array())), isCode("AGENT_MESSAGE_BAD"));
	assert.throws(
		() => createUnsealer(key)(createSealer(key).control("x".repeat((64 << 10) + 1))),
		isCode("AGENT_MESSAGE_BAD"),
	);
});
