// `assay job diff`: where two runs of one job part, which of them is false, and the fraud file. Either may
// be a result of the market. Not here: how (src/validator/jobs/).
import { resolve } from "node:path";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { type Accused, diffRuns, type RunDiff } from "../../validator/jobs/diff-runs.ts";
import { type OpenedRun, openRun } from "../../validator/jobs/open-run.ts";
import type { CliIo } from "../command.ts";
import { writeNamedFile } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { type engineOptions, startJobEngine } from "../job-engine.ts";
import type { Values } from "../options.ts";
import { fraudLines } from "../print/fraud-lines.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { plural } from "../print/table.ts";
import { runFolderAt } from "./check-job.ts";
import { type JobValues, knownRun } from "./known-job.ts";

interface DiffValues extends Values<typeof engineOptions>, JobValues {
	readonly json: boolean;
	readonly out: string | undefined;
}

/** A fetched result has no inputs: they come from its job. */
async function runAt(path: string, values: DiffValues, io: CliIo): Promise<OpenedRun> {
	const folder = runFolderAt(path, io);
	const run = await openRun(folder);
	return run.isFetched ? (await knownRun(run, folder, values, io)).run : run;
}

/** Claims name job and chain, so a run of one's own and one of the market have different ones. */
function sameText({ a, b }: Readonly<Record<"a" | "b", OpenedRun>>, paint: Paint): string {
	const [first, second] = [bytesToHex(a.hash), bytesToHex(b.hash)];
	const both = Math.min(a.segments, b.segments);
	return [
		`${paint.good(paint.strong("SAME"))}  ${a.segments === b.segments ? "all states and results" : `the first ${both} segments, which is all that one of them has`}`,
		`  state   ${bytesToHex(a.states[both]!)}`,
		...(first === second
			? [`  claim   ${first}`]
			: [
					`  claims  ${first}`,
					`          ${second}`,
					paint.dim("  they differ because a claim names its job and chain"),
				]),
		paint.dim("  files are not compared here: assay job check does that"),
		"",
	].join("\n");
}

function diffText(
	diff: RunDiff,
	runs: Readonly<Record<"a" | "b", OpenedRun>>,
	files: ReadonlyMap<Accused, string>,
	paint: Paint,
): string {
	if (diff.segment === null) return sameText(runs, paint);
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

export async function diffJobs(values: DiffValues, io: CliIo, pathA: string, pathB: string): Promise<number> {
	const [a, b] = [await runAt(pathA, values, io), await runAt(pathB, values, io)];
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
		const ends = [a, b].map(({ states }) => bytesToHex(states.at(-1)!));
		const accused = diff.accused.map((one) => ({ ...one, file: files.get(one) ?? null }));
		printResult(values, io, { segment: diff.segment, replayed: diff.replayed, states: ends, accused }, (paint) =>
			diffText(diff, { a, b }, files, paint),
		);
		return diff.segment === null ? 0 : exitCodes.invalid.code;
	} finally {
		await engineA.close();
		await engineB.close();
	}
}
