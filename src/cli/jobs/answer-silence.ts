// While `job submit` waits: a claim of its job that is disputed and that nobody asks about on chain is asked
// about from the account that paid, and every step is said. What is done and when is
// src/validator/jobs/watch/answer-silence.ts.
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { sleep } from "../../platform/abortable.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { answerSilence, type SilenceEvent } from "../../validator/jobs/watch/answer-silence.ts";
import { openWatchBook } from "../../validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../validator/jobs/watch/watch-chain.ts";
import type { Program } from "../../work/program/shapes.ts";
import { customerFolder } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import { shown } from "../print/table.ts";
import type { JobPayer } from "./job-account.ts";

const EVERY_MS = 5000;
/** In 24 hours, of all jobs of this user: as `assay watch` has it. Asking once takes some 200,000. */
const MAX_GAS_A_DAY = 5_000_000;

export interface GuardedJob {
	readonly id: string;
	readonly program: Program;
	readonly payer: JobPayer;
}

interface Beside {
	readonly say: (text: string) => void;
	readonly signal: AbortSignal;
}

/** Whatever goes wrong here is said: the job's result does not depend on it. */
export async function guardJob(api: ApiClient, job: GuardedJob, io: CliIo, beside: Beside): Promise<void> {
	try {
		await guard(api, job, io, beside);
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		beside.say(`  disputed claims of this job are not asked about here: ${shown(why, 300)}`);
	}
}

async function guard(api: ApiClient, { id, program, payer }: GuardedJob, io: CliIo, beside: Beside): Promise<void> {
	const { say, signal } = beside;
	const { nowMs } = realEnvironment();
	const { contracts, account } = payer.actor;
	const folder = join(customerFolder(io.env), "answering");
	await makeFolder(folder);
	const book = await openWatchBook(join(folder, "watched.jsonl"), nowMs);
	const chain = await openWatchChain(contracts, account, { gasADay: MAX_GAS_A_DAY, book });
	const { evidence } = chain;
	let told = "";
	await answerSilence({
		api,
		job: id,
		program,
		nowMs,
		everyMs: EVERY_MS,
		sleep: (ms) => sleep(ms, signal),
		chain: { ...chain, evidence: { ...evidence, send: (call) => payer.alone(() => evidence.send(call)) } },
		onEvent(event) {
			const line = lineOf(event, account.address);
			if (line !== told) say(`  ${line}`);
			told = line;
		},
	});
}

function lineOf({ part, kind, detail }: SilenceEvent, account: string): string {
	const where = `part ${part + 1}: its claim is disputed, and`;
	if (kind === "asked")
		return `${where} nobody asks about it on chain: this command does, from ${account}. Leave it running: who does not answer in time is convicted`;
	if (kind === "convicted") return `part ${part + 1}: its claimant said nothing and is convicted by ${detail}`;
	if (kind === "answered")
		return `${where} its claimant answers: \`assay watch --jobs mine\` runs it again here and finds what is false`;
	return `${where} could not be asked about on chain yet: ${shown(detail, 300)}`;
}
