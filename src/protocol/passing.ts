// Refusals and losses that time may end: one list for whoever asks (the client, the command line, providers,
// validators) and for the server, whose statuses 429 and 503 are these codes.
import { AssayError } from "./assay-error.ts";

/** Too much at this moment: nothing of the request was done. Status 429. */
export const TOO_MUCH = ["RATE_LIMITED", "STREAMS_TOO_MANY"] as const;
/** Something that it needs is away. Status 503. */
export const AWAY = [
	...[
		"NOT_READY",
		"FILE_UNWRITABLE",
		"BLOB_FULL",
		"CHAIN_UNREACHABLE",
		"CHAIN_BEHIND",
		"CHAIN_DISAGREE",
		"AGENT_CLOSED",
		"PROVIDER_STOPPING",
	],
	...["STORE_UNREACHABLE", "STORE_TIMEOUT"],
] as const;
/** Said by this end, to which no answer came. */
const UNHEARD = ["API_UNREACHABLE", "STREAM_BROKEN"] as const;

const PASSING: ReadonlySet<string> = new Set([...TOO_MUCH, ...AWAY, ...UNHEARD]);

export const isPassing = (error: unknown): error is AssayError =>
	error instanceof AssayError && PASSING.has(error.code);

/** What the server asked for; 0: nothing. */
export const retryAfterMs = (error: unknown): number =>
	1000 * ((error as { cause?: { retryAfterS?: number } | null } | null)?.cause?.retryAfterS ?? 0);
