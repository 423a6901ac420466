// `assay job quote FILE` and `assay job submit FILE`: a job file is handed to strangers. Its blobs are
// uploaded, a validator names a price, the user is asked once, the escrow is funded, and the job is followed
// until it is paid. Safe to repeat: what is uploaded is not sent twice, and what an earlier command began and
// could not hand in goes on (hand-in.ts). Page: docs/jobs.md §13.
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { uploadBlobs } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import { createPatience } from "../../api/patience.ts";
import type { Job, JobQuote } from "../../api/types.ts";
import { checkOffer, leastPaidOf, totalMicros } from "../../market/jobs/check-offer.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { formatBytes, wholeSpan } from "../../protocol/format-number.ts";
import type { JobOffer } from "../../protocol/network/job-offer.ts";
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
import { guardJob } from "./answer-silence.ts";
import { askQuote, type QuoteBody } from "./ask-quote.ts";
import { type FollowedJob, followJob } from "./follow-job.ts";
import { goOn, handIn } from "./hand-in.ts";
import { type JobPayer, openJobPayer, type PayerValues } from "./job-account.ts";
import { bookJob } from "./job-book.ts";
import { jobText, quoteLines } from "./job-lines.ts";
import { commitJob, type OrderingValues, planOfJob } from "./order-proofs.ts";
import { type OrderValues, type PreparedJob, prepareJob } from "./prepare-job.ts";
import { requireFreshFolder, resultPath, takeResult } from "./take-result.ts";

export interface SubmitValues extends OrderValues, OrderingValues, PayerValues, Partial<Values<typeof apiOptions>> {
	readonly yes: boolean;
	readonly provable: boolean;
	readonly detach: boolean;
	readonly out: string | undefined;
	readonly json: boolean;
}

interface Ordered {
	readonly job: PreparedJob;
	/** "nobody": none was named where only a price is asked for. Null: nothing is paid on a chain. */
	readonly payer: JobPayer | "nobody" | null;
}

interface Network {
	readonly client: ApiClient;
	readonly up: UpFile | null;
}

/** Where nobody pays yet: a price is the same whoever asks for it. */
const NOBODY = "0x0000000000000000000000000000000000000001";

const bodyOf = ({ spec, order }: PreparedJob, account: string | null): QuoteBody => ({
	...{ spec: spec as QuoteBody["spec"], mostMicros: order.mostMicros },
	...(order.hourMicros !== null && { hourMicros: order.hourMicros }),
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

async function readOrderOf(
	file: string,
	values: SubmitValues,
	io: CliIo,
	network: Network,
	isHandedIn: boolean,
): Promise<Ordered> {
	const job = await prepareJob(file, values, io);
	const { driver, isProvable } = methodOf(job.order.method);
	if (values.provable && !isProvable)
		throw usageError(`--provable goes with --method ${orList(ordersWhere((one) => one.isProvable))}`);
	const isProven = driver === "proofs" || values.provable;
	if (isProven) planOfJob(job.workload);
	const payer = await payerOf(job, values, io, network, isHandedIn);
	if (isProven && payer === null)
		throw codedError("JOB_METHOD", "proofs of jobs need a chain, and this validator has none");
	return { job, payer };
}

async function quoteOf({ job, payer }: Ordered, io: CliIo, { client: api, up }: Network): Promise<JobQuote> {
	await upload(job, api, io);
	const account = payer === "nobody" ? NOBODY : (payer?.actor.account.address ?? null);
	const body = bodyOf(job, account);
	const leastPaidMs = await leastPaidTold(job, api, io);
	const quote = await askQuote(body, api, { io, up });
	checkOffer(quote.offer, job, account === null ? null : { account, salt: body.salt }, leastPaidMs);
	return quote;
}

/** How long a part is paid for at least, by this network's rule: with a price an hour the price follows. */
async function leastPaidTold({ order }: PreparedJob, api: ApiClient, io: CliIo): Promise<number | undefined> {
	if (order.hourMicros === null) return undefined;
	const leastPaidMs = leastPaidOf((await api.getParams()).params);
	const hour = `${formatMicros(order.hourMicros)} tokens for an hour of work as an H200 does it`;
	io.err.write(`  ${hour}; each part is paid as ${wholeSpan(leastPaidMs)} at least\n`);
	return leastPaidMs;
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

export async function quoteJobFile(values: SubmitValues, io: CliIo, file: string): Promise<number> {
	const api = await openApi(values, io, "customer");
	const quote = await api.ask(async (client) => {
		const network = { client, up: api.up };
		return quoteOf(await readOrderOf(file, values, io, network, false), io, network);
	});
	return printResult(values, io, quote, (paint) => `${paint.strong(file)}\n${quoteLines(quote, paint).join("\n")}\n`);
}

/** On a terminal: asked. Elsewhere: --yes, or a limit that the customer set. */
async function mayPay(quote: JobQuote, job: PreparedJob, values: SubmitValues, io: CliIo): Promise<boolean> {
	if (values.yes || job.order.mostMicros !== null) return true;
	if (process.stdin.isTTY !== true || io.err.isTTY !== true)
		throw usageError("nobody can be asked here: allow the price with --yes or --most-price TOKENS");
	const asking = createInterface({ input: process.stdin, output: io.err });
	try {
		const total = formatMicros(totalMicros(quote.offer.terms));
		const answer = await asking.question(`Hand it in for at most ${total} tokens? [y/N] `, { signal: io.interrupted });
		return /^y(es)?$/i.test(answer.trim());
	} catch {
		return false;
	} finally {
		asking.close();
	}
}

/** Null: its price is not agreed to. */
async function agreedOffer(
	order: Ordered,
	values: SubmitValues,
	io: CliIo,
	network: Network,
	title: string,
): Promise<JobOffer | null> {
	const quote = await quoteOf(order, io, network);
	io.err.write(`${title}\n${quoteLines(quote, paintFor(io.err, io.env)).join("\n")}\n`);
	return (await mayPay(quote, order.job, values, io)) ? (quote.offer as JobOffer) : null;
}

export async function submitJobFile(values: SubmitValues, io: CliIo, file: string): Promise<number> {
	const api = await openApi(values, io, "customer");
	const paint = paintFor(io.err, io.env);
	if (values.out !== undefined) await requireFreshFolder(resolve(io.cwd, values.out));
	return api.ask(async (client) => {
		const network = { client, up: api.up };
		const order = await readOrderOf(file, values, io, network, true);
		const { job } = order;
		const payer = order.payer === "nobody" ? null : order.payer;
		const earlier = await goOn(client, job, payer, { io, nowMs: realEnvironment().nowMs });
		if (earlier !== null) await upload(job, client, io);
		const offer = earlier?.job.offer ?? (await agreedOffer(order, values, io, network, paint.strong(file)));
		if (offer === null) return exitCodes.interrupted.code;
		const isByProofs = methodOf(offer.terms.method).driver === "proofs";
		const isProven = isByProofs || values.provable;
		const toOrder = isProven ? await commitJob(job.workload, offer.escrow!.chainId, values, io) : null;
		const { path, text, spec } = job;
		const chain = offer.escrow === null ? null : (await client.getChain()).chain;
		const begun = earlier ?? (await bookJob(io, { path, text, spec, offer, chain }));
		const submitted = await handIn(client, { begun, payer, toOrder, isByProofs }, io);
		if (values.detach) return printResult(values, io, submitted, (p) => jobText(submitted, p));
		return follow(client, { job, payer }, submitted, values, io, paint);
	});
}

async function follow(
	api: ApiClient,
	{ job: { workload }, payer }: { readonly job: PreparedJob; readonly payer: JobPayer | null },
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
	const { program } = workload;
	const beside: FollowedJob["beside"] = payer && ((o) => guardJob(api, { id, program, payer }, io, o));
	const followed = { id, metrics: spec.metrics, steps, preview, beside };
	const isOver = await followJob(api, followed, io, realEnvironment().nowMs);
	if (!isOver) {
		io.err.write(`  the job goes on: assay job status ${id.slice(0, 12)}, assay job result ${id.slice(0, 12)}\n`);
		return exitCodes.interrupted.code;
	}
	if (payer !== null) await tellRest(payer, io);
	const patience = createPatience({ signal: io.interrupted });
	const job = await patience.until(() => api.getJob({ params: { id } }));
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
