// The Registry's accounts as its events tell them: role, signing key that vouches for the account, signer,
// stake, what is being unstaked or locked, who may take it. The same arithmetic as contracts/src/stake/, in
// the order of the chain. Pure: events in, accounts out; reading them is provider-book.ts.
import type { Hex } from "viem";
import type { RegistryAccount } from "../contracts/registry.ts";

/** An event of the Registry. Amounts are decimal text, keys 64 hex digits, accounts in lower case. */
export type LedgerEvent = { readonly account: Hex } & (
	| { readonly kind: "registered"; readonly role: number; readonly key: VouchedKey | null }
	| { readonly kind: "key"; readonly key: VouchedKey | null }
	| { readonly kind: "signer"; readonly signer: Hex }
	| { readonly kind: "allowed"; readonly slasher: Hex; readonly mostPpm: number; readonly endsAt: number }
	| { readonly kind: "staked"; readonly stake: string }
	| { readonly kind: Moved; readonly amount: string }
);
type Moved = "unstaked" | "withdrawn" | "slashed" | "locked" | "unlocked" | "lockSlashed";

/** Null stands for one that nothing shows to want this account. */
export interface VouchedKey {
	readonly key: string;
	/** Of several proofs of one key the highest counts. */
	readonly number: number;
}

/** `signer`: its own address until it says otherwise. */
export interface LedgerAccount extends Pick<RegistryAccount, "role" | "signer" | "stake" | "unbonding" | "locked"> {
	readonly key: VouchedKey | null;
	/** Place of the event that set the key: the newest of several accounts counts. */
	readonly since: number;
	/** By slasher; those that have ended stay listed. */
	readonly allowances: ReadonlyMap<Hex, LedgerAllowance>;
}

interface LedgerAllowance {
	readonly mostPpm: number;
	/** Seconds since 1970; 0 without end. */
	readonly endsAt: number;
}

/** Accounts that are there after all of these, by address. An empty one is gone, as in the contract. */
export function foldLedger(events: readonly LedgerEvent[]): ReadonlyMap<Hex, LedgerAccount> {
	const accounts = new Map<Hex, LedgerAccount>();
	for (const [since, event] of events.entries()) {
		const { account } = event;
		if (event.kind === "registered") {
			const nothing = { stake: 0n, unbonding: 0n, locked: 0n, allowances: new Map() };
			accounts.set(account, { role: event.role, key: event.key, signer: account, since, ...nothing });
			continue;
		}
		const before = accounts.get(account);
		// A node that leaves out a registration makes nobody a provider.
		if (before === undefined) continue;
		const after = changed(before, event, since);
		const isGone = after.stake + after.unbonding + after.locked === 0n && "amount" in event;
		if (isGone) accounts.delete(account);
		else accounts.set(account, after);
	}
	return accounts;
}

function changed(
	at: LedgerAccount,
	event: Exclude<LedgerEvent, { readonly kind: "registered" }>,
	since: number,
): LedgerAccount {
	if (event.kind === "key") return { ...at, key: event.key, since };
	if (event.kind === "signer") return { ...at, signer: event.signer };
	if (event.kind === "allowed") {
		const { slasher, mostPpm, endsAt } = event;
		return { ...at, allowances: new Map(at.allowances).set(slasher, { mostPpm, endsAt }) };
	}
	if (event.kind === "staked") return { ...at, stake: BigInt(event.stake) };
	return { ...at, ...moved(at, event.kind, BigInt(event.amount)) };
}

type Parts = Pick<LedgerAccount, "stake" | "unbonding" | "locked">;

function moved({ stake, unbonding, locked }: Parts, kind: Moved, amount: bigint): Parts {
	switch (kind) {
		case "unstaked":
			return { stake: positive(stake - amount), unbonding: unbonding + amount, locked };
		case "withdrawn":
			return { stake, unbonding: positive(unbonding - amount), locked };
		case "locked":
			return { stake: positive(stake - amount), unbonding, locked: locked + amount };
		case "unlocked":
			return { stake: stake + amount, unbonding, locked: positive(locked - amount) };
		case "lockSlashed":
			return { stake, unbonding, locked: positive(locked - amount) };
		case "slashed": {
			// Bonded first, then what is being unstaked, then what is locked.
			const fromStake = lesser(amount, stake);
			const fromUnbonding = lesser(amount - fromStake, unbonding);
			const fromLocked = amount - fromStake - fromUnbonding;
			return {
				stake: stake - fromStake,
				unbonding: unbonding - fromUnbonding,
				locked: positive(locked - fromLocked),
			};
		}
	}
}

const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b);
/** Only a lying node takes more than there is. */
const positive = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
