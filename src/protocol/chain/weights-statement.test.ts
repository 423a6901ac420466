// What validators sign is EIP-712 as others compute it; a signature is taken in the one form that the
// contract takes.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
	compactSignatureToSignature,
	encodePacked,
	hashTypedData,
	keccak256,
	parseSignature,
	serializeSignature,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { RewardLeaf, Weights } from "./epoch-shapes.ts";
import type { Hex } from "./hex.ts";
import { encodeReport, encodeRewards, parseReport, parseRewards } from "./leaf-files.ts";
import { compactSignature } from "./typed-data.ts";
import { isWeightsSigned, seatsHash, weightsId } from "./weights-statement.ts";

const filled = (byte: string, bytes: number): Hex => `0x${byte.repeat(bytes)}`;
const domain = { chainId: 31_337, scoreboard: filled("5c", 20) };
const weights: Weights = {
	epoch: 7n,
	base: filled("ba", 32),
	set: (1n << 64n) - 2n,
	count: 12,
	totalWeight: 5_000_000n,
	paid: (1n << 128n) - 1n,
	root: filled("0e", 32),
};
const account = privateKeyToAccount(filled("11", 32));
const signer = account.address.toLowerCase() as Hex;
const typed = {
	domain: { name: "assay", version: "1", chainId: domain.chainId, verifyingContract: domain.scoreboard },
	types: {
		Weights: [
			{ name: "epoch", type: "uint64" },
			{ name: "base", type: "bytes32" },
			{ name: "set", type: "uint64" },
			{ name: "count", type: "uint32" },
			{ name: "totalWeight", type: "uint64" },
			{ name: "paid", type: "uint128" },
			{ name: "root", type: "bytes32" },
		],
	},
	primaryType: "Weights",
	message: weights,
} as const;

test("the id is the EIP-712 digest, and follows every field and the domain", () => {
	const id = weightsId(domain, weights);
	assert.equal(id, hashTypedData(typed));
	const others = [
		{ epoch: 8n },
		{ base: filled("bb", 32) },
		{ set: 1n },
		{ count: 13 },
		{ totalWeight: 1n },
		{ paid: 0n },
		{ root: filled("0f", 32) },
	].map((change) => weightsId(domain, { ...weights, ...change }));
	const domains = [
		{ ...domain, chainId: 1 },
		{ ...domain, scoreboard: signer },
	].map((of) => weightsId(of, weights));
	assert.equal(new Set([id, ...others, ...domains]).size, 10);
});

test("a signature is its signer's, over these weights, in the form the contract takes", async () => {
	const id = weightsId(domain, weights);
	const signature = await account.signTypedData(typed);
	assert.ok(isWeightsSigned(id, { signer, signature }));
	assert.ok(!isWeightsSigned(weightsId(domain, { ...weights, paid: 0n }), { signer, signature }));
	assert.ok(!isWeightsSigned(id, { signer: domain.scoreboard, signature }));
	assert.ok(!isWeightsSigned(id, { signer, signature: `${signature.slice(0, -2)}00` as Hex }));
	for (const text of ["one", "two", "three", "four"]) {
		const one = await account.signMessage({ message: text });
		const [r, yParityAndS] = compactSignature(one);
		assert.equal(serializeSignature(compactSignatureToSignature({ r, yParityAndS })), one);
		assert.deepEqual(parseSignature(one).r, r);
	}
});

test("the hash of seats depends on every field and on their order", () => {
	const seats = [1, 2, 3].map((n) => ({ signer: filled(`0${n}`, 20), stake: BigInt(n), root: filled(`1${n}`, 32) }));
	assert.equal(seatsHash([]), filled("00", 32));
	const expected = seats.reduce(
		(hash, { signer, stake, root }) =>
			keccak256(encodePacked(["bytes32", "address", "uint96", "bytes32"], [hash, signer, stake, root])),
		filled("00", 32),
	);
	assert.equal(seatsHash(seats), expected);
	assert.notEqual(seatsHash([...seats].reverse()), expected);
	assert.throws(() => seatsHash([{ ...seats[0]!, stake: 1n << 96n }]), RangeError);
});

test("files of leaves are read as they were written; what is none is null", () => {
	const scores = [{ provider: filled("a1", 20), scorePpm: 7, evidenceSha256: filled("e1", 32) }];
	const rewards: RewardLeaf[] = [
		{
			account: filled("a1", 20),
			weightPpm: 1,
			weightBefore: 2n,
			earned: 3n,
			earnedBefore: 4n,
			total: (1n << 128n) - 1n,
		},
	];
	const bytes = (text: string) => new TextEncoder().encode(text);
	assert.deepEqual(parseReport(bytes(encodeReport(scores))), scores);
	assert.deepEqual(parseRewards(bytes(encodeRewards(rewards))), rewards);
	assert.deepEqual(parseReport(bytes(encodeReport([]))), []);
	for (const bad of ["", "null", "7", "{}", '{"version":2}', '{"version":2,"leaves":[7]}', '{"version":1,"leaves":[]}'])
		assert.deepEqual([parseReport(bytes(bad)), parseRewards(bytes(bad))], [null, null], bad);
	const row = JSON.parse(encodeRewards(rewards)).leaves[0] as unknown[];
	for (const [at, value] of row.entries())
		for (const wrong of [null, -1, "x", 2 ** 32, String(1n << 128n), at === 1 ? String(value) : Number(value)]) {
			const leaves = [row.map((field, i) => (i === at ? wrong : field))];
			assert.equal(parseRewards(bytes(JSON.stringify({ version: 2, leaves }))), null, `${at} ${wrong}`);
		}
	assert.equal(parseReport(bytes(encodeReport([{ ...scores[0]!, scorePpm: 2 ** 32 }]))), null);
	assert.equal(parseReport(bytes(encodeReport([{ ...scores[0]!, provider: filled("A1", 20) }]))), null);
});
