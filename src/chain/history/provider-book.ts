// Which account is paid for which provider, and for how high a score its stake stands: the Registry's events,
// followed over reorganisations. An account counts while it is registered as a provider with at least the
// minimum stake and the provider's own key vouches for it (`keyProof`) with the highest number it ever gave.
// It is scored while Slashing and RollCall may take of its stake what they take, and nobody else may. Events
// are kept together with their place in the chain, wherever the caller keeps them; they are a copy of the
// chain, and are read again when the chain is no longer the one they came from.
import type { Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { isChainKeyProof } from "../../protocol/chain/key-binding.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { type Contracts, read } from "../contracts/contracts.ts";
import { ROLES } from "../contracts/registry.ts";
import { type FollowedEvent, followEvents, type SeenBlock } from "./follow-events.ts";
import { foldLedger, type LedgerAccount, type LedgerEvent, type VouchedKey } from "./stake-ledger.ts";

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
	const standard = await readStandard(contracts);
	const kept = await keeper.load();
	const last = kept?.blocks.at(-1)?.number ?? deployedAtBlock - 1;
	let blocks: readonly SeenBlock[] = kept?.blocks ?? [];
	let entries: BookEntry[] = (kept?.entries ?? []).filter(({ block }) => block <= last);
	/** Up to which block what is kept is what we have. */
	let savedTo = last;
	let accounts = foldLedger(entries.map(({ event }) => event));
	let known = knownKeys(entries);
	let byKey = indexOf(accounts, known, minProviderStake);
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
			known = knownKeys(entries);
			byKey = indexOf(accounts, known, minProviderStake);
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
		/** Accounts that are there now: no report lists more. */
		count: (): number => accounts.size,
		/** Whether it ever had a provider's account, also one that has left or lost its stake. */
		isKnown: (key: string): boolean => known.has(key),
		/** What an account has at stake, 0 when it is not registered. */
		stakeOf: (account: Hex): bigint => accounts.get(account.toLowerCase() as Hex)?.stake ?? 0n,
		/** The key that speaks for an account now; null when it is not registered. */
		signerOf: (account: Hex): Hex | null => accounts.get(account.toLowerCase() as Hex)?.signer ?? null,
		/** The highest score that an account's stake stands for at this moment, in seconds since 1970. */
		limitOf: (account: Hex, nowS: number): ScoreLimit =>
			limitOf(accounts.get(account.toLowerCase() as Hex), standard, nowS),
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

/** What an account may be scored up to, and what keeps it from more. */
export interface ScoreLimit {
	readonly mostPpm: number;
	/** Null: nothing. */
	readonly why: string | null;
}

const WHOLE_PPM = 1_000_000;
/** What this network's contracts take at a time, and what a full score needs at stake. */
type Standard = Awaited<ReturnType<typeof readStandard>>;

async function readStandard(contracts: Contracts) {
	const { slashing, rollCall } = contracts.addresses;
	const [{ gemmSlashPpm }, { slashPpm }, { stakePerWeight }] = [
		await read(contracts, "slashing", "params"),
		await read(contracts, "rollCall", "params"),
		await read(contracts, "scoreboard", "params"),
	];
	const takes = new Map([
		[slashing.toLowerCase() as Hex, { name: "Slashing", ppm: gemmSlashPpm }],
		[rollCall.toLowerCase() as Hex, { name: "RollCall", ppm: slashPpm }],
	]);
	return { takes, stakePerWeight };
}

function limitOf(account: LedgerAccount | undefined, { takes, stakePerWeight }: Standard, nowS: number): ScoreLimit {
	if (account?.role !== ROLES.provider) return { mostPpm: 0, why: "no provider is registered under this account" };
	for (const [slasher, { name, ppm }] of takes) {
		const { mostPpm = 0, endsAt = 0 } = account.allowances.get(slasher) ?? {};
		// One that ends is none: what is signed from now on could outlive it.
		if (mostPpm < ppm || endsAt !== 0) return { mostPpm: 0, why: `its account does not let ${name} take its share` };
	}
	// ATTACK: a slasher or locker of its own would take the stake away before the network's can.
	for (const [slasher, { endsAt }] of account.allowances)
		if (!takes.has(slasher) && (endsAt === 0 || endsAt > nowS))
			return { mostPpm: 0, why: `its account lets ${slasher} take its stake` };
	const carried = stakePerWeight === 0n ? WHOLE_PPM : Number((account.stake * BigInt(WHOLE_PPM)) / stakePerWeight);
	return carried >= WHOLE_PPM
		? { mostPpm: WHOLE_PPM, why: null }
		: { mostPpm: carried, why: "its stake stands for no higher score" };
}

/**
 * Of each key that ever vouched for a provider's account: the highest number, whether that account is still
 * there or not.
 */
function knownKeys(entries: readonly BookEntry[]): ReadonlyMap<string, number> {
	const roles = new Map<Hex, number>();
	const found = new Map<string, number>();
	for (const { event } of entries) {
		if (event.kind === "registered") roles.set(event.account, event.role);
		if (event.kind !== "registered" && event.kind !== "key") continue;
		if (event.key === null || roles.get(event.account) !== ROLES.provider) continue;
		found.set(event.key.key, Math.max(event.key.number, found.get(event.key.key) ?? 0));
	}
	return found;
}

/**
 * ATTACK: an account that the key's owner has left must not be paid again, by an old proof or once the new
 * one is gone.
 */
function indexOf(
	accounts: ReadonlyMap<Hex, LedgerAccount>,
	highest: ReadonlyMap<string, number>,
	leastStake: bigint,
): ReadonlyMap<string, Hex> {
	const newest = new Map<string, { readonly account: Hex; readonly since: number }>();
	for (const [account, { role, key: vouched, stake, since }] of accounts) {
		if (vouched === null || role !== ROLES.provider || stake < leastStake) continue;
		const { key, number } = vouched;
		if (number === highest.get(key) && (newest.get(key)?.since ?? -1) < since) newest.set(key, { account, since });
	}
	return new Map([...newest].map(([key, { account }]) => [key, account]));
}

/** Null: not of an account. */
function entryOf({ client, addresses }: Contracts, log: FollowedEvent<typeof registryAbi>): BookEntry | null {
	const args = log.args as Readonly<Record<string, unknown>> & { readonly account?: Hex };
	if (args.account === undefined) return null;
	const account = args.account.toLowerCase() as Hex;
	const amount = String(args.amount);
	const vouched = (): VouchedKey | null => {
		const {
			signingKey = "0x",
			keyNumber = 0n,
			keyProof = "0x",
		} = args as {
			readonly signingKey?: Hex;
			readonly keyNumber?: bigint;
			readonly keyProof?: Hex;
		};
		const [key, number] = [signingKey.slice(2), Number(keyNumber)];
		const said = { chainId: client.chainId, registry: addresses.registry, account, number };
		return isChainKeyProof(key, keyProof, said) ? { key, number } : null;
	};
	const address = (name: string) => String(args[name]).toLowerCase() as Hex;
	const allowed = () => ({ slasher: address("slasher"), mostPpm: Number(args.mostPpm), endsAt: Number(args.endsAt) });
	const eventOf: Readonly<Record<string, () => LedgerEvent>> = {
		Registered: () => ({ kind: "registered", account, role: Number(args.role), key: vouched() }),
		SigningKeyChanged: () => ({ kind: "key", account, key: vouched() }),
		SignerChanged: () => ({ kind: "signer", account, signer: address("signer") }),
		AllowanceChanged: () => ({ kind: "allowed", account, ...allowed() }),
		Staked: () => ({ kind: "staked", account, stake: String(args.stake) }),
		Unstaked: () => ({ kind: "unstaked", account, amount }),
		Withdrawn: () => ({ kind: "withdrawn", account, amount }),
		Slashed: () => ({ kind: "slashed", account, amount }),
		Locked: () => ({ kind: "locked", account, amount }),
		Unlocked: () => ({ kind: "unlocked", account, amount }),
		LockSlashed: () => ({ kind: "lockSlashed", account, amount }),
	};
	const event = eventOf[log.eventName as string]?.();
	return event === undefined ? null : { block: Number(log.blockNumber), logIndex: log.logIndex, event };
}
