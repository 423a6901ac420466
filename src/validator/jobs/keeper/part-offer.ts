// What a provider or auditor is told of its work: where it begins and ends, and what it must sign for.
// docs/jobs.md §13. Nothing here changes anything.
import { partRange } from "../../../market/jobs/job-rules.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { drawHash } from "../../../protocol/network/job-offer.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { JobClaimRow } from "../../../store/jobs/job-rows.ts";
import { type Drawn, knownDraw, listOf } from "./draw-part.ts";
import type { Job, JobContext } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import type { ClaimBody } from "./take-claim.ts";

export interface Begin {
	/** S of the state before. */
	readonly start: string;
	/** Null: zeros. */
	readonly begin: { readonly state: readonly BlobName[]; readonly results: readonly BlobName[] } | null;
	/** Hash of the claim of the part before. */
	readonly previous: string | null;
}

/** The claim that a part was built on: of the attempt that stood when it was assigned. */
async function baseClaim(store: JobContext["store"], job: Job, part: JobPart): Promise<JobClaimRow | null> {
	const { rows } = await store.jobs.claims({ job: job.id, part: part.part - 1, limit: 500 });
	return rows.find(({ attempt, state }) => attempt === part.base && state !== "stored") ?? null;
}

/** What tells where a part begins. */
export type BeginSource = Pick<JobContext, "store" | "works">;

export async function beginOf({ store, works }: BeginSource, job: Job, number: number): Promise<Begin> {
	if (number === 0) return { start: (await works.ofJob(job)).start, begin: null, previous: null };
	const row = await baseClaim(store, job, job.record.parts[number]!);
	if (row === null) throw new AssayError("JOB_STATE", `part ${number} has nothing to begin with`);
	const { last, state, results } = row.body as unknown as ClaimBody;
	return { start: last, begin: { state, results }, previous: row.hash };
}

/** What the assignment names of its draw. */
async function drawNamed(context: JobContext, draw: Drawn, job: string, { part, attempt }: JobPart): Promise<Hex> {
	const { listHash, block, drawn } = draw;
	const place = { part, attempt, role: 0 } as const;
	const list = await listOf(context, job, place);
	return `0x${drawHash({ for: { job, ...place }, list, listHash, block, drawn })}`;
}

/** Null without a chain, and once it was taken. */
async function assignmentOf(context: JobContext, job: Job, part: JobPart) {
	const { jobChain } = context;
	const terms = escrowTermsOf(job.offer);
	if (terms === null || jobChain === null || part.state !== "assigned") return null;
	const draw = await knownDraw(context, job, { part: part.part, attempt: part.attempt, role: 0 });
	const provider = draw?.accounts[part.provider!];
	if (draw === null || provider === undefined) return null;
	const found = await jobChain.part(BigInt(`0x${job.id}`), part.part);
	// Whoever else has it must be gone first: the keeper sees to it.
	if (found.state !== "untouched" && found.state !== "open") return null;
	const assignment = {
		...{ part: part.part, attempt: found.attempt + 1, until: BigInt(Math.floor(part.untilMs / 1000)) },
		draw: await drawNamed(context, draw, job.id, part),
	};
	const signatures = [await jobChain.signAssignment(terms, provider, assignment)];
	return { ...assignment, until: `${assignment.until}`, provider, signatures };
}

export async function partOffer(context: JobContext, job: Job, number: number, audit: number | null) {
	const part = job.record.parts[number]!;
	const { spec, offer } = job;
	const { first, count } = partRange(offer.terms, number);
	const begin = await beginOf(context, job, number);
	const common = {
		...{ id: job.id, part: number, attempt: part.attempt, audit, spec, terms: offer.terms, escrow: offer.escrow },
		...{ perWindow: offer.perWindow, beatMs: context.config.params.jobBeatMs },
		nowMs: context.env.nowMs(),
	};
	if (audit === null)
		return {
			...common,
			...begin,
			...{
				device: part.device ?? 0,
				first,
				count,
				untilMs: part.untilMs,
				assignment: await assignmentOf(context, job, part),
			},
		};
	const wanted = part.audits[audit]!;
	const from = wanted.first === 0 ? begin : await context.auditBegins.get(job, number, audit);
	if (from === null)
		throw new AssayError("JOB_STATE", "the state that the audit begins with is not there", {
			hint: "Ask again later.",
		});
	return {
		...common,
		...from,
		...{
			device: wanted.device ?? 0,
			first: first + wanted.first,
			count: wanted.count,
			untilMs: wanted.untilMs,
			assignment: null,
		},
	};
}
