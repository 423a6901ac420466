// `assay program check|show|run FILE`: programs of docs/work.md as text or bytes. Not here: what a program is
// and whether it may run (src/work/program/).
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { CheckedProgram } from "../../work/program/check-program.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import { printProgram } from "../../work/program/print-text.ts";
import { programCost } from "../../work/program/program-cost.ts";
import { readProgram } from "../../work/program/read-program.ts";
import { LIMITS } from "../../work/program/shapes.ts";
import { command, later } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { cardOption, engineOptions } from "../job-engine.ts";
import { flag, hexKey, list, text, whole } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { costLines, guessFor } from "../print/program-cost.ts";

/** A text is longer than its bytes: a line of some 40 characters for an instruction of 3 to 20. */
const MOST_TEXT = 16 * LIMITS.bytes;

interface Opened extends CheckedProgram {
	readonly bytes: Uint8Array;
	readonly root: string;
}

function open(path: string): Opened {
	const file = readInput(path, MOST_TEXT, "Give a program: its bytes, or its text (docs/work.md §8).");
	const bytes = encodeProgram(readProgram(file));
	const checked = orThrow(openProgram(bytes));
	return { ...checked, bytes, root: bytesToHex(programRoot(checked.program)) };
}

const json = ({ program, bytes, root }: Opened, card: string | undefined) => ({
	verdict: "may run",
	root,
	size: bytes.length,
	k: program.k,
	...programCost(program),
	...(card !== undefined && { guess: guessFor(program, card, null) }),
});

const linesOf = ({ program, bytes }: Opened, card?: string): string[] =>
	costLines(program, programCost(program), bytes.length, guessFor(program, card, null));

/** A program that is refused is a verdict of `check`, not an error. */
function refusal(error: unknown): { verdict: "refused"; code: string; detail: string; hint: string } | null {
	if (!(error instanceof AssayError && error.code.startsWith("PROGRAM_"))) return null;
	return { verdict: "refused", code: error.code, detail: error.message, hint: error.hint };
}

const checkText = (opened: Opened, card: string | undefined, paint: Paint): string =>
	[
		`${paint.good(paint.strong("MAY RUN"))}  root ${opened.root}`,
		...linesOf(opened, card),
		paint.dim("  no register leaves 64 bits, no index its operand, no output its interval, after any number of steps"),
		"",
	].join("\n");

/** A program text again: what stands above it is a comment. */
const showText = (opened: Opened): string =>
	[`root ${opened.root}`, ...linesOf(opened).map((line) => line.trim())].map((line) => `# ${line}\n`).join("") +
	printProgram(opened.program);

export const programCommand = command({
	name: "program",
	about: `Reads a program (docs/work.md) as bytes or as text. A program is a list of four tensor operators on whole numbers. It is
checked before it may run: what could overflow, read outside a tensor or divide by zero is refused with the op and the instruction.`,
	options: {
		input: list("NAME=FILE", "run: a constant or input, as .npy or as raw little-endian .bin"),
		seed: text("HEX", "run: the job's seed", { shape: hexKey, fallback: "00".repeat(32) }),
		segments: whole("N", "run: so many segments after init", [1, LIMITS.segment], 1),
		out: text("FOLDER", "run: write state and results there as .npy"),
		...cardOption,
		json: flag("print as JSON"),
		...engineOptions,
	},
	exits: {
		1: "check: refused, with code and place",
		66: "unreadable file; show, run: refused",
		69: "no engine",
	},
	verbs: {
		check: {
			takes: "FILE",
			does: "may it run? the verdict with its place, its size and what a step costs; with --card, a guess of its time",
			async run(values, io, path = "") {
				try {
					const opened = open(path);
					return printResult(values, io, json(opened, values.card), (paint) => checkText(opened, values.card, paint));
				} catch (error) {
					const refused = refusal(error);
					if (refused === null) throw error;
					const { code, detail, hint } = refused;
					printResult(values, io, refused, (paint) =>
						[`${paint.bad(paint.strong("REFUSED"))}  ${code}`, `  ${detail}`, paint.dim(`  ${hint}`), ""].join("\n"),
					);
					return exitCodes.invalid.code;
				}
			},
		},
		show: {
			takes: "FILE",
			does: "print its text form, with root and cost as comments",
			async run(values, io, path = "") {
				const opened = open(path);
				const { tensors } = opened.program;
				const listed = tensors.map(({ root, ...rest }) => ({ ...rest, root: root === null ? null : bytesToHex(root) }));
				const all = { ...json(opened, undefined), tensors: listed, text: printProgram(opened.program) };
				return printResult(values, io, all, () => showText(opened));
			},
		},
		run: {
			takes: "FILE",
			does: "run it on this machine's engine; print its states, write results as arrays",
			run: later(async () => (await import("../run-program-file.ts")).runProgramFile),
		},
	},
});
