// `assay verify PROOF` of a wrapped run, docs/zk.md §13: what it proves, and by which key. Not here: the
// check itself (src/verify/zk/run/).
import { resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { readKeyFile } from "../../verify/zk/key/snarkjs-form.ts";
import { openRunFile, type RunFileVerdict, type RunSaid } from "../../verify/zk/run/run-file.ts";
import { wrapKeyHash } from "../../verify/zk/run/wrap-key.ts";
import type { CliIo } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { usageError } from "../options.ts";
import { formatDuration } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { coveredLine, coverOf, jobLine, jobsOf, refusedLines, startNote, stepsText, TEST_NOTE } from "./proof-lines.ts";

interface RunOptions {
	readonly "wrap-key": string | undefined;
	readonly dev: boolean;
	readonly json: boolean;
}

const MOST_KEY_BYTES = 2 ** 20;

/** The hash of the key that is named: by itself, or by a file. Throws KEY_UNBOUND. */
function namedKey(asked: string | undefined, io: CliIo): string | undefined {
	if (asked === undefined || /^[0-9a-f]{64}$/.test(asked)) return asked;
	const hint = "Give a key's hash, or the file that `node scripts/zk-key.ts export` wrote.";
	const read = readKeyFile(new TextDecoder().decode(readInput(resolve(io.cwd, asked), MOST_KEY_BYTES, hint)));
	if (read === null) throw usageError(`--wrap-key: ${asked} is no key. ${hint}`);
	if (read.bound === null)
		throw codedError("KEY_UNBOUND", `--wrap-key: ${asked} does not name its plan and its number of segments`);
	return wrapKeyHash(read.bound);
}

const coveredBy = ({ plan, statements }: RunSaid) => ({
	plan,
	statement: { firstStep: statements[0]!.firstStep, steps: statements.length * plan.steps },
});

function saidLines(said: RunSaid, paint: Paint): string[] {
	const [first, last] = [said.statements[0]!, said.statements.at(-1)!];
	const covered = coveredBy(said);
	const note = `  ${paint.unsure("note")}  `;
	return [
		`  powers   ${said.powers}`,
		`  program  ${first.program}`,
		`  seed     ${first.seed}`,
		`  state    ${first.stateBefore} before`,
		`           ${last.stateAfter} after`,
		coveredLine(covered),
		jobLine(jobsOf(said.statements)),
		`  key      ${said.key}`,
		`${note}not compared with bytes: whose commitments these are shows who makes them of the bytes`,
		`${note}${startNote(covered.statement)}`,
		...(said.isDev ? [`${note}${TEST_NOTE}`] : []),
	];
}

const whatText = (said: RunSaid): string => {
	const { length } = said.statements;
	const many = length === 1 ? "a segment, wrapped," : `${length} segments as one,`;
	return `${stepsText(coveredBy(said).statement)}, ${many} for these commitments`;
};

function runLines(verdict: RunFileVerdict, paint: Paint): string[] {
	if (verdict.status === "valid")
		return [`${paint.good(paint.strong("VALID"))}  ${whatText(verdict)}`, ...saidLines(verdict, paint)];
	const { unproven } = verdict;
	if (unproven === undefined) return refusedLines(verdict, paint);
	const head = `  were the key honest, this would prove: ${whatText(unproven)}`;
	return [...refusedLines(verdict, paint), head, ...saidLines(unproven, paint)];
}

/** As JSON: of a run that is not valid, what is said stands apart. */
function shownOf(verdict: RunFileVerdict): object {
	const shown = (said: RunSaid) => ({ plan: undefined, jobs: jobsOf(said.statements), ...coverOf(coveredBy(said)) });
	if (verdict.status === "valid") return { ...verdict, ...shown(verdict) };
	const { unproven, ...rest } = verdict;
	if (unproven === undefined) return rest;
	// Of a key that nobody named, "isDev": false would be read as a promise.
	return { ...rest, unproven: { ...unproven, ...shown(unproven), isDev: unproven.isDev || undefined } };
}

export function verifyRunFile(file: Uint8Array, path: string, values: RunOptions, io: CliIo): number {
	const { clockUs } = realEnvironment();
	const verdict = openRunFile(file, { isDevAllowed: values.dev, key: namedKey(values["wrap-key"], io) });
	const tookUs = clockUs();
	printResult(values, io, { ...shownOf(verdict), file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
		return [...runLines(verdict, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}
