// What this user's commands have signed and not seen through, by account: a payment that is asked for again
// after a cut or an unknown outcome goes on with that transaction, instead of being a second one.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { IntentJournal, SentIntent } from "../../chain/sending/publish.ts";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";

/** Names are 0x and hex digits. */
export function sentBook(folder: string): IntentJournal {
	const place = (id: string) => join(folder, `${id.slice(2)}.json`);
	return {
		async get(id) {
			const text = await readIfPresent(place(id));
			return text === null ? null : (JSON.parse(String(text)) as SentIntent);
		},
		put: (id, sent) => writeDurably(place(id), `${JSON.stringify(sent)}\n`),
		remove: (id) => rm(place(id), { force: true }),
	};
}
