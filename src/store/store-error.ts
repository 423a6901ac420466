// What PostgreSQL and its driver say, as an error of ours. The server's message goes into `cause` and, where
// it helps, into the sentence; values of statements never do.
import { AssayError } from "../protocol/assay-error.ts";
import { codedError } from "../protocol/coded-error.ts";

const LOST = new Set([
	"ECONNREFUSED",
	"ECONNRESET",
	"EPIPE",
	"ETIMEDOUT",
	"ENOTFOUND",
	"EAI_AGAIN",
	"EHOSTUNREACH",
	"ENETUNREACH",
]);
/** Shut down, crashed, not yet started, too many connections: the statement was not begun, or is gone. */
const AWAY = new Set(["57P01", "57P02", "57P03", "57P05", "53300"]);

function codeOf(cause: unknown): string {
	const code = (cause as { code?: unknown } | null)?.code;
	return typeof code === "string" ? code : "";
}

/** Nothing came for longer than the server lets a statement run: its driver gave the line up. */
export const isSilence = (cause: unknown): boolean => cause instanceof Error && cause.message === "Query read timeout";

/** The connection or the server went away. */
export function connectionLost(cause: unknown): boolean {
	if (cause instanceof AssayError) return cause.code === "STORE_UNREACHABLE";
	if (cause instanceof AggregateError) return cause.errors.some(connectionLost);
	if (isSilence(cause)) return true;
	const code = codeOf(cause);
	if (LOST.has(code) || AWAY.has(code) || code.startsWith("08")) return true;
	return (
		code === "" && cause instanceof Error && /connection|timeout exceeded when trying to connect/i.test(cause.message)
	);
}

/** Serialisation failure or deadlock: nothing happened, try again. */
export function isClash(cause: unknown): boolean {
	const code = codeOf(cause);
	return code === "40001" || code === "40P01";
}

export function storeError(cause: unknown): AssayError {
	if (cause instanceof AssayError) return cause;
	const code = codeOf(cause);
	const message = cause instanceof Error ? cause.message || cause.name : String(cause);
	if (connectionLost(cause))
		return codedError("STORE_UNREACHABLE", `the database cannot be reached: ${message}`, { cause });
	if (code === "57014" || code === "55P03")
		return new AssayError("STORE_TIMEOUT", `the database took too long: ${message}`, { cause });
	if (isClash(cause) || code.startsWith("23505"))
		return new AssayError("STORE_CONFLICT", `another change came first: ${message}`, { cause });
	if (code === "23503")
		return new AssayError("STORE_NOT_FOUND", `what the row belongs to is not there: ${message}`, { cause });
	// Class 22: a value out of range or with bytes that text cannot hold. 23514: a CHECK of the table.
	if (code.startsWith("22") || code === "23514")
		return new AssayError("STORE_INPUT", `a value does not fit: ${message}`, { cause });
	return new AssayError("STORE_FAILED", `the database refused a statement: ${message}`, { cause });
}
