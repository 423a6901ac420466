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

/** Codes of errors by their exit. */
const errorCodes = {
	usage:
		"USAGE TARGET_BAD CONFIG_BAD CONFIG_SYNTAX CONFIG_UNKNOWN CONFIG_VALUE GUESTS_BAD CARD_NAME_UNKNOWN CARD_UNSUPPORTED FLEET_BAD PARAMS_BAD REQUEST_BAD BODY_SHAPE PUBLIC_KEY_BAD RENTAL_TERMS RENTAL_TIME",
	input: "FILE_UNREADABLE CLAIM_MALFORMED CLAIM_ROOT RUN_DAMAGED RUN_UNFINISHED CHECKPOINT_OTHER",
	output: "FILE_UNWRITABLE",
	unknown:
		"ID_AMBIGUOUS PROVIDER_UNKNOWN DEVICE_MISSING PROBE_UNKNOWN ROLL_CALL_UNKNOWN EVIDENCE_UNKNOWN RECEIPTS_UNKNOWN SCORE_UNKNOWN" +
		" EPOCH_UNKNOWN RENTAL_UNKNOWN JOB_UNKNOWN TOKEN_UNKNOWN OFFER_NONE",
	busy:
		"UP_RUNNING RUN_BUSY DEVICE_TAKEN PROVIDER_KNOWN PROVIDER_RENTED PROVIDER_BUSY PROVIDER_LIMIT" +
		" PROBE_RUNNING OFFER_DEARER ESCROW_REFUSED RENTAL_CONFLICT RENTAL_STATE JOB_STATE STORE_CONFLICT RATE_LIMITED NOT_READY",
	refused:
		"CREDENTIALS_MISSING CREDENTIALS_REFUSED ROLE_WRONG CALLER_OTHER REQUEST_SIGNATURE REQUEST_STALE" +
		" AUTH_FAILED HOST_KEY_CHANGED KEY_UNUSABLE",
} as const;

const errorExits = new Map(
	Object.entries(errorCodes).flatMap(([exit, codes]) =>
		codes.split(" ").map((code) => [code, exitCodes[exit as keyof typeof errorCodes].code] as const),
	),
);

/** Coded errors end in 69 unless a finer exit is listed; anything that is no AssayError is a bug of ours. */
export function errorToExitCode(error: unknown): number {
	if (!(error instanceof AssayError)) return exitCodes.internal.code;
	return errorExits.get(error.code) ?? exitCodes.unavailable.code;
}
