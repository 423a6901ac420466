// What happened in the contracts, by epoch and by account: every event once, followed over reorganisations, in memory. Makes reading an epoch a matter of no
// requests at all; a node is asked only for blocks that are new. Whoever needs state that no event tells asks the contracts. Page: docs/chain.md.
// Bounded: when there are too many events the oldest epochs' go, and `oldestEpoch` says so.
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

export interface ChainHistory {
	/** Up to the head of now. Whoever calls while it runs waits for the same round. */
	refresh(): Promise<void>;
	/** Changes whenever something was read or taken back. */
	readonly version: () => number;
	epoch(number: number): PastEpoch;
	/** Epochs before this one are forgotten. */
	readonly oldestEpoch: () => number;
	/** The newest epoch that something was sent for; null before that. */
	readonly newestEpoch: () => number | null;
	/** Accounts that registered as validators at any time. */
	validators(): readonly Hex[];
	/** Of the account: registrations, stakes, devices, claims. In order. */
	account(account: Hex): readonly HistoryEvent[];
	/** The account that the key (64 hex digits) itself vouches for, the newest one. */
	accountOfKey(key: string): Hex | null;
	/** The key that an account registered and that vouches for it. */
	keyOfAccount(account: Hex): string | null;
	/** The newest epoch whose emission is fixed: older ones without a proposal can have none any more. Null before the first. */
	readonly lastFixed: () => number | null;
	/** Over all time, forgotten epochs included. */
	rewardsOf(account: Hex): { readonly claimed: bigint; readonly collected: bigint };
}

const ABI = [...registryAbi, ...scoreboardAbi, ...rewardsAbi, ...slashingAbi] as const;
/** Some 300 bytes each. */
const MAX_EVENTS = 200_000;
const VALIDATOR = 2;

const isAddress = (value: unknown): value is string => typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);

export function createChainHistory(contracts: Contracts, mostEvents = MAX_EVENTS): ChainHistory {
	const { client, addresses } = contracts;
	const byEpoch = new Map<number, HistoryEvent[]>();
	const byAccount = new Map<Hex, HistoryEvent[]>();
	const byKey = new Map<string, HistoryEvent[]>();
	const validators = new Set<Hex>();
	const proven = new WeakMap<HistoryEvent, boolean>();
	const forgottenClaims = new Map<Hex, bigint>();
	let derived = new Map<number, PastEpoch>();
	let [count, version, oldest] = [0, 0, 0];
	const cursor = memoryCursor();

	function push<K>(map: Map<K, HistoryEvent[]>, key: K, event: HistoryEvent): void {
		const found = map.get(key);
		if (found === undefined) map.set(key, [event]);
		else found.push(event);
	}

	function take(event: HistoryEvent): void {
		const { epoch, account, provider, signingKey, role } = event.args;
		if (typeof epoch === "bigint") {
			const number = Number(epoch);
			if (number < oldest) return;
			push(byEpoch, number, event);
			derived.delete(number);
			count++;
		}
		// Whom it concerns: an account of the Registry, or the provider that claims or binds a device.
		const whose = account ?? provider;
		if (isAddress(whose)) push(byAccount, whose as Hex, event);
		if (typeof signingKey === "string") push(byKey, signingKey.slice(2), event);
		if (event.name === "Registered" && role === VALIDATOR) validators.add(whose as Hex);
	}

	/** Whole epochs, so that no epoch is shown with half of its events. */
	function forget(): void {
		while (count > mostEvents && byEpoch.size > 1) {
			const first = Math.min(...byEpoch.keys());
			const gone = byEpoch.get(first)!;
			const all = new Set(gone);
			for (const { name, args } of gone) {
				const provider = args.provider as Hex;
				if (name !== "Claimed") continue;
				forgottenClaims.set(provider, (forgottenClaims.get(provider) ?? 0n) + (args.amount as bigint));
				const kept = byAccount.get(provider)?.filter((event) => !all.has(event));
				if (kept !== undefined) byAccount.set(provider, kept);
			}
			count -= gone.length;
			byEpoch.delete(first);
			derived.delete(first);
			oldest = first + 1;
		}
	}

	function rollback(toBlock: number): void {
		const keep = <K>(map: Map<K, HistoryEvent[]>) => {
			for (const [key, events] of map) {
				const kept = events.filter(({ block }) => block <= toBlock);
				if (kept.length === events.length) continue;
				if (kept.length === 0) map.delete(key);
				else map.set(key, kept);
			}
		};
		keep(byEpoch);
		keep(byAccount);
		keep(byKey);
		derived = new Map();
		count = [...byEpoch.values()].reduce((sum, { length }) => sum + length, 0);
		validators.clear();
		for (const events of byAccount.values())
			for (const { name, args } of events)
				if (name === "Registered" && args.role === VALIDATOR) validators.add(args.account as Hex);
		version++;
	}

	const isProven = (event: HistoryEvent): boolean => {
		let known = proven.get(event);
		if (known === undefined) {
			const { account, signingKey, keyProof } = event.args as { account: Hex; signingKey: Hex; keyProof: Hex };
			known = isChainKeyProof(signingKey.slice(2), keyProof, {
				chainId: client.chainId,
				registry: addresses.registry,
				account,
			});
			proven.set(event, known);
		}
		return known;
	};

	let running: Promise<void> | null = null;
	async function refresh(): Promise<void> {
		await followEvents(client, {
			abi: ABI,
			addresses: [addresses.registry, addresses.scoreboard, addresses.rewards, addresses.slashing],
			fromBlock: addresses.deployedAtBlock,
			cursor,
			async take(events) {
				for (const { eventName, args, blockNumber, transactionHash, logIndex } of events)
					take({
						name: eventName,
						block: Number(blockNumber),
						hash: transactionHash,
						logIndex,
						args: lowered(args as Readonly<Record<string, unknown>>),
					});
				forget();
				version++;
			},
			rollback: async (toBlock) => rollback(toBlock),
		});
	}

	return {
		refresh() {
			running ??= refresh().finally(() => {
				running = null;
			});
			return running;
		},
		version: () => version,
		epoch(number) {
			let found = derived.get(number);
			if (found === undefined) {
				found = epochOf(byEpoch.get(number) ?? []);
				if (byEpoch.has(number)) derived.set(number, found);
			}
			return found;
		},
		oldestEpoch: () => oldest,
		newestEpoch: () => (byEpoch.size === 0 ? null : Math.max(...byEpoch.keys())),
		lastFixed() {
			for (const number of [...byEpoch.keys()].sort((a, b) => b - a))
				if (byEpoch.get(number)!.some(({ name }) => name === "EmissionFixed")) return number;
			return null;
		},
		rewardsOf(account) {
			const sum = (wanted: string, from: bigint) =>
				(byAccount.get(account) ?? []).reduce(
					(all, { name, args }) => (name === wanted ? all + (args.amount as bigint) : all),
					from,
				);
			return { claimed: sum("Claimed", forgottenClaims.get(account) ?? 0n), collected: sum("Collected", 0n) };
		},
		validators: () => [...validators].sort(),
		account: (account) => byAccount.get(account) ?? [],
		accountOfKey: (key) => (byKey.get(key)?.findLast(isProven)?.args.account as Hex | undefined) ?? null,
		keyOfAccount(account) {
			const found = byAccount.get(account)?.findLast(({ args }) => typeof args.signingKey === "string");
			return found !== undefined && isProven(found) ? (found.args.signingKey as string).slice(2) : null;
		},
	};
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
