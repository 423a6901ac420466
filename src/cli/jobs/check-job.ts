// `assay job check`: a stranger's run, or a result of the market, looked at with one's own engine: segments
// are run again, and every file is made again and compared. Not here: how (src/validator/jobs/), what is
// printed (check-lines.ts).
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type RunReader, readRunFolder } from "../../store/runs/run-folder.ts";
import { checkFiles, missingForRerun, runOutcome } from "../../validator/jobs/check-files.ts";
import { checkGeneration } from "../../validator/jobs/check-generation.ts";
import { checkRun } from "../../validator/jobs/check-run.ts";
import { type CheckedJob, isRerunFalse, isStopped, judgeCheck, type Rerun } from "../../validator/jobs/judge-check.ts";
import { openRun } from "../../validator/jobs/open-run.ts";
import type { CliIo } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { type engineOptions, type JobEngine, startJobEngine } from "../job-engine.ts";
import type { Values } from "../options.ts";
import { printResult } from "../print/print-result.ts";
import { createStatusLine } from "../print/status-line.ts";
import { checkText } from "./check-lines.ts";
import { type JobValues, type KnownRun, knownRun } from "./known-job.ts";

interface CheckValues extends Values<typeof engineOptions>, JobValues {
	readonly json: boolean;
	readonly sample: number;
	readonly seed: string | undefined;
	readonly again: boolean;
}

/** A run's folder, or its claim.json. */
export function runFolderAt(path: string, io: Pick<CliIo, "cwd">): RunReader {
	const full = resolve(io.cwd, path);
	const isFolder = statSync(full, { throwIfNoEntry: false })?.isDirectory() ?? basename(full) !== "claim.json";
	return readRunFolder(isFolder ? full : dirname(full));
}

/** Whole numbers below a bound, from a seed; no bound is favoured. */
function drawFrom(seed: Uint8Array): (below: number) => number {
	let count = 0;
	const word = (): number => {
		const hash = createHash("sha256")
			.update("assay/check/1")
			.update(seed)
			.update(Uint8Array.of(count >>> 24, count >>> 16, count >>> 8, count));
		count += 1;
		return Number(hash.digest().readBigUInt64BE() >> 11n);
	};
	return (below) => {
		const most = Math.floor(2 ** 53 / below) * below;
		for (;;) {
			const found = word();
			if (found < most) return found % below;
		}
	};
}

interface Asked {
	readonly known: KnownRun;
	readonly folder: RunReader;
	readonly engine: JobEngine;
	readonly seed: Uint8Array;
	readonly values: CheckValues;
	readonly io: CliIo;
}

/** Drawn windows, or of generated text drawn batches by prefill; or why nothing was run again. */
async function rerun({ known, folder, engine, seed, values, io }: Asked): Promise<Rerun> {
	const { run, workload } = known;
	if (values.sample === 0) return { kind: "none", why: "--sample 0 asks for none" };
	const missing = await missingForRerun(run, folder);
	if (missing !== null) return { kind: "none", why: `${missing} is not in the folder${known.why && `; ${known.why}`}` };
	const { open, device } = engine;
	const asked = { run, open, device, draw: drawFrom(seed), signal: io.interrupted };
	const line = createStatusLine(io.err);
	try {
		const file = values.again ? null : await folder.read("generation.json");
		if (file !== null) {
			const onBatch = (batch: number, done: number, of: number) =>
				line.update(`  batch ${batch}: ${done + 1} of ${of}`);
			return { kind: "prefill", found: await checkGeneration({ ...asked, file, batches: values.sample, onBatch }) };
		}
		if (run.isFetched && !values.json)
			io.err.write(`  a fetched result keeps no states between: all ${run.segments} segments are run again\n`);
		let at = "";
		const onWindow = ({ from, to }: { from: number; to: number }, done: number, of: number) => {
			at = `  window ${done + 1} of ${of}: segments ${from} to ${to - 1}`;
			line.update(at);
		};
		const onSegment = (segment: number) => line.update(`${at}: ${segment} is done`);
		const metrics = workload?.metrics ?? null;
		return {
			kind: "windows",
			found: await checkRun({ ...asked, segments: values.sample, onWindow, onSegment, metrics }),
		};
	} finally {
		line.clear();
	}
}

async function checked(asked: Asked): Promise<CheckedJob> {
	const { known, folder, engine } = asked;
	const again = await rerun(asked);
	// Files of a claim that is false, or of a check that was stopped, say nothing.
	if (isRerunFalse(again) || isStopped(again)) return { rerun: again, wrongEnd: null, files: [] };
	const { tensors, wrong: wrongEnd } = await runOutcome(known.run, engine);
	if (wrongEnd !== null) return { rerun: again, wrongEnd, files: [] };
	const journal = again.kind === "windows" ? again.found.journal : null;
	const files = await checkFiles({ ...known, folder, tensors, journal, isRerun: again.kind !== "none" });
	return { rerun: again, wrongEnd, files };
}

export async function checkJob(values: CheckValues, io: CliIo, path: string): Promise<number> {
	const folder = runFolderAt(path, io);
	const opened = await openRun(folder);
	const { clockUs, randomBytes } = realEnvironment();
	const seed = values.seed === undefined ? randomBytes(32) : hexToBytes(values.seed, 32)!;
	const known = await knownRun(opened, folder, values, io);
	const engine = await startJobEngine(values, io, opened.storePath);
	try {
		const found = await checked({ known, folder, engine, seed, values, io });
		const { rerun: again, wrongEnd, files } = found;
		const { verdict, code } = judgeCheck(found);
		const { run } = known;
		const ids = { claim: bytesToHex(run.hash), state: bytesToHex(run.states.at(-1)!) };
		const { caughtShare, ...of } = again.kind === "none" ? { caughtShare: null } : again.found;
		const json = {
			...{ verdict, code, ...ids, isFetched: run.isFetched, rerun: again.kind, wrongEnd, ...of, files },
			...{ seed: bytesToHex(seed), tookUs: clockUs(), caughtOfATenth: caughtShare?.(0.1) ?? 0 },
		};
		printResult(values, io, json, (paint) =>
			checkText(known, found, { seed: bytesToHex(seed), tookUs: clockUs() }, paint),
		);
		return exitCodes[EXITS[verdict]].code;
	} finally {
		await engine.close();
	}
}

const EXITS = { agrees: "valid", false: "invalid", inconclusive: "inconclusive", stopped: "interrupted" } as const;
