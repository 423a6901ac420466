// A host's table of certificates gives what its certificates give one by one; anything else is left as it is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../../platform/node-signatures.ts";
import { concatBytes, hexToBytes, u32 } from "../../../protocol/bytes/bytes.ts";
import { arkOf, askOf, mintSnp, snpPlan } from "../mint/mint-amd.test-kit.ts";
import { mintedSettings } from "../mint/minted-rounds.test-kit.ts";
import { verifyFiles } from "../verify-files.ts";
import { openTable } from "./certificate-table.ts";

const [VCEK, ASK, ARK, OTHER] = [
	"63da758de6644564adc5f4b93be8accd",
	"4ab7b379bbac4fe4a02f05aef327c782",
	"c0b406a4a803495297433fb6014cd0ae",
	"92f81bc358114d3d97ffd19f88dc67ea",
];
const { report, leaf, chain } = mintSnp(snpPlan("Genoa"));
const [ask, ark] = [askOf("Genoa").der, arkOf("Genoa").der];

function tableOf(entries: readonly (readonly [guid: string | undefined, bytes: Uint8Array])[]): Uint8Array {
	let offset = 24 * (entries.length + 1);
	const heads = entries.map(([guid, bytes]) => {
		const head = concatBytes(hexToBytes(guid!)!, u32(offset), u32(bytes.length));
		offset += bytes.length;
		return head;
	});
	return concatBytes(...heads, new Uint8Array(24), ...entries.map(([, bytes]) => bytes), new Uint8Array(100));
}

test("a report with its host's table is judged as with the certificates", () => {
	const settings = mintedSettings("2025-06-20T12:00:00Z", nodeSignatures);
	const judge = (...files: Uint8Array[]) => verifyFiles([report, ...files], { require: null, nonce: null }, settings);
	const plain = judge(leaf, chain);
	assert.equal(plain.status, "valid", plain.detail);
	const whole: [string | undefined, Uint8Array][] = [
		[OTHER, Uint8Array.of(1)],
		[ARK, ark],
		[VCEK, leaf],
		[ASK, ask],
	];
	assert.deepEqual(judge(tableOf(whole)), plain);
	assert.deepEqual(judge(tableOf([[VCEK, leaf]]), chain), plain);
	assert.equal(judge(tableOf([[VCEK, leaf]])).code, "COLLATERAL_MISSING");
	assert.equal(
		judge(
			tableOf([
				[VCEK, ask],
				[ASK, ask],
				[ARK, ark],
			]),
		).status,
		"invalid",
	);
});

test("what is no table is left as it is", () => {
	const table = tableOf([
		[VCEK, leaf],
		[ASK, ask],
	]);
	const beyond = table.slice();
	beyond.set(u32(table.length), 20);
	const twice = tableOf([
		[VCEK, leaf],
		[VCEK, leaf],
	]);
	for (const bytes of [
		beyond,
		twice,
		tableOf([[ASK, ask]]),
		leaf,
		chain,
		new Uint8Array(24),
		new Uint8Array(),
		new Uint8Array(70_000),
	])
		assert.deepEqual(openTable(bytes), [bytes]);
	assert.deepEqual(openTable(table), [leaf]);
});
