// One changed score among 10,000 providers is found and named, wherever it was changed: in the leaves' file,
// in the report before it was committed, in the weights that were signed; and whoever signed them is
// punished.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Contracts, callOf, read } from "../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards } from "../../chain/contracts/deploy.ts";
import { approveCall, registerCall } from "../../chain/contracts/registry.ts";
import { claimCall } from "../../chain/contracts/rewards.ts";
import { type ChainClient, createChainClient } from "../../chain/node/chain-client.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf } from "../../chain/sending/sign.ts";
import { difference } from "../../market/audit/audit-scores.ts";
import { createScoreReport } from "../../market/epochs/score-report.ts";
import { createWeights } from "../../market/epochs/weights.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given, term } from "../../market/scores/recompute.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { createLeafFetcher } from "../settlement/fetch-leaves.ts";
import { createReportArchive } from "../settlement/report-archive.ts";
import { accuseSigners } from "./accuse-signers.ts";
import { auditEpoch } from "./audit-epoch.ts";
import { archiveSource, peerSource } from "./audit-source.ts";
import { factsByHand, postByHand, reportByHand, type Settling, settleByHand } from "./settle-epoch.test-kit.ts";

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

const anyone = accountOf(`0x${"22".repeat(32)}`);
let node: ToyNode;
let client: ChainClient;
let contracts: Contracts;
let hand: Settling;
before(async () => {
	node = await createToyNode();
	client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	contracts = await deployContracts(client, TREASURER, {
		genesis: TOY_GENESIS_S,
		epochSeconds: 600,
		windowSeconds: 60,
	});
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
	await sendCall(client, TREASURER, { to: anyone.address, data: "0x", value: 10n ** 18n });
	hand = { contracts, account: TREASURER, archive, at: (second) => node.at(second) };
});

/** With its terms, which one that is left out has all the same. */
async function putReasons(epoch: number, listed: readonly ScoreLeaf[]): Promise<void> {
	const of = listed.length > FEW ? reasons : fewReasons;
	await archive.putReasons(epoch, Object.entries(of) as [Hex, Explanation][]);
	await archive.publishReasons(epoch, self);
}
async function settle(epoch: number, leaves: readonly ScoreLeaf[]) {
	await putReasons(epoch, leaves);
	return settleByHand(hand, epoch, leaves);
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
				const lost = difference("EVIDENCE_WRONG", leaf.provider, sha256, "missing");
				return { differences: sha256 === missing ? [lost] : [], made: null };
			},
		},
	});
const named = (found: Awaited<ReturnType<typeof audit>>) => found.differences.map(({ code, who }) => [code, who]);

test("an honest epoch has no differences; a leaf changed in a file, or its evidence lost, is named", async () => {
	const right = await settle(0, few);
	await node.at(right.finalAt);
	const opening = right.openAccount(provider(ODD))[0]!;
	await sendCall(client, anyone, claimCall(contracts, { weights: right.weights, opening }));
	const { view, ...found } = await audit(0);
	assert.deepEqual(found, {
		epoch: 0,
		weights: "final",
		validators: 1,
		counted: 1,
		signed: 1,
		providers: FEW,
		scores: FEW,
		evidenceFiles: FEW,
		paid: 1,
		differences: [],
		notes: [],
		made: [],
		wrong: [],
	});
	assert.equal(view.posted!.signatures!.length, 1, "they come from the transaction that posted them");
	const lost = reasonOf(5).evidence!;
	assert.deepEqual(named(await audit(0, lost)), [["EVIDENCE_WRONG", provider(5)]]);
	await archive.putReport(0, self, changed({ scorePpm: 1 }));
	assert.deepEqual(named(await audit(0)), [
		["REPORT_WRONG", self],
		["SCORE_WRONG", provider(ODD)],
	]);
	await archive.putReport(0, self, few);
	await archive.putRewards(
		0,
		right.id,
		right.leaves.map((leaf) => (leaf.account === provider(ODD) ? { ...leaf, total: leaf.total + 1n } : leaf)),
	);
	assert.deepEqual(
		named(await audit(0)),
		[
			["ROOT_WRONG", right.id],
			["TOTAL_WRONG", provider(ODD)],
		],
		"right weights, and a file that says otherwise",
	);
	await archive.putRewards(0, right.id, right.leaves);
});

test("a score or an evidence hash that was changed before the report was committed", async () => {
	await settle(1, changed({ scorePpm: honest[ODD]!.scorePpm + 1 }));
	const { scorePpm } = honest[ODD]!;
	assert.deepEqual((await audit(1)).differences, [difference("SCORE_WRONG", provider(ODD), scorePpm + 1, scorePpm)]);
	await settle(2, changed({ evidenceSha256: `0x${"ff".repeat(32)}` }));
	assert.deepEqual(named(await audit(2)), [["EVIDENCE_WRONG", provider(ODD)]]);
	await settle(
		3,
		few.filter((_, n) => n !== ODD),
	);
	assert.deepEqual((await audit(3)).differences, [difference("SCORE_WRONG", provider(ODD), "left out", scorePpm)]);
});

test("anyone can: leaves, terms and statements from the validator's own address", async () => {
	const server = createServer(async ({ url = "" }, response) => {
		const bytes = await archive.publicFile(url);
		response.writeHead(bytes === null ? 404 : 200).end(bytes ?? "");
	});
	await settle(4, few);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	try {
		const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		await sendCall(client, TREASURER, callOf(contracts, "registry", "setEndpoint", endpoint));
		const fetched = peerSource(createLeafFetcher(contracts), () => {});
		const found = await audit(4, null, fetched);
		assert.deepEqual([found.differences, found.notes, found.scores], [[], [], FEW]);
		await archive.putReport(4, self, changed({ scorePpm: 1 }));
		assert.deepEqual(named(await audit(4, null, fetched)), [
			["REPORT_WRONG", self],
			["SCORE_WRONG", provider(ODD)],
		]);
		await archive.putReport(4, self, few);
	} finally {
		server.close().closeAllConnections();
	}
	let waits = 0;
	const onFailure = () => void waits++;
	const silent = await audit(4, null, peerSource(createLeafFetcher(contracts), onFailure));
	assert.equal(waits, 1, "who is silent costs one wait, not one for each file");
	assert.deepEqual(
		[...new Set(silent.differences.map(({ code }) => code))],
		["REPORT_MISSING", "WEIGHTS_MISSING"],
		"nobody is accused for want of a file",
	);
	assert.deepEqual(silent.wrong, []);
});

test("weights that were signed wrong are named; whoever shows it has them dropped and their signer punished, once", async () => {
	await putReasons(5, few);
	const report = await reportByHand(hand, 5, few);
	const facts = await factsByHand(hand, 5, report);
	const lie = createScoreReport(changed({ scorePpm: honest[ODD]!.scorePpm + 1 }));
	const wrong = await postByHand(hand, 5, createWeights(1n, { ...facts, reports: [lie] }));
	const found = await audit(5);
	const { scorePpm } = honest[ODD]!;
	assert.deepEqual(found.differences, [difference("WEIGHT_WRONG", provider(ODD), scorePpm + 1, scorePpm)]);
	const { view } = found;
	const accuse = () =>
		accuseSigners(contracts, anyone, { view, wrong: found.wrong, secret: new Uint8Array(32).fill(7) });
	const slashable = await read(contracts, "registry", "slashableOf", self);
	assert.deepEqual(await accuse(), [self]);
	const lost = slashable - (await read(contracts, "registry", "slashableOf", self));
	assert.equal(lost, slashable / 2n);
	const share = await read(contracts, "token", "balanceOf", anyone.address);
	assert.equal(share, lost / 10n, "it was announced first");
	assert.equal(await read(contracts, "scoreboard", "isProvenWrong", wrong.id), true);
	assert.equal((await audit(5)).weights, "none", "no longer posted");
	assert.deepEqual(await accuse(), [], "once");
	// The statement was signed all the same: its author stays named, and honest weights stand in its place.
	const right = await postByHand(hand, 5, createWeights(1n, facts));
	assert.notEqual(right.id, wrong.id);
	const after_ = await audit(5);
	assert.deepEqual([after_.weights, after_.differences], ["posted", []]);
});

test("one changed score among 10,000 providers", async () => {
	const { scorePpm } = honest[ODD]!;
	await settle(6, changed({ scorePpm: scorePpm + 1 }, honest));
	const found = await audit(6);
	assert.deepEqual(found.differences, [difference("SCORE_WRONG", provider(ODD), scorePpm + 1, scorePpm)]);
	assert.deepEqual([found.providers, found.scores, found.weights], [PROVIDERS, PROVIDERS, "posted"]);
});
