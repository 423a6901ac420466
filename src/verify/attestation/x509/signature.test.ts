// The two ways to check a signature say the same of every input, good, bad and odd.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { p256, p384 } from "@noble/curves/nist.js";
import { nodeSignatures } from "../../../platform/node-signatures.ts";
import { concatBytes, hexToBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { base64ToBytes } from "../bytes.ts";
import { keyOf, signBy } from "../mint/der-writer.test-kit.ts";
import { nobleSignatures, type PublicKey, rememberSignatures, type SignatureScheme } from "./signature.ts";

const message = utf8ToBytes("a message");

function both(scheme: SignatureScheme, key: PublicKey, words: Uint8Array, signature: Uint8Array): boolean {
	const answer = nobleSignatures(scheme, key, words, signature);
	assert.equal(nodeSignatures(scheme, key, words, signature), answer);
	return answer;
}

const flipped = (bytes: Uint8Array, at: number): Uint8Array => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));

test("curves: high s is good; zeros, sums with the order, other keys and lengths are not", () => {
	for (const [kind, curve] of [
		["p256", p256],
		["p384", p384],
	] as const) {
		const key = keyOf("words", kind);
		const good = signBy(key, message);
		const half = good.length / 2;
		const { n } = curve.Point.CURVE();
		const s = BigInt(`0x${Buffer.from(good.subarray(half)).toString("hex")}`);
		const other = hexToBytes((n - s).toString(16).padStart(2 * half, "0"))!;
		assert.ok(both(kind, key, message, good));
		assert.ok(both(kind, key, message, concatBytes(good.subarray(0, half), other)), "the other s");
		const bad: Uint8Array[] = [flipped(good, 3), flipped(good, half + 3), new Uint8Array(2 * half), good.subarray(1)];
		bad.push(concatBytes(good, new Uint8Array(1)), concatBytes(new Uint8Array(half), good.subarray(half)));
		bad.push(new Uint8Array(2 * half).fill(0xff), new Uint8Array(0));
		for (const one of bad) assert.equal(both(kind, key, message, one), false);
		assert.equal(both(kind, key, utf8ToBytes("another"), good), false);
		assert.equal(both(kind, keyOf("another", kind), message, good), false);
		assert.equal(both(kind, { kind, point: flipped(key.point, 9) }, message, good), false, "not on the curve");
		assert.equal(both(kind, { kind, point: new Uint8Array(key.point.length).fill(4, 0, 1) }, message, good), false);
		assert.equal(both(kind === "p256" ? "p384" : "p256", key, message, good), false);
	}
});

test("RSA: PSS with 48 bytes of salt and PKCS #1, each as it is and nothing else", () => {
	const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
	const modulus = base64ToBytes((publicKey.export({ format: "jwk" }) as { n: string }).n)!;
	const key: PublicKey = { kind: "rsa", modulus, exponent: 65537 };
	const pss = (saltLength: number) =>
		new Uint8Array(sign("sha384", message, { key: privateKey, padding: 6, saltLength }));
	const pkcs1 = new Uint8Array(sign("sha256", message, privateKey));
	assert.ok(both("rsa-pss", key, message, pss(48)));
	assert.ok(both("rsa-pkcs1", key, message, pkcs1));
	for (const salt of [0, 32, 64]) assert.equal(both("rsa-pss", key, message, pss(salt)), false, `salt of ${salt}`);
	assert.equal(both("rsa-pss", key, message, pkcs1), false);
	assert.equal(both("rsa-pkcs1", key, message, pss(48)), false);
	assert.equal(both("rsa-pkcs1", key, message, new Uint8Array(sign("sha384", message, privateKey))), false);
	assert.equal(both("rsa-pkcs1", key, message, new Uint8Array(256).fill(0xff)), false);
	assert.equal(both("rsa-pkcs1", key, message, new Uint8Array(256)), false);
	assert.equal(both("rsa-pkcs1", key, message, pkcs1.subarray(1)), false);
	assert.equal(both("rsa-pkcs1", { ...key, exponent: 3 }, message, pkcs1), false);
	assert.equal(both("rsa-pkcs1", { ...key, modulus: modulus.subarray(0, 64) }, message, pkcs1), false);
	for (const at of [0, 100, 255]) assert.equal(both("rsa-pss", key, message, flipped(pss(48), at)), false);
});

test("what is remembered is the whole of what was checked, and only what was good", () => {
	let calls = 0;
	const verify = rememberSignatures((...given) => {
		calls += 1;
		return nobleSignatures(...given);
	}, 1);
	const key = keyOf("words");
	const good = signBy(key, message);
	assert.ok(verify("p384", key, message, good) && verify("p384", key, message, good));
	assert.equal(calls, 1);
	assert.equal(verify("p384", key, message, flipped(good, 1)), false);
	assert.equal(verify("p384", key, message, flipped(good, 1)), false);
	assert.equal(calls, 3);
	const other = signBy(key, utf8ToBytes("another"));
	assert.ok(verify("p384", key, utf8ToBytes("another"), other));
	assert.ok(verify("p384", key, message, good), "forgotten, and checked again");
	assert.equal(calls, 5);
});
