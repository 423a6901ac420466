// The exit codes of every command. docs/cli.md lists them; a test keeps the two in step.
import { AssayError } from "../protocol/assay-error.ts";
import type { Verdict } from "../protocol/verdict.ts";

export const exitCodes = {
	valid: { code: 0, meaning: "done; for probe and verify: the verdict is valid" },
	invalid: { code: 1, meaning: "the verdict is invalid: a claim or an answer is false" },
	inconclusive: { code: 2, meaning: "the verdict is inconclusive: nothing was proven either way" },
	usage: { code: 64, meaning: "the command line is wrong" },
	input: { code: 66, meaning: "a file cannot be read" },
	unavailable: { code: 69, meaning: "something needed is missing: a host, the engine, a program" },
	internal: { code: 70, meaning: "a fault in assay itself" },
	output: { code: 74, meaning: "a file cannot be written" },
	refused: { code: 77, meaning: "access was refused: login, host key, permissions" },
	interrupted: { code: 130, meaning: "stopped by Ctrl-C" },
} as const;

export function verdictToExitCode(verdict: Verdict): number {
	return exitCodes[verdict.status].code;
}

const errorExits: Readonly<Record<string, number>> = {
	USAGE: exitCodes.usage.code,
	TARGET_BAD: exitCodes.usage.code,
	CONFIG_BAD: exitCodes.usage.code,
	PARAMS_BAD: exitCodes.usage.code,
	FILE_UNREADABLE: exitCodes.input.code,
	FILE_UNWRITABLE: exitCodes.output.code,
	AUTH_FAILED: exitCodes.refused.code,
	HOST_KEY_CHANGED: exitCodes.refused.code,
	KEY_UNUSABLE: exitCodes.refused.code,
};

/** Errors of the surroundings end in 69 unless a finer code is listed; anything that is no AssayError is our own fault. */
export function errorToExitCode(error: unknown): number {
	if (!(error instanceof AssayError)) return exitCodes.internal.code;
	return errorExits[error.code] ?? exitCodes.unavailable.code;
}
