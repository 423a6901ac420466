// The Registry's accounts as its events tell them: role, signing key that vouches for the account, stake,
// what is being unstaked. The same arithmetic as contracts/src/stake/StakeBook.sol, in the order of the
// chain. Pure: events in, accounts out; reading them is provider-book.ts.
import type { Hex } from "viem";

/** An event of the Registry. Amounts are decimal text, keys 64 hex digits, accounts in lower case. */
export type LedgerEvent =
	/** `key` is null where nothing shows that its owner wants this account. */
	| { readonly kind: "registered"; readonly account: Hex; readonly role: number; readonly key: string | null }
	| { readonly kind: "key"; readonly account: Hex; readonly key: string | null }
	| { readonly kind: "staked"; readonly account: Hex; readonly stake: string }
	| { readonly kind: "unstaked"; readonly account: Hex; readonly amount: string }
	| { readonly kind: "withdrawn"; readonly account: Hex; readonly amount: string }
	| { readonly kind: "slashed"; readonly account: Hex; readonly amount: string };

export interface LedgerAccount {
	readonly role: number;
	readonly key: string | null;
	readonly stake: bigint;
	readonly unbonding: bigint;
	/** Place of the event that set the key: the newest of several accounts counts. */
	readonly since: number;
}

/** Accounts that are there after all of these, by address. An empty one is gone, as in the contract. */
export function foldLedger(events: readonly LedgerEvent[]): ReadonlyMap<Hex, LedgerAccount> {
	const accounts = new Map<Hex, LedgerAccount>();
	for (const [since, event] of events.entries()) {
		const { account } = event;
		if (event.kind === "registered") {
			accounts.set(account, { role: event.role, key: event.key, stake: 0n, unbonding: 0n, since });
			continue;
		}
		const before = accounts.get(account);
		// A node that leaves out a registration makes nobody a provider.
		if (before === undefined) continue;
		const after = changed(before, event, since);
		const isGone = after.stake === 0n && after.unbonding === 0n && event.kind !== "key";
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
	if (event.kind === "staked") return { ...at, stake: BigInt(event.stake) };
	const amount = BigInt(event.amount);
	if (event.kind === "unstaked") return { ...at, stake: positive(at.stake - amount), unbonding: at.unbonding + amount };
	if (event.kind === "withdrawn") return { ...at, unbonding: positive(at.unbonding - amount) };
	// Bonded first, then what is being unstaked.
	const fromStake = amount < at.stake ? amount : at.stake;
	return { ...at, stake: at.stake - fromStake, unbonding: positive(at.unbonding - (amount - fromStake)) };
}

/** Only a lying node takes more than there is. */
const positive = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
