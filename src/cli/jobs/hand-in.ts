// From an accepted offer to a job that the validator has: booked first, then ordered, funded and handed in,
// each again as long as what refuses it passes. Whatever ends it, the same command goes on from there, and
// nothing is funded twice: a job's number is the hash of its terms. Page: docs/jobs.md §13.
import type { ApiClient } from "../../api/create-client.ts";
import { createPatience } from "../../api/patience.ts";
import type { Job } from "../../api/types.ts";
import type { JobTerms } from "../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../chain/contracts/job-terms-text.ts";
import { totalMicros } from "../../market/jobs/check-offer.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobOffer } from "../../protocol/network/job-offer.ts";
import { isPassing } from "../../protocol/passing.ts";
import type { CliIo } from "../command.ts";
import { formatMicros } from "../print/tokens.ts";
import { fundedJob, type JobPayer } from "./job-account.ts";
import { type BegunJob, begunBefore } from "./job-book.ts";
import { type JobToOrder, orderOnChain } from "./order-proofs.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { takeBack } from "./take-back.ts";

type Body = Parameters<ApiClient["submitJob"]>[0]["body"];

export const termsOf = ({ escrow }: Pick<JobOffer, "escrow">): JobTerms | null =>
	escrow && jobTermsFromText(escrow.terms);

/** Before it is funded: so long an offer must hold to be worth it. */
const MIN_MS = 60_000;

/**
 * What an earlier command began of this job file, with the same payer, and did not end. Null: nothing, or its
 * offer has run out; then what the escrow has of it came back.
 */
export async function goOn(
	client: ApiClient,
	{ path, text, spec }: PreparedJob,
	payer: JobPayer | null,
	{ io, nowMs }: { readonly io: CliIo; readonly nowMs: () => number },
): Promise<BegunJob | null> {
	const found = await begunBefore(io, { path, text, spec }, payer?.actor.account.address.toLowerCase() ?? null);
	if (found === null) return null;
	const { offer } = found.job;
	io.err.write(`  job ${offer.id} was begun before and not handed in: this goes on with it\n`);
	try {
		const terms = termsOf(offer);
		const funded = terms === null || payer === null ? null : await fundedJob(payer.actor, terms);
		const hasFunds = funded?.isFunded === true;
		const isGone = hasFunds && funded.end === 0;
		const isHeld = !isGone && nowMs() + (hasFunds || terms === null ? 0 : MIN_MS) <= offer.untilMs;
		if (isHeld || (await isKnown(client, offer.id))) return found;
		io.err.write(`  ${isGone ? "it was taken back" : "its offer has run out"}, and another offer is asked for\n`);
		if (hasFunds && !isGone) await takeBack(payer!, terms!, io);
	} catch (error) {
		await found.leave();
		throw error;
	}
	await found.finish();
	return null;
}

async function isKnown(client: ApiClient, id: string): Promise<boolean> {
	try {
		return (await client.getJob({ params: { id } })).id === id;
	} catch (error) {
		if (error instanceof AssayError && error.code === "JOB_UNKNOWN") return false;
		throw error;
	}
}

export interface HandIn {
	readonly begun: BegunJob;
	readonly payer: JobPayer | null;
	readonly toOrder: JobToOrder | null;
	/** Paid by proof: ordered once it is funded, and otherwise before that. */
	readonly isByProofs: boolean;
}

export async function handIn(
	client: ApiClient,
	{ begun, payer, toOrder, isByProofs }: HandIn,
	io: CliIo,
): Promise<Job> {
	const { spec, offer } = begun.job;
	const { id } = offer;
	io.err.write(`  job ${id}\n`);
	try {
		const terms = termsOf(offer);
		if (terms !== null && payer !== null) {
			const order = async (isNow: boolean) => {
				if (toOrder === null || !isNow) return;
				await orderOnChain(payer.actor, terms, toOrder);
				const plan = toOrder.order.plan.slice(2, 14);
				io.err.write(`  ordered: proofs of plan ${plan}, over this data and these first weights\n`);
			};
			await order(!isByProofs);
			await payer.fund(terms, offer.escrow!);
			io.err.write(`  funded by ${payer.actor.account.address}: ${formatMicros(totalMicros(offer.terms))} tokens\n`);
			await order(isByProofs);
		}
		const body = { spec, offer } as Body;
		const submitted = await createPatience({ signal: io.interrupted }, mayPass).until(() => client.submitJob({ body }));
		await begun.finish();
		return submitted;
	} catch (error) {
		const short = id.slice(0, 12);
		io.err.write(`  it is not handed in: the same command goes on with it; assay job cancel ${short} ends it\n`);
		await begun.leave();
		throw error;
	}
}

/** Also what a validator's node that is behind ours makes of a job: it was funded and ordered just now. */
const mayPass = (error: unknown): error is AssayError =>
	isPassing(error) || (error instanceof AssayError && BEHIND.has(error.code));
const BEHIND: ReadonlySet<string> = new Set(["JOB_UNFUNDED", "JOB_UNORDERED"]);
