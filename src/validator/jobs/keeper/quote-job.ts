// A customer asks what a job would cost, and hands one in. docs/jobs.md §13. Everything that may be spent is
// said before; nothing is kept until the job is there with all that it needs.

import type { JobQuote } from "../../../api/types.ts";
import { jobIdOf } from "../../../chain/contracts/job-escrow.ts";
import { newJob } from "../../../market/jobs/job-rules.ts";
import { type QuoteInput, quoteJob } from "../../../market/jobs/quote.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { codes } from "../../../protocol/codes.ts";
import type { JobMethod, JobTerms } from "../../../protocol/network/job.ts";
import type { JobOffer } from "../../../protocol/network/job-offer.ts";
import type { BlobName, JobSpec } from "../../../protocol/network/job-spec.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import type { JobWork } from "../../../work/program/job-work.ts";
import { jobHolder } from "../blobs/blob-holders.ts";
import { missing, type Opener } from "../programs/job-works.ts";
import { asJson, type Job, type JobContext, jobOf } from "./job-context.ts";
import type { KnownHost } from "./job-hosts.ts";
import { escrowTermsOf, makeOffer, mustBeOurs } from "./job-offers.ts";

export interface JobAsk {
	readonly customer: string;
	/** In the blob store; and the address that asks. */
	readonly opener: Opener;
	readonly spec: JobSpec;
	readonly mostMicros: number | null;
	readonly hourMicros?: number | undefined;
	readonly account: string | null;
	readonly salt: string;
}

const wholeSeconds = (ms: number): number => 1000 * Math.ceil(ms / 1000);
/**
 * What a conviction costs its accuser, in micro-units: the escrow's setting, which has its margin in it.
 * Nobody else knows the price of gas in tokens.
 */
async function gasMicros({ jobChain, config }: JobContext): Promise<number> {
	if (jobChain === null) return 0;
	return Math.ceil(((await jobChain.accuserCosts()) * 1_000_000) / config.params.jobGasMarginPpm);
}

function mustBeMethod({ name, count }: JobMethod): void {
	const { least, most } = methodOf({ name }).counts;
	if (count < least || count > most)
		throw new AssayError("JOB_SPEC", `${name} takes a count from ${least} to ${most}, not ${count}`);
}

/**
 * What the proofs of a zk job cost, and how long it must wait at least; nothing of other methods. Throws
 * JOB_METHOD, PROGRAM_UNPROVABLE.
 */
async function provingOf(
	{ jobChain, works }: JobContext,
	spec: JobSpec,
	opener: Opener,
): Promise<Pick<QuoteInput, "proving">> {
	if (methodOf(spec.method).driver === "audits") return {};
	if (jobChain === null)
		throw new AssayError("JOB_METHOD", "jobs that are paid by proof need a chain, and this validator has none", {
			hint: codes.JOB_METHOD.hint,
		});
	return { proving: { ops: await works.provingOps(spec, opener), leastWindowMs: await jobChain.zk.leastWindowMs() } };
}

export async function askQuote(
	context: JobContext,
	ask: JobAsk,
): Promise<Omit<JobQuote, "offer"> & { readonly offer: JobOffer }> {
	const { env, signer, jobChain, hosts, works } = context;
	const { spec, account } = ask;
	mustBeMethod(spec.method);
	if ((account === null) !== (jobChain === null))
		throw new AssayError(
			"JOB_ACCOUNT",
			jobChain === null ? "this validator has no chain" : "name who will fund the job",
		);
	await mustBeKept(context, ask.customer, spec);
	const work = await works.open(spec, ask.opener);
	// The job may wait for whoever is at work, and for what is locked meanwhile.
	const all = (await hosts.known()).map((host) => ({ ...host, isFree: true, freeBondMicros: host.depositMicros }));
	const nowMs = env.nowMs();
	const input: QuoteInput = {
		...{ segments: spec.segments, time: work.time, peakBytes: work.peakBytes, hourMicros: ask.hourMicros },
		...{ stateBytes: work.stateBytes, givenBytes: work.givenBytes },
		...{ method: spec.method, mostMicros: ask.mostMicros, nowMs },
		gasMicros: await gasMicros(context),
		...(await provingOf(context, spec, ask.opener)),
	};
	const quote = await quoteOrWhy(input, all, context);
	const { totalMicros, estimatedMs, referenceMs, hosts: count, tenthFound, isSimulated, perWindow, ...quoted } = quote;
	const terms: JobTerms = {
		...quoted,
		...{ customer: ask.customer, program: work.root, inputs: work.inputs },
		...{ startByMs: wholeSeconds(quoted.startByMs), workMs: wholeSeconds(quoted.workMs) },
		...{ windowMs: wholeSeconds(quoted.windowMs), checkedMs: wholeSeconds(quoted.checkedMs) },
	};
	const wish = { spec, terms, account, salt: ask.salt, perWindow };
	const offer = makeOffer(wish, work, { signer, chain: jobChain, nowMs });
	const tenthFoundPpm = Math.round(1_000_000 * tenthFound);
	return { offer, totalMicros, estimatedMs, referenceMs, hosts: count, tenthFoundPpm, isSimulated };
}

/** Where too few hosts fit, it also says what is wrong with the others. */
async function quoteOrWhy(
	input: QuoteInput,
	all: readonly KnownHost[],
	{ hosts, config }: Pick<JobContext, "hosts" | "config">,
): Promise<ReturnType<typeof quoteJob>> {
	try {
		return quoteJob(input, all, config.params);
	} catch (error) {
		if (!(error instanceof AssayError) || error.code !== "JOB_NO_PROVIDER") throw error;
		const known = new Set(all.map(({ provider }) => provider));
		const absent = (await hosts.takers()).filter(({ provider }) => !known.has(provider));
		return quoteJob({ ...input, absent }, all, config.params);
	}
}

async function mustBeFunded({ jobChain }: JobContext, offer: JobOffer): Promise<void> {
	const terms = escrowTermsOf(offer);
	if (terms === null) return;
	if (jobChain === null || !(await jobChain.job(jobIdOf(terms))).isFunded)
		throw new AssayError("JOB_UNFUNDED", "the escrow on chain has no funds for these terms");
	if (methodOf(offer.terms.method).driver === "proofs" && !(await jobChain.zk.isOrdered(jobIdOf(terms))))
		throw new AssayError("JOB_UNORDERED", "its customer has not said on chain what is to be proven", {
			hint: codes.JOB_UNORDERED.hint,
		});
}

const blobsOf = (spec: JobSpec): BlobName[] =>
	[spec.program, ...spec.given, ...(spec.generation ? [spec.generation] : [])].map(({ root, size }) => ({
		root,
		size,
	}));

/**
 * Said before anything is paid, and looked at again when it is handed in. ATTACK: a job keeps its inputs for
 * a week after its end, so that job after job would keep as much again.
 */
async function mustBeKept(
	{ store, config }: Pick<JobContext, "store" | "config">,
	customer: string,
	spec: JobSpec,
): Promise<void> {
	const { jobKeptBytes } = config.params;
	const bytes = await store.jobs.keptBytes(customer, blobsOf(spec));
	if (bytes > jobKeptBytes)
		throw new AssayError("JOB_QUOTA", `its jobs would keep ${bytes} bytes, ${jobKeptBytes} are allowed`, {
			hint: "Wait until the blobs of earlier jobs are removed, or hand in the same blobs again: each counts once.",
		});
}

/** The job gets all that it needs; whatever the customer does with its own blobs afterwards. */
async function takeBlobs(
	{ blobs }: Pick<JobContext, "blobs">,
	holder: string,
	id: string,
	spec: JobSpec,
): Promise<void> {
	const absent = await blobs.shareAll(holder, blobsOf(spec), jobHolder(id));
	if (absent.length > 0) throw missing(absent.map(({ root }) => root));
}

/** Once, however often it is asked. */
export async function submitJob(
	context: JobContext,
	{
		customer,
		opener,
		spec,
		offer,
	}: { readonly customer: string; readonly opener: Opener; readonly spec: JobSpec; readonly offer: JobOffer },
): Promise<Job> {
	const { store, env, signer, config, wakeJob, works } = context;
	const nowMs = env.nowMs();
	const known = await store.jobs.get(offer.id);
	if (known !== null && known.customer === customer) return jobOf(known);
	mustBeOurs(offer, { spec, customer, signer, nowMs });
	await mustBeFunded(context, offer);
	const { id, terms } = offer;
	const work: JobWork = await works.open(spec, opener);
	// What was offered was found out from the same bytes: their root is in the terms.
	if (work.root !== terms.program || work.inputs !== terms.inputs)
		throw new AssayError("JOB_OFFER", "the offer cannot be used: the program or its inputs are others");
	await mustBeKept(context, customer, spec);
	await takeBlobs(context, opener.holder, id, spec);
	const row = await store.jobs.create(
		{
			...{ id, customer, spec, offer: asJson(offer), record: newJob(id, terms), atMs: nowMs },
			events: [{ kind: "submitted", detail: { parts: terms.parts, secretCommitment: offer.secretCommitment } }],
		},
		{ mostOpen: config.jobs.mostOpen },
	);
	wakeJob(id, row.job.version);
	return jobOf(row.job);
}
