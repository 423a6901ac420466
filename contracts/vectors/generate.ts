// Golden data for the keccak trees, medians and shares of docs/chain.md: made from that page alone, nothing
// imported from src/, written for reading. Solidity (contracts/test/epochs/Vectors.t.sol) and TypeScript
// (contracts/test/vectors.test.ts) both read chain.json. Lists run in parallel, so that Solidity can parse
// them.
//   node contracts/vectors/generate.ts
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { concat, type Hex, keccak256, numberToHex } from "viem";

const random = (text: string): Hex => `0x${createHash("sha256").update(text).digest("hex")}`;
const number = (text: string, below: number): number => Number(BigInt(random(text)) % BigInt(below));
const bytes = (value: bigint | number, size: number): Hex => numberToHex(value, { size });

function treeRoot(hashes: readonly Hex[]): Hex {
	if (hashes.length === 0) return bytes(0, 32);
	if (hashes.length === 1) return hashes[0]!;
	const above: Hex[] = [];
	for (let i = 0; i + 1 < hashes.length; i += 2) above.push(keccak256(concat(["0x01", hashes[i]!, hashes[i + 1]!])));
	if (hashes.length % 2 === 1) above.push(hashes.at(-1)!);
	return treeRoot(above);
}

/** Reports over the first 0, 1, 2 … of these providers. */
function trees() {
	const providers = Array.from({ length: 17 }, (_, i) => `0x${random(`provider ${i}`).slice(2, 42)}` as Hex).sort();
	const scores = providers.map((provider) => number(`score ${provider}`, 1_000_001));
	const evidence = providers.map((provider) => random(`evidence ${provider}`));
	const leaves = providers.map((provider, i) =>
		keccak256(concat(["0x00", provider, bytes(scores[i]!, 4), evidence[i]!])),
	);
	const roots = Array.from({ length: providers.length + 1 }, (_, count) =>
		keccak256(concat(["0x02", bytes(count, 4), treeRoot(leaves.slice(0, count))])),
	);
	return { providers, scores, evidence, roots };
}

/** Rows of five votes: the least score at or below which half of the stake lies. */
function medians() {
	const [scores, stakes, results]: [number[], number[], number[]] = [[], [], []];
	const median = (votes: readonly { score: number; stake: number }[]): number => {
		const half = votes.reduce((sum, { stake }) => sum + stake, 0) / 2;
		const enough = votes.filter(
			({ score, stake }) =>
				stake > 0 && votes.filter((other) => other.score <= score).reduce((sum, o) => sum + o.stake, 0) >= half,
		);
		return Math.min(...enough.map(({ score }) => score));
	};
	for (let row = 0; row < 60; row++) {
		const spread = row % 3 === 0 ? 5 : 1_000_001;
		const votes = Array.from({ length: 5 }, (_, i) => ({
			score: number(`vote ${row} ${i}`, spread),
			stake: 1 + number(`stake ${row} ${i}`, row % 2 === 0 ? 3 : 1_000_000),
		}));
		scores.push(...votes.map(({ score }) => score));
		stakes.push(...votes.map(({ stake }) => stake));
		results.push(median(votes));
	}
	return { scores, stakes, results };
}

/** Largest remainders, ties to the lower provider; the weights' tree with its running sums. */
function shares() {
	const providers = Array.from({ length: 9 }, (_, i) => `0x${random(`paid ${i}`).slice(2, 42)}` as Hex).sort();
	// Equal weights make ties.
	const weights = providers.map((_, i) => (i % 3 === 0 ? 333_333 : 1 + number(`weight ${i}`, 1_000_000)));
	const emission = 10n ** 21n + 7n;
	const total = BigInt(weights.reduce((sum, weight) => sum + weight, 0));
	const parts = providers.map((provider, i) => {
		const exact = emission * BigInt(weights[i]!);
		return { provider, amount: exact / total, remainder: exact % total };
	});
	let left = emission - parts.reduce((sum, { amount }) => sum + amount, 0n);
	const order = [...parts].sort((a, b) =>
		a.remainder === b.remainder ? (a.provider < b.provider ? -1 : 1) : a.remainder > b.remainder ? -1 : 1,
	);
	let threshold = { provider: bytes(0, 20), remainder: total };
	for (const part of order) {
		if (left === 0n) break;
		part.amount += 1n;
		threshold = part;
		left -= 1n;
	}
	let [weightBefore, amountBefore] = [0n, 0n];
	const hashes = parts.map(({ provider, amount }, i) => {
		const weight = weights[i]!;
		const leaf = concat(["0x00", provider, bytes(weight, 4), bytes(weightBefore, 8), bytes(amountBefore, 16)]);
		weightBefore += BigInt(weight);
		amountBefore += amount;
		return keccak256(leaf);
	});
	return {
		providers,
		weights,
		emission: String(emission),
		amounts: parts.map(({ amount }) => String(amount)),
		thresholdRemainder: String(threshold.remainder),
		thresholdProvider: threshold.provider,
		root: treeRoot(hashes),
	};
}

export const chainVectors = (): string =>
	`${JSON.stringify({ trees: trees(), medians: medians(), shares: shares() }, null, "\t")}\n`;

if (import.meta.main) writeFileSync(new URL("chain.json", import.meta.url), chainVectors());
