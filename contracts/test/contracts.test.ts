// The contracts beside the TypeScript that mirrors them: elements, trees, medians and shares on which both
// sides must agree to the unit, and what each act costs in gas (contracts/gas.json). `GAS=write` writes that
// file anew. Not here: the Solidity tests (solidity.test.ts).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import {
	approveEscrowCall,
	closeEscrowCall,
	escrowId,
	extendEscrowCall,
	isRunning,
	openEscrowCall,
	readEscrow,
	withdrawEscrowCall,
} from "../../src/chain/contracts/rental-escrow.ts";
import { claimAndCollectCall, claimCall, collectCall, readOwed, wordOf } from "../../src/chain/contracts/rewards.ts";
import {
	answerCall,
	commitCall,
	demandCall,
	expireCall,
	isCommitted,
	readCommitted,
	readOpenDemands,
	readRollCallParams,
	signAnswer,
} from "../../src/chain/contracts/roll-call.ts";
import { type ProbeReceipt, signReceipt } from "../../src/chain/contracts/slashing.ts";
import { rewardShares } from "../../src/market/epochs/reward-shares.ts";
import { createScoreReport, type ScoreReport } from "../../src/market/epochs/score-report.ts";
import {
	createWeightProposal,
	medianWeights,
	shareOf,
	type WeightProposal,
} from "../../src/market/epochs/weight-proposal.ts";
import { fromHex, type Hex } from "../../src/protocol/chain/hex.ts";
import { answerDigest, isAnswerSigned } from "../../src/protocol/chain/roll-answer.ts";
import { keccakTree } from "../../src/protocol/hash/keccak-tree.ts";
import { leafHash, merkleLevels, merklePath, pathLength, rootFromPath } from "../../src/protocol/hash/merkle.ts";
import { gemmElements } from "../../src/protocol/maths/gemm-element.ts";
import { nextSeed } from "../../src/protocol/probe/challenge-seed.ts";
import { isRollCall, rollLeaf, rollSeed } from "../../src/protocol/roll-call/roll-call.ts";
import { openTestNetwork, STAKE, type TestNetwork, UNIT } from "./network.test-kit.ts";

const GAS_FILE = new URL("../gas.json", import.meta.url);
const PRECISIONS = ["int8", "fp8", "fp16", "bf16", "tf32"] as const;
const EMISSION = 1000n * UNIT;
const PROVIDERS = 10_000;
const gas: Record<string, number> = {};

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;
const random = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());
const address = (n: number): Hex => hex(random(`provider ${n}`).subarray(0, 20));
const salt = (n: number): Hex => hex(random(`salt ${n}`));

let network: TestNetwork;
before(async () => {
	network = await openTestNetwork();
});
after(() => network.close());

test("elements of products are those of the vectors", async () => {
	interface Row {
		readonly precision: (typeof PRECISIONS)[number];
		readonly k: number;
		readonly seed: string;
		readonly row: number;
		readonly col: number;
		readonly value: number;
	}
	const file = new URL("../../vectors/gemm-elements.json", import.meta.url);
	const rows = (JSON.parse(readFileSync(file, "utf8")) as Row[]).filter((_, i) => i % 3 === 0);
	const seen = new Set<string>();
	for (const { precision, k, seed, row, col, value } of rows) {
		seen.add(precision);
		assert.equal(await elementOnChain(precision, `0x${seed}`, k, row, col), value);
	}
	assert.deepEqual([...seen].sort(), [...PRECISIONS].sort());
	// Long rows, where lanes are fullest, against src/protocol.
	for (const [precision, k] of [
		["int8", 16384],
		["int8", 65536],
		["fp8", 16384],
		["tf32", 16384],
	] as const) {
		const seed = random(`long ${precision} ${k}`);
		const [right] = gemmElements(precision, seed, k, 1000, [999]);
		assert.equal(await elementOnChain(precision, hex(seed), k, 1000, 999), right);
	}
});

function elementOnChain(precision: (typeof PRECISIONS)[number], seed: Hex, k: number, row: number, column: number) {
	return read(network.contracts, "slashing", "gemmElement", PRECISIONS.indexOf(precision), seed, k, row, column);
}

test("an epoch of 10,000 providers: medians and shares of chain and market are one, a liar is slashed", async () => {
	const { contracts, validators, goTo, send } = network;
	// Validator 0 lies without bounds; 1 and 2 differ a little and each leaves out some providers.
	const reports = validators.map((_, v) =>
		createScoreReport(
			Array.from({ length: PROVIDERS }, (_, n) => ({
				provider: address(n),
				scorePpm: v === 0 ? (n % 2) * 1_000_000 : 500_000 + ((n * 37) % 1000) + v * 13,
				evidenceSha256: hex(random(`evidence ${n}`)),
			})).filter((_, n) => (n + v) % 1000 !== 0),
		),
	);
	await publish(network, 0, reports);
	const counted = reports.map((report, i) => ({ validator: validators[i]!.address, stake: STAKE, report }));
	const known = medianWeights(counted);
	const asked = known.filter(({ provider }, i) => i % 1000 === 7 || provider === address(1000));
	for (const { provider, weightPpm } of [...asked, absentWeight]) {
		const opened = openings(reports, provider);
		const [least, greatest] = await read(contracts, "scoreboard", "medianOf", 0n, provider, opened);
		assert.deepEqual([least, greatest], [weightPpm, weightPpm]);
	}

	const honest = createWeightProposal(counted, EMISSION);
	const lie = createWeightProposal([counted[0]!], EMISSION);
	goTo(0, 3);
	await send(validators[0]!, callOf(contracts, "scoreboard", "propose", 0n, lie.proposal));
	const cheated = address(2);
	gas.challengeWeight = await send(
		network.provider,
		callOf(
			contracts,
			"scoreboard",
			"challengeWeight",
			0n,
			lie.proposal,
			cheated,
			lie.openProvider(cheated),
			openings(reports, cheated),
		),
	);
	gas.propose = await send(validators[1]!, callOf(contracts, "scoreboard", "propose", 0n, honest.proposal));
	await assert.rejects(
		send(
			network.provider,
			callOf(
				contracts,
				"scoreboard",
				"challengeWeight",
				0n,
				honest.proposal,
				cheated,
				honest.openProvider(cheated),
				openings(reports, cheated),
			),
		),
		/ProposalHolds/,
	);
	goTo(0, 5);
	await claims(honest, known);

	// The next epochs, up to one of another word. Who has claimed before changes a slot; in another word it
	// is a new one again.
	const ours = honest.leaves[1]!.provider;
	const stakesNow = counted.map((one, i) => (i === 0 ? { ...one, stake: STAKE / 2n } : one));
	const next = createWeightProposal(stakesNow, EMISSION);
	assert.equal(next.leaves[1]!.provider, ours);
	const settleNext = async (epoch: number) => {
		await publish(network, epoch, reports);
		goTo(epoch, 3);
		await send(validators[1]!, callOf(contracts, "scoreboard", "propose", BigInt(epoch), next.proposal));
		goTo(epoch, 5);
	};
	const share = shareOf(next.proposal, next.leaves[1]!);
	await settleNext(1);
	gas.claim = await send(
		network.provider,
		claimCall(contracts, { epoch: 1, proposal: next.proposal, opening: next.open(1) }),
	);
	assert.deepEqual(await readOwed(contracts, ours, 1), [{ word: 0, amount: share }]);
	gas.collect = await send(network.provider, collectCall(contracts, ours, [0]));
	await settleNext(129);
	gas.claimNewWord = await send(
		network.provider,
		claimCall(contracts, { epoch: 129, proposal: next.proposal, opening: next.open(1) }),
	);
	assert.deepEqual(await readOwed(contracts, ours, 129), [{ word: wordOf(129), amount: share }]);
	await settleNext(130);
	const last = [{ epoch: 130, proposal: next.proposal, opening: next.open(1) }];
	gas.claimAndCollect = await send(network.provider, claimAndCollectCall(contracts, ours, last));
	assert.deepEqual(await readOwed(contracts, ours, 130), []);
	const first = shareOf(honest.proposal, honest.leaves[1]!);
	assert.equal(await paid(ours), first + 3n * share);
	await assert.rejects(send(network.provider, collectCall(contracts, ours, [0, 1])), /NothingOwed/);
});

const absentWeight = { provider: `0x${"77".repeat(20)}`, weightPpm: 0 } as const;

function openings(reports: readonly ScoreReport[], provider: Hex) {
	return reports.map((report, i) => ({
		validator: network.validators[i]!.address,
		count: report.leaves.length,
		openings: report.openProvider(provider),
	}));
}

async function publish(
	{ contracts, validators, goTo, send }: TestNetwork,
	epoch: number,
	reports: readonly ScoreReport[],
) {
	goTo(epoch, 0);
	const commits: number[] = [];
	for (const [i, { reportRoot }] of reports.entries()) {
		const validator = validators[i]!.address;
		const commitment = await read(
			contracts,
			"scoreboard",
			"commitmentOf",
			BigInt(epoch),
			validator,
			reportRoot,
			salt(i),
		);
		commits.push(await send(validators[i]!, callOf(contracts, "scoreboard", "commit", BigInt(epoch), commitment)));
	}
	goTo(epoch, 1);
	const reveals: number[] = [];
	for (const [i, { reportRoot }] of reports.entries())
		reveals.push(
			await send(validators[i]!, callOf(contracts, "scoreboard", "reveal", BigInt(epoch), reportRoot, salt(i))),
		);
	goTo(epoch, 2);
	// The first of an epoch pays for its sum's slot.
	[gas.commit, gas.revealFirst] = [Math.max(...commits), reveals[0]!];
	gas.reveal = Math.max(...reveals.slice(1));
}

const paid = (who: Hex) => read(network.contracts, "token", "balanceOf", who);

async function claims(honest: WeightProposal, weights: ReturnType<typeof medianWeights>) {
	const { contracts, provider, send } = network;
	const shares = rewardShares(weights, EMISSION);
	assert.equal(
		shares.reduce((sum, { amount }) => sum + amount, 0n),
		EMISSION,
	);
	for (const i of [0, 1, 5000, honest.leaves.length - 1]) {
		const leaf = honest.leaves[i]!;
		const share = await read(contracts, "rewards", "shareOf", honest.proposal, leaf);
		assert.equal(share, shares.find((one) => one.provider === leaf.provider)?.amount);
		// The first claim ever of an address: one new slot. Its first tokens: another, in the token.
		const claimed = await send(
			provider,
			claimCall(contracts, { epoch: 0, proposal: honest.proposal, opening: honest.open(i) }),
		);
		gas.claimFirstEver = Math.max(gas.claimFirstEver ?? 0, claimed);
		assert.equal(await paid(leaf.provider), 0n);
		const collected = await send(provider, collectCall(contracts, leaf.provider, [0]));
		gas.collectFirstEver = Math.max(gas.collectFirstEver ?? 0, collected);
		assert.equal(await paid(leaf.provider), share);
	}
	await assert.rejects(
		send(provider, claimCall(contracts, { epoch: 0, proposal: honest.proposal, opening: honest.open(1) })),
		/AlreadyClaimed/,
	);
}

test("a leaf of src/protocol's tree: right elements are no fraud, a wrong one is", async () => {
	const { contracts, provider, validators, send } = network;
	const spec = { precision: "fp16", m: 2, n: 1024, k: 128 } as const;
	const seed = random("small product");
	const leaves = Array.from({ length: 4 }, (_, l) => {
		const columns = Array.from({ length: 512 }, (_, c) => 512 * (l % 2) + c);
		const elements = gemmElements(spec.precision, seed, spec.k, Math.floor(l / 2), columns);
		return new Uint8Array(Uint16Array.from(elements).buffer);
	});
	leaves[3]![2 * 100] = leaves[3]![2 * 100]! ^ 1;
	const levels = merkleLevels(leaves.map(leafHash));
	const root = levels.at(-1)![0]!;
	const receipt: ProbeReceipt = {
		provider: provider.address,
		probeId: hex(random("probe")),
		challenge: 0,
		precision: PRECISIONS.indexOf(spec.precision),
		m: spec.m,
		n: spec.n,
		k: spec.k,
		rounds: 1,
		seed: hex(seed),
		end: hex(nextSeed(seed, root)),
	};
	const signature = await signReceipt(provider, contracts.addresses, receipt);
	const accuse = (leaf: number, column: number) =>
		send(
			validators[1]!,
			callOf(contracts, "slashing", "proveGemm", receipt, signature, {
				seed: hex(seed),
				roots: [hex(root)],
				leaf,
				column,
				leafBytes: hex(leaves[leaf]!),
				path: merklePath(levels, leaf).map(hex),
			}),
		);
	await assert.rejects(accuse(3, 101), /ElementRight/);
	await assert.rejects(accuse(0, 0), /ElementRight/);
	await accuse(3, 100);
	await assert.rejects(accuse(3, 100), /AlreadyPunished|NothingToSlash/);
});

test("one element of a 16384³ product is proven wrong in less than 3 M gas", async () => {
	const { contracts, validators, send } = network;
	// Two who signed nonsense: a leaf of random bytes, siblings that are anything.
	const n = 16384;
	const count = n * (n / 512);
	for (const [name, precision, accused] of [
		["proveGemmInt8", "int8", validators[0]!],
		["proveGemmFp16", "fp16", validators[2]!],
	] as const) {
		const seed = random(`large ${precision}`);
		const leaf = 345_678;
		const path = Array.from({ length: pathLength(leaf, count) }, (_, i) => random(`sibling ${i}`));
		const leafBytes = new Uint8Array(Buffer.concat(Array.from({ length: 32 }, (_, i) => random(`bytes ${i}`))));
		const root = rootFromPath(leafHash(leafBytes), leaf, count, path)!;
		const receipt: ProbeReceipt = {
			provider: accused.address,
			probeId: hex(random("large probe")),
			challenge: 1,
			precision: PRECISIONS.indexOf(precision),
			m: n,
			n,
			k: n,
			rounds: 8,
			seed: hex(seed),
			end: hex(nextSeed(nextSeed(seed, root), root)),
		};
		const signature = await signReceipt(accused, contracts.addresses, receipt);
		const fraud = {
			seed: hex(seed),
			roots: [hex(root), hex(root)],
			leaf,
			column: 77,
			leafBytes: hex(leafBytes),
			path: path.map(hex),
		};
		gas[name] = await send(validators[1]!, callOf(contracts, "slashing", "proveGemm", receipt, signature, fraud));
	}
});

/** Sends something, so that there is a block, until its hash calls or does not. */
async function blockThat(calls: boolean): Promise<number> {
	const { contracts, validators, send } = network;
	for (;;) {
		await send(validators[1]!, { to: validators[1]!.address, data: "0x" });
		const { number, hash } = await contracts.client.viem.getBlock();
		const isCall = isRollCall(fromHex(hash, 32), 2);
		assert.equal(await read(contracts, "rollCall", "isRollCall", hash), isCall);
		if (isCall === calls) return Number(number);
	}
}

test("a validator commits to all answers of a roll call, once, and others read it", async () => {
	const { contracts, validators, send } = network;
	const [, validator] = validators;
	const { viem } = contracts.client;
	const root = random("root of answers");
	const commit = (from: typeof validator, call: number) =>
		send(from!, commitCall(contracts, { call, root, count: 10_000 }));
	await assert.rejects(commit(validator, await blockThat(false)), /NoCall/);
	const call = await blockThat(true);
	await assert.rejects(commit(network.provider, call), /NotValidator/);
	await assert.rejects(commit(validator, call + 1000), /BlockUnknown/);
	const b1 = Number(await viem.getBlockNumber()) + 1;
	gas.rollCallCommit = await commit(validator, call);
	await assert.rejects(commit(validator, call), /AlreadyCommitted/);
	assert.equal(await isCommitted(contracts, validator!.address, call), true);
	assert.equal(await isCommitted(contracts, network.provider.address, call), false);
	const found = await readCommitted(contracts, { from: b1, to: b1 });
	const { hash } = await viem.getBlock({ blockNumber: BigInt(b1) });
	const committed = { validator: validator!.address.toLowerCase(), call, root: hex(root), count: 10_000 };
	assert.deepEqual(found, [{ ...committed, blockNumber: b1, blockHash: hash }]);
	assert.deepEqual(await readCommitted(contracts, { from: b1, to: b1 }, { call: call + 1 }), []);
	assert.deepEqual(await readCommitted(contracts, { from: 0, to: b1 - 1 }), []);
	assert.equal((await readRollCallParams(contracts)).every, 2);
});

test("an opening is demanded, given in time or withheld; the deposit pays for the largest answer", async () => {
	const { contracts, provider, validators, send, wait } = network;
	const [, validator, demander] = validators;
	const slashable = () => read(contracts, "registry", "slashableOf", provider.address);
	for (const [name, rounds, k] of [
		["answerOpening", 1, 128],
		["answerOpeningLargest", 1024, 65536],
		["withheld", 2, 128],
	] as const) {
		const call = await blockThat(true);
		const { hash } = await contracts.client.viem.getBlock({ blockNumber: BigInt(call) });
		const beta0 = fromHex(hash, 32);
		const host = { key: "5e".repeat(32), account: provider.address.toLowerCase() as Hex };
		const spec = { device: 3, m: 16384, n: 16384, k, rounds, keep: rounds };
		// The demanded round is the last: all others lead to its seed.
		const roots = Array.from({ length: rounds - 1 }, (_, i) => random(`round ${i}`));
		const seed = roots.reduce(nextSeed, rollSeed(beta0, host, spec));
		const place = { round: rounds - 1, leaf: 345_678, column: 77 };
		const elements = gemmElements("int8", seed, k, place.leaf >> 5, [512 * (place.leaf % 32) + place.column]);
		const leaf = new Uint8Array(Buffer.concat(Array.from({ length: 32 }, (_, i) => random(`bytes ${i}`))));
		new DataView(leaf.buffer).setUint16(2 * place.column, elements[0]!, true);
		const count = spec.m * (spec.n / 512);
		const path = Array.from({ length: pathLength(place.leaf, count) }, (_, i) => random(`sibling ${i}`));
		roots.push(rootFromPath(leafHash(leaf), place.leaf, count, path)!);
		const end = nextSeed(seed, roots.at(-1)!);
		const answer = { ...spec, end: hex(end).slice(2), last: hex(random("last")).slice(2) };
		const own = rollLeaf(host, answer);
		const tree = keccakTree([random("another's"), own, random("a third's")]);

		const id = { chainId: contracts.addresses.chainId, contract: contracts.addresses.rollCall.toLowerCase(), call };
		const signature = await signAnswer(provider, { ...id, beta0, leaf: own });
		assert.ok(isAnswerSigned(host.account, { ...id, beta0, leaf: own }, signature));
		assert.ok(!isAnswerSigned(host.account, { ...id, beta0: random("fork"), leaf: own }, signature));
		assert.equal(
			await read(contracts, "rollCall", "answerDigest", BigInt(call), hash, hex(own)),
			hex(answerDigest({ ...id, beta0, leaf: own })),
		);
		await send(validator!, commitCall(contracts, { call, root: tree.root, count: 3 }));
		const blockNumber = await contracts.client.viem.getBlockNumber();
		const commitment = {
			validator: validator!.address,
			call: BigInt(call),
			root: hex(tree.root),
			count: 3,
			beta: hash,
			blockNumber,
		};
		const words = {
			providerKey: `0x${host.key}`,
			account: host.account,
			end: hex(end),
			last: hex(random("last")),
		} as const;
		const proof = { leaf: { ...spec, ...words }, index: 1, path: tree.path(1).map(hex), signature };
		const demanded = await send(demander!, await demandCall(contracts, commitment, proof, place));
		const [demand, ...others] = await readOpenDemands(contracts, provider.address);
		assert.deepEqual(others, []);
		if (name === "withheld") {
			const before = await slashable();
			await assert.rejects(send(demander!, expireCall(contracts, demand!)), /StillAnswerable/);
			wait(86_401);
			gas.demandExpire = await send(demander!, expireCall(contracts, demand!));
			assert.equal(await slashable(), before - before / 10n);
		} else {
			gas.demandOpening = Math.max(gas.demandOpening ?? 0, demanded);
			await assert.rejects(
				send(validator!, answerCall(contracts, demand!, { roots, leaf: leaf.toReversed(), path })),
				/RootMismatch/,
			);
			gas[name] = await send(validator!, answerCall(contracts, demand!, { roots, leaf, path }));
			// What the least deposit counts with: were it less, demands would be a way to make others pay.
			assert.ok(gas[name] <= 400_000 + 1500 * rounds + 90 * k, `${name}: ${gas[name]}`);
		}
		assert.deepEqual(await readOpenDemands(contracts, provider.address), []);
	}
	assert.ok((await read(contracts, "rollCall", "owedTo", provider.address)) > 0n);
	await send(provider, callOf(contracts, "rollCall", "withdraw", provider.address));
});

test("a rental is deposited, extended, closed and paid to the second", async () => {
	const { contracts, provider, validators, send, wait } = network;
	const customer = validators[1]!;
	const saltOf = salt(99);
	const id = escrowId(customer.address, saltOf);
	assert.equal(await read(contracts, "rentalEscrow", "idOf", customer.address, saltOf), id);
	assert.equal(await readEscrow(contracts, id), null);
	const terms = { provider: provider.address, perSecond: 10n ** 12n, seconds: 3600 };
	await assert.rejects(send(customer, openEscrowCall(contracts, saltOf, terms)), /refuses/);
	await send(customer, approveEscrowCall(contracts, 4600n * terms.perSecond));
	const before = await paid(customer.address);
	gas.rentalOpen = await send(customer, openEscrowCall(contracts, saltOf, terms));
	gas.rentalExtend = await send(customer, extendEscrowCall(contracts, id, 1000));
	assert.equal(before - (await paid(customer.address)), 4600n * terms.perSecond);
	const escrow = (await readEscrow(contracts, id))!;
	const { customer: by, provider: to, perSecond, burnedPerSecond, isClosed } = escrow;
	assert.deepEqual(
		[by, to],
		[customer, provider].map(({ address }) => address.toLowerCase()),
	);
	assert.deepEqual([perSecond, burnedPerSecond, isClosed], [10n ** 12n, 10n ** 11n, false]);
	assert.equal(escrow.endsAt - escrow.startedAt, 4600);
	wait(600);
	await assert.rejects(send(validators[0]!, closeEscrowCall(contracts, id)), /NotParty/);
	gas.rentalClose = await send(customer, closeEscrowCall(contracts, id));
	const closed = (await readEscrow(contracts, id))!;
	const used = BigInt(closed.endsAt - closed.startedAt);
	assert.ok(closed.isClosed && used >= 600n && used < 620n, `${used}`);
	for (const time of [closed.startedAt - 1, closed.startedAt, closed.endsAt - 1, closed.endsAt])
		assert.equal(await read(contracts, "rentalEscrow", "isRunning", id, BigInt(time)), isRunning(closed, time));
	await send(customer, withdrawEscrowCall(contracts, customer.address));
	assert.equal(before - (await paid(customer.address)), used * terms.perSecond);
	const had = await paid(provider.address);
	gas.rentalWithdraw = await send(provider, withdrawEscrowCall(contracts, provider.address));
	assert.equal((await paid(provider.address)) - had, used * (perSecond - burnedPerSecond));
	assert.equal(await paid(contracts.addresses.rentalEscrow), 0n);
});

test("gas is what contracts/gas.json says, and within its limits", () => {
	const sorted = Object.fromEntries(Object.entries(gas).sort(([a], [b]) => (a < b ? -1 : 1)));
	if (process.env.GAS === "write") writeFileSync(GAS_FILE, `${JSON.stringify(sorted, null, "\t")}\n`);
	const golden = JSON.parse(readFileSync(GAS_FILE, "utf8")) as Record<string, number>;
	assert.deepEqual(Object.keys(sorted), Object.keys(golden));
	// Random bytes cost 16 gas, zeros 4: addresses and hashes that differ by a zero byte move a figure by
	// some units.
	for (const [act, used] of Object.entries(sorted))
		assert.ok(Math.abs(used - golden[act]!) <= 500, `${act}: ${used}, golden ${golden[act]}`);
	assert.ok(sorted.commit! + sorted.revealFirst! < 120_000);
	// Every kind of claim: a provider's first, a regular one, one that opens a new word; and every kind of
	// payment, even with a claim in one go.
	const kinds = ["claim", "claimFirstEver", "claimNewWord", "collect", "collectFirstEver", "claimAndCollect"];
	for (const kind of kinds) assert.ok(sorted[kind]! < 90_000, `${kind}: ${sorted[kind]}`);
	assert.ok(sorted.rollCallCommit! <= 60_000);
	assert.ok(sorted.proveGemmInt8! < 3_000_000 && sorted.proveGemmFp16! < 3_000_000);
});
