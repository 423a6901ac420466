// The evidence of a real H200 (vectors/h200.assay): valid for everyone, forever, and not with one bit changed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";

const file = new Uint8Array(readFileSync(new URL("./h200.assay", import.meta.url)));
const signer = "a94fd2dd8be895af6b340239df193bac56737be801c120b9c46a631d5955d2e4";

test("the H200's evidence is valid, from its signer, and its figures say H200", () => {
	const verdict = verifyEvidence(file, { signers: [signer] });
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	const proven = new Map(verdict.figures.filter((f) => f.device === 0).map((f) => [f.name, f.value]));
	assert.deepEqual([...proven.keys()].sort(), [
		...["fma.fp32", "fma.fp64", "fma.int32", "gemm.bf16", "gemm.fp16", "gemm.fp8", "gemm.int8", "gemm.tf32"],
		...["memory.bandwidth", "memory.resident"],
	]);
	assert.equal(proven.get("memory.resident"), 143_771_715_737);
	assert.deepEqual(
		verdict.identity.map(({ state, profile }) => [state, profile]),
		[
			["confirmed", "H200"],
			["unjudged", null],
		],
	);
	assert.equal(verifyEvidence(file, { signers: ["0".repeat(64)] }).status, "invalid");
});

test("one flipped bit anywhere makes it invalid, with a code and a place", () => {
	// Every bit of the head, then places spread over the whole file by a fixed step that is no multiple of anything in it.
	const bits = [...Array(160).keys(), ...Array.from({ length: 400 }, (_, i) => (i * 56_747_777) % (8 * file.length))];
	const codes = new Set<string>();
	for (const bit of bits) {
		const changed = file.slice();
		changed[bit >> 3]! ^= 1 << (bit & 7);
		const verdict = verifyEvidence(changed);
		assert.ok(verdict.status === "invalid", `bit ${bit}`);
		assert.ok(verdict.code !== "INTERNAL" && verdict.where !== "", `bit ${bit}: ${verdict.code} at ${verdict.where}`);
		codes.add(verdict.code);
	}
	assert.ok(codes.size >= 3, [...codes].join(", "));
});
