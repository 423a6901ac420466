// A prover, docs/zk.md §12: follows the jobs of a chain that are paid by proof, proves the segments of those
// that are claimed, and collects its pay. Killed at any moment it is missed by nobody: what is next follows
// from the chain. Not here: the proof of one segment (prover.ts).
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { callOf, read, readEvents } from "../../chain/contracts/contracts.ts";
import { advanceCall, isProofWaiting, readZkHead } from "../../chain/contracts/zk-jobs.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { claimedStates } from "./claimed-states.ts";
import { inputOf, type ProofEngine } from "./order.ts";
import type { PowersFor } from "./powers.ts";
import {
	claimedEnd,
	claimsNow,
	type OrderedJob,
	openWork,
	orderedJobs,
	type ProverApi,
	provableNow,
} from "./provable-jobs.ts";
import { type ProverMeans, proveJobSegments } from "./prover.ts";
import { rerunStates } from "./rerun-states.ts";
import { watchTrees } from "./watch-trees.ts";

export interface ProofNews {
	readonly kind: "proof";
	/** 64 hex digits. */
	readonly job: string;
	/** Null: of the job as a whole. */
	readonly segment: number | null;
	/**
	 * taken: somebody else was first. misled: the worker's state was false, and the job is run from its start.
	 * left: it is not for this prover; tree: a move against a false tree; the detail says why.
	 */
	readonly state: "proving" | "proven" | "taken" | "misled" | "left" | "tree" | "trouble";
	readonly detail: string;
}

export interface ProveJobsOptions extends Pick<ProverMeans, "contracts" | "account" | "signal"> {
	readonly api: ProverApi;
	readonly startEngine: (storePath: string) => Promise<ProofEngine & { close(): Promise<void> }>;
	readonly powersFor: PowersFor;
	/** States of jobs that are run again; cleared after each. */
	readonly folder: string;
	/** The least that a segment must pay, in micro-units. */
	readonly leastMicros: number;
	readonly onEvent: (news: ProofNews) => void;
	/** After a trouble with a job, it is left alone for so long. */
	readonly restMs: number;
	readonly nowMs: () => number;
}

const PER_MICRO = 10n ** 12n;
/** Waiting proofs that one call pays. */
const MOST_ADVANCED = 32;

/** Proofs that came early are paid when the head is there; whoever sends that pays others too. */
async function advance({ contracts, account }: ProveJobsOptions, { job, terms }: OrderedJob): Promise<void> {
	const { next, points } = await readZkHead(contracts, job);
	if (next >= Number(terms.segments) || !(await isProofWaiting(contracts, job, next, points))) return;
	await sendGuarded(contracts.client, account, advanceCall(contracts, terms, MOST_ADVANCED)).catch((error: unknown) => {
		// Somebody else did, or the part is not claimed.
		if (!(error instanceof AssayError) || error.code !== "CHAIN_REFUSED") throw error;
	});
}

/** Trees of ends that are false are brought down by whoever holds the bytes, provers among them. */
async function watch(
	o: ProveJobsOptions,
	trees: ReturnType<typeof watchTrees>,
	of: OrderedJob,
	parts: readonly number[],
	tell: (done: string) => void,
): Promise<void> {
	if ((await readEvents(o.contracts, "twinPosts", "Posted", { scope: of.job })).length === 0) return;
	const work = await openWork(o.api, of);
	if (work === null) return;
	for (const part of parts) {
		const end = await claimedEnd(o.api, of, work, part);
		for (const done of end === null ? [] : await trees.look(end)) tell(`of part ${part + 1}: ${done}`);
	}
}

/** What a segment pays, at least. */
const payOf = ({ terms: { audit, segments, parts } }: OrderedJob): bigint =>
	audit / (segments > parts ? BigInt(Math.ceil(Number(segments) / parts)) : 1n);

async function collect({ contracts, account }: ProveJobsOptions): Promise<void> {
	if ((await read(contracts, "jobEscrow", "owedTo", account.address)) === 0n) return;
	await sendGuarded(contracts.client, account, callOf(contracts, "jobEscrow", "collect", account.address));
}

export function createProver(o: ProveJobsOptions) {
	const { contracts, account, signal } = o;
	const jobs = orderedJobs(contracts);
	const trees = watchTrees(contracts, account, o.powersFor);
	const over = new Set<bigint>();
	/** Jobs whose workers claimed false states: they are run from the start. */
	const misled = new Set<bigint>();
	/** The first segment that nobody can prove. */
	const unprovable = new Map<bigint, number>();
	/** Lists of workers that are not of what comes out. */
	const falseLists = new Set<string>();
	const restUntil = new Map<bigint, number>();
	const tell = ({ job }: OrderedJob, segment: number | null, state: ProofNews["state"], detail = "") =>
		o.onEvent({ kind: "proof", job: job.toString(16).padStart(64, "0"), segment, state, detail });

	/** What goes wrong is told, and keeps nobody from what is next. */
	const troubled = (of: OrderedJob) => (error: unknown) => {
		if (!(error instanceof AssayError) || signal.aborted) throw error;
		tell(of, null, "trouble", `${error.message} [${error.code}]`);
	};

	async function prove(of: OrderedJob, end: number, lists: string): Promise<void> {
		const work = await openWork(o.api, of);
		if (work === null) return;
		const folder = join(o.folder, of.job.toString(16));
		const engine = await o.startEngine(folder);
		const claimed = misled.has(of.job) ? null : claimedStates(o.api, contracts, of, work.program);
		const states = rerunStates(work, engine, folder, claimed);
		try {
			await proveJobSegments(
				{
					...{ contracts, account, signal, open: engine.openProof, device: engine.device },
					powers: o.powersFor(work.plan.chunkBits),
					onEvent({ segment, state }) {
						if (state === "misled") misled.add(of.job);
						if (state === "unlisted") {
							falseLists.add(lists);
							return tell(of, segment, "left", "its worker has listed that it begins or ends with something else");
						}
						if (state !== "unprovable") return tell(of, segment, state);
						unprovable.set(of.job, Math.min(segment, unprovable.get(of.job) ?? segment));
						tell(of, segment, "left", "a value of it leaves its range: nobody can prove it, nor what follows");
					},
				},
				{
					...{ terms: of.terms, order: of.order, plan: work.plan },
					...{ features: await inputOf(work, "features"), labels: await inputOf(work, "labels") },
					...{ weightsBefore: states.weightsBefore, stateBefore: states.stateBefore },
					...(claimed && { claimed: states }),
				},
				end,
			);
		} finally {
			await states.close();
			await engine.close();
			await rm(folder, { recursive: true, force: true });
		}
	}

	async function look(of: OrderedJob): Promise<void> {
		const { next, end: last, lists } = await provableNow(contracts, of);
		const end = Math.min(last, unprovable.get(of.job) ?? last);
		const { claimed, isOver } = await claimsNow(contracts, of, Math.floor(o.nowMs() / 1000));
		if (isOver) over.add(of.job);
		// ATTACK: whoever cannot pay for a demand, or is shown an end that is none, proves all the same.
		if (claimed.length > 0)
			await watch(o, trees, of, claimed, (done) => tell(of, null, "tree", done)).catch(troubled(of));
		if (end <= next || falseLists.has(lists)) return;
		const pay = payOf(of);
		if (pay < BigInt(o.leastMicros) * PER_MICRO) {
			over.add(of.job);
			return tell(of, null, "left", `a segment pays ${Number(pay / PER_MICRO) / 1e6} tokens`);
		}
		await advance(o, of);
		await prove(of, end, lists);
		await advance(o, of);
	}

	return {
		/** Once over all jobs. What goes wrong with one is told, and leaves the others alone. */
		async round(): Promise<void> {
			for (const of of await jobs()) {
				if (signal.aborted) return;
				if (over.has(of.job) || o.nowMs() < (restUntil.get(of.job) ?? 0)) continue;
				try {
					await look(of);
				} catch (error) {
					restUntil.set(of.job, o.nowMs() + o.restMs);
					troubled(of)(error);
				}
			}
			if (!signal.aborted) await collect(o);
		},
	};
}
