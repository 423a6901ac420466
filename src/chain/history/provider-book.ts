// Which account is paid for which provider: the Registry's events, followed over reorganisations. An account
// counts while it is registered as a provider with at least the minimum stake and the provider's own key
// vouches for it (`keyProof`); of several the newest does. Events are kept together with their place in the
// chain, wherever the caller keeps them; they are a copy of the chain, and are read again when the chain is
// no longer the one they came from.
import type { Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { isChainKeyProof } from "../../protocol/chain/key-binding.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { type Contracts, read } from "../contracts/contracts.ts";
import { ROLES } from "../contracts/registry.ts";
import { type FollowedEvent, followEvents, type SeenBlock } from "./follow-events.ts";
import { foldLedger, type LedgerAccount, type LedgerEvent } from "./stake-ledger.ts";

export interface BookEntry {
	readonly block: number;
	readonly logIndex: number;
	readonly event: LedgerEvent;
}

export interface BookState {
	/** The newest blocks that were read. */
	readonly blocks: readonly SeenBlock[];
	/** In the order of the chain, none of a later block than the newest that was read. */
	readonly entries: readonly BookEntry[];
}

export interface BookKeeper {
	load(): Promise<BookState | null>;
	/** Durable, all or nothing: what is above `keepTo` is forgotten, `added` and the blocks are kept. */
	save(change: {
		readonly keepTo: number;
		readonly added: readonly BookEntry[];
		readonly blocks: readonly SeenBlock[];
	}): Promise<void>;
}

export type ProviderBook = Awaited<ReturnType<typeof openProviderBook>>;

/** An older cursor costs a few requests at the next start; a write at every look costs more. */
const SAVE_AFTER_BLOCKS = 200;

export async function openProviderBook(contracts: Contracts, keeper: BookKeeper) {
	const { registry, deployedAtBlock } = contracts.addresses;
	const { minProviderStake } = await read(contracts, "registry", "params");
	const kept = await keeper.load();
	const last = kept?.blocks.at(-1)?.number ?? deployedAtBlock - 1;
	let blocks: readonly SeenBlock[] = kept?.blocks ?? [];
	let entries: BookEntry[] = (kept?.entries ?? []).filter(({ block }) => block <= last);
	/** Up to which block what is kept is what we have. */
	let savedTo = last;
	let accounts = foldLedger(entries.map(({ event }) => event));
	let byKey = indexOf(accounts, minProviderStake);
	let known = knownKeys(entries);
	/** What a round that failed half-way has read is not lost. */
	let isFolded = true;
	let isSaved = true;

	const save = async () => {
		await keeper.save({ keepTo: savedTo, added: entries.filter(({ block }) => block > savedTo), blocks });
		savedTo = blocks.at(-1)?.number ?? deployedAtBlock - 1;
		isSaved = true;
	};
	const change = (next: BookEntry[]) => {
		entries = next;
		isFolded = false;
		isSaved = false;
	};

	async function follow(): Promise<void> {
		await followEvents(contracts.client, {
			abi: registryAbi,
			addresses: [registry],
			fromBlock: deployedAtBlock,
			cursor: {
				load: async () => blocks,
				async save(seen) {
					blocks = seen;
				},
			},
			async take(events) {
				const found = events.flatMap((event) => entryOf(contracts, event) ?? []);
				if (found.length > 0) change([...entries, ...found]);
			},
			async rollback(toBlock) {
				savedTo = Math.min(savedTo, toBlock);
				change(entries.filter(({ block }) => block <= toBlock));
			},
		});
		if (!isFolded) {
			accounts = foldLedger(entries.map(({ event }) => event));
			byKey = indexOf(accounts, minProviderStake);
			known = knownKeys(entries);
			isFolded = true;
		}
		if (!isSaved || (blocks.at(-1)?.number ?? 0) - savedTo >= SAVE_AFTER_BLOCKS) await save();
	}

	/** The chain is no longer the one that was read (a restored copy, another node). */
	async function readAnew(error: unknown): Promise<void> {
		if (!(error instanceof AssayError && error.code === "CHAIN_REORGANISED")) throw error;
		blocks = [];
		savedTo = deployedAtBlock - 1;
		change([]);
		await follow();
	}

	let reading: Promise<void> | null = null;
	return {
		/** Of the provider with this key; null: it has none, or has left. */
		accountOf: (key: string): Hex | null => byKey.get(key) ?? null,
		/** Whether it ever had a provider's account, also one that has left or lost its stake. */
		isKnown: (key: string): boolean => known.has(key),
		/** What an account has at stake, 0 when it is not registered. */
		stakeOf: (account: Hex): bigint => accounts.get(account.toLowerCase() as Hex)?.stake ?? 0n,
		/** Up to the head of now. */
		refresh(): Promise<void> {
			// Two at once would take every event twice.
			reading ??= follow()
				.catch(readAnew)
				.finally(() => {
					reading = null;
				});
			return reading;
		},
	};
}

function knownKeys(entries: readonly BookEntry[]): ReadonlySet<string> {
	const roles = new Map<Hex, number>();
	const found = new Set<string>();
	for (const { event } of entries) {
		if (event.kind === "registered") roles.set(event.account, event.role);
		if (event.kind !== "registered" && event.kind !== "key") continue;
		if (event.key !== null && roles.get(event.account) === ROLES.provider) found.add(event.key);
	}
	return found;
}

function indexOf(accounts: ReadonlyMap<Hex, LedgerAccount>, leastStake: bigint): ReadonlyMap<string, Hex> {
	const newest = new Map<string, { readonly account: Hex; readonly since: number }>();
	for (const [account, { role, key, stake, since }] of accounts) {
		if (key === null || role !== ROLES.provider || stake < leastStake) continue;
		if ((newest.get(key)?.since ?? -1) < since) newest.set(key, { account, since });
	}
	return new Map([...newest].map(([key, { account }]) => [key, account]));
}

/** Null: not of an account. */
function entryOf({ client, addresses }: Contracts, log: FollowedEvent<typeof registryAbi>): BookEntry | null {
	const args = log.args as Readonly<Record<string, unknown>> & { readonly account?: Hex };
	if (args.account === undefined) return null;
	const account = args.account.toLowerCase() as Hex;
	const amount = String(args.amount);
	const vouched = () => {
		const { signingKey, keyProof } = args as { readonly signingKey?: Hex; readonly keyProof?: Hex };
		const key = (signingKey ?? "0x").slice(2);
		const said = { chainId: client.chainId, registry: addresses.registry, account };
		return isChainKeyProof(key, keyProof ?? "0x", said) ? key : null;
	};
	const eventOf: Readonly<Record<string, () => LedgerEvent>> = {
		Registered: () => ({ kind: "registered", account, role: Number(args.role), key: vouched() }),
		SigningKeyChanged: () => ({ kind: "key", account, key: vouched() }),
		Staked: () => ({ kind: "staked", account, stake: String(args.stake) }),
		Unstaked: () => ({ kind: "unstaked", account, amount }),
		Withdrawn: () => ({ kind: "withdrawn", account, amount }),
		Slashed: () => ({ kind: "slashed", account, amount }),
	};
	const event = eventOf[log.eventName as string]?.();
	return event === undefined ? null : { block: Number(log.blockNumber), logIndex: log.logIndex, event };
}
