// `assay job check` and `assay job diff`: a stranger's run, looked at with one's own engine. Not here: how
// (src/validator/jobs/).
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { realEnvironment } from "../platform/environment.ts";
import { bytesToHex, hexToBytes } from "../protocol/bytes/bytes.ts";
import { formatPercent } from "../protocol/format-number.ts";
import { type RunReader, readRunFolder } from "../store/runs/run-folder.ts";
import { type CheckedGeneration, checkGeneration } from "../validator/jobs/check-generation.ts";
import { type CheckedRun, checkRun } from "../validator/jobs/check-run.ts";
import { type Accused, diffRuns, type RunDiff } from "../validator/jobs/diff-runs.ts";
import { type OpenedRun, openRun } from "../validator/jobs/open-run.ts";
import type { CliIo } from "./command.ts";
import { writeNamedFile } from "./evidence-file.ts";
import { exitCodes } from "./exit-codes.ts";
import { type engineOptions, startJobEngine } from "./job-engine.ts";
import type { Values } from "./options.ts";
import { formatDuration } from "./print/format.ts";
import { fraudLines } from "./print/fraud-lines.ts";
import type { Paint } from "./print/paint.ts";
import { printResult } from "./print/print-result.ts";
import { createStatusLine } from "./print/status-line.ts";
import { plural } from "./print/table.ts";

type EngineValues = Values<typeof engineOptions> & { readonly json: boolean };

/** A run's folder, or a file in it. */
function folderAt(path: string, io: CliIo): RunReader {
	const full = resolve(io.cwd, path);
	const isFolder = statSync(full, { throwIfNoEntry: false })?.isDirectory() ?? basename(full) !== "claim.json";
	return readRunFolder(isFolder ? full : dirname(full));
}

const runAt = (path: string, io: CliIo): Promise<OpenedRun> => openRun(folderAt(path, io));

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

function checkText(run: OpenedRun, found: CheckedRun, seed: string, tookUs: number, paint: Paint): string {
	const { wrong, checked, segments, windows } = found;
	const verdict =
		wrong === null
			? paint.good(paint.strong("AGREES"))
			: `${paint.bad(paint.strong("FALSE"))}  segment ${wrong.segment} ends elsewhere`;
	return [
		verdict,
		`  claim    ${bytesToHex(run.hash)}`,
		`  checked  ${checked} of ${plural(segments, "segment")} (${formatPercent(checked / segments)}) in ${plural(windows.length, "window")}: ${windows
			.slice(0, 6)
			.map(({ from, to }) => `${from}–${to - 1}`)
			.join(", ")}${windows.length > 6 ? ", …" : ""}`,
		...(wrong === null ? [] : [`  said     ${wrong.said}`, `  right    ${wrong.right}`]),
		...(wrong === null
			? [`  a run with a tenth of its windows false is caught so with ${formatPercent(found.caughtShare(0.1))}`]
			: []),
		paint.dim(`  drawn with --seed ${seed}; took ${formatDuration(tookUs)}`),
		"",
	].join("\n");
}

interface CheckValues extends EngineValues {
	readonly sample: number;
	readonly seed: string | undefined;
	readonly again: boolean;
}

function generationText(run: OpenedRun, found: CheckedGeneration, seed: string, tookUs: number, paint: Paint): string {
	const { wrong, wrongSegment, checked, batches, tokens } = found;
	const verdict =
		wrong !== null
			? `${paint.bad(paint.strong("FALSE"))}  token ${wrong.place} of sequence ${wrong.sequence} is ${wrong.said}; ${wrong.right} follows`
			: wrongSegment !== null
				? `${paint.bad(paint.strong("FALSE"))}  segment ${wrongSegment.segment} does not end with these tokens`
				: paint.good(paint.strong("AGREES"));
	return [
		verdict,
		`  claim    ${bytesToHex(run.hash)}`,
		`  checked  ${tokens} tokens by prefill: ${checked.length} of ${plural(batches, "batch").replace("batchs", "batches")}, and all states between`,
		`  cost     ${formatPercent(found.costShare)} of the bytes that generating them again would move`,
		...(wrong === null && wrongSegment === null
			? [`  a run with a tenth of its batches false is caught so with ${formatPercent(found.caughtShare(0.1))}`]
			: []),
		paint.dim(`  drawn with --seed ${seed}; took ${formatDuration(tookUs)}`),
		"",
	].join("\n");
}

/** What a check of either kind found, as JSON or text; gives the exit code. */
function told<Found extends { readonly caughtShare: (falseShare: number) => number }>(
	run: OpenedRun,
	found: Found,
	seed: Uint8Array,
	{ isRight, tookUs }: { readonly isRight: boolean; readonly tookUs: number },
	text: (run: OpenedRun, found: Found, seed: string, tookUs: number, paint: Paint) => string,
	values: CheckValues,
	io: CliIo,
): number {
	const { caughtShare, ...rest } = found;
	const hex = bytesToHex(seed);
	const json = { claim: bytesToHex(run.hash), ...rest, seed: hex, tookUs, caughtOfATenth: caughtShare(0.1) };
	printResult(values, io, json, (paint) => text(run, found, hex, tookUs, paint));
	return exitCodes[isRight ? "valid" : "invalid"].code;
}

/** Generated text, by prefill. */
async function checkTokens(
	run: OpenedRun,
	file: Uint8Array,
	seed: Uint8Array,
	values: CheckValues,
	io: CliIo,
): Promise<number> {
	const { clockUs } = realEnvironment();
	const engine = await startJobEngine(values, io, run.storePath);
	const line = createStatusLine(io.err);
	try {
		const { open, device } = engine;
		const asked = { run, file, open, device, batches: values.sample, draw: drawFrom(seed), signal: io.interrupted };
		const found = await checkGeneration({
			...asked,
			onBatch: (batch, done, of) => line.update(`  batch ${batch}: ${done + 1} of ${of}`),
		});
		line.clear();
		const isRight = found.wrong === null && found.wrongSegment === null;
		return told(run, found, seed, { isRight, tookUs: clockUs() }, generationText, values, io);
	} finally {
		await engine.close();
	}
}

export async function checkJob(path: string, values: CheckValues, io: CliIo): Promise<number> {
	const folder = folderAt(path, io);
	const run = await openRun(folder);
	const { clockUs, randomBytes } = realEnvironment();
	const seed = values.seed === undefined ? randomBytes(32) : hexToBytes(values.seed, 32)!;
	const generation = values.again ? null : await folder.read("generation.json");
	if (generation !== null) return checkTokens(run, generation, seed, values, io);
	const engine = await startJobEngine(values, io, run.storePath);
	const line = createStatusLine(io.err);
	try {
		const { open, device } = engine;
		const asked = { run, open, device, segments: values.sample, draw: drawFrom(seed), signal: io.interrupted };
		const onWindow = ({ from, to }: { from: number; to: number }, done: number, of: number) =>
			line.update(`  window ${done + 1} of ${of}: segments ${from} to ${to - 1}`);
		const found = await checkRun({ ...asked, onWindow });
		line.clear();
		return told(run, found, seed, { isRight: found.wrong === null, tookUs: clockUs() }, checkText, values, io);
	} finally {
		await engine.close();
	}
}

function diffText(
	diff: RunDiff,
	runs: Readonly<Record<"a" | "b", OpenedRun>>,
	files: ReadonlyMap<Accused, string>,
	paint: Paint,
): string {
	if (diff.segment === null) return `${paint.good(paint.strong("SAME"))}  claim ${bytesToHex(runs.a.hash)}\n`;
	const lines = [`${paint.unsure(paint.strong("DIFFERENT"))}  from segment ${diff.segment} on`];
	for (const one of diff.accused) {
		lines.push(`  ${runs[one.side].path} is false`);
		if (one.verdict !== null) lines.push(...fraudLines(one.verdict, paint));
		else lines.push(`  it cannot be convicted: ${one.why}`);
		const file = files.get(one);
		if (file !== undefined) lines.push(`  fraud file: ${file}`, paint.dim(`  anyone judges it: assay verify ${file}`));
	}
	return [...lines, paint.dim(`  ${plural(diff.replayed, "segment")} run again`), ""].join("\n");
}

export async function diffJobs(
	pathA: string,
	pathB: string,
	values: EngineValues & { readonly out: string | undefined },
	io: CliIo,
): Promise<number> {
	const [a, b] = [await runAt(pathA, io), await runAt(pathB, io)];
	const engineA = await startJobEngine(values, io, a.storePath);
	const engineB = await startJobEngine(values, io, b.storePath).catch(async (error: unknown) => {
		await engineA.close();
		throw error;
	});
	try {
		const { device } = engineA;
		const diff = await diffRuns({ a: { run: a, open: engineA.open }, b: { run: b, open: engineB.open }, device });
		const files = new Map<Accused, string>();
		for (const one of diff.accused) {
			if (one.file === null) continue;
			const name = `${bytesToHex({ a, b }[one.side].hash).slice(0, 16)}.fraud`;
			const path = resolve(io.cwd, values.out ?? name);
			writeNamedFile(path, one.file, "--out FILE");
			files.set(one, path);
		}
		const accused = diff.accused.map((one) => ({ ...one, file: files.get(one) ?? null }));
		printResult(values, io, { segment: diff.segment, replayed: diff.replayed, accused }, (paint) =>
			diffText(diff, { a, b }, files, paint),
		);
		return diff.segment === null ? 0 : exitCodes.invalid.code;
	} finally {
		await engineA.close();
		await engineB.close();
	}
}
