// Which validators this provider serves: the keys that its owner named, else the first key seen at each URL,
// kept in a file and held to ever after. A key that changes is refused: whoever answers there now is somebody
// else until the owner says otherwise.
import { join } from "node:path";
import { readIfPresent, removeDrafts, writeDurably } from "../platform/durable-file.ts";
import { createMutex } from "../platform/keyed-mutex.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { hexToBytes } from "../protocol/bytes/bytes.ts";

/** Throws AssayError VALIDATOR_UNTRUSTED or VALIDATOR_KEY_CHANGED; pins a first key. */
type Trust = (url: string, key: string) => Promise<void>;

/** `trusted` keys, if any, are the only ones served, at whatever URL. Throws AssayError FILE_UNREADABLE. */
export async function loadValidatorPins(folder: string, trusted: readonly string[]): Promise<Trust> {
	const path = join(folder, "validators.json");
	await removeDrafts(folder);
	const pins = await readPins(path);
	/** Dialling several validators at once must not lose one's pin to another's. */
	const mutex = createMutex();
	return async (url, key) => {
		const at = `the validator at ${url} has the key ${key}`;
		const pinned = pins.get(url);
		if (trusted.length > 0 && !trusted.includes(key))
			throw new AssayError("VALIDATOR_UNTRUSTED", `${at}, which is not trusted`, {
				hint: `If you know that this is its key, add --trust ${key}.`,
			});
		if (trusted.length === 0 && pinned !== undefined && pinned !== key)
			throw new AssayError("VALIDATOR_KEY_CHANGED", `${at}; pinned was ${pinned}`, {
				hint: `If its operator says that the key was changed, start once with --trust ${key}; otherwise do not serve it.`,
			});
		if (pinned === key) return;
		pins.set(url, key);
		await mutex.run(() => writePins(path, pins));
	};
}

async function readPins(path: string): Promise<Map<string, string>> {
	const broken = (cause?: unknown) =>
		new AssayError("FILE_UNREADABLE", `${path} does not hold the pinned validators`, {
			hint: "Repair or move the file away; moved away, the next key seen at each URL is pinned anew.",
			cause,
		});
	try {
		const text = await readIfPresent(path);
		const entries = Object.entries(JSON.parse(String(text ?? "{}")) as Record<string, unknown>);
		if (!entries.every(([, key]) => typeof key === "string" && hexToBytes(key, 32) !== null)) throw broken();
		return new Map(entries as [string, string][]);
	} catch (cause) {
		throw cause instanceof AssayError ? cause : broken(cause);
	}
}

async function writePins(path: string, pins: ReadonlyMap<string, string>): Promise<void> {
	await writeDurably(path, `${JSON.stringify(Object.fromEntries(pins), null, 2)}\n`);
}
