// `assay job list|status|logs|result|cancel|refund`: a customer's jobs at their validator; of one that it
// does not know, what the book here says; and what the escrow gives back. What only some of them need, the
// chain's client above all, is loaded where it is used: reading a list takes no second for it.
import type { ApiClient } from "../../api/create-client.ts";
import type { Job } from "../../api/types.ts";
import { totalMicros } from "../../market/jobs/check-offer.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobOffer } from "../../protocol/network/job-offer.ts";
import { isPassing } from "../../protocol/passing.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { type apiOptions, askApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import { findJob } from "../find-by-name.ts";
import type { Values } from "../options.ts";
import { type Paint, paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { showOrWatch, type watchOptions } from "../print/show-or-watch.ts";
import { table } from "../print/table.ts";
import { formatMicros } from "../print/tokens.ts";
import type { PayerValues } from "./job-account.ts";
import { findBooked } from "./job-book.ts";
import { eventLine, jobText, listColumns, provenOver } from "./job-lines.ts";

type ReadValues = Values<typeof apiOptions>;
type WatchValues = ReadValues & Values<typeof watchOptions>;

const LIMIT = 100;

export const listJobs = (values: WatchValues, io: CliIo): Promise<number> =>
	showOrWatch(
		values,
		io,
		async (client) => {
			const page = await client.listJobs({ query: { limit: LIMIT } });
			return { json: page, text: (paint: Paint) => table(listColumns, page.rows, paint, "no jobs") };
		},
		"customer",
	);

export const showJob = (values: WatchValues, io: CliIo, id: string): Promise<number> =>
	showOrWatch(
		values,
		io,
		async (client) => {
			const job = await findJob(client, id).catch((error: unknown) => begunHere(io, id, error));
			if ("isBegun" in job) return { json: job, text: () => begunText(job) };
			if (!methodOf(job.offer.terms.method).needsHosted)
				return { json: job, text: (paint: Paint) => jobText(job, paint).trimEnd() };
			const { judgeSigned, signedLines } = await import("./judge-signed.ts");
			const signed = await judgeSigned(client, job);
			const json = signed.length === 0 ? job : { ...job, signed };
			return {
				json,
				text: (paint: Paint) => [jobText(job, paint).trimEnd(), ...signedLines(signed, paint)].join("\n"),
			};
		},
		"customer",
	);

interface BegunView {
	readonly id: string;
	readonly isBegun: true;
	readonly path: string;
	readonly offer: JobOffer;
}

/** The job that the validator does not know, where a command here began it and did not hand it in. */
async function begunHere(io: CliIo, text: string, error: unknown): Promise<BegunView> {
	const isUnknown = error instanceof AssayError && error.code === "JOB_UNKNOWN";
	const found = isUnknown ? await findBooked(io, text) : null;
	if (!found?.isBegun) throw error;
	const { path, offer } = found.job;
	return { id: offer.id, isBegun: true, path, offer };
}

const begunText = ({ id, path, offer: { escrow, terms, untilMs } }: BegunView): string =>
	[
		`job ${id}`,
		`  begun here and not handed in: ${path}`,
		`  ${formatMicros(totalMicros(terms))} tokens at most${escrow === null ? "" : `, paid by ${escrow.terms.customer}`}`,
		`  its offer holds until ${time(untilMs)}: until then the same submit goes on with it, and later begins anew`,
		`  assay job cancel ${id.slice(0, 12)} takes back what it was funded with`,
	].join("\n");

const time = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

/** Everything that happened; of a job that goes on, until it is over or Ctrl-C. */
export async function showLogs(values: WatchValues, io: CliIo, id: string): Promise<number> {
	const paint = paintFor(io.out, io.env);
	const read = async (client: ApiClient) => {
		const { id: job, offer } = await findJob(client, id);
		for (const line of values.json ? [] : provenOver(offer)) io.out.write(`${paint.dim(line)}\n`);
		for await (const event of client.watchJob({ params: { id: job } }, { signal: io.interrupted, lastEventId: "0" })) {
			const line = values.json ? JSON.stringify(event) : eventLine(event, paint);
			if (line !== null) io.out.write(values.json ? `${line}\n` : `${paint.dim(time(event.atMs))}  ${line}\n`);
			if (event.kind === "job.over") break;
		}
	};
	await askApi(values, io, read, "customer").catch((error: unknown) => {
		if (!io.interrupted.aborted) throw error;
	});
	return 0;
}

export async function fetchResult(
	values: ReadValues & { readonly out: string | undefined },
	io: CliIo,
	id: string,
): Promise<number> {
	const [{ takeResult }, { takenText }] = await Promise.all([import("./take-result.ts"), import("./submit-job.ts")]);
	const ask = async (client: ApiClient) => {
		const job = await findJob(client, id).catch(async (error: unknown) => {
			const begun = await begunHere(io, id, error);
			throw new AssayError("JOB_UNKNOWN", `job ${begun.id} was begun here and not handed in`, {
				hint: "The same submit goes on with it; `assay job cancel` takes back what it was funded with.",
			});
		});
		return takeResult(client, job, io, values.out);
	};
	const taken = await askApi(values, io, ask, "customer");
	return printResult(values, io, taken, (paint) => takenText(taken, paint));
}

/**
 * On chain first: the validator only looks at what the escrow says. What it gives back is paid out at once.
 */
async function cancelOnChain(job: Job, values: PayerValues, io: CliIo, client: ApiClient): Promise<void> {
	// Too late, or nothing to do there: the validator says so.
	if (job.offer.escrow === null || !job.record.parts.some(({ state }) => state === "open")) return;
	const [{ openJobPayer }, { takeBack }, { termsOf }] = await Promise.all([
		import("./job-account.ts"),
		import("./take-back.ts"),
		import("./hand-in.ts"),
	]);
	const payer = await openJobPayer(values, io, client);
	if (payer !== null) await takeBack(payer, termsOf(job.offer)!, io);
}

/** A validator that is away, or does not know the job, is not needed where the book here has it. */
export async function cancelJob(values: ReadValues & PayerValues, io: CliIo, id: string): Promise<number> {
	const ask = async (client: ApiClient) => {
		const job = await findJob(client, id);
		await cancelOnChain(job, values, io, client);
		return client.cancelJob({ params: { id: job.id } });
	};
	try {
		const job = await askApi(values, io, ask, "customer");
		return printResult(values, io, job, (paint) => jobText(job, paint));
	} catch (error) {
		const isUnheard = isPassing(error) || (error instanceof AssayError && error.code === "JOB_UNKNOWN");
		if (!isUnheard || (await findBooked(io, id)) === null) throw error;
		return refundJob(values, io, id);
	}
}

/** From the chain alone, by the book or by the whole number of the job; no validator is asked for the job. */
export async function refundJob(values: ReadValues & PayerValues, io: CliIo, id: string): Promise<number> {
	const { refundAlone, refundText } = await import("./refund-job.ts");
	const refunded = await refundAlone(values, io, id);
	return printResult(values, io, refunded, () => refundText(refunded));
}
