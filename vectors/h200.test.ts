// The evidence of a real H200 (h200.assay) and its answer to a roll call (h200-roll-call.assay): valid for
// everyone, forever, and not with one bit changed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { verifyRollCall } from "../src/verify/roll-call/verify-roll-call.ts";

const read = (name: string) => new Uint8Array(readFileSync(new URL(name, import.meta.url)));
const file = read("./h200.assay");
const signer = "296a4df3a72a092e51514aff186146bc0892c252d5ac6f0cb8682c19489ecb6e";

test("the H200's evidence is valid, from its signer, and its figures say H200", () => {
	const verdict = verifyEvidence(file, { signers: [signer] });
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	const proven = new Map(verdict.figures.filter((f) => f.device === 0).map((f) => [f.name, f.value]));
	assert.deepEqual([...proven.keys()].sort(), [
		...["fma.fp32", "fma.fp64", "fma.int32", "gemm.bf16", "gemm.fp16", "gemm.fp8", "gemm.int8", "gemm.tf32"],
		...["memory.bandwidth", "memory.latency", "memory.resident"],
	]);
	assert.equal(proven.get("memory.resident"), 143_717_703_439);
	assert.equal(proven.get("memory.latency"), 633_187, "picoseconds a hop: one memory");
	assert.deepEqual(
		verdict.identity.map(({ state, profile }) => [state, profile]),
		[
			["confirmed", "H200"],
			["unjudged", null],
			["unjudged", null],
		],
	);
	const [card] = verdict.identity;
	assert.equal(card?.basis, "measured");
	assert.deepEqual([...card!.alike].sort(), ["GH200 144G HBM3e", "H200", "H200 NVL"]);
	// GPU and CPU in the same instant, the memory reached by chases, places enough: nothing to tell beside it.
	assert.deepEqual(verdict.findings, []);
	assert.deepEqual([verdict.strength, verdict.attestation?.level], ["private", "none"]);
	assert.equal(verifyEvidence(file, { signers: ["0".repeat(64)] }).status, "invalid");
});

test("one flipped bit anywhere makes it invalid, with a code and a place", () => {
	// Every bit of the head, then places spread over the whole file by a fixed step that is no multiple of
	// anything in it.
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

/** What a node of its chain said. */
const BLOCKS = [
	{ number: 18, hash: "20bb7d89a6dc074d12ab863d358a951877aea7c4caa8a71cdc0508d236388053", atS: 1_794_795_171 },
	{ number: 19, hash: "4a6687991fe30a08e2162ca4869705c820bdcd7980006cea06d30a6d1a38e1a6", atS: 1_794_795_175 },
	{ number: 20, hash: "14745937cb1380b5b83fb37430eaf11923ed2661a5680ccd845ee3643fa50764", atS: 1_794_795_187 },
];
const CALLED = {
	chainId: 1_102_032_273,
	contract: "0xb1f3ae2a3877032cd5ce97e86b2931ab6da7d950",
	beacon: "block",
	every: 1,
	windowS: 10,
	commitments: [
		{
			validator: "0xc56ed71518206ac0e8cfb8f0ccd2958a5c1a23bb",
			call: 18,
			root: "d5102f25a6f028835609ccb4ee6ce7f3d4d963cd540b07b99047562f87c41053",
			count: 1,
		},
	],
} as const;

test("an H200's answer to a roll call: right by its file and the blocks of its chain, not with one byte or one block changed", () => {
	const answer = read("./h200-roll-call.assay");
	const facts = { ...CALLED, blocks: new Map(BLOCKS.map((block) => [block.number, block])) };
	const verdict = verifyRollCall(answer, facts);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	// In 4 s between two blocks of a validator's own chain.
	assert.equal(verdict.strength, "private");
	assert.deepEqual(
		verdict.findings.map(({ code }) => code),
		["CHAIN_EMBEDDED"],
	);
	assert.deepEqual(
		verdict.figures.map(({ name, value }) => [name, value]),
		[
			["gemm.int8.least", 1_122_034_436_276_224],
			["memory.held", 129_385_889_792],
		],
	);
	for (let at = 20; at < answer.length; at += 487) {
		const changed = answer.slice();
		changed[at]! ^= 1;
		assert.equal(verifyRollCall(changed, facts).status, "invalid", `byte ${at}`);
	}
	for (const block of BLOCKS) {
		const others = new Map(facts.blocks).set(block.number, { ...block, hash: "11".repeat(32) });
		const doubted = verifyRollCall(answer, { ...facts, blocks: others });
		assert.ok(doubted.status === "invalid" && doubted.code === "CALL_BLOCK_OTHER", `block ${block.number}`);
	}
});
