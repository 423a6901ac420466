// The job market of a validator process, put together: hosts, programs, chain, evidence, and the loop that
// keeps jobs going. Routes are served by every process; the loop runs in one of them at a time.
import { join } from "node:path";
import { sendGuarded } from "../../../chain/sending/send-call.ts";
import { sleepOrThrow } from "../../../platform/abortable.ts";
import { makeFolder } from "../../../platform/durable-file.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { questionText } from "../../../protocol/network/job-question.ts";
import type { AgentAsker } from "../../agents/ask-agent.ts";
import type { ScoreKeeper } from "../../scoring/score-keeper.ts";
import type { ChainHome } from "../../settlement/home.ts";
import { openChainMemory } from "../../settlement/memory.ts";
import { failure, type ValidatorContext } from "../../validator-context.ts";
import { createDisputes } from "../disputes/create-disputes.ts";
import { playDispute } from "../disputes/play-dispute.ts";
import { createAskedBook } from "../evidence/asked-book.ts";
import type { EvidenceMeans } from "../evidence/claim-at-hand.ts";
import { createEvidence } from "../evidence/evidence.ts";
import { ownEngine } from "../evidence/own-engine.ts";
import { clearReruns } from "../evidence/own-run.ts";
import { createJobWorks } from "../programs/job-works.ts";
import { createProgramDesk } from "../programs/program-desk.ts";
import { createAuditBegins } from "./audit-begins.ts";
import { createJobChain } from "./job-chain.ts";
import type { JobContext } from "./job-context.ts";
import { createJobHosts } from "./job-hosts.ts";
import { createNudges } from "./nudges.ts";
import { createTries } from "./tries.ts";
import { startJobWatch } from "./watch-jobs.ts";

/** Where the chain is, and whose lease lets a process send. */
export interface JobsOnChain {
	readonly home: ChainHome;
	readonly lease: string;
}

/** Within one look a claimant that is away is asked again for so long at most: others wait for their turn. */
const PATIENCE_MS = 60_000;
const ASK_EVERY_MS = 2000;

export interface Jobs {
	readonly context: JobContext;
	/** Begins to keep jobs going. */
	start(): void;
	stop(): Promise<void>;
}

export async function createJobs(
	base: ValidatorContext,
	{
		asker,
		chain,
		scores,
		pool,
	}: {
		readonly asker: AgentAsker;
		readonly chain: JobsOnChain | null;
		readonly scores: Pick<ScoreKeeper, "score">;
		readonly pool: JobContext["pool"];
	},
): Promise<Jobs> {
	const { config, env, blobs, store } = base;
	const stopping = new AbortController();
	const jobChain = chain === null ? null : openJobChain(base, chain);
	const scratch = join(config.dataDir, "scratch");
	await makeFolder(scratch);
	await clearReruns(scratch);
	const asked = createAskedBook();
	const means: EvidenceMeans = {
		...{ blobs, scratch, answers: store.jobAnswers, nowMs: env.nowMs },
		engine: config.engine === null ? null : ownEngine(config.engine, env),
		ask: async ({ provider, ...about }, question) => await asker.ask(provider, "ask", { ...about, question }),
		...{ patienceMs: Math.min(PATIENCE_MS, config.params.jobSilenceMs), askEveryMs: ASK_EVERY_MS },
		sleep: (ms) => sleepOrThrow(ms, stopping.signal),
		chain: chain === null ? null : evidenceChain(chain),
		onAsked: (claim, question, bytes) =>
			asked.keep(claim, { atMs: env.nowMs(), question: questionText(question), bytes }),
	};
	const desk = createProgramDesk();
	let watch: ReturnType<typeof startJobWatch> | null = null;
	const ownRuns = createTries(env.nowMs, config.params.jobSilenceMs);
	const disputes = createDisputes({ tries: ownRuns, log: base.log, stopping: stopping.signal });
	const context: JobContext = {
		...base,
		...{ asker, pool, jobChain, stopping: stopping.signal, asked, sinceMs: env.nowMs() },
		evidence: createEvidence(means),
		hosts: createJobHosts({ ...base, jobChain }),
		works: createJobWorks({ blobs, desk, nowMs: env.nowMs }),
		nudges: createNudges(),
		...{ ownRuns, disputes },
		playDispute: (claim, audit, onAsked) => playDispute(means, means.chain!, claim, audit, onAsked),
		auditBegins: createAuditBegins(() => context),
		scoreAgain: async (id) => void (await scores.score(id).catch(failure(base, "score"))),
		wakeJob: (id, version) => watch?.wake(id, version),
	};
	return {
		context,
		start() {
			const unhurried = { ...context, store: { ...store, ...store.unhurried } };
			if (config.jobs.isOn) watch = startJobWatch(unhurried, chain?.lease ?? null);
		},
		async stop() {
			stopping.abort();
			desk.close();
			await watch?.stop();
			await disputes.ended();
		},
	};
}

function openJobChain({ store, env }: ValidatorContext, { home, lease }: JobsOnChain) {
	const { contracts, account } = home;
	const { journal } = openChainMemory({ store, addresses: contracts.addresses, account: account.address, lease });
	return createJobChain({ home, journal, nowMs: env.nowMs });
}

const evidenceChain = ({ home: { contracts, account, saltSecret } }: JobsOnChain): EvidenceMeans["chain"] => ({
	...{ contracts, account: account.address as Hex, secret: saltSecret },
	send: async (call) => (await sendGuarded(contracts.client, account, call)).transactionHash,
});
