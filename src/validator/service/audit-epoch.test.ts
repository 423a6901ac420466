// One changed score among 10,000 providers is found and named, wherever it was changed: in the leaves' file, in the report before it was committed, in the proposal.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accountOf, type ChainClient, createChainClient, sendCall } from "../../chain/chain-client.ts";
import { type ContractAddresses, deployContracts, deployDefaults, fundRewards } from "../../chain/deploy.ts";
import { memoryIntents } from "../../chain/publish.ts";
import { approveCall, registerCall } from "../../chain/registry.ts";
import { claimCall } from "../../chain/rewards.ts";
import * as board from "../../chain/scoreboard.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../chain/toy-node.test-kit.ts";
import type { Explanation } from "../../market/explanation.ts";
import { given, term } from "../../market/recompute.ts";
import { createScoreReport, type ScoreLeaf } from "../../market/score-report.ts";
import type { Hex } from "../../market/sorted-openings.ts";
import { createWeightProposal } from "../../market/weight-proposal.ts";
import { auditEpoch } from "./audit-epoch.ts";
import { type ChainRound, createChainRound } from "./chain-round.ts";
import { createReportArchive } from "./report-archive.ts";

const PROVIDERS = 10_000;
const ODD = 7_321;
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
const honest: readonly ScoreLeaf[] = Array.from({ length: PROVIDERS }, (_, n) => ({
	provider: provider(n),
	scorePpm: reasonOf(n).scorePpm,
	evidenceSha256: `0x${reasonOf(n).evidence}`,
}));
const changed = (change: Partial<ScoreLeaf>) => honest.map((leaf, n) => (n === ODD ? { ...leaf, ...change } : leaf));

let node: ToyNode;
let client: ChainClient;
let at: ContractAddresses;
let round: ChainRound;
let scores: readonly ScoreLeaf[] = honest;
before(async () => {
	node = await createToyNode();
	client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	at = await deployContracts(client, TREASURER, deployDefaults({ genesis: TOY_GENESIS_S, epochSeconds: 600 }));
	await fundRewards(client, TREASURER, at, 10n ** 24n);
	const amount = 5000n * 10n ** 18n;
	await sendCall(client, TREASURER, approveCall(at, amount));
	const registration = {
		role: "validator",
		signingKey: `0x${"ab".repeat(32)}`,
		keyProof: "0x",
		endpoint: "",
		amount,
	} as const;
	await sendCall(client, TREASURER, registerCall(at, registration));
	round = await createChainRound({
		client,
		at,
		account: TREASURER,
		saltSecret: new Uint8Array(32),
		journal: memoryIntents(),
		archive,
		nowS: () => node.nowS,
		async scores(epoch) {
			await archive.putReasons(epoch, reasons);
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

const audit = (epoch: number, missing: string | null = null) =>
	auditEpoch({
		client,
		at,
		epoch,
		archive,
		self,
		checkEvidence: async (sha256) => (sha256 === missing ? "missing" : "right"),
	});

test("an honest epoch has no differences; a leaf changed in the file, or its evidence lost, is named", async () => {
	await report(0);
	await round.turn();
	const right = (await round.rightProposal(0))!;
	const { finalAt } = await board.readProposal(client, at, 0);
	await node.at(finalAt);
	const claim = claimCall(at, 0, right.proposal, right.openProvider(provider(ODD))[0]!);
	await sendCall(client, accountOf(`0x${"11".repeat(32)}`), claim);
	const found = await audit(0);
	assert.deepEqual(found, {
		epoch: 0,
		proposal: "final",
		validators: 1,
		providers: PROVIDERS,
		evidenceFiles: PROVIDERS,
		claims: 1,
		differences: [],
	});
	const lost = reasonOf(5).evidence!;
	assert.deepEqual((await audit(0, lost)).differences, [
		{ what: "evidence", who: provider(5), stated: lost, right: "missing" },
	]);
	await archive.putReport(0, self, changed({ scorePpm: 1 }));
	const { differences } = await audit(0);
	assert.ok(differences.some(({ what, who }) => what === "report" && who === self));
	assert.ok(differences.some(({ what, who, stated }) => what === "score" && who === provider(ODD) && stated === "1"));
	await archive.putReport(0, self, honest);
});

test("a score or an evidence hash that was changed before the report was committed", async () => {
	scores = changed({ scorePpm: honest[ODD]!.scorePpm + 1 });
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
	scores = honest;
});

test("a weight that was changed in the proposal", async () => {
	await report(3);
	const lie = createScoreReport(changed({ scorePpm: honest[ODD]!.scorePpm + 1 }));
	const { emission } = (await round.rightProposal(3))!.proposal;
	const wrong = createWeightProposal([{ validator: self, stake: 1n, report: lie }], emission);
	await archive.putWeights(3, self, wrong.leaves);
	await sendCall(client, TREASURER, board.proposeCall(at, 3, wrong.proposal));
	assert.deepEqual((await audit(3)).differences, [
		{
			what: "weight",
			who: provider(ODD),
			stated: String(honest[ODD]!.scorePpm + 1),
			right: String(honest[ODD]!.scorePpm),
		},
	]);
});
