// Problem documents (RFC 9457): what every refused request gets. A code of docs/codes.md, its HTTP status, a
// sentence, a hint. An error without a code is a mistake of ours: it is logged whole and told as
// SERVER_FAILED, so that nothing inside leaks.
import { AssayError } from "../../protocol/assay-error.ts";
import { type CodeEntry, codes } from "../../protocol/codes.ts";
import { AWAY, TOO_MUCH } from "../../protocol/passing.ts";
import type { Problem } from "../types.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** Codes that a route can give, by HTTP status; every other one is a mistake of ours. */
const CODES_OF_STATUS = {
	400:
		"REQUEST_BAD CURSOR_BAD BODY_BAD BODY_SHAPE TARGET_BAD RENTAL_TERMS RENTAL_TIME PUBLIC_KEY_BAD STORE_INPUT BLOB_NAME" +
		" BLOB_TREE BLOB_WRONG BLOB_LARGE JOB_QUESTION JOB_SPEC JOB_ACCOUNT JOB_OFFER JOB_CLAIM FRAUD_REFUSED PROGRAM_MALFORMED PROGRAM_LIMIT PROGRAM_INTERVAL" +
		" PROGRAM_TARGET PROGRAM_WIRING PROGRAM_SHAPE PROGRAM_OVERFLOW PROGRAM_INDEX PROGRAM_DIVISOR PROGRAM_DOMAIN PROGRAM_OUTPUT PROGRAM_UNPROVABLE PROGRAM_BUDGET",
	401: "CREDENTIALS_MISSING CREDENTIALS_REFUSED REQUEST_SIGNATURE REQUEST_STALE REQUEST_REPLAYED",
	403: "ROLE_WRONG CALLER_OTHER HOST_WRONG TRIAL_ONLY",
	404:
		"ROUTE_UNKNOWN PROVIDER_UNKNOWN PROBE_UNKNOWN ROLL_CALL_UNKNOWN EVIDENCE_UNKNOWN RECEIPTS_UNKNOWN SCORE_UNKNOWN" +
		" EPOCH_UNKNOWN CHAIN_NONE RENTAL_UNKNOWN TOKEN_UNKNOWN EVIDENCE_MISSING STORE_NOT_FOUND JOB_UNKNOWN BLOB_UNKNOWN CLAIM_UNKNOWN FRAUD_UNKNOWN PROOF_UNKNOWN",
	405: "METHOD_WRONG",
	409:
		"PROVIDER_KNOWN PROVIDER_RENTED PROBE_RUNNING OFFER_NONE OFFER_DEARER ESCROW_REFUSED RENTAL_LIMIT RENTAL_STATE RENTAL_CONFLICT" +
		" RENTAL_UNAVAILABLE PROVIDER_BUSY PROVIDER_LIMIT STORE_CONFLICT BLOB_OFFSET BLOB_QUOTA JOB_QUOTA JOB_STATE JOB_INPUTS JOB_OFFER_EXPIRED JOB_UNFUNDED JOB_UNORDERED JOB_METHOD JOB_NO_PROVIDER JOB_PRICE JOB_RESULT_EXPIRED CHAIN_REFUSED",
	413: "BODY_TOO_LARGE",
	415: "CONTENT_TYPE_WRONG",
	429: TOO_MUCH.join(" "),
	500: "SERVER_FAILED EVIDENCE_CORRUPT",
	502: "RENTAL_FAILED AGENT_REFUSED NO_ANSWER",
	503: AWAY.join(" "),
	504: "AGENT_SILENT",
};

export const STATUS_OF_CODE: Readonly<Record<string, number>> = Object.fromEntries(
	Object.entries(CODES_OF_STATUS).flatMap(([status, list]) => list.split(" ").map((code) => [code, Number(status)])),
);

/** What every route can answer besides its own problems, by role and kind: openapi.ts and the docs say it. */
export const COMMON_PROBLEMS = ["REQUEST_BAD", "CREDENTIALS_REFUSED", "RATE_LIMITED", "SERVER_FAILED"] as const;

const table = codes as Readonly<Record<string, CodeEntry>>;

export interface ProblemSource {
	readonly code: string;
	readonly detail: string;
	readonly hint: string;
	readonly status: number;
	/** True when the error is a mistake of the server and worth a log line of its own. */
	readonly isOurs: boolean;
}

/** Whatever was thrown, as what may be told. */
export function problemOf(error: unknown): ProblemSource {
	if (error instanceof AssayError) {
		const status = STATUS_OF_CODE[error.code];
		if (status !== undefined)
			return {
				code: error.code,
				detail: error.message,
				hint: error.hint || (table[error.code]?.hint ?? ""),
				status,
				isOurs: status === 500,
			};
	}
	const told = toldByFastify(error);
	if (told !== null) return { ...told, hint: table[told.code]!.hint, isOurs: false };
	return {
		code: "SERVER_FAILED",
		detail: "something went wrong that is not the caller's fault",
		hint: table.SERVER_FAILED!.hint,
		status: 500,
		isOurs: true,
	};
}

export function problemDocument(source: ProblemSource, requestId: string): Problem {
	const { code, status, detail, hint } = source;
	return { type: `/v1/codes#${code}`, title: table[code]?.meaning ?? code, status, code, detail, hint, requestId };
}

/** fastify's own refusals (before a handler runs) carry a status below 500 and a code of theirs. */
function toldByFastify(error: unknown): { code: string; status: number; detail: string } | null {
	if (!(error instanceof Error)) return null;
	// The code of an AbortError is a number.
	const { statusCode, code } = error as Error & { statusCode?: number; code?: unknown };
	if (typeof code !== "string" || !code.startsWith("FST_ERR_") || statusCode === undefined) return null;
	if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
		return { code: "BODY_TOO_LARGE", status: 413, detail: "the body is too large" };
	if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE" || code === "FST_ERR_CTP_INVALID_TYPE")
		return { code: "CONTENT_TYPE_WRONG", status: 415, detail: "this route takes another content type" };
	if (statusCode < 400 || statusCode >= 500) return null;
	return { code: "REQUEST_BAD", status: statusCode, detail: "the request is malformed" };
}
