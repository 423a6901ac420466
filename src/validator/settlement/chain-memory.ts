// What a validator's chain side keeps in the store: the journal of what is being sent, and the Registry's events with their place in the chain. Older versions
// kept both as files of the chain folder; what they left is taken over once. Keys, contracts' addresses and the embedded chain's blocks stay files.
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { ContractAddresses } from "../../chain/contracts/deploy.ts";
import type { SeenBlock } from "../../chain/history/follow-events.ts";
import type { BookKeeper } from "../../chain/history/provider-book.ts";
import type { LedgerEvent } from "../../chain/history/stake-ledger.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import type { IntentJournal, SentIntent } from "../../chain/sending/publish.ts";
import { chainIdOf, type SignedTransaction } from "../../chain/sending/sign.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ChainIntentStore, ChainKey, ChainStore } from "../../store/store.ts";
import { readText } from "./chain-files.ts";

export interface ChainMemory {
	readonly journal: IntentJournal;
	readonly book: BookKeeper;
}

export async function openChainMemory(o: {
	readonly store: { readonly chain: ChainStore };
	readonly client: Pick<ChainClient, "chainId">;
	readonly at: Pick<ContractAddresses, "registry">;
	readonly account: Hex;
	/** Of the chain; files of older versions lie there. */
	readonly folder: string;
	/** The sender's lease: who lost it writes no intent, and so sends none. */
	readonly lease: string;
}): Promise<ChainMemory> {
	const key: ChainKey = { chainId: o.client.chainId, registry: o.at.registry.toLowerCase() };
	const intents = o.store.chain.intents(key, o.account.toLowerCase());
	await takeOverFiles(o.folder, intents, { chainId: key.chainId, account: o.account });
	return {
		journal: {
			get: async (id) => (await intents.get(id)) as unknown as SentIntent | null,
			put: (id, sent) => intents.put(id, sent as unknown as Json, o.lease),
			remove: (id) => intents.remove(id, o.lease),
		},
		book: {
			async load() {
				const { cursor, events } = await o.store.chain.events(key);
				if (cursor === null) return null;
				return {
					blocks: cursor as unknown as readonly SeenBlock[],
					entries: events.map(({ block, logIndex, body }) => ({
						block,
						logIndex,
						event: body as unknown as LedgerEvent,
					})),
				};
			},
			save: ({ keepTo, added, blocks }) =>
				o.store.chain.putEvents(key, {
					keepTo,
					added: added.map(({ block, logIndex, event }) => ({ block, logIndex, body: event as unknown as Json })),
					cursor: blocks as unknown as Json,
				}),
		},
	};
}

/** Intents of this chain and account. The older book of providers had no stakes: it is read anew from the chain. */
async function takeOverFiles(
	folder: string,
	intents: ChainIntentStore,
	own: { readonly chainId: number; readonly account: Hex },
): Promise<void> {
	const names = await readdir(join(folder, "intents")).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	for (const name of names.filter((one) => one.endsWith(".json"))) {
		const path = join(folder, "intents", name);
		const { raw, hash, from, nonce } = JSON.parse((await readText(path)) ?? "{}") as Partial<SignedTransaction>;
		if (raw === undefined || hash === undefined || nonce === undefined || from !== own.account) continue;
		if (chainIdOf(raw) !== own.chainId) continue;
		const id = name.slice(0, -".json".length).replaceAll("_", "/");
		// Written before the file goes: whoever dies in between takes it over again.
		if ((await intents.get(id)) === null) await intents.put(id, [{ raw, hash, from, nonce }]);
		await rename(path, `${path}.taken`);
	}
	await rename(join(folder, "providers.json"), join(folder, "providers.json.taken")).catch(
		(error: NodeJS.ErrnoException) => {
			if (error.code !== "ENOENT") throw error;
		},
	);
}
