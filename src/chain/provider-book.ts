// Which account is paid for which provider: the Registry's events, followed over reorganisations. An entry counts when the provider's own key vouches for the
// account (`keyProof`); the newest such one does. Kept as one value together with its place in the chain, wherever the caller keeps it.
import type { Hex } from "viem";
import { isChainKeyProof } from "../protocol/chain-key-proof.ts";
import { registryAbi } from "./abi/registry-abi.ts";
import type { ChainClient } from "./chain-client.ts";
import type { ContractAddresses } from "./deploy.ts";
import { followEvents, type SeenBlock } from "./follow-events.ts";

export interface BookState {
	/** The newest blocks that were read. */
	readonly blocks: readonly SeenBlock[];
	/** In the order of the chain. Keys are 64 hex digits without 0x. */
	readonly entries: readonly { readonly block: number; readonly key: string; readonly account: Hex }[];
}

export interface BookKeeper {
	load(): Promise<BookState | null>;
	/** Durable, all or nothing. */
	save(state: BookState): Promise<void>;
}

export interface ProviderBook {
	/** Up to the head of now. */
	refresh(): Promise<void>;
	accountOf(key: string): Hex | null;
}

export async function openProviderBook(
	client: ChainClient,
	at: ContractAddresses,
	keeper: BookKeeper,
): Promise<ProviderBook> {
	let state: BookState = (await keeper.load()) ?? { blocks: [], entries: [] };
	let accounts = indexOf(state);
	return {
		accountOf: (key) => accounts.get(key) ?? null,
		async refresh() {
			let entries = [...state.entries];
			await followEvents(client, {
				abi: registryAbi,
				addresses: [at.registry],
				fromBlock: at.deployedAtBlock,
				cursor: {
					load: async () => state.blocks,
					async save(blocks) {
						// Only the entries are worth a write; an older place in the chain is read again from there.
						const isNew = entries.length !== state.entries.length || entries.at(-1) !== state.entries.at(-1);
						state = { blocks, entries: [...entries] };
						if (isNew || blocks.length === 0) await keeper.save(state);
					},
				},
				async take(events) {
					for (const event of events) {
						if (event.eventName !== "Registered" && event.eventName !== "SigningKeyChanged") continue;
						const { account, signingKey, keyProof } = event.args as { account: Hex; signingKey: Hex; keyProof: Hex };
						const key = signingKey.slice(2);
						if (isChainKeyProof(key, keyProof, { chainId: client.chainId, registry: at.registry, account }))
							entries.push({ block: Number(event.blockNumber), key, account: account.toLowerCase() as Hex });
					}
				},
				async rollback(toBlock) {
					entries = entries.filter(({ block }) => block <= toBlock);
				},
			});
			await keeper.save(state);
			accounts = indexOf(state);
		},
	};
}

const indexOf = ({ entries }: BookState): ReadonlyMap<string, Hex> =>
	new Map(entries.map(({ key, account }) => [key, account]));
