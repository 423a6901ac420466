// `assay job run FILE`: from a job file to a run in its folder. Not here: the run itself
// (src/provider/jobs/).
import { basename, dirname, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { readOrder } from "../market/jobs/read-order.ts";
import { realEnvironment } from "../platform/environment.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8 } from "../protocol/bytes/bytes.ts";
import { formatBytes, formatPercent } from "../protocol/format-number.ts";
import { runJob } from "../provider/jobs/run-job.ts";
import type { RunEnd } from "../provider/jobs/run-part.ts";
import { openRunFolder } from "../store/runs/run-folder.ts";
import { encodeProgram } from "../work/program/encode.ts";
import { programRoot } from "../work/program/open-program.ts";
import { programCost } from "../work/program/program-cost.ts";
import { buildWorkload } from "../work/workloads/build-workload.ts";
import { readJob, withLength } from "../work/workloads/read-job.ts";
import type { Pause, Workload } from "../work/workloads/workload.ts";
import type { CliIo } from "./command.ts";
import { readInput } from "./evidence-file.ts";
import { exitCodes } from "./exit-codes.ts";
import { type engineOptions, startJobEngine } from "./job-engine.ts";
import { type HostValues, hostLines, planOnHosts } from "./jobs/plan-on-hosts.ts";
import type { Values } from "./options.ts";
import { formatDuration } from "./print/format.ts";
import { type Paint, paintFor } from "./print/paint.ts";
import { printResult } from "./print/print-result.ts";
import { costLines, guessFor } from "./print/program-cost.ts";
import { createRunProgress, silentRun } from "./print/run-progress.ts";

/** A job file is some ten lines. */
const MOST_JOB = 1 << 20;
/** Data is held in memory while it is read. */
const MOST_DATA = 2 ** 31;
/** What a run's folder keeps of the files that the job names, so that a check can make its files again. */
const MAX_KEPT_DATA = 2 ** 26;

interface Asked extends Values<typeof engineOptions> {
	readonly out: string | undefined;
	readonly steps: number | undefined;
	readonly disk: number;
	readonly json: boolean;
}

function jobError(message: string, cause?: unknown): AssayError {
	return new AssayError("JOB_FIELD", message, {
		hint: "A job is a JSON file; docs/training.md has every field.",
		cause,
	});
}

/** The job file as text and JSON, so many steps long. */
export function parsedJob(path: string, steps: number | undefined): { readonly text: string; readonly json: unknown } {
	const file = bytesToUtf8(readInput(path, MOST_JOB, "Give a job file; samples/ has some."));
	let json: unknown;
	try {
		json = JSON.parse(file ?? "");
	} catch (cause) {
		throw jobError(`${path} is no JSON: ${(cause as Error).message}`, cause);
	}
	// What is only read where the job is handed in is refused here too.
	readOrder(json);
	if (steps === undefined) return { text: file!, json };
	const changed = withLength(json, steps);
	return { text: `${JSON.stringify(changed, null, "\t")}\n`, json: changed };
}

/** A file that the job at `path` names. */
export const fileOfJob = (path: string, name: string): Uint8Array =>
	readInput(resolve(dirname(path), name), MOST_DATA, "The job names this file; paths are relative to the job file.");

const UNINTERRUPTED: Pick<CliIo, "interrupted"> = { interrupted: new AbortController().signal };

/** Between pieces of long tables signals are heard. */
function pauseOf({ interrupted }: Pick<CliIo, "interrupted">): Pause {
	return async () => {
		await setImmediate();
		interrupted.throwIfAborted();
	};
}

/** Throws the reason of `interrupted`: tables of long jobs take seconds. */
export const workloadOf = (path: string, json: unknown, io = UNINTERRUPTED): Promise<Workload> =>
	buildWorkload(readJob(json), (name) => fileOfJob(path, name), pauseOf(io));

/** The same, with the files that were read for it: none where they are too large to be kept beside a run. */
export async function workloadWithData(
	path: string,
	json: unknown,
	io = UNINTERRUPTED,
): Promise<{ readonly workload: Workload; readonly data: ReadonlyMap<string, Uint8Array> }> {
	const data = new Map<string, Uint8Array>();
	let size = 0;
	const read = (name: string) => {
		const bytes = fileOfJob(path, name);
		size += data.has(name) ? 0 : bytes.length;
		if (size <= MAX_KEPT_DATA) data.set(name, bytes);
		else data.clear();
		return bytes;
	};
	const workload = await buildWorkload(readJob(json), read, pauseOf(io));
	return { workload, data: size <= MAX_KEPT_DATA ? data : new Map() };
}

/** S at the end, as hex. */
const stateOf = ({ metrics: lines }: RunEnd): string | null => lines.at(-1)?.after ?? null;

function endText(path: string, end: RunEnd, tookMs: number, workload: Workload, paint: Paint): string {
	const took = formatDuration(Math.round(1000 * tookMs));
	if (end.claimHash === null)
		return `${paint.unsure(paint.strong("STOPPED"))}  after segment ${end.done - 1} of ${end.segments - 1}\n  start it again to go on: ${path}\n`;
	const made = [
		...workload.files.map(({ name }) => name),
		...workload.program.tensors.filter(({ kind }) => kind === "result").map(({ name }) => `results/${name}.npy`),
	];
	return [
		`${paint.good(paint.strong("DONE"))}  ${end.segments} segments in ${took}`,
		`  claim   ${bytesToHex(end.claimHash)}`,
		`  state   ${stateOf(end)}  ${paint.dim("the same on every machine, here and on the market")}`,
		`  folder  ${path}${made.length === 0 ? "" : `: ${made.slice(0, 4).join(", ")}${made.length > 4 ? ", …" : ""}`}`,
		paint.dim(
			`  anyone checks it: assay job check ${path} --sample N; one window is ${formatPercent(end.windowShare)} of the run`,
		),
		"",
	].join("\n");
}

export async function runJobFile(values: Asked, io: CliIo, file: string): Promise<number> {
	const { nowMs } = realEnvironment();
	const started = nowMs();
	const { text, json } = parsedJob(resolve(io.cwd, file), values.steps);
	const path = resolve(io.cwd, values.out ?? `${basename(file).replace(/\.json$/, "")}.run`);
	const folder = await openRunFolder(path);
	try {
		const [engine, { workload, data }] = await startTogether(
			() => startJobEngine(values, io, folder.storePath),
			() => workloadWithData(resolve(io.cwd, file), json, io),
		);
		const steps = workload.segments * workload.program.k;
		const isQuiet = values.json && io.err.isTTY !== true;
		const progress = isQuiet ? silentRun : createRunProgress(io.err, workload.metrics, steps, nowMs);
		try {
			const end = await runJob({
				...{
					folder,
					jobText: text,
					workload,
					data,
					open: engine.open,
					device: engine.device,
					nowMs,
					signal: io.interrupted,
				},
				diskBytes: values.disk * 2 ** 30,
				onEvent: (event) => {
					if (event.kind === "begun" && !isQuiet) {
						io.err.write(
							`${paintFor(io.err, io.env).strong("assay")} runs ${file} on ${engine.name}: ${steps} steps, ${formatBytes(event.plan.peakBytes)}\n`,
						);
						for (const note of workload.notes ?? []) io.err.write(`  note: ${note}\n`);
					}
					progress.show(event);
				},
			}).finally(() => progress.end());
			const tookMs = nowMs() - started;
			printResult(values, io, endJson(path, end, tookMs), (paint) => endText(path, end, tookMs, workload, paint));
			return end.claim === null ? exitCodes.interrupted.code : 0;
		} finally {
			await engine.close();
		}
	} finally {
		await folder.close();
	}
}

/** `assay job plan FILE`: read, built and checked as `run` would, without an engine. */
export async function planJobFile(
	values: Pick<Asked, "steps" | "json"> & HostValues & { readonly card: string | undefined },
	io: CliIo,
	file: string,
): Promise<number> {
	const { json } = parsedJob(resolve(io.cwd, file), values.steps);
	const { program, segments, files } = await workloadOf(resolve(io.cwd, file), json, io);
	const bytes = encodeProgram(program);
	const [cost, guess] = [programCost(program), guessFor(program, values.card, segments)];
	const all = { root: bytesToHex(programRoot(program)), size: bytes.length, segments, k: program.k, ...cost };
	const hosts = await planOnHosts(program, segments, values, io);
	return printResult(values, io, { ...all, ...(guess !== null && { guess }), ...(hosts && { hosts }) }, (paint) =>
		[
			`${paint.strong(file)}  ${segments} segments, ${segments * program.k} steps of its program`,
			...costLines(program, cost, bytes.length, guess),
			`  gives     ${
				files
					.slice(0, 6)
					.map(({ name }) => name)
					.join(", ") || "its results"
			}${files.length > 6 ? ", …" : ""}`,
			...(hosts === null ? [] : hostLines(hosts, paint)),
			"",
		].join("\n"),
	);
}

/** Both at once; when one fails the engine is closed again. */
async function startTogether<T>(start: () => ReturnType<typeof startJobEngine>, read: () => Promise<T>) {
	const [engine, other] = await Promise.allSettled([start(), read()]);
	if (engine.status === "rejected") throw engine.reason;
	if (other.status === "fulfilled") return [engine.value, other.value] as const;
	await engine.value.close();
	throw other.reason;
}

function endJson(path: string, end: RunEnd, tookMs: number) {
	const { claimHash, done, segments, metrics, windowShare } = end;
	const names = [...new Set(metrics.flatMap((line) => Object.keys(line.metrics)))];
	const curves = names.map((name) => [name, metrics.flatMap((line) => line.metrics[name] ?? [])] as const);
	const claim = claimHash && bytesToHex(claimHash);
	const state = claim && stateOf(end);
	return { folder: path, claim, state, done, segments, tookMs, windowShare, metrics: Object.fromEntries(curves) };
}
