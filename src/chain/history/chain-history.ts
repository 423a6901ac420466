// What happened in the contracts, by epoch and by account: every event once, followed over reorganisations,
// in memory. Reading an epoch then takes no request; a node is asked only for new blocks. State that no event
// tells is read from the contracts. Bounded: with too many events those of the oldest epochs go, and
// `oldestEpoch` says so. Page: docs/chain.md.
import type { Hex } from "viem";
import type { Seat, Weights } from "../../protocol/chain/epoch-shapes.ts";
import { isChainKeyProof } from "../../protocol/chain/key-binding.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import type { Contracts } from "../contracts/contracts.ts";
import { followEvents, memoryCursor } from "./follow-events.ts";

/** Accounts in lower case. `args` are the event's own. */
export interface HistoryEvent {
	readonly name: string;
	readonly block: number;
	readonly hash: Hex;
	readonly logIndex: number;
	readonly args: Readonly<Record<string, unknown>>;
}

interface Where {
	readonly hash: Hex;
	readonly block: number;
}

/** A revealed report. Its place among the epoch's is its number. */
export interface PastSeat extends Seat {
	readonly at: Where;
}

export interface PastPost {
	readonly id: Hex;
	readonly sender: Hex;
	readonly weights: Weights;
	/** Bit i: seat i has signed. */
	readonly signers: bigint;
	readonly at: Where;
	/** Proven wrong, or built on what was. Null: it stands. */
	dropped: Where | null;
}

/** A statement that was proven wrong, posted or not. */
interface PastWrong {
	readonly id: Hex;
	readonly challenger: Hex;
	/** keccak256 of the challenge's name. */
	readonly reason: Hex;
	readonly at: Where;
	/** Its signers, as far as somebody has punished them. */
	readonly punished: { readonly account: Hex; readonly amount: bigint }[];
}

export interface PastEpoch {
	/** By signer. Anybody can commit; only those with stake can reveal. */
	readonly commits: ReadonlyMap<Hex, Where>;
	/** In the order of the reveals. */
	readonly seats: readonly PastSeat[];
	/** In order; the last one stands unless it was dropped. */
	readonly posts: readonly PastPost[];
	readonly wrong: readonly PastWrong[];
	/** In order. */
	readonly events: readonly HistoryEvent[];
}

/** The weights that were posted for an epoch and not dropped, if any. */
export const standing = ({ posts }: PastEpoch): PastPost | null => {
	const last = posts.at(-1);
	return last === undefined || last.dropped !== null ? null : last;
};

const ABI = [...registryAbi, ...scoreboardAbi, ...rewardsAbi, ...slashingAbi] as const;
/** Some 300 bytes each. */
const MAX_EVENTS = 200_000;
/** Of an account; each tells all that was paid up to it. */
const MAX_CLAIMS = 64;
const VALIDATOR = 2;

const isValidator = ({ name, args }: HistoryEvent): boolean => name === "Registered" && args.role === VALIDATOR;
const isAddress = (value: unknown): value is string => typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);

export class ChainHistory {
	private readonly contracts: Contracts;
	private readonly maxEvents: number;
	private readonly byEpoch = new Map<number, HistoryEvent[]>();
	private readonly byAccount = new Map<Hex, HistoryEvent[]>();
	private readonly byKey = new Map<string, HistoryEvent[]>();
	private readonly everValidators = new Set<Hex>();
	private readonly proven = new WeakMap<HistoryEvent, boolean>();
	private readonly claimsBy = new Map<Hex, HistoryEvent[]>();
	private readonly signerBy = new Map<Hex, HistoryEvent[]>();
	private readonly derived = new Map<number, PastEpoch>();
	private readonly cursor = memoryCursor();
	private count = 0;
	private changes = 0;
	private oldest = 0;
	private posted: { readonly version: number; readonly epochs: readonly number[] } | null = null;
	private running: Promise<void> | null = null;

	constructor(contracts: Contracts, maxEvents = MAX_EVENTS) {
		this.contracts = contracts;
		this.maxEvents = maxEvents;
	}

	/** Up to the head of now. Whoever calls while it runs waits for the same round. */
	refresh(): Promise<void> {
		this.running ??= this.follow().finally(() => {
			this.running = null;
		});
		return this.running;
	}

	/** Changes whenever something was read or taken back. */
	version(): number {
		return this.changes;
	}

	epoch(number: number): PastEpoch {
		const known = this.derived.get(number);
		if (known !== undefined) return known;
		const events = this.byEpoch.get(number);
		const found = epochOf(events ?? []);
		if (events !== undefined) this.derived.set(number, found);
		return found;
	}

	/** Epochs before this one are forgotten. */
	oldestEpoch(): number {
		return this.oldest;
	}

	/** The newest epoch below `before` whose weights stand; null: none does. */
	lastPosted(before = Number.POSITIVE_INFINITY): number | null {
		return this.postedEpochs().findLast((number) => number < before) ?? null;
	}

	/** The oldest epoch above this one whose weights stand; null: none does. */
	nextPosted(after: number): number | null {
		return this.postedEpochs().find((number) => number > after) ?? null;
	}

	/** Ascending. */
	private postedEpochs(): readonly number[] {
		if (this.posted?.version !== this.changes) {
			const epochs = [...this.byEpoch.keys()].filter((number) => standing(this.epoch(number)) !== null);
			this.posted = { version: this.changes, epochs: epochs.sort((a, b) => a - b) };
		}
		return this.posted.epochs;
	}

	/** Accounts that registered as validators at any time. */
	validators(): readonly Hex[] {
		return [...this.everValidators].sort();
	}

	isValidator(account: Hex): boolean {
		return this.everValidators.has(account);
	}

	/** Of the account: registrations, stakes, devices, claims. In order. */
	account(account: Hex): readonly HistoryEvent[] {
		return this.byAccount.get(account) ?? [];
	}

	/**
	 * The account that the key (64 hex digits) itself vouches for, by the highest number: an old proof takes
	 * nothing back.
	 */
	accountOfKey(key: string): Hex | null {
		const proven = (this.byKey.get(key) ?? []).filter((event) => this.isProven(event));
		const numberOf = ({ args }: HistoryEvent) => args.keyNumber as bigint;
		const found = proven.reduce<HistoryEvent | null>(
			(best, event) => (best === null || numberOf(event) >= numberOf(best) ? event : best),
			null,
		);
		return (found?.args.account as Hex | undefined) ?? null;
	}

	/** The key that an account registered and that vouches for it. */
	keyOfAccount(account: Hex): string | null {
		const found = this.account(account).findLast(({ args }) => typeof args.signingKey === "string");
		return found !== undefined && this.isProven(found) ? (found.args.signingKey as string).slice(2) : null;
	}

	/** The account that a key signs for, now or once; the key's own address when none says so. */
	accountOfSigner(signer: Hex): Hex {
		return (this.signerBy.get(signer)?.at(-1)?.args.account as Hex | undefined) ?? signer;
	}

	/** Payments to the account, in order; the newest of them. */
	claims(account: Hex): readonly HistoryEvent[] {
		return this.claimsBy.get(account) ?? [];
	}

	/** What the account was paid in all, up to this block. */
	claimedOf(account: Hex, upTo = Number.POSITIVE_INFINITY): bigint {
		const last = this.claims(account).findLast(({ block }) => block <= upTo);
		return (last?.args.total as bigint | undefined) ?? 0n;
	}

	private async follow(): Promise<void> {
		const { registry, scoreboard, rewards, slashing, deployedAtBlock } = this.contracts.addresses;
		await followEvents(this.contracts.client, {
			abi: ABI,
			addresses: [registry, scoreboard, rewards, slashing],
			fromBlock: deployedAtBlock,
			cursor: this.cursor,
			take: async (events) => {
				for (const { eventName, args, blockNumber, transactionHash, logIndex } of events)
					this.take({
						name: eventName,
						block: Number(blockNumber),
						hash: transactionHash,
						logIndex,
						args: lowered(args as Readonly<Record<string, unknown>>),
					});
				this.forget();
				this.changes++;
			},
			rollback: async (toBlock) => this.rollback(toBlock),
		});
	}

	private take(event: HistoryEvent): void {
		const { epoch, account, provider, signingKey, signer } = event.args;
		if (typeof epoch === "bigint") {
			const number = Number(epoch);
			if (number < this.oldest) return;
			push(this.byEpoch, number, event);
			this.derived.delete(number);
			this.count++;
			return;
		}
		// Whom it concerns: an account of the Registry, or the provider that binds a device.
		const whose = account ?? provider;
		if (isAddress(whose) && event.name === "Claimed") {
			const claims = push(this.claimsBy, whose as Hex, event);
			if (claims.length > MAX_CLAIMS) claims.shift();
		} else if (isAddress(whose)) push(this.byAccount, whose as Hex, event);
		if (event.name === "SignerChanged") push(this.signerBy, signer as Hex, event);
		if (typeof signingKey === "string") push(this.byKey, signingKey.slice(2), event);
		if (isValidator(event)) this.everValidators.add(whose as Hex);
	}

	/** Whole epochs, so that no epoch is shown with half of its events. */
	private forget(): void {
		while (this.count > this.maxEvents && this.byEpoch.size > 1) {
			const first = Math.min(...this.byEpoch.keys());
			this.count -= this.byEpoch.get(first)!.length;
			this.byEpoch.delete(first);
			this.derived.delete(first);
			this.oldest = first + 1;
		}
	}

	private rollback(toBlock: number): void {
		for (const map of [this.byEpoch, this.byAccount, this.byKey, this.claimsBy, this.signerBy] as Map<
			unknown,
			HistoryEvent[]
		>[])
			for (const [key, events] of map) {
				const kept = events.filter(({ block }) => block <= toBlock);
				if (kept.length === 0) map.delete(key);
				else if (kept.length < events.length) map.set(key, kept);
			}
		for (const account of this.everValidators)
			if (!this.account(account).some(isValidator)) this.everValidators.delete(account);
		this.derived.clear();
		this.count = [...this.byEpoch.values()].reduce((sum, { length }) => sum + length, 0);
		this.changes++;
	}

	/** Whether the key of a registration vouches for its account. */
	private isProven(event: HistoryEvent): boolean {
		let known = this.proven.get(event);
		if (known === undefined) {
			const { client, addresses } = this.contracts;
			const { account, signingKey, keyNumber, keyProof } = event.args as {
				readonly [name in "account" | "signingKey" | "keyProof"]: Hex;
			} & { readonly keyNumber: bigint };
			const claim = { chainId: client.chainId, registry: addresses.registry, account, number: Number(keyNumber) };
			known = isChainKeyProof(signingKey.slice(2), keyProof, claim);
			this.proven.set(event, known);
		}
		return known;
	}
}

function push<K>(map: Map<K, HistoryEvent[]>, key: K, event: HistoryEvent): HistoryEvent[] {
	const found = map.get(key) ?? [];
	if (found.length === 0) map.set(key, found);
	found.push(event);
	return found;
}

/** Addresses as everything else here writes them. */
function lowered(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
	return Object.fromEntries(
		Object.entries(args).map(([key, value]) => [key, isAddress(value) ? value.toLowerCase() : value]),
	);
}

function epochOf(events: readonly HistoryEvent[]): PastEpoch {
	const commits = new Map<Hex, Where>();
	const seats: PastSeat[] = [];
	const posts: PastPost[] = [];
	const wrong: PastWrong[] = [];
	for (const { name, block, hash, args } of events) {
		const at = { hash, block };
		const { id } = args as { id: Hex };
		if (name === "Committed") commits.set(args.signer as Hex, at);
		else if (name === "Revealed") seats.push({ ...(args as unknown as Omit<PastSeat, "at">), at });
		else if (name === "Posted") posts.push({ ...(args as unknown as Omit<PastPost, "at">), at, dropped: null });
		else if (name === "Dropped") {
			const found = posts.findLast((post) => post.id === id && post.dropped === null);
			if (found !== undefined) found.dropped = at;
		} else if (name === "ProvenWrong") wrong.push({ ...(args as unknown as PastWrong), at, punished: [] });
		else if (name === "Punished")
			wrong
				.find((one) => one.id === id)
				?.punished.push({ account: args.account as Hex, amount: args.amount as bigint });
	}
	return { commits, seats, posts, wrong, events };
}
