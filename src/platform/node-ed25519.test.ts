// Node's Ed25519 against the portable one: the same signatures, the same refusals.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import { createSigner, isSignature, isWeakKey } from "../protocol/probe/signer.ts";
import { createNodeSigner, isNodeSignature } from "./node-ed25519.ts";

test("signs the same bytes as the portable one, and each takes the other's", () => {
	for (let i = 0; i < 10; i++) {
		const seed = new Uint8Array(randomBytes(32));
		const hash = new Uint8Array(randomBytes(32));
		const [ours, portable] = [createNodeSigner(seed), createSigner(seed)];
		assert.equal(ours.key, portable.key);
		assert.deepEqual(ours.sign(hash), portable.sign(hash));
		const signature = bytesToHex(ours.sign(hash));
		assert.ok(isSignature(ours.key, signature, hash) && isNodeSignature(ours.key, signature, hash));
		for (const at of [0, 31, 32, 63]) {
			const wrong = bytesToHex(ours.sign(hash).map((byte, place) => (place === at ? byte ^ 1 : byte)));
			assert.ok(!isNodeSignature(ours.key, wrong, hash), `byte ${at}`);
		}
		assert.ok(!isNodeSignature(ours.key, signature, new Uint8Array(randomBytes(32))));
		assert.ok(!isNodeSignature(createNodeSigner(new Uint8Array(randomBytes(32))).key, signature, hash));
	}
});

test("a key of small order, no key at all, and other spellings are refused", () => {
	const hash = new Uint8Array(32).fill(1);
	// The neutral point: with R the same and S = 0 the equation holds for every message.
	const neutral = `01${"00".repeat(31)}`;
	assert.ok(isWeakKey(neutral));
	assert.ok(!isNodeSignature(neutral, `${neutral}${"00".repeat(32)}`, hash));
	const { key, sign } = createNodeSigner(new Uint8Array(32).fill(2));
	const signature = bytesToHex(sign(hash));
	assert.ok(!isWeakKey(key));
	for (const [k, s] of [
		["", signature],
		[key, ""],
		[key.toUpperCase(), signature],
		["ff".repeat(32), signature],
		[key, `${signature}00`],
	] as const)
		assert.ok(!isNodeSignature(k, s, hash), `${k} ${s}`);
});
