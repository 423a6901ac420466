// H1 on a chain as they are: a block each 12 s, twelve of them until something counts, ten validators of
// which three misbehave. The others miss no window of their own, whatever they wait for meanwhile.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { readAccount } from "../../chain/contracts/registry.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import {
	createStage,
	endStages,
	HONEST,
	hangs,
	isAnybodyAsked,
	postedOf,
	providerWeights,
	type Stage,
	scoresOf,
	signAs,
	UNIT,
	weightsIf,
} from "./epoch-stage.test-kit.ts";

after(endStages);

const BLOCK_S = 12;

test("H1: ten validators, three of them silent, lying and slow, on blocks of 12 s, twelve deep", async () => {
	const waiting: (() => void)[] = [];
	const sleep = () => new Promise<void>((resolve) => void waiting.push(resolve));
	const s = await createStage(
		Array.from({ length: 10 }, () => 3000n),
		{
			schedule: { epochSeconds: 1200, epochs: { targetWeight: 0, challengeSeconds: 1200 } },
			slow: { confirmations: 12, sleep },
		},
	);
	const [silent, slow, liar] = s.members.slice(7) as [Stage["members"][0], Stage["members"][0], Stage["members"][0]];
	silent.answer = hangs;
	let slowUntil = Number.POSITIVE_INFINITY;
	slow.answer = (url, response) => s.node.nowS < slowUntil && hangs(url, response);
	liar.scores = scoresOf(...HONEST.map(() => 1_000_000));
	const turning = new Map<number, Promise<unknown>>();

	/** A block; then everyone does what is due, and the chain goes on when nobody asks it anything any more. */
	async function block(): Promise<void> {
		await s.node.mine(1, BLOCK_S);
		for (const wake of waiting.splice(0)) wake();
		for (const { index, game, isAsleep } of s.members)
			if (!isAsleep && !turning.has(index))
				turning.set(
					index,
					game.turn().finally(() => turning.delete(index)),
				);
		for (let asked = -1, quiet = 0; quiet < 3; quiet++) {
			if (s.requests.length !== asked || isAnybodyAsked()) [asked, quiet] = [s.requests.length, 0];
			await new Promise((resolve) => setTimeout(resolve, 12));
		}
	}
	const until = async (timeS: number) => {
		while (s.node.nowS < timeS) await block();
	};

	/** Blocks in which nobody has anything to do. */
	const pass = (timeS: number) => s.node.mine(Math.max(0, Math.floor((timeS - s.node.nowS) / BLOCK_S)), BLOCK_S);

	/** On a busy machine somebody may be some blocks behind: as many more as there are. */
	const untilAll = async (isDone: (report: Awaited<ReturnType<typeof board.readReport>>) => boolean, timeS: number) => {
		const reports = () => Promise.all(s.members.map(({ address }) => board.readReport(s.contracts, 0, address)));
		while (s.node.nowS < timeS && !(await reports()).every(isDone)) await block();
	};

	const { endsAt, revealsAt, signsAt } = board.windowsOf(s.params, 0);
	s.node.nowS = endsAt - BLOCK_S;
	await until(endsAt + 3 * BLOCK_S);
	await untilAll(({ digest }) => BigInt(digest) !== 0n, revealsAt - 2 * BLOCK_S);
	await pass(revealsAt - BLOCK_S);
	await until(revealsAt + 4 * BLOCK_S);
	await untilAll(({ revealed }) => revealed, signsAt - 2 * BLOCK_S);
	await pass(signsAt - BLOCK_S);
	assert.equal((await board.readSeats(s.contracts, 0)).length, 10);
	// It answers late, but in time; the third signs something else.
	const quarter = signsAt + s.params.signSeconds / 4;
	slowUntil = signsAt + 2 * BLOCK_S;
	await until(signsAt + 3 * BLOCK_S);
	liar.isAsleep = true;
	await signAs(s, await weightsIf(s, 0, scoresOf(0, 0, 0, 0, 1_000_000)), [liar]);
	assert.equal(s.members.flatMap(({ events }) => events.filter(({ kind }) => kind === "signed")).length, 0);
	await until(signsAt + 6 * BLOCK_S);
	await pass(quarter - 2 * BLOCK_S);
	await until(quarter + 8 * BLOCK_S);
	// On a busy machine somebody may be some blocks behind.
	const liarStake = async () => (await readAccount(s.contracts, liar.address)).stake;
	const isOver = async () => (await board.readPosted(s.contracts, 0)) !== null && (await liarStake()) < 3000n * UNIT;
	while (!(await isOver()) && s.node.nowS < signsAt + (3 * s.params.signSeconds) / 4) await block();
	const { weights, leaves } = await postedOf(s, 0);
	assert.deepEqual(providerWeights(leaves), HONEST);
	const seats = await board.readSeats(s.contracts, 0);
	const has = (who: Stage["members"][0]) =>
		(weights.set >> BigInt(seats.findIndex(({ validator }) => validator === who.address))) & 1n;
	assert.deepEqual([has(silent), has(slow), has(liar)], [0n, 1n, 1n], "only who was silent is not paid");
	assert.equal(await liarStake(), 1500n * UNIT, "and who lied pays");
	for (const { events } of s.members.slice(0, 7)) assert.ok(events.some(({ kind }) => kind === "signed"));
});
