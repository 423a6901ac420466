// `assay job quote FILE` and `assay job submit FILE`: a job file is handed to strangers. Its blobs are
// uploaded, a validator names a price, the user is asked once, the escrow is funded, and the job is followed
// until it is paid. Safe to repeat: what is uploaded is not sent twice, and an offer that was funded is
// handed in again. Page: docs/jobs.md §13.
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { uploadBlobs } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import type { Job, JobQuote } from "../../api/types.ts";
import type { JobTerms } from "../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../chain/contracts/job-terms-text.ts";
import { checkOffer, totalMicros } from "../../market/jobs/check-offer.ts";
import { sleep } from "../../platform/abortable.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { methodOf, ordersWhere, orList } from "../../verify/methods/methods.ts";
import { previewFiles } from "../../work/workloads/preview-files.ts";
import { type apiOptions, openApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { usageError, type Values } from "../options.ts";
import { type Paint, paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { createStatusLine } from "../print/status-line.ts";
import { plural } from "../print/table.ts";
import { formatMicros, formatTokens } from "../print/tokens.ts";
import type { UpFile } from "../up/up-file.ts";
import { askQuote, type QuoteBody } from "./ask-quote.ts";
import { followJob } from "./follow-job.ts";
import { type JobPayer, openJobPayer, type PayerValues } from "./job-account.ts";
import { bookJob } from "./job-book.ts";
import { jobText, quoteLines } from "./job-lines.ts";
import { commitJob, type OrderingValues, orderOnChain, planOfJob } from "./order-proofs.ts";
import { type OrderValues, type PreparedJob, prepareJob } from "./prepare-job.ts";
import { requireFreshFolder, resultPath, takeResult } from "./take-result.ts";

export interface SubmitValues extends OrderValues, OrderingValues, PayerValues, Partial<Values<typeof apiOptions>> {
	readonly yes: boolean;
	readonly provable: boolean;
	readonly detach: boolean;
	readonly out: string | undefined;
	readonly json: boolean;
}

interface Quoted {
	readonly job: PreparedJob;
	readonly quote: JobQuote;
	readonly payer: JobPayer | null;
	/** Null: nothing is paid on a chain. */
	readonly terms: JobTerms | null;
}

interface Network {
	readonly client: ApiClient;
	readonly up: UpFile | null;
}

/** Where nobody pays yet: a price is the same whoever asks for it. */
const NOBODY = "0x0000000000000000000000000000000000000001";

const bodyOf = ({ spec, order }: PreparedJob, account: string | null): QuoteBody => ({
	...{ spec: spec as QuoteBody["spec"], mostMicros: order.mostMicros },
	salt: bytesToHex(realEnvironment().randomBytes(32)),
	account: account === null ? null : (account.toLowerCase() as `0x${string}`),
});

/**
 * Null: the validator has no chain. "nobody": it has one, and no account was named, which a price alone does
 * not need. Where the job is to be handed in, that is an error; but a job that is too dear is said to be that
 * first, since an account would not help.
 */
async function payerOf(
	job: PreparedJob,
	values: SubmitValues,
	io: CliIo,
	network: Network,
	isHandedIn: boolean,
): Promise<JobPayer | "nobody" | null> {
	const { client } = network;
	return openJobPayer(values, io, client).catch(async (error: unknown) => {
		if (!(error instanceof AssayError) || error.code !== "JOB_ACCOUNT") throw error;
		if (!isHandedIn) return "nobody" as const;
		if (job.order.mostMicros === null) throw error;
		const { root, size } = job.spec.program;
		const program = job.blobs.filter((one) => one.root === root && one.size === size);
		await uploadBlobs(client, program, { signal: io.interrupted });
		await askQuote(bodyOf(job, NOBODY), client, { io, up: network.up });
		throw error;
	});
}

async function quoteOf(
	file: string,
	values: SubmitValues,
	io: CliIo,
	network: Network,
	isHandedIn = true,
): Promise<Quoted> {
	const { client: api, up } = network;
	const job = await prepareJob(file, values, io);
	const { driver, isProvable } = methodOf(job.order.method);
	if (values.provable && !isProvable)
		throw usageError(`--provable goes with --method ${orList(ordersWhere((one) => one.isProvable))}`);
	const isProven = driver === "proofs" || values.provable;
	if (isProven) planOfJob(job.workload);
	const found = await payerOf(job, values, io, network, isHandedIn);
	const payer = found === "nobody" ? null : found;
	if (isProven && found === null)
		throw new AssayError("JOB_METHOD", "proofs of jobs need a chain, and this validator has none", {
			hint: codes.JOB_METHOD.hint,
		});
	await upload(job, api, io);
	const account = found === "nobody" ? NOBODY : (found?.actor.account.address ?? null);
	const body = bodyOf(job, account);
	const quote = await askQuote(body, api, { io, up });
	const terms = checkOffer(quote.offer, job, account === null ? null : { account, salt: body.salt });
	return { job, quote, payer, terms: terms && jobTermsFromText(terms) };
}

async function upload({ blobs }: PreparedJob, api: ApiClient, io: CliIo): Promise<void> {
	const total = blobs.reduce((sum, { size }) => sum + size, 0);
	const line = createStatusLine(io.err);
	let done = 0;
	const onUploaded = ({ size }: { readonly size: number }) => {
		done += size;
		line.update(`  uploads ${formatBytes(done)} of ${formatBytes(total)}`);
	};
	await uploadBlobs(api, blobs, { signal: io.interrupted, onUploaded });
	line.clear();
	io.err.write(`  uploaded ${plural(blobs.length, "blob")}, ${formatBytes(total)}\n`);
}

export async function quoteJobFile(file: string, values: SubmitValues, io: CliIo): Promise<number> {
	const api = await openApi(values, io, "customer");
	const { quote } = await api.ask((client) => quoteOf(file, values, io, { client, up: api.up }, false));
	return printResult(values, io, quote, (paint) => `${paint.strong(file)}\n${quoteLines(quote, paint).join("\n")}\n`);
}

/** On a terminal: asked. Elsewhere: --yes, or a limit that the customer set. */
async function mayPay(quoted: Quoted, values: SubmitValues, io: CliIo): Promise<boolean> {
	if (values.yes || quoted.job.order.mostMicros !== null) return true;
	if (process.stdin.isTTY !== true || io.err.isTTY !== true)
		throw usageError("nobody can be asked here: allow the price with --yes or --most-price TOKENS");
	const asking = createInterface({ input: process.stdin, output: io.err });
	try {
		const total = formatMicros(totalMicros(quoted.quote.offer.terms));
		const answer = await asking.question(`Hand it in for at most ${total} tokens? [y/N] `, { signal: io.interrupted });
		return /^y(es)?$/i.test(answer.trim());
	} catch {
		return false;
	} finally {
		asking.close();
	}
}

export async function submitJobFile(file: string, values: SubmitValues, io: CliIo): Promise<number> {
	const api = await openApi(values, io, "customer");
	const paint = paintFor(io.err, io.env);
	if (values.out !== undefined) await requireFreshFolder(resolve(io.cwd, values.out));
	return api.ask(async (client) => {
		const quoted = await quoteOf(file, values, io, { client, up: api.up });
		const { job, quote, payer, terms } = quoted;
		io.err.write(`${paint.strong(file)}\n${quoteLines(quote, paint).join("\n")}\n`);
		if (!(await mayPay(quoted, values, io))) return exitCodes.interrupted.code;
		const { offer } = quote;
		const isByProofs = methodOf(offer.terms.method).driver === "proofs";
		const isProven = isByProofs || values.provable;
		const toOrder = isProven ? await commitJob(job.workload, offer.escrow!.chainId, values, io) : null;
		// Before any money moves: whatever fails from here on, this job can be taken back and its result be
		// fetched.
		await bookJob(io, offer.id, job);
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
		const submitted = await handIn(client, { spec: job.spec as QuoteBody["spec"], offer });
		io.err.write(`  job ${submitted.id}\n`);
		if (values.detach) return printResult(values, io, submitted, (p) => jobText(submitted, p));
		return follow(client, quoted, submitted, values, io, paint);
	});
}

const HAND_IN_TRIES = 5;

/** Again after a cut connection: the job is the same by its number. */
async function handIn(api: ApiClient, body: Parameters<ApiClient["submitJob"]>[0]["body"]): Promise<Job> {
	for (let tries = 1; ; tries++)
		try {
			return await api.submitJob({ body });
		} catch (error) {
			const isCut = error instanceof AssayError && ["API_UNREACHABLE", "NOT_READY"].includes(error.code);
			if (!isCut || tries === HAND_IN_TRIES) throw error;
			await sleep(1000 * tries);
		}
}

async function follow(
	api: ApiClient,
	{ job: { workload }, payer }: Quoted,
	{ id, spec }: Job,
	values: SubmitValues,
	io: CliIo,
	paint: Paint,
): Promise<number> {
	const folder = resultPath(io, { id, spec }, values.out);
	const files = previewFiles(workload);
	const preview =
		files &&
		(async (tensors: ReadonlyMap<number, Uint8Array>) => {
			const made = await files(tensors);
			for (const [name, content] of made) await writeDurably(resolve(folder, name), content, { mode: 0o644 });
			return made.map(([name]) => resolve(folder, name)).join(", ");
		});
	const steps = workload.segments * workload.program.k;
	const isOver = await followJob(api, { id, metrics: spec.metrics, steps, preview }, io, realEnvironment().nowMs);
	if (!isOver) {
		io.err.write(`  the job goes on: assay job status ${id.slice(0, 12)}, assay job result ${id.slice(0, 12)}\n`);
		return exitCodes.interrupted.code;
	}
	if (payer !== null) await tellRest(payer, io);
	const job = await api.getJob({ params: { id } });
	const isWhole = job.record.parts.every(({ state }) => state === "paid");
	if (job.record.parts[0]!.state !== "paid") {
		printResult(values, io, job, (p) => jobText(job, p));
		return exitCodes.unavailable.code;
	}
	const taken = await takeResult(api, job, io, values.out);
	printResult(values, io, { ...job, result: taken }, () => takenText(taken, paint));
	return isWhole ? 0 : exitCodes.unavailable.code;
}

/** The result does not wait for it: without gas it stays the account's until the next job. */
async function tellRest(payer: JobPayer, io: CliIo): Promise<void> {
	try {
		const rest = await payer.collect();
		if (rest > 0n) io.err.write(`  not spent: ${formatTokens(rest)} tokens came back\n`);
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		io.err.write(`  what was not spent stays with the escrow for now: ${error.message}\n`);
	}
}

export function takenText(
	{ folder, files, claim, state, isWhole, parts, ofParts }: Awaited<ReturnType<typeof takeResult>>,
	paint: Paint,
): string {
	const word = parts === ofParts ? paint.good(paint.strong("DONE")) : paint.unsure(paint.strong("PARTLY DONE"));
	return [
		`${word}  ${files.slice(0, 4).join(", ")}${files.length > 4 ? `, … (${files.length} files)` : ""}`,
		...(parts === ofParts ? [] : [`  ${parts} of ${ofParts} parts were paid; the others were given back`]),
		`  folder  ${folder}`,
		`  claim   ${claim}`,
		`  state   ${state}  ${paint.dim("the same on every machine, here and on the market")}`,
		paint.dim(`  check it here: assay job check ${folder} runs the job again, and compares every file`),
		...(isWhole ? [] : ["  the job file is not here or has changed: plain arrays were written"]),
		"",
	].join("\n");
}
