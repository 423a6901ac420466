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

test("both refuse keys of small order, keys that are none, and other spellings", () => {
	const hash = new Uint8Array(32).fill(1);
	const { key, sign } = createNodeSigner(new Uint8Array(32).fill(2));
	const signature = bytesToHex(sign(hash));
	// The same signature with its second half larger by the group's order.
	const order = 2n ** 252n + 27742317777372353535851937790883648493n;
	const half = BigInt(`0x${bytesToHex(sign(hash).slice(32).reverse())}`) + order;
	const respelled = `${signature.slice(0, 64)}${(half.toString(16).padStart(64, "0").match(/../g) ?? []).reverse().join("")}`;
	assert.ok(!isWeakKey(key) && isNodeSignature(key, signature, hash) && isSignature(key, signature, hash));
	// Points of order 1, 2 and 4, with a signature that fits every message under the first.
	const small = ["01".padEnd(64, "0"), `ec${"f".repeat(60)}7f`, "0".repeat(64)];
	for (const point of small) assert.ok(isWeakKey(point), point);
	for (const [k, s] of [
		...small.map((point) => [point, "01".padEnd(128, "0")] as const),
		[key, respelled],
		["", signature],
		[key, ""],
		[key.toUpperCase(), signature],
		["ff".repeat(32), signature],
		[key, `${signature}00`],
		[key, signature.slice(2)],
	] as const)
		assert.ok(!isNodeSignature(k, s, hash) && !isSignature(k, s, hash), `${k} ${s}`);
});
