// A provider's answers on chain as a process that can be killed: what src/provider/jobs does about the claims
// that it made, over a chain behind HTTP. Its runs and its first words lie in folders.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { GameAnswers } from "../../../src/provider/jobs/answer-games.ts";
import { openJobChain } from "../../../src/provider/jobs/open-job-chain.ts";
import { readRunFolder } from "../../../src/store/runs/run-folder.ts";
import { answererOf } from "../../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { openRun } from "../../../src/validator/jobs/open-run.ts";
import { answerParent } from "../../network/child-program.ts";
import { type ChaosPlan, contractsOf, PROVIDER, SAMPLE } from "./chaos-claims.ts";

const EVERY_MS = 500;

async function provide(plan: ChaosPlan): Promise<void> {
	const chain = await openJobChain(await contractsOf(plan), PROVIDER, "cd".repeat(32));
	const told = (detail: string) => appendFileSync(join(plan.folder, "provider.log"), `${detail}\n`);
	const games = new GameAnswers({ chain, nowMs: Date.now, mostGas: undefined, onTrouble: (error) => told(`${error}`) });
	const claims = [];
	for (const { run: path, cheat, job, hash } of plan.claims) {
		const run = await openRun(readRunFolder(path));
		const of = { run, cheat: cheat ?? undefined, sample: SAMPLE, segments: plan.segments };
		// States are never asked for on chain, and nothing is uploaded.
		const answerer = answererOf(null as never, of, { first: 0, states: run.states, holder: "", claim: hash });
		claims.push({ about: { name: hash, job, part: 0, attempt: 1 }, answerer });
	}
	for (;;) {
		const sending: Promise<void>[] = [];
		const trouble = (error: unknown) => told(`${error}`);
		for (const { about, answerer } of claims) {
			const { state, attempt } = await chain.part(about.job, 0);
			if (state !== "claimed" || attempt !== 1) continue;
			const answerTo = (question: Parameters<typeof answerer.answerOnChain>[0]) => answerer.answerOnChain(question);
			const send = await games.answer(about, answerTo, told).catch(trouble);
			if (send) sending.push(send().catch(trouble));
		}
		await Promise.all(sending);
		await sleep(EVERY_MS);
	}
}

answerParent({
	start: (plan: ChaosPlan) => {
		provide(plan).catch((error: unknown) => {
			appendFileSync(join(plan.folder, "provider.log"), `ended: ${error}\n`);
			process.exit(1);
		});
	},
});
