// User ids for rentals: each is given once. What an earlier renter left somewhere must not become the next
// one's, so the last id given is remembered on disk before it is used, and ids only go up. The range is apart
// from the host's people (up to 60,000), and from systemd's ranges; ids that a host's subordinate ranges hold
// are passed over. One file for all providers of a host.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";

export const FIRST_RENTAL_ID = 65_536;
export const LAST_RENTAL_ID = 524_287;

const lastIdFile = (rentalsFolder: string) => join(rentalsFolder, "last-user-id");

/**
 * An id that no renter had before. Throws AssayError RENTAL_UNAVAILABLE, FILE_UNREADABLE, FILE_UNWRITABLE.
 */
export async function takeUserId(rentalsFolder: string): Promise<number> {
	const path = lastIdFile(rentalsFolder);
	const text = await readIfPresent(path);
	const last = text === null ? FIRST_RENTAL_ID - 1 : Number(String(text).trim());
	if (!Number.isSafeInteger(last) || last < FIRST_RENTAL_ID - 1)
		throw new AssayError("FILE_UNREADABLE", `${path} does not hold the last user id that was given`, {
			hint: `Write the highest user id that a rental had into it, at least ${FIRST_RENTAL_ID}.`,
		});
	let id = last + 1;
	for (let taken = rangeWith(id); taken !== null; taken = rangeWith(id)) id = taken.end;
	if (id > LAST_RENTAL_ID)
		throw new AssayError("RENTAL_UNAVAILABLE", "every user id for rentals was given once", {
			hint: `See that no file has an owner of ${FIRST_RENTAL_ID} to ${LAST_RENTAL_ID}, then delete ${path}.`,
		});
	// Nothing secret, and keys below this folder are read as their user.
	await writeDurably(path, `${id}\n`, { mode: 0o644 });
	return id;
}

/** The range of subordinate ids that holds this one. */
function rangeWith(id: number): { readonly end: number } | null {
	for (const file of ["/etc/subuid", "/etc/subgid"]) {
		if (!existsSync(file)) continue;
		for (const line of readFileSync(file, "utf8").split("\n")) {
			const [first, count] = line.split(":").slice(1).map(Number);
			if (first! <= id && id < first! + count!) return { end: first! + count! };
		}
	}
	return null;
}
