// One changed score among 10,000 providers is found and named, wherever it was changed: in the leaves' file,
// in the report before it was committed, in the proposal.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Contracts, callOf } from "../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards } from "../../chain/contracts/deploy.ts";
import { approveCall, registerCall } from "../../chain/contracts/registry.ts";
import { claimCall } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { signReport } from "../../chain/contracts/slashing.ts";
import { type ChainClient, createChainClient } from "../../chain/node/chain-client.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { memoryIntents } from "../../chain/sending/publish.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf, signCall } from "../../chain/sending/sign.ts";
import { createScoreReport } from "../../market/epochs/score-report.ts";
import { createWeightProposal, shareOf } from "../../market/epochs/weight-proposal.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given, term } from "../../market/scores/recompute.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { createEpochRound, type EpochRound } from "../settlement/epoch-round.ts";
import { createLeafFetcher } from "../settlement/fetch-leaves.ts";
import { createReportArchive } from "../settlement/report-archive.ts";
import { archiveSource, auditEpoch } from "./audit-epoch.ts";

const PROVIDERS = 10_000;
/** Where one is changed. */
const ODD = 321;
/** Of the cases that need no crowd. */
const FEW = 400;
const folder = mkdtempSync(join(tmpdir(), "assay-audit-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const provider = (n: number): Hex => `0x${(n + 1).toString(16).padStart(40, "0")}`;
const self = TREASURER.address.toLowerCase() as Hex;
const archive = createReportArchive(folder);

const reasonOf = (n: number): Explanation => {
	const [speed, uptime] = [given("speed", "ppm", 100 * (n + 1)), given("reliability", "ppm", 999_000)];
	const root = term("score", "ppm", "product", [speed, uptime]);
	const evidence = (n + 1).toString(16).padStart(64, "0");
	return { version: 1, providerId: "", mode: "holistic", evidence, scorePpm: root.value, why: "", root };
};
const reasons = Object.fromEntries(Array.from({ length: PROVIDERS }, (_, n) => [provider(n), reasonOf(n)]));
const fewReasons = Object.fromEntries(Object.entries(reasons).slice(0, FEW));
const honest: readonly ScoreLeaf[] = Array.from({ length: PROVIDERS }, (_, n) => ({
	provider: provider(n),
	scorePpm: reasonOf(n).scorePpm,
	evidenceSha256: `0x${reasonOf(n).evidence}`,
}));
const few = honest.slice(0, FEW);
const changed = (change: Partial<ScoreLeaf>, all: readonly ScoreLeaf[] = few) =>
	all.map((leaf, n) => (n === ODD ? { ...leaf, ...change } : leaf));

let node: ToyNode;
let client: ChainClient;
let contracts: Contracts;
let round: EpochRound;
let scores: readonly ScoreLeaf[] = honest;
before(async () => {
	node = await createToyNode();
	client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	contracts = await deployContracts(client, TREASURER, { genesis: TOY_GENESIS_S, epochSeconds: 600 });
	await fundRewards(contracts, TREASURER, 10n ** 24n);
	const amount = 5000n * 10n ** 18n;
	await sendCall(client, TREASURER, approveCall(contracts, amount));
	const registration = {
		role: "validator",
		signingKey: `0x${"ab".repeat(32)}`,
		keyProof: "0x",
		endpoint: "",
		amount,
	} as const;
	await sendCall(client, TREASURER, registerCall(contracts, registration));
	round = await createEpochRound({
		contracts,
		account: TREASURER,
		saltSecret: new Uint8Array(32),
		journal: memoryIntents(),
		archive,
		nowS: () => node.nowS,
		async scores(epoch) {
			// One that is left out has its reasons all the same.
			const listed = scores.length > FEW ? reasons : fewReasons;
			await archive.putReasons(epoch, Object.entries(listed) as [Hex, Explanation][]);
			return scores;
		},
		fetchReport: async () => null,
		fetchWeights: async () => null,
		tell: () => {},
	});
});

async function report(epoch: number): Promise<void> {
	const { endsAt, revealsAt, proposesAt } = board.windowsOf(round.params, epoch);
	for (const second of [endsAt, revealsAt]) {
		await node.at(second);
		await round.turn();
	}
	await node.at(proposesAt);
}

/** Every evidence file is there, but for one. */
const audit = (epoch: number, missing: string | null = null, source = archiveSource(archive)) =>
	auditEpoch({
		contracts,
		epoch,
		source,
		evidence: {
			async check({ leaf }) {
				const sha256 = leaf.evidenceSha256.slice(2);
				const lost = { what: "evidence", who: leaf.provider, stated: sha256, right: "missing" };
				return { differences: sha256 === missing ? [lost] : [], made: null };
			},
		},
	});

test("an honest epoch has no differences; a leaf changed in the file, or its evidence lost, is named", async () => {
	await report(0);
	await round.turn();
	const right = (await round.rightProposal(0))!;
	const { finalAt } = await board.readProposal(contracts, 0);
	await node.at(finalAt);
	const claim = claimCall(contracts, {
		epoch: 0,
		proposal: right.proposal,
		opening: right.openProvider(provider(ODD))[0]!,
	});
	await sendCall(client, accountOf(`0x${"11".repeat(32)}`), claim);
	const found = await audit(0);
	assert.deepEqual(found, {
		epoch: 0,
		proposal: "final",
		validators: 1,
		providers: PROVIDERS,
		scores: PROVIDERS,
		evidenceFiles: PROVIDERS,
		claims: 1,
		differences: [],
		notes: [],
		made: [],
		conflicts: [],
	});
	const lost = reasonOf(5).evidence!;
	assert.deepEqual((await audit(0, lost)).differences, [
		{ what: "evidence", who: provider(5), stated: lost, right: "missing" },
	]);
	const { signature } = (await archive.signedReport(0, self))!;
	await archive.putReport(0, self, changed({ scorePpm: 1 }, honest), signature);
	const { differences } = await audit(0);
	assert.deepEqual(
		differences.map(({ what, who }) => [what, who]),
		[
			["signature", self],
			["report", self],
			["score", provider(ODD)],
		],
	);
	await archive.putReport(0, self, honest, signature);
});

test("a score or an evidence hash that was changed before the report was committed", async () => {
	scores = changed({ scorePpm: honest[ODD]!.scorePpm + 1 }, honest);
	await report(1);
	assert.deepEqual((await audit(1)).differences, [
		{
			what: "score",
			who: provider(ODD),
			stated: String(honest[ODD]!.scorePpm + 1),
			right: String(honest[ODD]!.scorePpm),
		},
	]);
	scores = changed({ evidenceSha256: `0x${"ff".repeat(32)}` });
	await report(2);
	assert.deepEqual(
		(await audit(2)).differences.map(({ what, who }) => [what, who]),
		[["evidence", provider(ODD)]],
	);
	scores = few.filter((_, n) => n !== ODD);
	await report(3);
	assert.deepEqual((await audit(3)).differences, [
		{ what: "score", who: provider(ODD), stated: "left out", right: String(honest[ODD]!.scorePpm) },
	]);
	scores = few;
});

test("anyone can: leaves and terms from the validator's own address; a signed lie is a conflict, an unsigned file is none", async () => {
	const server = createServer(async ({ url = "" }, response) => {
		const bytes = await archive.publicFile(url);
		response.writeHead(bytes === null ? 404 : 200).end(bytes ?? "");
	});
	await report(4);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	try {
		const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		await sendCall(client, TREASURER, callOf(contracts, "registry", "setEndpoint", endpoint));
		const fetched = createLeafFetcher(contracts, () => {});
		const found = await audit(4, null, fetched);
		assert.deepEqual([found.differences, found.notes, found.scores], [[], [], FEW]);
		const { signature } = (await archive.signedReport(4, self))!;
		const lie = createScoreReport(changed({ scorePpm: 1 }));
		const signed = await signReport(TREASURER, contracts.addresses, {
			validator: self,
			epoch: 4n,
			root: lie.reportRoot,
		});
		await archive.putReport(4, self, lie.leaves, signed);
		assert.deepEqual(
			(await audit(4, null, fetched)).differences.map(({ what, who }) => [what, who]),
			[
				["conflict", self],
				["report", self],
				["score", provider(ODD)],
			],
		);
		const [conflict] = (await audit(4, null, fetched)).conflicts;
		const proof = { validator: self, epoch: 4n, root: conflict!.root };
		// The contract would take it; here nobody is punished, for the next epochs need this validator.
		await signCall(client, TREASURER, callOf(contracts, "slashing", "proveRevealConflict", proof, conflict!.signature));
		await archive.putReport(4, self, few, null);
		assert.deepEqual(
			(await audit(4, null, fetched)).differences.map(({ what, right }) => [what, right]),
			[["report", "its leaves cannot be had"]],
		);
		await archive.putReport(4, self, few, signature);
		await round.turn();
		const weights = (await archive.weights(4, self))!;
		await archive.putWeights(
			4,
			self,
			weights.map((leaf, i) => (i === ODD ? { ...leaf, weightPpm: 1 } : leaf)),
		);
		assert.deepEqual(
			(await audit(4, null, fetched)).differences.map(({ what, who }) => [what, who]),
			[
				["proposal", self],
				["weight", provider(ODD)],
			],
			"a right proposal, and a file that says otherwise",
		);
		await archive.putWeights(4, self, weights);
		assert.deepEqual((await audit(4, null, fetched)).differences, []);
	} finally {
		server.close().closeAllConnections();
	}
});

test("a weight that was changed in the proposal, and what was paid for it", async () => {
	await report(5);
	const lie = createScoreReport(changed({ scorePpm: honest[ODD]!.scorePpm + 1 }));
	const { emission } = (await round.rightProposal(5))!.proposal;
	const wrong = createWeightProposal([{ validator: self, stake: 1n, report: lie }], emission);
	await archive.putWeights(5, self, wrong.leaves);
	await sendCall(client, TREASURER, callOf(contracts, "scoreboard", "propose", 5n, wrong.proposal));
	assert.deepEqual((await audit(5)).differences, [
		{
			what: "weight",
			who: provider(ODD),
			stated: String(honest[ODD]!.scorePpm + 1),
			right: String(honest[ODD]!.scorePpm),
		},
	]);
	const { finalAt } = await board.readProposal(contracts, 5);
	await node.at(finalAt);
	await sendCall(
		client,
		TREASURER,
		claimCall(contracts, { epoch: 5, proposal: wrong.proposal, opening: wrong.openProvider(provider(ODD))[0]! }),
	);
	const paid = (await audit(5)).differences.filter(({ what }) => what === "claim");
	assert.deepEqual(
		paid.map(({ who, stated }) => [who, stated]),
		[[provider(ODD), String(shareOf(wrong.proposal, wrong.leaves.find((leaf) => leaf.provider === provider(ODD))!))]],
	);
	assert.notEqual(paid[0]!.right, paid[0]!.stated);
});
