// What a provider does about questions on chain: those whose time ends first come first, one that the chain
// does not take keeps it from no other, and its owner is told of every question that stays without an answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { type ChainQuestion, encodeChainQuestion } from "../../protocol/network/chain-question.ts";
import { GameAnswers } from "./answer-games.ts";
import { mustTraceInTime } from "./check-offer.ts";
import type { ChainReply } from "./job-chain.ts";

const ABOUT = { name: "part", job: "ab", part: 0, attempt: 1 };
const bytesOf = (question: ChainQuestion): Hex => toHex(encodeChainQuestion(question));
const accuserOf = (number: number): Hex => `0x${number.toString(16).padStart(40, "0")}`;
const GAS = 100_000;

function open(mostGas?: number) {
	const troubles: string[] = [];
	const told: string[] = [];
	const sent: string[][] = [];
	const stage = {
		nowMs: 0,
		/** Accuser, segment asked for, last second; late where that is over. */
		asked: [] as [number, number, number][],
		refused: new Set<number>(),
		troubles,
		told,
		sent,
		look: async () => {
			const send = await games.answer(
				ABOUT,
				// Nothing of segment 9 was claimed.
				async (question) => ("segment" in question && question.segment === 9 ? null : Uint8Array.of(7)),
				(detail) => told.push(detail),
			);
			// Whoever looks at several claims sends for all of them at once.
			assert.equal(sent.length, stage.sentBefore);
			await send();
			stage.sentBefore = sent.length;
		},
		sentBefore: 0,
		/** Whoever waits for this is on its way. */
		gate: Promise.resolve(),
		/** Of several claims, as a provider does it. */
		lookAtMany: async (count: number) => {
			const about = Array.from({ length: count }, (_, part) => ({ ...ABOUT, name: `part ${part}`, part }));
			const sends = await Promise.all(
				about.map((one) =>
					games.answer(
						one,
						async () => Uint8Array.of(7),
						() => {},
					),
				),
			);
			return Promise.all(sends.map((send) => send()));
		},
	};
	const games = new GameAnswers({
		mostGas,
		nowMs: () => stage.nowMs,
		onTrouble: (error) => troubles.push(`${(error as AssayError).code} ${(error as Error).message}`),
		chain: {
			questions: async () =>
				stage.asked.map(([accuser, segment, deadlineS]) => ({
					...{ accuser: accuserOf(accuser), question: bytesOf({ kind: "trace", segment, count: 3 }), deadlineS },
					isLate: stage.nowMs > 1000 * deadlineS,
				})),
			answer: async (_job, _part, _attempt, replies: readonly ChainReply[]) => {
				const numbers = replies.map(({ accuser }) => Number(accuser));
				if (numbers.some((one) => stage.refused.has(one))) throw new AssayError("CHAIN_REFUSED", "AnswerInvalid");
				await stage.gate;
				sent.push(numbers.map(String));
				return GAS * replies.length;
			},
		},
	});
	return stage;
}

test("what ends first is answered first; what is too late or none of the claim keeps nobody waiting, and is told once", async () => {
	const stage = open();
	stage.nowMs = 50_000;
	stage.asked = [
		[1, 3, 900],
		[2, 9, 60],
		[3, 4, 49],
		[4, 4, 100],
	];
	await stage.look();
	await stage.look();
	assert.deepEqual(stage.sent, [
		["4", "1"],
		["4", "1"],
	]);
	assert.deepEqual(stage.troubles, [`JOB_UNANSWERED it is too late for an answer to ${accuserOf(3)} on chain`]);
	assert.equal(stage.told.filter((one) => /none of this claim/.test(one)).length, 1);
});

test("one answer that the chain does not take keeps it from no other", async () => {
	const stage = open();
	stage.asked = Array.from({ length: 20 }, (_, i) => [i + 1, 1, 1000 + i]);
	stage.refused.add(3);
	await stage.look();
	assert.deepEqual(
		stage.sent.flat(),
		Array.from({ length: 20 }, (_, i) => `${i + 1}`).filter((one) => one !== "3"),
	);
	assert.deepEqual(stage.troubles, ["CHAIN_REFUSED AnswerInvalid"]);
});

test("beyond the owner's gas nothing is sent, and the owner is told; the next day it goes on", async () => {
	const stage = open(16 * GAS);
	stage.asked = Array.from({ length: 20 }, (_, i) => [i + 1, 1, 1_000_000 + i]);
	await stage.look();
	assert.equal(stage.sent.flat().length, 16, "the first sixteen");
	assert.match(
		stage.troubles.join(),
		/JOB_UNANSWERED 4 questions on chain wait, the next for up to 100000 gas: 1600000/,
	);
	stage.asked = stage.asked.slice(16);
	await stage.look();
	assert.equal(stage.sent.flat().length, 16);
	stage.nowMs = 86_400_001;
	await stage.look();
	assert.equal(stage.sent.flat().length, 20);
});

test("answers of several claims that are sent at once do not come to more than the owner's gas together", async () => {
	const stage = open(3 * GAS);
	stage.asked = [
		[1, 1, 1000],
		[2, 1, 1001],
	];
	const gate = Promise.withResolvers<void>();
	stage.gate = gate.promise;
	const sending = stage.lookAtMany(3);
	await new Promise((resolve) => setImmediate(resolve));
	gate.resolve();
	await sending;
	// Both of the first claim, one of the second.
	assert.equal(stage.sent.flat().length, 3, JSON.stringify(stage.sent));
	assert.match(stage.troubles.join(), /2 questions on chain wait.*300000 are on their way, 300000 are allowed/);
});

test("a part whose segments take more than a tenth of a trace's clock is declined", () => {
	mustTraceInTime(360_000, 3_600_000);
	assert.throws(() => mustTraceInTime(360_001, 3_600_000), { code: "JOB_DECLINED", message: /360001 ms here/ });
});
