// The attacks of the audit on how epochs are settled, each against honest validators on one real EVM: what
// the attacker gets, what it costs whom, and that everybody else is paid.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { refusedBecause } from "../../chain/sending/refusal.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { seatsOf } from "../../market/epochs/seat-set.ts";
import { NO_BASE } from "../../protocol/chain/epoch-shapes.ts";
import { encodeReport } from "../../protocol/chain/leaf-files.ts";
import { weightsId } from "../../protocol/chain/weights-statement.ts";
import {
	createStage,
	EMISSION,
	endStages,
	HONEST,
	hangs,
	hides,
	type Member,
	playUntil,
	postAs,
	postedOf,
	providerWeights,
	report,
	type Stage,
	scoresOf,
	signAs,
	UNIT,
	weightsIf,
} from "./epoch-stage.test-kit.ts";

after(endStages);

const stakeOf = async ({ contracts }: Stage, { address }: Member) => (await readAccount(contracts, address)).stake;
const kindsOf = (members: readonly Member[], kind: string) =>
	members.flatMap(({ events }) => events.filter((event) => event.kind === kind));
/** Whose reports count, sorted. */
async function countedIn(s: Stage, epoch: number) {
	const seats = await board.readSeats(s.contracts, epoch);
	const { weights } = await postedOf(s, epoch);
	return seatsOf(weights.set)
		.map((seat) => seats[seat]!.validator)
		.sort();
}
/** Everything to one provider that no honest report names. */
const LOOT = scoresOf(0, 0, 0, 0, 1_000_000);

test("C1: two accounts with the least stake post nothing, hidden or not, the first time or the second", async () => {
	const s = await createStage([34_000n, 34_000n, 1100n, 1100n]);
	const [, , first, second] = s.members;
	const { signsAt } = await report(s, 0);
	const loot = await weightsIf(s, 0, LOOT);
	const signed = await signAs(s, loot, [first!, second!]);
	for (const by of [first!, second!, first!])
		await assert.rejects(postAs(s, by, signed, loot.seats), (error) => refusedBecause(error) === "QuorumMissing");
	await playUntil(s, signsAt + 60);
	assert.deepEqual(providerWeights((await postedOf(s, 0)).leaves), HONEST);
});

test("H2: a third sleeps and a sixth lies: nothing of theirs is posted, and nobody who is awake is slashed", async () => {
	const s = await createStage([2600n, 2600n, 1700n, 1550n, 1550n]);
	const [, , liar, ...asleep] = s.members;
	for (const one of asleep) one.isAsleep = true;
	const { signsAt, signsUntil } = await report(s, 0);
	const loot = await weightsIf(s, 0, LOOT);
	const signed = await signAs(s, loot, [liar!]);
	await assert.rejects(postAs(s, liar!, signed, loot.seats), (error) => refusedBecause(error) === "QuorumMissing");
	await playUntil(s, signsAt + 270, 60);
	assert.deepEqual(providerWeights((await postedOf(s, 0)).leaves), HONEST, "69 % are awake, and say the same");
	assert.equal(await stakeOf(s, s.members[0]!), 2600n * UNIT);
	// Now a third and more: there is no quorum, so nothing is paid, and nothing lost: it is left for later
	// epochs.
	liar!.isAsleep = true;
	const second = await report(s, 1);
	await playUntil(s, second.signsUntil, 150);
	assert.equal(await board.readPosted(s.contracts, 1), null);
	for (const one of s.members) one.isAsleep = false;
	// Too late for the epoch that has ended meanwhile.
	const third = await report(s, 3);
	await playUntil(s, third.signsAt + 60);
	const { weights, total } = await postedOf(s, 3);
	assert.ok(weights.paid <= EMISSION && total <= 2n * EMISSION, "an epoch without a post carries nothing over");
	assert.ok(signsUntil > signsAt);
});

test("H1, H3: silent ones stop nothing: three with a seat cost a quarter of a window, seventeen without cost nothing", async () => {
	const least = Array.from({ length: 17 }, () => 1000n);
	const s = await createStage([100_000n, 100_000n, 100_000n, 40_000n, 40_000n, 20_000n, ...least]);
	for (const one of s.members.slice(6)) one.isAsleep = true;
	for (const one of s.members.slice(3, 6)) one.answer = hangs;
	const { signsAt } = await report(s, 0);
	const seats = await board.readSeats(s.contracts, 0);
	assert.equal(seats.length, 6, "who has less than a 64th of the stake has no seat");
	await playUntil(s, signsAt + s.params.signSeconds / 4 + 120, 30);
	const { leaves } = await postedOf(s, 0);
	assert.deepEqual(providerWeights(leaves), HONEST);
	const speaking = s.members.slice(0, 3).map(({ address }) => address);
	assert.deepEqual(await countedIn(s, 0), speaking.sort());
	// The next epoch is not later for it.
	const next = await report(s, 1);
	await playUntil(s, next.signsAt + s.params.signSeconds / 4 + 120, 30);
	assert.deepEqual(await countedIn(s, 1), speaking);
	for (const one of s.members.slice(0, 3)) assert.equal(kindsOf([one], "revealed").length, 2);
	// Who failed is asked less and less often, whatever there would be to ask.
	for (const one of s.members.slice(3, 6)) assert.ok(one.asked.length < 80, `asked ${one.asked.length} times`);
});

test("H3, H5, M7: an empty statement of a hostile quorum is dropped without a leaf of theirs; its signers lose more than the pot", async () => {
	const s = await createStage([3400n, 3400n, 3200n]);
	const liars = s.members.slice(0, 2);
	const honest = s.members[2]!;
	for (const one of liars) one.answer = hides;
	const { signsAt } = await reported(s, 0);
	const { seats, weights } = await weightsIf(s, 0, []);
	const empty = { ...weights, count: 0, totalWeight: 0n, paid: 0n, root: NO_BASE } as const;
	const made = { weights: empty, seats, leaves: [], id: weightsId(s.contracts.addresses, empty) };
	const signed = await signAs(s, made as never, liars);
	s.node.nowS = signsAt;
	await postAs(s, liars[0]!, signed, seats);
	for (const one of liars) one.isAsleep = true;
	const before = await read(s.contracts, "token", "balanceOf", honest.address);
	await playUntil(s, signsAt + 60);
	assert.equal(await board.readPosted(s.contracts, 0), null);
	assert.deepEqual(honest.events.map(({ kind }) => kind).slice(-2), ["challenged", "punished"]);
	assert.deepEqual(await Promise.all(liars.map((one) => stakeOf(s, one))), [1700n * UNIT, 1700n * UNIT]);
	assert.equal(await stakeOf(s, honest), 3200n * UNIT);
	assert.ok(3400n * UNIT >= EMISSION, "what they lost is more than what there was to take");
	// A tenth of it to whoever announced and proved it.
	assert.equal((await read(s.contracts, "token", "balanceOf", honest.address)) - before, 340n * UNIT);
});

test("H5: a pot is never worth more than what its signers stand to lose", async () => {
	const s = await createStage([1000n, 1000n]);
	const { signsAt } = await report(s, 0);
	await playUntil(s, signsAt + 30);
	const { weights } = await postedOf(s, 0);
	assert.ok(weights.paid <= (2000n * UNIT * 666_666n * 500_000n) / 10n ** 12n);
	assert.ok(weights.paid < EMISSION);
});

test("one liar's signature under something else, shown to a single peer, costs it half, whatever it is", async () => {
	const s = await createStage([4000n, 3500n, 3000n]);
	const [, , liar] = s.members;
	await reported(s, 0);
	const { signsAt } = board.windowsOf(s.params, 0);
	await signAs(s, await weightsIf(s, 0, LOOT), [liar!]);
	liar!.isAsleep = true;
	await playUntil(s, signsAt + 200, 10);
	assert.equal(await stakeOf(s, liar!), 1500n * UNIT);
	assert.deepEqual(providerWeights((await postedOf(s, 0)).leaves), HONEST);
	assert.equal(kindsOf(s.members, "challenged").length, 1, "one proof, by one of them");
	assert.equal(kindsOf(s.members, "punished").length, 1);
	for (const one of s.members.slice(0, 2)) assert.notEqual(await stakeOf(s, one), 0n);
});

test("a malformed report counts for nobody, and who signs for it pays", async () => {
	const s = await createStage([4000n, 3500n, 3000n]);
	const liar = s.members[2]!;
	const [leaf] = scoresOf(5);
	const { endsAt, signsAt } = board.windowsOf(s.params, 0);
	s.node.nowS = endsAt;
	await liar.archive.putDraft(0, liar.address, [leaf!, { ...leaf!, scorePpm: 2_000_000 }]);
	await reported(s, 0);
	await signAs(s, await weightsIf(s, 0, scoresOf(...HONEST)), [liar]);
	liar.isAsleep = true;
	await playUntil(s, signsAt + 120, 10);
	const seats = await board.readSeats(s.contracts, 0);
	const own = seats.findIndex(({ validator }) => validator === liar.address);
	assert.equal((await postedOf(s, 0)).weights.set, 7n & ~(1n << BigInt(own)));
	assert.equal(await stakeOf(s, liar), 1500n * UNIT);
});

test("M3: units sent in front of a post change no pot: it was fixed when the epoch ended", async () => {
	const s = await createStage([4000n, 3500n, 3000n], { fundTokens: 1500n });
	const fund = async () => {
		await sendCall(s.client, TREASURER, callOf(s.contracts, "token", "approve", s.contracts.addresses.rewards, 1n));
		await sendCall(s.client, TREASURER, callOf(s.contracts, "rewards", "fund", 1n));
	};
	await reported(s, 0);
	const { signsAt } = board.windowsOf(s.params, 0);
	s.node.nowS = signsAt;
	await fund();
	for (const { game } of s.members) await game.turn();
	await fund();
	await playUntil(s, signsAt + 60);
	assert.equal(kindsOf(s.members, "posted").length, 1);
	// The second epoch gets what was left, with the units that came meanwhile.
	const next = await report(s, 1);
	await fund();
	await playUntil(s, next.signsAt + 60);
	const { total } = await postedOf(s, 1);
	assert.ok(total > 1500n * UNIT - 50n && total <= 1500n * UNIT + 2n, String(total));
});

test("M6: a report of 30 MiB is cut off at the size that a report can have, and keeps nobody from anything", async () => {
	const s = await createStage([4000n, 3500n, 3000n]);
	const liar = s.members[2]!;
	let most = 0;
	liar.answer = (url, response) => {
		if (!url.includes("report")) return false;
		const row = Buffer.from(encodeReport(scoresOf(...Array.from({ length: 500 }, () => 5))));
		response.writeHead(200);
		let given = 0;
		const more = () => {
			while (!response.destroyed && given < 30 << 20) {
				given += row.length;
				most = Math.max(most, given);
				if (!response.write(row)) return void response.once("drain", more);
			}
			response.end();
		};
		more();
		return true;
	};
	const { signsAt } = await reported(s, 0);
	const { asked } = liar;
	await playUntil(s, signsAt + s.params.signSeconds / 4 + 120, 30);
	assert.deepEqual(providerWeights((await postedOf(s, 0)).leaves), HONEST);
	const times = asked.filter((url) => url.includes("report")).length;
	// What the system's buffers hold was not read.
	assert.ok(most < 16 << 20, `${most} bytes in an answer`);
	assert.ok(times < 60, `asked ${times} times`);
});

test("M7: events are asked for from the block at the epoch's end, not from the deployment", async () => {
	const s = await createStage([4000n, 3500n, 3000n]);
	await s.node.mine(200);
	const { signsAt, endsAt } = board.windowsOf(s.params, 1);
	s.node.nowS = endsAt - 2;
	await s.node.mine(1);
	// Of the first epoch that is open still.
	const first = Number(await s.client.viem.getBlockNumber());
	s.requests.length = 0;
	await report(s, 1);
	await playUntil(s, signsAt + 60);
	assert.deepEqual(providerWeights((await postedOf(s, 1)).leaves), HONEST);
	const logs = s.requests.filter(({ method }) => method === "eth_getLogs");
	const from = logs.map(({ params }) => Number((params[0] as { fromBlock: string }).fromBlock));
	assert.ok(from.length > 0 && from.every((block) => block >= first), `from ${Math.min(...from)}, not ${first}`);
});

test("leaves that another did not reveal are taken from nobody, and who gives them out is not asked again soon", async () => {
	const s = await createStage([3400n, 3400n, 1700n, 1500n]);
	const [, , liar, author] = s.members;
	author!.answer = hangs;
	liar!.answer = (url, response) => {
		if (!url.includes("report")) return false;
		response.writeHead(200).end(encodeReport(LOOT));
		return true;
	};
	const { signsAt } = await reported(s, 0);
	await playUntil(s, signsAt + s.params.signSeconds / 4 + 120, 30);
	const { leaves, weights } = await postedOf(s, 0);
	assert.deepEqual(providerWeights(leaves), HONEST);
	assert.equal(seatsOf(weights.set).length, 2);
	assert.ok(s.members[0]!.errors.some(({ error }) => /not the report/.test(String(error))));
	const times = liar!.asked.filter((url) => url.includes("report")).length;
	assert.ok(times < 50, `asked ${times} times`);
});

test("a node that leaves a reveal out makes nobody sign for the wrong seats", async () => {
	const s = await createStage([3000n, 3000n, 3000n, 3000n]);
	const { signsAt } = await reported(s, 0);
	// Reveals of everybody but the first, still a quorum: each report would have the number of the one before
	// it.
	const [first] = await board.readSeats(s.contracts, 0);
	const topic = `0x${first!.signer.slice(2).padStart(64, "0")}`;
	s.lie = (method, answer) =>
		method === "eth_getLogs" ? (answer as { topics: string[] }[]).filter(({ topics }) => topics[3] !== topic) : answer;
	for (const member of s.members) await member.restart();
	await playUntil(s, signsAt + 60);
	assert.deepEqual(kindsOf(s.members, "signed"), []);
	s.lie = null;
	for (const member of s.members) await member.restart();
	await playUntil(s, signsAt + 120);
	assert.equal((await postedOf(s, 0)).weights.set, 15n);
});

test("nobody signs before the reveals are so deep that no reorganisation changes a seat", async () => {
	const s = await createStage([4000n], { slow: { confirmations: 12, sleep: async () => {} } });
	s.node.isPooling = false;
	const { signsAt } = await reported(s, 0);
	s.node.nowS = signsAt;
	await s.node.mine(10);
	const { game, events } = s.members[0]!;
	const turn = async () => {
		while (await game.turn()) await game.player.idle();
		return events.filter(({ kind }) => kind === "signed").length;
	};
	assert.equal(await turn(), 0);
	await s.node.mine(2);
	assert.equal(await turn(), 1);
	await s.node.mine(12);
	await game.player.idle();
});

/** Everybody through commit and reveal; then nobody has signed yet. */
async function reported(s: Stage, epoch: number): Promise<board.EpochWindows> {
	const windows = board.windowsOf(s.params, epoch);
	for (const at of [windows.endsAt, windows.revealsAt]) {
		s.node.nowS = Math.max(s.node.nowS, at);
		await playUntil(s, at);
	}
	return windows;
}
