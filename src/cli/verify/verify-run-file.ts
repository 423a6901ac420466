// `assay verify PROOF` of a wrapped run, docs/zk.md §13: what it proves, and by which key. Not here: the
// check itself (src/verify/zk/run/).
import { resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { codes } from "../../protocol/codes.ts";
import { snarkjsKeyOf } from "../../verify/zk/key/snarkjs-form.ts";
import { openRunFile, type RunFileVerdict, type RunSettings } from "../../verify/zk/run/run-file.ts";
import type { CliIo } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { usageError } from "../options.ts";
import { formatDuration } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";

interface RunOptions {
	readonly "wrap-key": string | undefined;
	readonly dev: boolean;
	readonly json: boolean;
}

const MOST_KEY_BYTES = 2 ** 20;

/** A key's hash, or a file that snarkjs exported. */
function wantedKey(asked: string | undefined, io: CliIo): RunSettings["key"] {
	if (asked === undefined || /^[0-9a-f]{64}$/.test(asked)) return asked;
	const hint = "Give a key's hash, or the file that `snarkjs zkey export verificationkey` wrote.";
	const words = snarkjsKeyOf(new TextDecoder().decode(readInput(resolve(io.cwd, asked), MOST_KEY_BYTES, hint)));
	if (words === null) throw usageError(`--wrap-key: ${asked} is no key. ${hint}`);
	return words;
}

function runLines(verdict: RunFileVerdict, isKeyAsked: boolean, paint: Paint): string[] {
	if (verdict.status === "invalid") {
		const { meaning, hint } = codes[verdict.code];
		const head = `${paint.bad(paint.strong("INVALID"))}  ${verdict.code}`;
		return [head, `  ${verdict.detail}`, `  ${meaning}`, paint.dim(`  ${hint}`)];
	}
	const { statements, key, isDev } = verdict;
	const [first, last] = [statements[0]!, statements.at(-1)!];
	const many = statements.length === 1 ? "a segment, wrapped," : `${statements.length} segments as one,`;
	const steps = `steps ${first.firstStep} to ${last.firstStep + last.steps - 1}`;
	const note = `  ${paint.unsure("note")}  `;
	return [
		`${paint.good(paint.strong("VALID"))}  ${steps} of the program, ${many} for these commitments`,
		`  program  ${first.program}`,
		`  state    ${first.stateBefore} before`,
		`           ${last.stateAfter} after`,
		`  key      ${key}`,
		...(isKeyAsked
			? []
			: [
					`${note}any key of a known ceremony was accepted: who knows a key's secrets can prove anything; --wrap-key requires one`,
				]),
		`${note}not compared with bytes: whose commitments these are shows who makes them of the bytes`,
		...(isDev ? [`${note}SRS_DEV: powers or key of known secrets; anybody can prove anything with them`] : []),
	];
}

export function verifyRunFile(file: Uint8Array, path: string, values: RunOptions, io: CliIo): number {
	const { clockUs } = realEnvironment();
	const key = wantedKey(values["wrap-key"], io);
	const verdict = openRunFile(file, { isDevAllowed: values.dev, key });
	const tookUs = clockUs();
	const shown = verdict.status === "valid" ? { ...verdict, plan: undefined } : verdict;
	printResult(values, io, { ...shown, file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
		return [...runLines(verdict, key !== undefined, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}
