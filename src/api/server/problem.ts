// Problem documents (RFC 9457): what every refused request gets. A code of docs/codes.md, its HTTP status, a
// sentence, a hint. An error without a code is a mistake of ours: it is logged whole and told as
// SERVER_FAILED, so that nothing inside leaks.
import { AssayError } from "../../protocol/assay-error.ts";
import { type CodeEntry, codes } from "../../protocol/codes.ts";
import type { Problem } from "../types.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** The HTTP status of each code that a route can give. */
export const STATUS_OF_CODE: Readonly<Record<string, number>> = {
	REQUEST_BAD: 400,
	CURSOR_BAD: 400,
	BODY_BAD: 400,
	BODY_SHAPE: 400,
	TARGET_BAD: 400,
	CREDENTIALS_MISSING: 401,
	CREDENTIALS_REFUSED: 401,
	REQUEST_SIGNATURE: 401,
	REQUEST_STALE: 401,
	REQUEST_REPLAYED: 401,
	ROLE_WRONG: 403,
	CALLER_OTHER: 403,
	ROUTE_UNKNOWN: 404,
	PROVIDER_UNKNOWN: 404,
	PROBE_UNKNOWN: 404,
	EVIDENCE_UNKNOWN: 404,
	RECEIPTS_UNKNOWN: 404,
	SCORE_UNKNOWN: 404,
	EPOCH_UNKNOWN: 404,
	CHAIN_NONE: 404,
	RENTAL_UNKNOWN: 404,
	TOKEN_UNKNOWN: 404,
	METHOD_WRONG: 405,
	PROVIDER_KNOWN: 409,
	PROVIDER_RENTED: 409,
	PROBE_RUNNING: 409,
	OFFER_NONE: 409,
	OFFER_DEARER: 409,
	RENTAL_STATE: 409,
	BODY_TOO_LARGE: 413,
	CONTENT_TYPE_WRONG: 415,
	RATE_LIMITED: 429,
	STREAMS_TOO_MANY: 429,
	SERVER_FAILED: 500,
	NOT_READY: 503,
	CHAIN_UNREACHABLE: 503,
};

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
export function problemOf(error: unknown, statusOfCode: Readonly<Record<string, number>> = {}): ProblemSource {
	if (error instanceof AssayError) {
		const status = statusOfCode[error.code] ?? STATUS_OF_CODE[error.code];
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
	const { statusCode, code = "" } = error as Error & { statusCode?: number; code?: string };
	if (!code.startsWith("FST_ERR_") || statusCode === undefined) return null;
	if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
		return { code: "BODY_TOO_LARGE", status: 413, detail: "the body is too large" };
	if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE" || code === "FST_ERR_CTP_INVALID_TYPE")
		return { code: "CONTENT_TYPE_WRONG", status: 415, detail: "only application/json is taken" };
	if (statusCode < 400 || statusCode >= 500) return null;
	return { code: "REQUEST_BAD", status: statusCode, detail: "the request is malformed" };
}
