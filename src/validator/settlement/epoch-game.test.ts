// Validators on one real EVM play whole epochs: everyone is paid, to the unit, once; who dies comes back to
// where it was. What each attack of the audit costs whom is epoch-attacks.test.ts; rules alone are
// market/epochs/next-moves.test.ts.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { read } from "../../chain/contracts/contracts.ts";
import { claimCall } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { openRewards } from "../../market/epochs/weights.ts";
import {
	createStage,
	EMISSION,
	endStages,
	HONEST,
	playUntil,
	postedOf,
	provider,
	providerWeights,
	report,
	type Stage,
	scoresOf,
} from "./epoch-stage.test-kit.ts";

after(endStages);

/** Pays everyone all that it has earned; gives the sum. */
async function claimAll(s: Stage, { weights, leaves }: Awaited<ReturnType<typeof postedOf>>): Promise<bigint> {
	const tree = openRewards(leaves);
	let paid = 0n;
	for (const [i, { account, total }] of leaves.entries()) {
		const claimed = await read(s.contracts, "rewards", "claimedOf", account);
		const before = await read(s.contracts, "token", "balanceOf", account);
		if (claimed === total) continue;
		const call = claimCall(s.contracts, { weights, opening: tree.open(i) });
		await sendCall(s.client, TREASURER, call);
		assert.equal((await read(s.contracts, "token", "balanceOf", account)) - before, total - claimed);
		await assert.rejects(sendCall(s.client, TREASURER, call), "a second time");
		paid += total - claimed;
	}
	return paid;
}

test("one validator alone: draft, commit, reveal, sign, post, claim", async () => {
	const s = await createStage([10_000n]);
	const [only] = s.members;
	const windows = await report(s, 0);
	assert.deepEqual(
		only!.events.map(({ kind }) => kind),
		["committed", "revealed", "signed", "posted"],
	);
	const posted = await postedOf(s, 0);
	assert.equal(posted.finalAt, windows.signsAt + s.params.challengeSeconds);
	assert.deepEqual(providerWeights(posted.leaves), HONEST);
	s.node.nowS = posted.finalAt;
	assert.equal(await claimAll(s, posted), posted.weights.paid);
	assert.ok(posted.weights.paid > EMISSION - 10n && posted.weights.paid <= EMISSION);
	assert.deepEqual(only!.errors, []);
});

test("a liar's report moves no weight; three epochs are paid in one claim each, to the unit; nothing is sent twice", async () => {
	const s = await createStage([4000n, 3500n, 3000n]);
	for (const [epoch, lie] of [1_000_000, 0, 1].entries()) {
		s.members[2]!.scores = scoresOf(...HONEST.map(() => lie), 999_999);
		const { signsAt } = await report(s, epoch);
		await playUntil(s, signsAt + 30);
		const { sent } = s.node;
		await playUntil(s, signsAt + 60);
		assert.equal(s.node.sent, sent, "nothing is left to do");
		const { leaves, weights, total } = await postedOf(s, epoch);
		assert.deepEqual(providerWeights(leaves), HONEST);
		assert.equal(weights.set, 7n);
		assert.equal(
			total,
			leaves.reduce((sum, one) => sum + one.total, 0n),
		);
		assert.equal(
			leaves.find(({ account }) => account === provider(5)),
			undefined,
		);
	}
	const last = await postedOf(s, 2);
	s.node.nowS = last.finalAt;
	assert.equal(await claimAll(s, last), last.total);
	assert.ok(last.total > 3n * EMISSION - 50n);
	for (const { events, errors } of s.members) {
		assert.equal(events.filter(({ kind }) => kind === "revealed").length, 3);
		assert.equal(events.filter(({ kind }) => kind === "signed").length, 3);
		assert.deepEqual(errors, []);
	}
	assert.equal(
		s.members.flatMap(({ events }) => events.filter(({ kind }) => kind === "posted")).length,
		3,
		"each once",
	);
});

test("whoever dies anywhere comes back to one report and one signature for a set, with what it was before", async () => {
	const s = await createStage([4000n, 3500n, 3000n]);
	const [first] = s.members;
	const { endsAt, revealsAt, signsAt } = board.windowsOf(s.params, 0);
	s.node.nowS = endsAt;
	const { putDraft, putStatements } = first!.archive;
	first!.archive.putDraft = async (...draft) => {
		await putDraft(...draft);
		s.node.down = true;
	};
	await first!.game.turn().catch(() => {});
	await first!.game.player.idle();
	s.node.down = false;
	first!.archive.putDraft = putDraft;
	assert.equal(BigInt((await board.readReport(s.contracts, 0, first!.address)).digest), 0n);
	const draft = (await first!.archive.draft(0, first!.address))!;
	// Its scores are others by now; the draft decides.
	first!.scores = scoresOf(1, 2, 3, 4);
	await first!.restart();
	await playUntil(s, endsAt);
	s.node.nowS = revealsAt;
	await playUntil(s, revealsAt);
	assert.deepEqual(await first!.archive.report(0, first!.address), draft);

	// It signs, and dies before anybody sees it.
	s.node.nowS = signsAt;
	first!.archive.putStatements = async () => {
		throw new Error("the disk is gone");
	};
	for (const { game } of s.members) await game.turn();
	for (const { game } of s.members) await game.player.idle();
	first!.archive.putStatements = putStatements;
	await first!.restart();
	await playUntil(s, signsAt + 60);
	const { leaves, weights } = await postedOf(s, 0);
	assert.equal(weights.set, 7n);
	assert.deepEqual(providerWeights(leaves), HONEST);
	const signed = (await first!.archive.statements(0))!;
	assert.equal(signed.length, 1);
	assert.equal(signed[0]!.signatures.filter(({ signer }) => signer === first!.address).length, 1);
});
