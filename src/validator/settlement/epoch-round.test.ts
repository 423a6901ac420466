// Three validators on one real EVM, one of them lying: in its report, in its proposal, by keeping its leaves
// to itself. Weights stay the honest ones, the liar pays, nothing happens twice. The chain's clock moves by
// hand.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Contracts, callOf, read } from "../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards } from "../../chain/contracts/deploy.ts";
import { approveCall, readAccount, registerCall } from "../../chain/contracts/registry.ts";
import { claimCall, collectCall, readPot } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { signReport } from "../../chain/contracts/slashing.ts";
import { type ChainClient, createChainClient } from "../../chain/node/chain-client.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { memoryIntents } from "../../chain/sending/publish.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { createScoreReport, readScoreReport } from "../../market/epochs/score-report.ts";
import { createWeightProposal, shareOf } from "../../market/epochs/weight-proposal.ts";
import type { ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { type ChainEvent, createEpochRound, type EpochRound } from "./epoch-round.ts";
import { createLeafFetcher } from "./fetch-leaves.ts";
import { archivePath, createReportArchive, type ReportArchive } from "./report-archive.ts";

const UNIT = 10n ** 18n;
const folder = mkdtempSync(join(tmpdir(), "assay-round-"));
const servers: Server[] = [];
after(() => {
	for (const server of servers) server.close().closeAllConnections();
	rmSync(folder, { recursive: true, force: true });
});

/** Members' public files over HTTP, as their APIs serve them; a silent one's are not there. */
async function serveFiles(members: readonly Member[]): Promise<string> {
	const server = createServer(async ({ url = "" }, response) => {
		const owner = members.find(({ address, isSilent }) => url.includes(address) && !isSilent);
		const bytes = (await owner?.archive.publicFile(url)) ?? null;
		response.writeHead(bytes === null ? 404 : 200).end(bytes ?? "");
	});
	servers.push(server);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Member {
	readonly account: ChainAccount;
	readonly address: Hex;
	readonly archive: ReportArchive;
	readonly events: ChainEvent[];
	scores: readonly ScoreLeaf[];
	/** Gives its leaves to nobody. */
	isSilent: boolean;
	round: EpochRound;
	/** A new process of the same data folder. */
	restart: () => Promise<EpochRound>;
}

interface Stage {
	readonly node: ToyNode;
	readonly client: ChainClient;
	readonly contracts: Contracts;
	readonly members: readonly [Member, Member, Member];
}

const provider = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const scoresOf = (...ppm: number[]): readonly ScoreLeaf[] =>
	ppm.map((scorePpm, i) => ({ provider: provider(i + 1), scorePpm, evidenceSha256: `0x${"ab".repeat(32)}` }));
const HONEST = [500_000, 250_000, 125_000, 60_000];
const EMISSION = 1000n * UNIT;
let stages = 0;

async function createStage(): Promise<Stage> {
	const node = await createToyNode();
	const client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	const contracts = await deployContracts(client, TREASURER, { genesis: TOY_GENESIS_S, epochSeconds: 600 });
	await fundRewards(contracts, TREASURER, 100n * EMISSION);
	const members: Member[] = [];
	const name = `stage-${stages++}`;
	const endpoint = await serveFiles(members);
	const fetched = createLeafFetcher(contracts, () => {});
	for (const [i, stake] of [4000n, 3500n, 3000n].entries()) {
		const account = accountOf(`0x${`a${i}`.repeat(32)}`);
		await sendCall(client, TREASURER, { to: account.address, data: "0x", value: 10n * UNIT });
		await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", account.address, stake * UNIT));
		await sendCall(client, account, approveCall(contracts, stake * UNIT));
		const signingKey: Hex = `0x${`b${i}`.repeat(32)}`;
		const amount = stake * UNIT;
		await sendCall(
			client,
			account,
			registerCall(contracts, { role: "validator", signingKey, keyProof: "0x", endpoint, amount }),
		);
		const archive = createReportArchive(join(folder, name, String(i)));
		const events: ChainEvent[] = [];
		const address = account.address.toLowerCase() as Hex;
		const member = {
			account,
			address,
			archive,
			events,
			scores: scoresOf(...HONEST),
			isSilent: false,
		} as unknown as Member;
		member.restart = () =>
			createEpochRound({
				contracts,
				account,
				saltSecret: new Uint8Array(32).fill(i),
				journal: memoryIntents(),
				archive,
				nowS: () => node.nowS,
				scores: async () => member.scores,
				fetchReport: fetched.report,
				fetchWeights: fetched.weights,
				tell: (event) => events.push(event),
			});
		member.round = await member.restart();
		members.push(member);
	}
	return { node, client, contracts, members: members as unknown as Stage["members"] };
}

async function turnAll({ members }: Stage, who: readonly Member[] = members): Promise<void> {
	for (const member of who) await member.round.turn();
}

/** Commit and reveal of all, then the void window's end. */
async function report(s: Stage, epoch: number): Promise<board.EpochWindows> {
	const windows = board.windowsOf(s.members[0].round.params, epoch);
	await s.node.at(windows.endsAt);
	await turnAll(s);
	await s.node.at(windows.revealsAt);
	await turnAll(s);
	await s.node.at(windows.proposesAt - 1);
	await turnAll(s);
	await s.node.at(windows.proposesAt);
	return windows;
}

async function finalLeaves({ node, contracts, members }: Stage, epoch: number): Promise<readonly WeightLeaf[]> {
	const { finalAt, proposer } = await board.readProposal(contracts, epoch);
	await node.at(finalAt);
	assert.notEqual(await board.readFinal(contracts, epoch), null);
	const found = members.find(({ address }) => address === proposer.toLowerCase());
	return (await found!.archive.weights(epoch, found!.address))!;
}

test("a liar's report moves no weight; everyone is paid, to the unit, once", async () => {
	const s = await createStage();
	for (const [epoch, lie] of [
		[0, 1_000_000],
		[1, 0],
		[2, 1],
	] as const) {
		s.members[2].scores = scoresOf(...HONEST.map(() => lie), 999_999);
		await report(s, epoch);
		await turnAll(s);
		// A second and third round change nothing.
		const sent = s.node.sent;
		await turnAll(s);
		await turnAll(s);
		assert.equal(s.node.sent, sent);
		const leaves = await finalLeaves(s, epoch);
		assert.deepEqual(
			leaves.map(({ weightPpm }) => weightPpm),
			HONEST,
		);
		const { proposal, openProvider } = createWeightProposal(
			[{ validator: provider(99), stake: 1n, report: createScoreReport(scoresOf(...HONEST)) }],
			EMISSION,
		);
		for (const leaf of leaves) {
			const before = await read(s.contracts, "token", "balanceOf", leaf.provider);
			const call = claimCall(s.contracts, { epoch, proposal, opening: openProvider(leaf.provider)[0]! });
			await sendCall(s.client, TREASURER, call);
			await sendCall(s.client, TREASURER, collectCall(s.contracts, leaf.provider, [0]));
			assert.equal((await read(s.contracts, "token", "balanceOf", leaf.provider)) - before, shareOf(proposal, leaf));
			await assert.rejects(sendCall(s.client, TREASURER, call), /AlreadyClaimed/);
		}
		assert.deepEqual(await readPot(s.contracts, epoch), { pot: EMISSION, paid: EMISSION, swept: false });
	}
	assert.deepEqual(
		s.members.map(({ events }) => events.filter(({ kind }) => kind === "committed" || kind === "revealed").length),
		[6, 6, 6],
	);
});

for (const [name, lie] of [
	["a weight too high", [500_000, 250_000, 125_000, 60_001]],
	["a provider left out", [500_000, 250_000, 125_000]],
	["a provider invented", [...HONEST, 1]],
	["everything to one", [0, 0, 0, 1_000_000]],
] as const)
	test(`a lying proposer is slashed, and the right weights follow: ${name}`, async () => {
		const s = await createStage();
		const liar = s.members[2];
		await report(s, 0);
		const wrong = createWeightProposal(
			[{ validator: liar.address, stake: 1n, report: createScoreReport(scoresOf(...lie)) }],
			EMISSION,
		);
		await liar.archive.putWeights(0, liar.address, wrong.leaves);
		await sendCall(s.client, liar.account, callOf(s.contracts, "scoreboard", "propose", 0n, wrong.proposal));
		const before = await read(s.contracts, "token", "balanceOf", s.members[0].address);
		await turnAll(s);
		assert.equal(s.members[0].events.filter(({ kind }) => kind === "challenged").length, 1);
		assert.equal((await readAccount(s.contracts, liar.address)).stake, 1500n * UNIT);
		assert.equal((await read(s.contracts, "token", "balanceOf", s.members[0].address)) - before, 750n * UNIT);
		await turnAll(s);
		assert.deepEqual(
			(await finalLeaves(s, 0)).map(({ weightPpm }) => weightPpm),
			HONEST,
		);
	});

test("an honest proposal is challenged by nobody, and cannot be", async () => {
	const s = await createStage();
	await report(s, 0);
	await turnAll(s);
	const { digest, proposer } = await board.readProposal(s.contracts, 0);
	const right = (await s.members[1].round.rightProposal(0))!;
	assert.equal(await read(s.contracts, "scoreboard", "proposalDigest", 0n, right.proposal), digest);
	assert.equal((await readAccount(s.contracts, proposer)).stake, 4000n * UNIT);
	const opened = right.openProvider(provider(2));
	const reports = await Promise.all(
		[...s.members]
			.sort((a, b) => (a.address < b.address ? -1 : 1))
			.map(async ({ address, archive }) => {
				const kept = readScoreReport((await archive.report(0, address))!);
				return { validator: address, count: kept.leaves.length, openings: kept.openProvider(provider(2)) };
			}),
	);
	const call = callOf(s.contracts, "scoreboard", "challengeWeight", 0n, right.proposal, provider(2), opened, reports);
	await assert.rejects(sendCall(s.client, s.members[1].account, call), /ProposalHolds/);
});

test("leaves that nobody can have: the report is voided, a proposal over it dropped without a slash", async () => {
	const s = await createStage();
	const liar = s.members[2];
	liar.isSilent = true;
	await report(s, 0);
	assert.equal((await board.readReport(s.contracts, 0, liar.address)).voided, true);
	await turnAll(s, s.members.slice(0, 1));
	assert.deepEqual(
		(await finalLeaves(s, 0)).map(({ weightPpm }) => weightPpm),
		HONEST,
	);

	const windows = await report(s, 1);
	const wrong = createWeightProposal(
		[{ validator: liar.address, stake: 1n, report: createScoreReport(scoresOf(7)) }],
		EMISSION,
	);
	await sendCall(s.client, liar.account, callOf(s.contracts, "scoreboard", "propose", 1n, wrong.proposal));
	await turnAll(s, s.members.slice(0, 2));
	assert.notEqual((await board.readProposal(s.contracts, 1)).digest, null);
	await s.node.at(windows.proposesAt + 50);
	await turnAll(s, s.members.slice(0, 2));
	await turnAll(s, s.members.slice(0, 2));
	assert.equal((await readAccount(s.contracts, liar.address)).stake, 3000n * UNIT);
	assert.deepEqual(
		(await finalLeaves(s, 1)).map(({ weightPpm }) => weightPpm),
		HONEST,
	);
});

test("a lying proposer is not saved by hiding its own report: the bounds of the others' suffice", async () => {
	const s = await createStage();
	const liar = s.members[2];
	const { endsAt, revealsAt, proposesAt } = board.windowsOf(liar.round.params, 0);
	for (const second of [endsAt, revealsAt]) {
		await s.node.at(second);
		await turnAll(s);
	}
	// Nobody votes in time, so its report counts.
	liar.isSilent = true;
	await s.node.at(proposesAt);
	const wrong = createWeightProposal(
		[{ validator: liar.address, stake: 1n, report: createScoreReport(scoresOf(...HONEST, 1)) }],
		EMISSION,
	);
	await sendCall(s.client, liar.account, callOf(s.contracts, "scoreboard", "propose", 0n, wrong.proposal));
	await s.members[0].archive.putWeights(0, liar.address, wrong.leaves);
	liar.archive.publicFile = async (path) => (path.includes("report") ? null : s.members[0].archive.publicFile(path));
	liar.isSilent = false;
	await turnAll(s, s.members.slice(0, 1));
	assert.equal(s.members[0].events.filter(({ kind }) => kind === "challenged").length, 1);
	assert.equal((await readAccount(s.contracts, liar.address)).stake, 1500n * UNIT);
});

test("a malformed report is void by proof", async () => {
	const s = await createStage();
	const liar = s.members[2];
	const leaf = scoresOf(5)[0]!;
	const bad = [leaf, { ...leaf, provider: provider(9), scorePpm: 2_000_000 }];
	const windows = board.windowsOf(liar.round.params, 0);
	await s.node.at(windows.endsAt);
	await liar.archive.putDraft(0, liar.address, bad);
	await turnAll(s);
	await s.node.at(windows.revealsAt);
	await turnAll(s);
	await s.node.at(windows.voidsAt);
	await turnAll(s, s.members.slice(0, 1));
	assert.equal((await board.readReport(s.contracts, 0, liar.address)).voided, true);
	assert.equal((await board.readReport(s.contracts, 0, s.members[1].address)).voided, false);
});

test("one report for an epoch is signed, whatever dies when; another one than was revealed, or a second one, costs the stake, and nothing else does", async () => {
	const s = await createStage();
	const [first, second, liar] = s.members;
	const stakeOf = async ({ address }: Member) => (await readAccount(s.contracts, address)).stake / UNIT;
	const accused = () => s.members.flatMap(({ events }) => events.filter(({ kind }) => kind === "conflict"));
	const signed = async ({ account, address, archive }: Member, epoch: number, ...ppm: number[]) => {
		const { leaves, reportRoot: root } = createScoreReport(scoresOf(...ppm));
		const signature = await signReport(account, s.contracts.addresses, {
			validator: address,
			epoch: BigInt(epoch),
			root,
		});
		await archive.putReport(epoch, address, leaves, signature);
	};
	const windows = (epoch: number) => board.windowsOf(first.round.params, epoch);

	// Epoch 0: the first validator dies before its commitment, comes back with other scores, and dies again
	// between reveal and publication.
	await s.node.at(windows(0).endsAt);
	const { putDraft, putReport } = first.archive;
	first.archive.putDraft = async (...report) => {
		await putDraft(...report);
		s.node.down = true;
	};
	await assert.rejects(first.round.turn());
	s.node.down = false;
	first.archive.putDraft = putDraft;
	assert.equal(BigInt((await board.readReport(s.contracts, 0, first.address)).digest), 0n);
	const draft = (await first.archive.draft(0, first.address))!;
	assert.equal(
		await first.archive.publicFile(archivePath(0, "report", first.address)),
		null,
		"not before it is revealed",
	);
	first.scores = scoresOf(1, 2, 3);
	first.round = await first.restart();
	await turnAll(s);
	await s.node.at(windows(0).revealsAt);
	first.archive.putReport = () => Promise.reject(new Error("the process dies here"));
	await assert.rejects(first.round.turn(), /dies here/);
	first.archive.putReport = putReport;
	assert.equal((await board.readReport(s.contracts, 0, first.address)).revealed, true);
	first.round = await first.restart();
	await turnAll(s);
	await s.node.at(windows(0).proposesAt - 1);
	await turnAll(s);
	const given = (await first.archive.signedReport(0, first.address))!;
	assert.deepEqual(given.leaves, draft);
	await s.node.at(windows(0).proposesAt);
	await turnAll(s);
	assert.deepEqual(accused(), []);
	first.scores = scoresOf(...HONEST);

	// Epoch 1: one gives out another report than it revealed. A report with somebody else's signature under it
	// accuses nobody.
	await s.node.at(windows(1).endsAt);
	await turnAll(s);
	await s.node.at(windows(1).revealsAt);
	await turnAll(s);
	await signed(liar, 1, 999_999);
	const { leaves } = createScoreReport(scoresOf(7));
	await second.archive.putReport(
		1,
		second.address,
		leaves,
		(await liar.archive.signedReport(1, liar.address))!.signature,
	);
	const before = await read(s.contracts, "token", "balanceOf", first.address);
	await s.node.at(windows(1).voidsAt);
	await turnAll(s, [first]);
	await turnAll(s, [first]);
	assert.deepEqual(
		accused().map(({ epoch, detail }) => [epoch, detail.slice(0, 42)]),
		[[1, liar.address]],
	);
	assert.deepEqual([await stakeOf(liar), await stakeOf(second), await stakeOf(first)], [0n, 3500n, 4000n]);
	assert.equal((await read(s.contracts, "token", "balanceOf", first.address)) - before, 1500n * UNIT);
	await second.archive.putReport(
		1,
		second.address,
		draft,
		(await second.archive.signedReport(0, second.address))!.signature,
	);

	// Epoch 2: the second one commits, reveals nothing, and signs two.
	await s.node.at(windows(2).endsAt);
	await turnAll(s, [first, second]);
	await s.node.at(windows(2).voidsAt);
	await signed(second, 2, 5);
	await turnAll(s, [first]);
	await signed(second, 2, 5);
	await turnAll(s, [first]);
	assert.equal(await stakeOf(second), 3500n, "the same one twice");
	await signed(second, 2, 6);
	await turnAll(s, [first]);
	assert.equal(await stakeOf(second), 0n);
	assert.equal(accused().length, 2);
});
