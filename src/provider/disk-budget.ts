// How much of the owner's disk validators may wear out in a day: bytes written by engines, in all and for
// each validator its share. Kept in a file, so that a restart gives nobody a new day. The engine itself
// refuses what is beyond (--disk-writes) and claims no more room than that, so an honest probe then leaves
// the disk out. Page: docs/provider.md.
import { readIfPresent, writeDurably } from "../platform/durable-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { hex, int, list, object } from "../protocol/bytes/shape.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;
const MOST_ENTRIES = 10_000;

const bookShape = object({
	writes: list(object({ validatorKey: hex(32), hour: int(), bytes: int() }), MOST_ENTRIES),
});

export interface DiskBudgetOptions {
	readonly path: string;
	/** In 24 hours, of all validators together. */
	readonly bytesPerDay: number;
	/** Among how many it is shared. */
	readonly validators: number;
	readonly nowMs: () => number;
}

export interface DiskBudget {
	/** What this validator may still have written now. */
	leftFor(validatorKey: string): number;
	/** Durable when it resolves. Throws AssayError FILE_UNWRITABLE. */
	spend(validatorKey: string, bytes: number): Promise<void>;
}

/** Throws AssayError FILE_UNREADABLE: with a spoilt book nobody knows what is left. */
export async function openDiskBudget(options: DiskBudgetOptions): Promise<DiskBudget> {
	const { path, bytesPerDay, nowMs } = options;
	const share = Math.floor(bytesPerDay / Math.max(1, options.validators));
	const hourNow = () => Math.floor(nowMs() / HOUR_MS);
	let writes = await read(path);
	let writing = Promise.resolve();
	const used = (validatorKey?: string) =>
		writes
			.filter(
				(one) => one.hour > hourNow() - HOURS && (validatorKey === undefined || one.validatorKey === validatorKey),
			)
			.reduce((sum, { bytes }) => sum + bytes, 0);
	return {
		leftFor: (validatorKey) => Math.max(0, Math.min(bytesPerDay - used(), share - used(validatorKey))),
		spend(validatorKey, bytes) {
			if (bytes <= 0) return writing;
			const hour = hourNow();
			const same = writes.find((one) => one.hour === hour && one.validatorKey === validatorKey);
			const rest = writes.filter((one) => one !== same && one.hour > hour - HOURS);
			writes = [...rest, { validatorKey, hour, bytes: (same?.bytes ?? 0) + bytes }].slice(-MOST_ENTRIES);
			const text = `${JSON.stringify({ writes })}\n`;
			writing = writing.catch(() => {}).then(() => writeDurably(path, text));
			return writing;
		},
	};
}

type Write = { readonly validatorKey: string; readonly hour: number; readonly bytes: number };

async function read(path: string): Promise<readonly Write[]> {
	const json = await readIfPresent(path);
	if (json === null) return [];
	try {
		const value: unknown = JSON.parse(String(json));
		const fault = bookShape(value, "book");
		if (fault) throw new Error(`${fault.where} ${fault.detail}`);
		return (value as { writes: readonly Write[] }).writes;
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `${path} does not hold the book of disk writes`, {
			hint: "Move it away: the day's budget begins anew.",
			cause,
		});
	}
}
