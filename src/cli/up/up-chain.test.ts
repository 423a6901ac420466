// What `assay up` says of its chain, word for word, and that each final epoch is told once.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { NetworkEvent } from "../../api/types.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import type { RunningValidator } from "../../validator/create-validator.ts";
import { paintFor } from "../print/paint.ts";
import { epochLine, rewardsLine, stakeLines, watchRewards } from "./up-chain.ts";
import { createUpReport } from "./up-report.ts";

const paint = paintFor({ isTTY: false } as NodeJS.WriteStream, { NO_COLOR: "1" });
const UNIT = 10n ** 18n;
const windows = { commitSeconds: 20, revealSeconds: 20, signSeconds: 20, challengeSeconds: 20 };

test("when the epoch that runs will pay, and what an epoch has paid for", () => {
	const params = { genesis: 1000, epochSeconds: 4320, ...windows };
	assert.equal(epochLine(params, 1000 + 4320 - 59.5), "epoch 0 ends in 60 s; its rewards can be claimed 60 s later");
	assert.equal(epochLine(params, 1000 + 4320), "epoch 1 ends in 72 min; its rewards can be claimed 60 s later");
	const line = (claimable: bigint, isAnyScored: boolean) => rewardsLine({ epoch: 3, claimable, isAnyScored }, paint);
	assert.equal(line(1000n * UNIT, true), "rewards   epoch 3: 1000 tokens can be claimed: assay claim");
	assert.equal(line(0n, true), "rewards   epoch 3: all of it is claimed");
	assert.equal(
		line(100n * UNIT, false),
		"rewards   epoch 3: 100 tokens can be claimed: assay claim; nobody had a score above 0, so no provider is paid",
	);
	const lines = stakeLines("0xAB", "http://127.0.0.1:1", "/data", "http://node").join("\n");
	assert.match(
		lines,
		/0xAB[\s\S]*assay stake 10000 --endpoint http:\/\/127\.0\.0\.1:1 --rpc http:\/\/node --data \/data$/,
	);
	assert.doesNotMatch(stakeLines("0xAB", "u", "/data", "http://me:secret@node").join("\n"), /secret/);
	assert.equal(withoutLogin("http://127.0.0.1:1"), "http://127.0.0.1:1");
	assert.doesNotMatch(stakeLines("0xAB", "u", "/data", undefined).join("\n"), /--rpc/);
});

test("each step of an epoch is a line; what is no step is a dispute; escapes do not pass", async () => {
	let text = "";
	const nobody = { getProvider: async () => Promise.reject(new Error("away")) };
	const stream = { isTTY: false, columns: 80, write: (more: string) => (text += more) };
	const report = createUpReport({ stream, paint, client: nobody as never, isTrial: true, onScore: () => {} });
	const show = (kind: string, detail: string) =>
		report.show({
			id: "1",
			kind,
			subject: "7",
			providerId: null,
			atMs: 0,
			detail: { epoch: 7, detail },
		} as NetworkEvent);
	await show("chain.committed", "2 scores");
	await show("chain.revealed", "0xabc");
	await show("chain.signed", "2 accounts, by 1 of 1 reports");
	await show("chain.posted", "2 accounts");
	await show("chain.final", "1");
	const account = `0x${"ab".repeat(20)}`;
	const fraud = { id: "2", kind: "chain.accused", subject: "cd".repeat(16), providerId: "ef".repeat(32), atMs: 0 };
	await report.show({ ...fraud, detail: { account, amount: "5" } } as NetworkEvent);
	await show("chain.challenged", "0xbad\u001b[2J: weight");
	assert.deepEqual(text.trim().split("\n"), [
		"chain     epoch 7: ended; committed to 2 scores",
		"chain     epoch 7: scores revealed",
		"chain     epoch 7: weights signed, 2 accounts, by 1 of 1 reports",
		"chain     epoch 7: weights posted, 2 accounts",
		"fraud     efefefefefef, probe cdcdcdcdcdcd: a wrong result was proven on chain, account 0xababababab was slashed",
		"chain     epoch 7: challenged 0xbad\ufffd[2J: weight",
	]);
});

test("an epoch that was final before anybody looked is told, and each once", () => {
	mock.timers.enable({ apis: ["setInterval"] });
	let final = { epoch: 4, claimable: 5n, isAnyScored: true };
	const told: number[] = [];
	const running = { chain: { newestFinal: () => final } } as unknown as RunningValidator;
	const stop = watchRewards(running, ({ epoch }) => told.push(epoch));
	mock.timers.tick(2000);
	final = { ...final, epoch: 6 };
	mock.timers.tick(2000);
	stop();
	final = { ...final, epoch: 7 };
	mock.timers.tick(2000);
	assert.deepEqual(told, [4, 6]);
	watchRewards({ chain: null } as unknown as RunningValidator, () => assert.fail())();
	mock.timers.reset();
});
