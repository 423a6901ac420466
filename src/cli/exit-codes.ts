// The exit codes of every command. docs/cli.md lists them, made from this table.
import { AssayError } from "../protocol/assay-error.ts";
import type { Verdict } from "../protocol/probe/verdict.ts";

export const exitCodes = {
	valid: { code: 0, meaning: "done; for probe and verify: the verdict is valid" },
	invalid: { code: 1, meaning: "the verdict is invalid: a claim or an answer is false" },
	inconclusive: { code: 2, meaning: "the verdict is inconclusive: nothing was proven either way" },
	usage: { code: 64, meaning: "the command line is wrong" },
	input: { code: 66, meaning: "a file cannot be read" },
	unknown: { code: 67, meaning: "no match for that name, or more than one" },
	unavailable: { code: 69, meaning: "something needed is missing: a host, the engine, a program" },
	internal: { code: 70, meaning: "a bug in assay" },
	output: { code: 74, meaning: "a file cannot be written" },
	busy: { code: 75, meaning: "not now: already running, rented or in use, or too many requests; try again later" },
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
	REQUEST_BAD: exitCodes.usage.code,
	BODY_SHAPE: exitCodes.usage.code,
	PUBLIC_KEY_BAD: exitCodes.usage.code,
	RENTAL_TERMS: exitCodes.usage.code,
	RENTAL_TIME: exitCodes.usage.code,
	FILE_UNREADABLE: exitCodes.input.code,
	FILE_UNWRITABLE: exitCodes.output.code,
	ID_AMBIGUOUS: exitCodes.unknown.code,
	PROVIDER_UNKNOWN: exitCodes.unknown.code,
	PROBE_UNKNOWN: exitCodes.unknown.code,
	EVIDENCE_UNKNOWN: exitCodes.unknown.code,
	RECEIPTS_UNKNOWN: exitCodes.unknown.code,
	SCORE_UNKNOWN: exitCodes.unknown.code,
	EPOCH_UNKNOWN: exitCodes.unknown.code,
	RENTAL_UNKNOWN: exitCodes.unknown.code,
	TOKEN_UNKNOWN: exitCodes.unknown.code,
	OFFER_NONE: exitCodes.unknown.code,
	UP_RUNNING: exitCodes.busy.code,
	DEVICE_TAKEN: exitCodes.busy.code,
	PROVIDER_KNOWN: exitCodes.busy.code,
	PROVIDER_RENTED: exitCodes.busy.code,
	PROVIDER_BUSY: exitCodes.busy.code,
	PROVIDER_LIMIT: exitCodes.busy.code,
	PROBE_RUNNING: exitCodes.busy.code,
	OFFER_DEARER: exitCodes.busy.code,
	RENTAL_CONFLICT: exitCodes.busy.code,
	RENTAL_STATE: exitCodes.busy.code,
	STORE_CONFLICT: exitCodes.busy.code,
	RATE_LIMITED: exitCodes.busy.code,
	NOT_READY: exitCodes.busy.code,
	CREDENTIALS_MISSING: exitCodes.refused.code,
	CREDENTIALS_REFUSED: exitCodes.refused.code,
	ROLE_WRONG: exitCodes.refused.code,
	CALLER_OTHER: exitCodes.refused.code,
	REQUEST_SIGNATURE: exitCodes.refused.code,
	REQUEST_STALE: exitCodes.refused.code,
	AUTH_FAILED: exitCodes.refused.code,
	HOST_KEY_CHANGED: exitCodes.refused.code,
	KEY_UNUSABLE: exitCodes.refused.code,
};

/** Coded errors end in 69 unless a finer exit is listed; anything that is no AssayError is a bug of ours. */
export function errorToExitCode(error: unknown): number {
	if (!(error instanceof AssayError)) return exitCodes.internal.code;
	return errorExits[error.code] ?? exitCodes.unavailable.code;
}
