// The book of rentals on this host: a file that says what exists, for whom and until when, written before
// anything is made and after everything is gone. A provider that was killed reads it and knows what to end.
// Pure decisions and the file's codec; no environments here.
import { join } from "node:path";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hex, int, list, object, oneOf, pattern, type Typed, text } from "../../protocol/bytes/shape.ts";
import { ENVIRONMENT_NAME } from "./environment.ts";

const entryShape = object({
	rental: hex(16),
	/** Whose it is: no other validator may touch it. */
	validatorKey: hex(32),
	name: pattern(ENVIRONMENT_NAME, "must be an environment's name"),
	/** A provider started with other options still knows how to end an environment of this kind. */
	kind: oneOf("container", "user"),
	port: int(1, 65535),
	publicKey: text(4096),
	untilMs: int(),
	/** `making`: nobody was told of it yet. `ending`: it must go, whatever happens. */
	state: oneOf("making", "active", "ending"),
	/** The name to log in with; empty while it is made. */
	user: text(32),
	hostKey: text(4096),
});
export type BookEntry = Typed<typeof entryShape>;
const bookShape = object({ rentals: list(entryShape, 64) });

export const bookPath = (dataFolder: string) => join(dataFolder, "rentals.json");

/** Throws AssayError FILE_UNREADABLE: with a spoilt book nobody knows what has to end. */
export async function readBook(path: string): Promise<BookEntry[]> {
	try {
		const json = await readIfPresent(path);
		if (json === null) return [];
		const value: unknown = JSON.parse(String(json));
		const fault = bookShape(value, "book");
		if (fault) throw new Error(`${fault.where} ${fault.detail}`);
		return (value as { rentals: BookEntry[] }).rentals;
	} catch (cause) {
		throw spoilt(path, cause);
	}
}

function spoilt(path: string, cause: unknown): AssayError {
	return new AssayError("FILE_UNREADABLE", `${path} does not hold the book of rentals`, {
		hint: "Repair it, or move it away: environments that it named are then ended at the next start.",
		cause,
	});
}

export function writeBook(path: string, entries: readonly BookEntry[]): Promise<void> {
	return writeDurably(path, `${JSON.stringify({ rentals: entries }, null, 2)}\n`);
}

/** What has to go now: what is over, what was being ended, and after a restart what was never finished. */
export function dueForRemoval(entries: readonly BookEntry[], nowMs: number, afterRestart: boolean): BookEntry[] {
	return entries.filter(
		({ state, untilMs }) => state === "ending" || untilMs <= nowMs || (afterRestart && state === "making"),
	);
}

/** At the next expiry, but at least every minute: clocks are set and machines sleep. */
export function nextLookMs(entries: readonly BookEntry[], nowMs: number): number {
	const next = Math.min(...entries.map(({ untilMs }) => untilMs - nowMs), 60_000);
	return Math.max(10, next);
}
