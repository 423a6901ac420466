// What a validator's chain side keeps in the store: the journal of what is being sent, and the Registry's
// events with their place in the chain. Keys, contracts' addresses and the embedded chain's blocks stay
// files.
import type { ContractAddresses } from "../../chain/contracts/contracts.ts";
import type { SeenBlock } from "../../chain/history/follow-events.ts";
import type { BookKeeper } from "../../chain/history/provider-book.ts";
import type { LedgerEvent } from "../../chain/history/stake-ledger.ts";
import type { KeptIntents, SentIntent } from "../../chain/sending/publish.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ChainKey, ChainStore } from "../../store/chain.ts";

export function openChainMemory(options: {
	readonly store: { readonly chain: ChainStore };
	readonly addresses: Pick<ContractAddresses, "chainId" | "registry">;
	readonly account: Hex;
	/** The sender's lease: who lost it writes no intent, and so sends none. */
	readonly lease: string;
}): { readonly journal: KeptIntents; readonly book: BookKeeper } {
	const key: ChainKey = { chainId: options.addresses.chainId, registry: options.addresses.registry.toLowerCase() };
	const intents = options.store.chain.intents(key, options.account.toLowerCase());
	return {
		journal: {
			get: async (id) => (await intents.get(id)) as unknown as SentIntent | null,
			put: (id, sent) => intents.put(id, sent as unknown as Json, options.lease),
			remove: (id) => intents.remove(id, options.lease),
			list: () => intents.list(),
		},
		book: {
			async load() {
				const { cursor, events } = await options.store.chain.events(key);
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
				options.store.chain.putEvents(key, {
					keepTo,
					added: added.map(({ block, logIndex, event }) => ({ block, logIndex, body: event as unknown as Json })),
					cursor: blocks as unknown as Json,
				}),
		},
	};
}
