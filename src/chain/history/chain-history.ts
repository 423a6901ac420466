// What happened in the contracts, by epoch and by account: every event once, followed over reorganisations,
// in memory. Reading an epoch then takes no request; a node is asked only for new blocks. State that no event
// tells is read from the contracts. Bounded: with too many events those of the oldest epochs go, and
// `oldestEpoch` says so. Page: docs/chain.md.
import type { Hex } from "viem";
import type { Proposal } from "../../protocol/chain/epoch-shapes.ts";
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

export interface PastReport {
	committed: Where | null;
	revealed: Where | null;
	voided: Where | null;
	root: Hex | null;
	/** At the epoch's end; known once it is revealed. */
	stake: bigint | null;
}

export interface PastProposal {
	readonly proposer: Hex;
	readonly digest: Hex;
	readonly proposal: Proposal;
	readonly at: Where;
	rejected: { readonly by: Hex; readonly slashed: bigint; readonly at: Where } | null;
}

export interface PastEpoch {
	/** By validator. Anybody can commit; only those with stake can reveal. */
	readonly reports: ReadonlyMap<Hex, PastReport>;
	/** In order; the last one stands unless it was rejected. */
	readonly proposals: readonly PastProposal[];
	readonly pot: bigint | null;
	readonly claims: ReadonlyMap<Hex, { readonly amount: bigint; readonly at: Where }>;
	readonly paid: bigint;
	readonly isSwept: boolean;
	/** In order. */
	readonly events: readonly HistoryEvent[];
}

const ABI = [...registryAbi, ...scoreboardAbi, ...rewardsAbi, ...slashingAbi] as const;
/** Some 300 bytes each. */
const MAX_EVENTS = 200_000;
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
	private readonly forgottenClaims = new Map<Hex, bigint>();
	private readonly derived = new Map<number, PastEpoch>();
	private readonly cursor = memoryCursor();
	private count = 0;
	private changes = 0;
	private oldest = 0;
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

	/** The newest epoch whose emission is fixed; older epochs can no longer get one. Null before the first. */
	lastFixed(): number | null {
		for (const number of [...this.byEpoch.keys()].sort((a, b) => b - a))
			if (this.byEpoch.get(number)!.some(({ name }) => name === "EmissionFixed")) return number;
		return null;
	}

	/** Accounts that registered as validators at any time. */
	validators(): readonly Hex[] {
		return [...this.everValidators].sort();
	}

	/** Of the account: registrations, stakes, devices, claims. In order. */
	account(account: Hex): readonly HistoryEvent[] {
		return this.byAccount.get(account) ?? [];
	}

	/** The account that the key (64 hex digits) itself vouches for, the newest one. */
	accountOfKey(key: string): Hex | null {
		const found = this.byKey.get(key)?.findLast((event) => this.isProven(event));
		return (found?.args.account as Hex | undefined) ?? null;
	}

	/** The key that an account registered and that vouches for it. */
	keyOfAccount(account: Hex): string | null {
		const found = this.account(account).findLast(({ args }) => typeof args.signingKey === "string");
		return found !== undefined && this.isProven(found) ? (found.args.signingKey as string).slice(2) : null;
	}

	/** Over all time, forgotten epochs included. */
	rewardsOf(account: Hex): { readonly claimed: bigint; readonly collected: bigint } {
		const sum = (wanted: string, from: bigint) =>
			this.account(account).reduce(
				(all, { name, args }) => (name === wanted ? all + (args.amount as bigint) : all),
				from,
			);
		return { claimed: sum("Claimed", this.forgottenClaims.get(account) ?? 0n), collected: sum("Collected", 0n) };
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
		const { epoch, account, provider, signingKey } = event.args;
		if (typeof epoch === "bigint") {
			const number = Number(epoch);
			if (number < this.oldest) return;
			push(this.byEpoch, number, event);
			this.derived.delete(number);
			this.count++;
		}
		// Whom it concerns: an account of the Registry, or the provider that claims or binds a device.
		const whose = account ?? provider;
		if (isAddress(whose)) push(this.byAccount, whose as Hex, event);
		if (typeof signingKey === "string") push(this.byKey, signingKey.slice(2), event);
		if (isValidator(event)) this.everValidators.add(whose as Hex);
	}

	/** Whole epochs, so that no epoch is shown with half of its events. */
	private forget(): void {
		while (this.count > this.maxEvents && this.byEpoch.size > 1) {
			const first = Math.min(...this.byEpoch.keys());
			const gone = new Set(this.byEpoch.get(first)!);
			for (const { name, args } of gone) {
				const provider = args.provider as Hex;
				if (name !== "Claimed") continue;
				this.forgottenClaims.set(provider, (this.forgottenClaims.get(provider) ?? 0n) + (args.amount as bigint));
				const kept = this.byAccount.get(provider)?.filter((event) => !gone.has(event));
				if (kept !== undefined) this.byAccount.set(provider, kept);
			}
			this.count -= gone.size;
			this.byEpoch.delete(first);
			this.derived.delete(first);
			this.oldest = first + 1;
		}
	}

	private rollback(toBlock: number): void {
		for (const map of [this.byEpoch, this.byAccount, this.byKey] as Map<unknown, HistoryEvent[]>[])
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

function push<K>(map: Map<K, HistoryEvent[]>, key: K, event: HistoryEvent): void {
	const found = map.get(key);
	if (found === undefined) map.set(key, [event]);
	else found.push(event);
}

/** Addresses as everything else here writes them. */
function lowered(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
	return Object.fromEntries(
		Object.entries(args).map(([key, value]) => [key, isAddress(value) ? value.toLowerCase() : value]),
	);
}

function epochOf(events: readonly HistoryEvent[]): PastEpoch {
	const reports = new Map<Hex, PastReport>();
	const proposals: PastProposal[] = [];
	const claims = new Map<Hex, { amount: bigint; at: Where }>();
	let [pot, paid, isSwept] = [null as bigint | null, 0n, false];
	const reportOf = (validator: unknown): PastReport => {
		const found = reports.get(validator as Hex);
		if (found !== undefined) return found;
		const made = { committed: null, revealed: null, voided: null, root: null, stake: null };
		reports.set(validator as Hex, made);
		return made;
	};
	for (const { name, block, hash, args } of events) {
		const where = { hash, block };
		if (name === "Committed") reportOf(args.validator).committed = where;
		else if (name === "Revealed")
			Object.assign(reportOf(args.validator), { revealed: where, root: args.root, stake: args.stake });
		else if (name === "ReportVoided") reportOf(args.validator).voided = where;
		else if (name === "Proposed") {
			const proposal = args.proposal as Proposal;
			proposals.push({
				proposer: args.proposer as Hex,
				digest: args.digest as Hex,
				proposal: { ...proposal, thresholdProvider: proposal.thresholdProvider.toLowerCase() as Hex },
				at: where,
				rejected: null,
			});
		} else if (name === "ProposalRejected") {
			const found = proposals.findLast(({ digest, rejected }) => digest === args.digest && rejected === null);
			if (found !== undefined)
				found.rejected = { by: args.challenger as Hex, slashed: args.slashed as bigint, at: where };
		} else if (name === "EmissionFixed") pot = args.pot as bigint;
		else if (name === "Claimed") {
			claims.set(args.provider as Hex, { amount: args.amount as bigint, at: where });
			paid += args.amount as bigint;
		} else if (name === "CarriedOver") isSwept = true;
	}
	return { reports, proposals, pot, claims, paid, isSwept, events };
}
