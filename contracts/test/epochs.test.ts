// Epochs on a real chain beside the TypeScript that mirrors them: pots, seats, ids, weights and challenges on
// which both sides must agree to the unit, and what each act costs in gas, in the worst case too. Not here:
// the Solidity tests (solidity.test.ts).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import type { PrivateKeyAccount } from "viem/accounts";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import { claimCall } from "../../src/chain/contracts/rewards.ts";
import { challengeCall, postCall, punishCall, readSeats, signWeights } from "../../src/chain/contracts/scoreboard.ts";
import { potOf } from "../../src/market/epochs/reward-shares.ts";
import { createScoreReport, type ScoreReport, scoreLeafHash } from "../../src/market/epochs/score-report.ts";
import { setOf } from "../../src/market/epochs/seat-set.ts";
import { type Base, createWeights, type EpochFacts, rewardLeafHash } from "../../src/market/epochs/weights.ts";
import { faultOf, type ProvableFault } from "../../src/market/epochs/weights-fault.ts";
import {
	NO_BASE,
	type Opening,
	type RewardLeaf,
	type Seat,
	type Weights,
} from "../../src/protocol/chain/epoch-shapes.ts";
import { type Hex, packed, toHex } from "../../src/protocol/chain/hex.ts";
import { seatsHash, weightsId } from "../../src/protocol/chain/weights-statement.ts";
import { keccak, keccakNode } from "../../src/protocol/hash/keccak-tree.ts";
import { pathLength, rootFromPath } from "../../src/protocol/hash/merkle.ts";
import { checkGas } from "./gas.test-kit.ts";
import { openTestNetwork, STAKE, type TestNetwork, UNIT } from "./network.test-kit.ts";

const PROVIDERS = 10_000;
const EMISSION = 1000n * UNIT;
const RULES = { quorumPpm: 666_667, validatorPpm: 100_000, targetWeight: 0n };
const gas: Record<string, number> = {};

const random = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());
const address = (n: number | string): Hex => toHex(random(`provider ${n}`).subarray(0, 20));
const salt = (n: number): Hex => toHex(random(`salt ${n}`));

let network: TestNetwork;
before(async () => {
	network = await openTestNetwork();
});
after(() => network.close());

/**
 * Commits and reveals these roots, goes to the moment when weights may be posted, and reads the seats back.
 */
async function publish(
	{ contracts, validators, goTo, send }: TestNetwork,
	epoch: number,
	roots: readonly Hex[],
): Promise<{ readonly seats: readonly Seat[]; readonly commits: number[]; readonly reveals: number[] }> {
	const [commits, reveals]: [number[], number[]] = [[], []];
	goTo(epoch, 0);
	for (const [i, root] of roots.entries()) {
		const words = [BigInt(epoch), validators[i]!.address, root, salt(i)] as const;
		const commitment = await read(contracts, "scoreboard", "commitmentOf", ...words);
		commits.push(await send(validators[i]!, callOf(contracts, "scoreboard", "commit", BigInt(epoch), commitment)));
	}
	goTo(epoch, 1);
	for (const [i, root] of roots.entries())
		reveals.push(await send(validators[i]!, callOf(contracts, "scoreboard", "reveal", BigInt(epoch), root, salt(i))));
	goTo(epoch, 2);
	const seats = await readSeats(contracts, epoch);
	assert.equal(await read(contracts, "scoreboard", "seatsOf", BigInt(epoch)), seatsHash(seats));
	return { seats, commits, reveals };
}

const signAll = ({ contracts }: TestNetwork, by: readonly PrivateKeyAccount[], weights: Weights) =>
	Promise.all(by.map((account) => signWeights(account, contracts.addresses, weights)));

async function post(of: TestNetwork, weights: Weights, seats: readonly Seat[]): Promise<number> {
	const signatures = await signAll(of, of.validators, weights);
	const call = postCall(of.contracts, { weights, seats, signers: setOf(of.validators.keys()), signatures });
	return of.send(of.provider, call);
}

async function factsOf(
	{ contracts }: TestNetwork,
	epoch: number,
	{ seats, reports, base = null }: { seats: readonly Seat[]; reports: readonly ScoreReport[]; base?: Base | null },
): Promise<EpochFacts> {
	const endsAt = await read(contracts, "scoreboard", "epochEnd", BigInt(epoch));
	const { scoreboard } = contracts.addresses;
	const totalStake = await read(contracts, "registry", "totalVotingStakeAt", scoreboard, endsAt - 1n);
	const funded = await read(contracts, "rewards", "fundedAt", endsAt - 1n);
	const allocated = base === null ? 0n : base.leaves.reduce((sum, { total }) => sum + total, 0n);
	const emissionPerEpoch = await read(contracts, "rewards", "emissionPerEpoch");
	const sums = { emissionPerEpoch, funded, allocated, totalStake };
	const pot = potOf({ ...sums, quorumPpm: RULES.quorumPpm, signerSlashPpm: 500_000 });
	assert.equal(await read(contracts, "scoreboard", "potOf", BigInt(epoch), allocated), pot);
	return { epoch: BigInt(epoch), base, seats, reports, pot, totalStake, rules: RULES };
}

/** Every provider with a score that differs a little by validator; each validator leaves out some. */
const reportsOf = (validators: number): readonly ScoreReport[] =>
	Array.from({ length: validators }, (_, v) =>
		createScoreReport(
			Array.from({ length: PROVIDERS }, (_, n) => ({
				provider: address(n),
				scorePpm: v === 0 ? (n % 2) * 1_000_000 : 500_000 + ((n * 37) % 1000) + v * 13,
				evidenceSha256: toHex(random(`evidence ${n}`)),
			})).filter((_, n) => (n + v) % 1000 !== 0),
		),
	);

test("10,000 providers: chain and market agree to the unit, every kind of lie is proven, all is claimed at once", async () => {
	const { contracts, validators, goTo, send, provider } = network;
	const reports = reportsOf(3);
	const roots = reports.map(({ reportRoot }) => reportRoot);
	const first = await publish(network, 0, roots);
	[gas.commit, gas.revealFirst] = [Math.max(...first.commits), first.reveals[0]!];
	gas.reveal = Math.max(...first.reveals.slice(1));
	const facts = await factsOf(network, 0, { seats: first.seats, reports });
	assert.equal(facts.pot, EMISSION);
	const honest = createWeights(7n, facts);
	const domain = { chainId: contracts.addresses.chainId, scoreboard: contracts.addresses.scoreboard };
	const id = weightsId(domain, honest.weights);
	assert.equal(await read(contracts, "scoreboard", "weightsId", honest.weights), id);
	gas.post = await post(network, honest.weights, first.seats);
	assert.equal((await read(contracts, "scoreboard", "postedOf", 0n))[0], id);
	goTo(0, 4);

	const { seats } = await publish(network, 1, roots);
	const base: Base = { id, weights: honest.weights, leaves: honest.leaves };
	const nextFacts = await factsOf(network, 1, { seats, reports, base });
	const next = createWeights(7n, nextFacts);
	await liesAreProven(next.weights, next.leaves, nextFacts);
	await post(network, next.weights, seats);
	goTo(1, 4);

	const claim = (index: number, of = next) =>
		send(provider, claimCall(contracts, { weights: of.weights, opening: of.open(index) }));
	const tokens = (who: Hex) => read(contracts, "token", "balanceOf", who);
	await claim(next.indexOf(address(2))!);
	const at = [1, 4000].map((n) => next.indexOf(address(n))!);
	// The first tokens of an address are a new slot in the token, its first claim one in Rewards.
	await send(network.treasurer, callOf(contracts, "token", "transfer", next.leaves[at[1]!]!.account, 1n));
	gas.claim = await claim(at[1]!);
	gas.claimFirstEver = await claim(at[0]!);
	assert.equal(await tokens(next.leaves[at[0]!]!.account), next.leaves[at[0]!]!.total);
	assert.ok(next.leaves[at[0]!]!.total > next.leaves[at[0]!]!.earned, "two epochs in one claim");
	await assert.rejects(claim(at[0]!), /NothingToClaim/);
	// Who has claimed before changes a slot.
	const again = next.indexOf(address(7))!;
	await claim(honest.indexOf(address(7))!, honest);
	gas.claimAgain = await claim(again);
	assert.equal(await tokens(address(7)), next.leaves[again]!.total);
	const own = next.indexOf(validators[0]!.address.toLowerCase())!;
	const had = await tokens(validators[0]!.address);
	await claim(own);
	assert.equal((await tokens(validators[0]!.address)) - had, next.leaves[own]!.total);
});

/** Each kind, found by market's faultOf and taken by the chain; the right one stands against each. */
async function liesAreProven(weights: Weights, leaves: readonly RewardLeaf[], facts: EpochFacts): Promise<void> {
	const { contracts, provider, send } = network;
	const at = 5000;
	const changed = (change: Partial<RewardLeaf>) => leaves.map((leaf, i) => (i === at ? { ...leaf, ...change } : leaf));
	const leaf = leaves[at]!;
	const lies: Record<Exclude<ProvableFault["kind"], "report">, readonly [readonly RewardLeaf[], Partial<Weights>]> = {
		set: [leaves, { set: 15n }],
		shape: [leaves, { paid: weights.paid - 1n }],
		weight: [summed(changed({ weightPpm: leaf.weightPpm + 1 })), {}],
		earned: [summed(changed({ earned: leaf.earned + 1n, total: leaf.total + 1n })), {}],
		total: [changed({ total: leaf.total + 1n }), {}],
	};
	for (const [kind, [list, more]] of Object.entries(lies)) {
		const stated = { ...restated(weights, list), ...more };
		const fault = faultOf(stated, list, facts) as ProvableFault;
		assert.equal(fault?.kind, kind);
		const words = { weights: stated, base: facts.base!.weights, seats: facts.seats, salt: salt(0) };
		const truth = challengeCall(contracts, fault, { ...words, weights });
		await assert.rejects(send(provider, truth), /OpeningInvalid|WeightsHold/);
		const act = `challenge${kind[0]!.toUpperCase()}${kind.slice(1)}`;
		gas[act] = await send(provider, challengeCall(contracts, fault, words));
		await assert.rejects(send(provider, challengeCall(contracts, fault, words)), /AlreadyProven/);
	}
}

function summed(leaves: readonly RewardLeaf[]): readonly RewardLeaf[] {
	let [weightBefore, earnedBefore] = [0n, 0n];
	return leaves.map((leaf) => {
		const fixed = { ...leaf, weightBefore, earnedBefore };
		weightBefore += BigInt(leaf.weightPpm);
		earnedBefore += leaf.earned;
		return fixed;
	});
}

function restated(weights: Weights, leaves: readonly RewardLeaf[]): Weights {
	const last = leaves.at(-1)!;
	return {
		...weights,
		totalWeight: last.weightBefore + BigInt(last.weightPpm),
		paid: last.earnedBefore + last.earned,
		root: toHex(treeRoot(leaves.map(rewardLeafHash))),
	};
}

function treeRoot(hashes: readonly Uint8Array[]): Uint8Array {
	if (hashes.length === 1) return hashes[0]!;
	const above = Array.from({ length: Math.ceil(hashes.length / 2) }, (_, i) =>
		2 * i + 1 < hashes.length ? keccakNode(hashes[2 * i]!, hashes[2 * i + 1]!) : hashes[2 * i]!,
	);
	return treeRoot(above);
}

// --- The worst that authors can choose: 64 seats of equal stake, reports of 2¹⁷ leaves, an account that lies
// in the middle of each, so that two whole paths show its absence. Siblings are anything: only hashes are
// compared.

const SEATS = 64;
const MIDDLE = (1n << 159n) | 0x1234_5678n;
const half = 1 << 16;
const text20 = (value: bigint): Hex => `0x${value.toString(16).padStart(40, "0")}`;

function deepReport(seat: number) {
	const siblings = (side: string) => Array.from({ length: 16 }, (_, i) => random(`${seat} ${side} ${i}`));
	const leaf = (provider: bigint) => ({
		provider: text20(provider),
		scorePpm: 987_654,
		evidenceSha256: toHex(random(`evidence ${seat} ${provider}`)),
	});
	const [left, right] = [leaf(MIDDLE - 1n), leaf(MIDDLE + 1n)];
	const [leftPath, rightPath] = [siblings("left"), siblings("right")];
	const leftRoot = rootFromPath(scoreLeafHash(left), half - 1, half, leftPath, keccakNode)!;
	const rightRoot = rootFromPath(scoreLeafHash(right), 0, half, rightPath, keccakNode)!;
	const count = 2 * half;
	return {
		reportRoot: toHex(keccak(Uint8Array.of(2), packed(count, 4), keccakNode(leftRoot, rightRoot))),
		opening: {
			seat,
			count,
			openings: [
				{ index: half - 1, leaf: left, path: [...leftPath, rightRoot].map(toHex) },
				{ index: half, leaf: right, path: [...rightPath, leftRoot].map(toHex) },
			],
		},
	};
}

/** One leaf under a root of 2²⁴ accounts. */
function deepLeaf(leaf: RewardLeaf): {
	readonly count: number;
	readonly root: Hex;
	readonly opening: Opening<RewardLeaf>;
} {
	const [index, count] = [0xabcdef, 1 << 24];
	const path = Array.from({ length: pathLength(index, count) }, (_, i) => random(`reward ${leaf.account} ${i}`));
	const root = rootFromPath(rewardLeafHash(leaf), index, count, path, keccakNode)!;
	return { count, root: toHex(root), opening: { index, leaf, path: path.map(toHex) } };
}

test("64 seats: weights are posted, proven wrong and punished within the limits", async () => {
	const large = await openTestNetwork(SEATS);
	try {
		const { contracts, provider, send, validators } = large;
		const reports = Array.from({ length: SEATS }, (_, seat) => deepReport(seat));
		const { seats } = await publish(
			large,
			0,
			reports.map(({ reportRoot }) => reportRoot),
		);
		assert.equal(seats.length, SEATS);
		assert.ok(seats.every(({ stake }) => stake === STAKE));
		const account = text20(MIDDLE);
		const deep = {
			account,
			weightPpm: 654_321,
			weightBefore: 123_456_789n,
			earned: UNIT,
			earnedBefore: UNIT,
			total: UNIT,
		};
		const { count, root, opening } = deepLeaf(deep);
		const weights: Weights = {
			epoch: 0n,
			base: NO_BASE,
			set: (1n << 64n) - 1n,
			count,
			totalWeight: 987_654_321n,
			paid: 999n * UNIT,
			root,
		};
		const lie = (more: Partial<Weights>): Weights => ({ ...weights, ...more });
		gas.post64 = await post(large, weights, seats);
		const words = { base: weights, seats, salt: salt(0) };
		const shown = reports.slice(0, SEATS / 2).map(({ opening }) => opening);
		const challenge = (fault: Parameters<typeof challengeCall>[1], of: Weights) =>
			send(provider, challengeCall(contracts, fault, { ...words, weights: of }));
		gas.challengeWeight64 = await challenge({ kind: "weight", account, opened: [opening], reports: shown }, weights);
		const signatures = await signAll(large, validators, weights);
		gas.punish64 = await send(provider, punishCall(contracts, weights, signatures));
		assert.equal(await read(contracts, "registry", "slashableOf", validators[63]!.address), STAKE / 2n);

		// Statements that nobody posted are challenged alike; these are the most expensive of each kind.
		gas.challengeEarned = Math.max(
			gas.challengeEarned!,
			await challenge({ kind: "earned", account, opened: [opening] }, lie({ paid: 1n })),
		);
		const report = { ...reports[0]!.opening, openings: reports[0]!.opening.openings.slice(0, 1) };
		await assert.rejects(challenge({ kind: "report", report }, lie({ paid: 2n })), /WeightsHold/);
		const based = lie({ base: weightsId({ ...contracts.addresses }, weights) });
		gas.challengeTotal = Math.max(
			gas.challengeTotal!,
			await challenge({ kind: "total", account, opened: [opening], openedBase: [opening] }, based),
		);
		gas.challengeReport = await malformedReport(large);
	} finally {
		await large.close();
	}
});

/** Two neighbours in the wrong order, in the middle of one of 64 reports. */
async function malformedReport(large: TestNetwork): Promise<number> {
	const good = Array.from({ length: SEATS }, (_, seat) => deepReport(seat));
	const [left, right] = good[0]!.opening.openings;
	const count = 2 * half;
	const turned = [
		{ ...left!, leaf: right!.leaf },
		{ ...right!, leaf: left!.leaf },
	];
	const path = (one: (typeof turned)[number]) =>
		one.path.slice(0, 16).map((hash) => Uint8Array.from(Buffer.from(hash.slice(2), "hex")));
	const leftRoot = rootFromPath(scoreLeafHash(turned[0]!.leaf), half - 1, half, path(turned[0]!), keccakNode)!;
	const rightRoot = rootFromPath(scoreLeafHash(turned[1]!.leaf), 0, half, path(turned[1]!), keccakNode)!;
	const reportRoot = toHex(keccak(Uint8Array.of(2), packed(count, 4), keccakNode(leftRoot, rightRoot)));
	const openings = [
		{ ...turned[0]!, path: [...turned[0]!.path.slice(0, 16), toHex(rightRoot)] },
		{ ...turned[1]!, path: [...turned[1]!.path.slice(0, 16), toHex(leftRoot)] },
	];
	const roots = [reportRoot, ...good.slice(1).map((one) => one.reportRoot)];
	const { seats } = await publish(large, 1, roots);
	const stated = {
		epoch: 1n,
		base: NO_BASE,
		set: (1n << 64n) - 1n,
		count: 0,
		totalWeight: 0n,
		paid: 0n,
		root: NO_BASE,
	};
	const fault = { kind: "report", report: { seat: 0, count, openings } } as const;
	const words = { weights: stated, base: stated, seats, salt: salt(0) };
	return large.send(large.provider, challengeCall(large.contracts, fault, words));
}

test("gas is what contracts/gas.json says, and within its limits", () => {
	checkGas("epochs", gas);
	assert.ok(gas.commit! + gas.revealFirst! <= 120_000, `${gas.commit! + gas.revealFirst!}`);
	assert.ok(gas.post64! <= 500_000, `${gas.post64}`);
	for (const [act, used] of Object.entries(gas))
		if (act.startsWith("challenge")) assert.ok(used <= 2_000_000, `${act}: ${used}`);
	for (const act of ["claim", "claimAgain"]) assert.ok(gas[act]! <= 100_000, `${act}: ${gas[act]}`);
});
