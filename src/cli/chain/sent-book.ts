// What this user's commands have signed and not seen through, by account: a payment that is asked for again
// after a cut or an unknown outcome goes on with that transaction, instead of being a second one.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import type { IntentJournal, SentIntent } from "../../chain/sending/publish.ts";
import { sendKept } from "../../chain/sending/send-call.ts";
import type { Call, ChainAccount } from "../../chain/sending/sign.ts";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import type { CliIo } from "../command.ts";
import { alone } from "../jobs/job-account.ts";

/** Names are 0x and hex digits. */
function sentBook(folder: string): IntentJournal {
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

/** Sends what moves tokens: the same command typed again goes on with what the first one signed. */
export const keptSender =
	(client: ChainClient, account: ChainAccount, io: CliIo) =>
	(call: Call): Promise<void> =>
		alone(account, io, (folder) =>
			sendKept(client, account, call, sentBook(folder), (hash) =>
				io.err.write(`an earlier command signed the same, as ${hash}: going on with that one\n`),
			),
		);
