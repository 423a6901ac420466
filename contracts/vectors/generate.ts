// Golden data for the keccak trees, medians and weights of docs/epochs.md: made from that page alone, nothing
// imported from src/, written for reading. Solidity (contracts/test/epochs/Vectors.t.sol) and TypeScript
// (contracts/test/vectors.test.ts) both read chain.json. Lists run in parallel, so that Solidity can parse
// them.
//   node contracts/vectors/generate.ts
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { concat, type Hex, keccak256, numberToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

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
	for (let row = 0; row < 60; row++) {
		const spread = row % 3 === 0 ? 5 : 1_000_001;
		const votes = Array.from({ length: 5 }, (_, i) => ({
			score: number(`vote ${row} ${i}`, spread),
			stake: 1 + number(`stake ${row} ${i}`, row % 2 === 0 ? 3 : 1_000_000),
		}));
		scores.push(...votes.map(({ score }) => score));
		stakes.push(...votes.map(({ stake }) => stake));
		results.push(medianOf(votes.map(({ score, stake }) => ({ score, stake: BigInt(stake) }))));
	}
	return { scores, stakes, results };
}

/** Of a list of scores with their stakes: the least at or below which half of the stake lies. */
const medianOf = (votes: readonly { score: number; stake: bigint }[]): number => {
	const sumOf = (list: typeof votes) => list.reduce((sum, { stake }) => sum + stake, 0n);
	const enough = votes.filter(({ score }) => 2n * sumOf(votes.filter((one) => one.score <= score)) >= sumOf(votes));
	return Math.min(...enough.map(({ score }) => score));
};

/**
 * Three seats, nine providers, two of three reports naming each, and a base that gave some of them something.
 */
function weights() {
	// The validators of contracts/test/StakeKit.sol.
	const validators = [0xa1, 0xa2, 0xa3]
		.map((key) => privateKeyToAccount(bytes(key, 32)).address.toLowerCase() as Hex)
		.sort();
	const stakes = [3000n, 5000n, 4000n];
	const providers = Array.from({ length: 9 }, (_, i) => `0x${random(`paid ${i}`).slice(2, 42)}` as Hex).sort();
	const scores = validators.map((_, seat) =>
		providers.map((_, i) => (i % 4 === seat ? ABSENT : number(`score ${seat} ${i}`, 1_000_001))),
	);
	const pot = 10n ** 21n + 7n;
	const forValidators = pot / 10n;
	const medians = new Map(
		providers.map((provider, i) => {
			const score = (seat: number) => (scores[seat]![i] === ABSENT ? 0 : scores[seat]![i]!);
			return [provider, medianOf(stakes.map((stake, seat) => ({ score: score(seat), stake })))];
		}),
	);
	const totalWeight = BigInt([...medians.values()].reduce((sum, weight) => sum + weight, 0));
	// One who earns nothing now, one who does, one validator.
	const before = new Map<Hex, bigint>([
		[`0x${"77".repeat(20)}`, 5n],
		[providers[2]!, 10n ** 20n],
		[validators[1]!, 3n],
	]);
	const accounts = [...new Set([...providers, ...validators, ...before.keys()])].sort();
	let [weightBefore, earnedBefore] = [0n, 0n];
	const leaves = accounts.flatMap((account) => {
		const weight = medians.get(account) ?? 0;
		const stake = stakes[validators.indexOf(account)] ?? 0n;
		const earned = ((pot - forValidators) * BigInt(weight)) / totalWeight + (forValidators * stake) / 12_000n;
		const total = (before.get(account) ?? 0n) + earned;
		if (total === 0n && weight === 0) return [];
		const sums = [bytes(weightBefore, 8), bytes(earned, 16), bytes(earnedBefore, 16), bytes(total, 16)];
		const hash = keccak256(concat(["0x00", account, bytes(weight, 4), ...sums]));
		weightBefore += BigInt(weight);
		earnedBefore += earned;
		return [{ account, weight, earned, total, hash }];
	});
	return {
		validators,
		stakes: stakes.map(Number),
		providers,
		scores: scores.flat(),
		absent: ABSENT,
		pot: String(pot),
		baseAccounts: [...before.keys()],
		baseTotals: [...before.values()].map(String),
		accounts: leaves.map(({ account }) => account),
		weights: leaves.map(({ weight }) => weight),
		earned: leaves.map(({ earned }) => String(earned)),
		totals: leaves.map(({ total }) => String(total)),
		totalWeight: Number(totalWeight),
		paid: String(earnedBefore),
		root: treeRoot(leaves.map(({ hash }) => hash)),
	};
}

/** In place of a score: the report does not name the provider. */
const ABSENT = 2 ** 32 - 1;

export const chainVectors = (): string =>
	`${JSON.stringify({ trees: trees(), medians: medians(), weights: weights() }, null, "\t")}\n`;

if (import.meta.main) writeFileSync(new URL("chain.json", import.meta.url), chainVectors());
