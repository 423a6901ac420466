// The book of providers against the real Registry: who counts, with what stake and up to which score, over
// leaving, slashing, a key's change, allowances, reorganisations and restarts.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Hex } from "viem";
import { signChainKey } from "../../protocol/chain/key-binding.ts";
import { createSigner } from "../../protocol/probe/signer.ts";
import { type Contracts, callOf, read } from "../contracts/contracts.ts";
import { deployContracts } from "../contracts/deploy.ts";
import { type Allowance, approveCall, networkAllowances, registerCall, signConsent } from "../contracts/registry.ts";
import { type ChainClient, createChainClient } from "../node/chain-client.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../node/toy-node.test-kit.ts";
import { sendCall } from "../sending/send-call.ts";
import { accountOf, type ChainAccount } from "../sending/sign.ts";
import { type BookEntry, type BookState, openProviderBook, type ProviderBook } from "./provider-book.ts";
import { foldLedger, type LedgerEvent } from "./stake-ledger.ts";

const UNIT = 10n ** 18n;
const DAY = 86_400;
const keys = [1, 2].map((n) => createSigner(new Uint8Array(32).fill(n)));
const [alice, bob] = keys.map(({ key }) => key) as [string, string];
let node: ToyNode;
/** Sends; the book's own client wants 12 confirmations. */
let plain: ChainClient;
let contracts: Contracts;
before(async () => {
	node = await createToyNode();
	plain = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	const params = { genesis: TOY_GENESIS_S, epochSeconds: 600 };
	const { addresses } = await deployContracts(plain, TREASURER, params);
	contracts = { client: await createChainClient(node.rpc, { confirmations: 12 }), addresses };
});

let accounts = 0x50;
/** With tokens to stake and coins for gas. */
async function newAccount(): Promise<ChainAccount> {
	const account = accountOf(`0x${(accounts++).toString(16).repeat(32)}`);
	await sendCall(plain, TREASURER, { to: account.address, data: "0x", value: UNIT });
	await sendCall(plain, TREASURER, callOf(contracts, "token", "transfer", account.address, 5000n * UNIT));
	await sendCall(plain, account, approveCall(contracts, 5000n * UNIT));
	return account;
}

const lower = ({ address }: ChainAccount) => address.toLowerCase() as Hex;
const proofBy = (n: number, account: ChainAccount, number = 1) =>
	signChainKey(keys[n]!, { ...contracts.addresses, account: account.address, number });
interface More {
	readonly tokens?: bigint;
	readonly keyProof?: Hex;
	readonly keyNumber?: number;
	readonly role?: "validator";
	readonly allowances?: readonly Allowance[];
}
const register = (account: ChainAccount, n: number, { keyNumber = 1, ...more }: More = {}) =>
	sendCall(
		plain,
		account,
		registerCall(contracts, {
			role: more.role ?? "provider",
			signingKey: `0x${keys[n]!.key}`,
			keyNumber,
			keyProof: more.keyProof ?? proofBy(n, account, keyNumber),
			...(more.allowances === undefined ? {} : { allowances: more.allowances }),
			endpoint: "",
			amount: (more.tokens ?? 10n) * UNIT,
		}),
	);

/** As a store keeps it: all or nothing. */
function memoryKeeper() {
	let kept: BookState | null = null;
	let saves = 0;
	return {
		saves: () => saves,
		load: async () => kept,
		async save(change: { keepTo: number; added: readonly BookEntry[]; blocks: BookState["blocks"] }) {
			saves++;
			const below = (kept?.entries ?? []).filter(({ block }) => block <= change.keepTo);
			assert.ok(change.added.every(({ block }) => block > change.keepTo));
			kept = { blocks: change.blocks, entries: [...below, ...change.added] };
		},
	};
}
const seen = async (book: ProviderBook, ...of: ChainAccount[]) => {
	await book.refresh();
	return [book.accountOf(alice), book.accountOf(bob), ...of.map((one) => book.stakeOf(one.address) / UNIT)];
};

test("an account counts while it is a provider with the least stake and its key vouches for it", async () => {
	const keeper = memoryKeeper();
	const book = await openProviderBook(contracts, keeper);
	const [one, two, three] = [await newAccount(), await newAccount(), await newAccount()];
	assert.deepEqual(await seen(book, one), [null, null, 0n]);
	await register(one, 0);
	await sendCall(plain, one, callOf(contracts, "registry", "stake", 5n * UNIT));
	// Somebody else's key, and a validator: neither makes a provider.
	await register(two, 1, { keyProof: proofBy(1, one) });
	await register(three, 1, { role: "validator", tokens: 1000n });
	assert.deepEqual(await seen(book, one, two, three), [lower(one), null, 15n, 10n, 1000n]);
	await setKey(two, 1, 1);
	assert.deepEqual(await seen(book, two), [lower(one), lower(two), 10n]);
	assert.equal(book.count(), 3);

	await sendCall(plain, one, callOf(contracts, "registry", "unstake", 15n * UNIT));
	assert.deepEqual(await seen(book, one), [null, lower(two), 0n]);
	assert.deepEqual([book.isKnown(alice), book.isKnown("ab".repeat(32))], [true, false], "left, and never there");
	await node.at(node.nowS + 8 * DAY);
	await sendCall(plain, one, callOf(contracts, "registry", "withdraw", one.address));
	await register(one, 0, { tokens: 12n });
	assert.deepEqual(await seen(book, one), [lower(one), lower(two), 12n], "and it may come back");

	const again = await openProviderBook(contracts, keeper);
	assert.equal(again.accountOf(alice), lower(one), "after a restart, before anything was read");
	assert.equal(again.stakeOf(one.address), 12n * UNIT);
	const saves = keeper.saves();
	await again.refresh();
	await again.refresh();
	assert.equal(keeper.saves(), saves, "nothing new is nothing to write");
});

const setKey = (account: ChainAccount, n: number, number: number) =>
	sendCall(
		plain,
		account,
		callOf(contracts, "registry", "setSigningKey", `0x${keys[n]!.key}`, BigInt(number), proofBy(n, account, number)),
	);

test("M5: an account that its key has left takes nothing back, with its old proof or once the new one is gone", async () => {
	const book = await openProviderBook(contracts, memoryKeeper());
	const [old, next] = [await newAccount(), await newAccount()];
	await register(old, 0, { keyNumber: 5 });
	assert.equal((await seen(book))[0], lower(old));
	await register(next, 0, { keyNumber: 6 });
	assert.equal((await seen(book))[0], lower(next));
	await setKey(old, 0, 5);
	assert.equal((await seen(book))[0], lower(next), "the old proof, sent again");
	await setKey(old, 0, 4);
	assert.equal((await seen(book))[0], lower(next), "an older one");
	// A number that the key did not sign, and one that no program can write.
	const forged = (number: bigint) =>
		sendCall(plain, old, callOf(contracts, "registry", "setSigningKey", `0x${alice}`, number, proofBy(0, old, 5)));
	await forged(7n);
	await forged(2n ** 64n - 1n);
	assert.equal((await seen(book))[0], lower(next), "a number that nobody signed");
	await setKey(old, 0, 5);
	await sendCall(plain, next, callOf(contracts, "registry", "unstake", 10n * UNIT));
	assert.equal((await seen(book))[0], null, "the newest has left: nobody is paid for this key");
	await setKey(old, 0, 7);
	assert.equal((await seen(book))[0], lower(old), "until its owner says so");
	await sendCall(plain, old, callOf(contracts, "registry", "unstake", 10n * UNIT));
});

test("H6: the stake that stands for a score, and who else may take it", async () => {
	const { addresses } = contracts;
	const book = await openProviderBook(contracts, memoryKeeper());
	const limit = async (account: ChainAccount) => {
		await book.refresh();
		return book.limitOf(account.address, node.nowS);
	};
	const perWeight = (await read(contracts, "scoreboard", "params")).stakePerWeight;
	const [slashing, rollCall] = networkAllowances(addresses) as [Allowance, Allowance];
	const account = await newAccount();
	const allow = (more: Allowance) => sendCall(plain, account, callOf(contracts, "registry", "allow", more));
	const disallow = (slasher: Hex) => sendCall(plain, account, callOf(contracts, "registry", "disallow", slasher));
	assert.deepEqual(await limit(account), { mostPpm: 0, why: "no provider is registered under this account" });
	await register(account, 1, { keyNumber: 9, tokens: 10n, allowances: [{ ...slashing, mostPpm: 499_999 }] });
	assert.match((await limit(account)).why!, /does not let Slashing take/);
	await allow({ ...slashing, mostPpm: 500_000 });
	assert.match((await limit(account)).why!, /does not let RollCall take/);
	await allow({ ...rollCall, mostPpm: 100_000 });
	const carried = (tokens: bigint) => Math.min(1_000_000, Number((tokens * UNIT * 1_000_000n) / perWeight));
	assert.equal((await limit(account)).mostPpm, carried(10n));
	const full = perWeight / UNIT;
	await sendCall(plain, account, callOf(contracts, "registry", "stake", full * UNIT));
	assert.deepEqual(await limit(account), { mostPpm: 1_000_000, why: null });
	// What is locked or on its way out stands for nothing.
	await sendCall(plain, account, callOf(contracts, "registry", "unstake", full * UNIT));
	assert.equal((await limit(account)).mostPpm, carried(10n));
	// A locker of its own: from the moment that it may take anything until it no longer can.
	const friend = accountOf(`0x${"f1".repeat(32)}`);
	await allow({ slasher: friend.address, mostPpm: 0, mostLocked: 1n });
	assert.match((await limit(account)).why!, new RegExp(`lets ${lower(friend)} take`));
	await disallow(friend.address);
	assert.equal((await limit(account)).mostPpm, 0);
	await node.at(node.nowS + 8 * DAY);
	assert.equal((await limit(account)).mostPpm, carried(10n));
	await disallow(addresses.rollCall);
	assert.match((await limit(account)).why!, /does not let RollCall take/, "from the moment that it says so");
	await allow({ ...rollCall, mostPpm: 100_000 });
	assert.equal((await limit(account)).mostPpm, carried(10n));

	assert.equal(book.signerOf(account.address), lower(account));
	const consent = await signConsent(friend, addresses, account.address);
	await sendCall(plain, account, callOf(contracts, "registry", "setSigner", friend.address, consent));
	await book.refresh();
	assert.equal(book.signerOf(account.address), lower(friend));
	assert.equal(book.signerOf(friend.address), null);
	await sendCall(plain, account, callOf(contracts, "registry", "unstake", 10n * UNIT));
});

test("what a reorganisation takes back is taken back, in memory and where it is kept; another chain is read anew", async () => {
	const keeper = memoryKeeper();
	const book = await openProviderBook(contracts, keeper);
	const account = await newAccount();
	await node.mine(20);
	const before = (await seen(book))[0];
	await register(account, 0, { keyNumber: 20 });
	await node.mine(3);
	await sendCall(plain, account, callOf(contracts, "registry", "unstake", 10n * UNIT));
	await node.mine(3);
	assert.deepEqual(await seen(book, account), [before, (await seen(book))[1], 0n]);
	await node.fork(5);
	assert.equal((await seen(book, account))[0], lower(account), "it has not left");
	await node.fork(6 + 5);
	assert.deepEqual([(await seen(book))[0], book.stakeOf(account.address)], [before, 0n], "it never came");
	const again = await openProviderBook(contracts, keeper);
	assert.equal(again.stakeOf(account.address), 0n);
	await register(account, 0, { keyNumber: 20, tokens: 11n });
	assert.deepEqual([(await seen(again))[0], again.stakeOf(account.address)], [lower(account), 11n * UNIT]);
	// Deeper than any reorganisation: a restored copy of a chain, say. The events are only a copy of it.
	await node.mine(20);
	await again.refresh();
	await node.fork(35);
	assert.deepEqual([(await seen(again))[0], again.stakeOf(account.address)], [before, 0n]);
	assert.equal((await openProviderBook(contracts, keeper)).stakeOf(account.address), 0n);
});

test("the ledger: slashed from stake, unbonding, then locked; gone when empty; nothing below zero whatever a node says", () => {
	const account: Hex = `0x${"ab".repeat(20)}`;
	const fold = (...events: LedgerEvent[]) => {
		const key = { key: alice, number: 1 };
		const found = foldLedger([{ kind: "registered", account, role: 1, key }, ...events]).get(account);
		return found === undefined ? null : [found.stake, found.unbonding, found.locked];
	};
	const staked: LedgerEvent = { kind: "staked", account, stake: "100" };
	const moved = (kind: "unstaked" | "withdrawn" | "slashed" | "locked" | "unlocked" | "lockSlashed", amount: number) =>
		({ kind, account, amount: String(amount) }) as const;
	const [unstaked, locked] = [moved("unstaked", 60), moved("locked", 30)];
	assert.deepEqual(fold(staked, unstaked, moved("slashed", 30)), [10n, 60n, 0n]);
	assert.deepEqual(fold(staked, unstaked, moved("slashed", 50)), [0n, 50n, 0n]);
	assert.equal(fold(staked, unstaked, moved("slashed", 100)), null);
	assert.deepEqual(fold(staked, locked, unstaked), [10n, 60n, 30n]);
	assert.deepEqual(fold(staked, locked, unstaked, moved("slashed", 80)), [0n, 0n, 20n]);
	assert.deepEqual(fold(staked, locked, moved("unlocked", 20), moved("lockSlashed", 10)), [90n, 0n, 0n]);
	assert.equal(fold(staked, locked, unstaked, moved("slashed", 70), moved("lockSlashed", 30)), null);
	assert.deepEqual(fold(staked, unstaked, moved("withdrawn", 60)), [40n, 0n, 0n]);
	assert.deepEqual(fold(staked, moved("unstaked", 500)), [0n, 500n, 0n]);
	assert.equal(fold(staked, moved("slashed", 500)), null);
	assert.equal(foldLedger([staked]).size, 0, "a registration that was left out makes nobody a provider");
});
