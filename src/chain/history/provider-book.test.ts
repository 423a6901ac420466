// The book of providers against the real Registry: who counts, with what stake, over leaving, slashing, a
// key's change, reorganisations and restarts.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Hex } from "viem";
import { signChainKey } from "../../protocol/chain/key-binding.ts";
import { createSigner } from "../../protocol/probe/signer.ts";
import { type Contracts, callOf } from "../contracts/contracts.ts";
import { deployContracts } from "../contracts/deploy.ts";
import { approveCall, registerCall } from "../contracts/registry.ts";
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
const proofBy = (n: number, account: ChainAccount) =>
	signChainKey(keys[n]!, { ...contracts.addresses, account: account.address });
const register = (
	account: ChainAccount,
	n: number,
	more: { tokens?: bigint; keyProof?: Hex; role?: "validator" } = {},
) =>
	sendCall(
		plain,
		account,
		registerCall(contracts, {
			role: more.role ?? "provider",
			signingKey: `0x${keys[n]!.key}`,
			keyProof: more.keyProof ?? proofBy(n, account),
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
	await sendCall(plain, two, callOf(contracts, "registry", "setSigningKey", `0x${bob}`, proofBy(1, two)));
	assert.deepEqual(await seen(book, two), [lower(one), lower(two), 10n]);

	// Alice registers a newer account, then leaves with it: the older one counts again, until it leaves as
	// well.
	const newer = await newAccount();
	await register(newer, 0);
	assert.deepEqual((await seen(book))[0], lower(newer));
	await sendCall(plain, newer, callOf(contracts, "registry", "unstake", 10n * UNIT));
	assert.deepEqual(await seen(book, newer), [lower(one), lower(two), 0n]);
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

test("what a reorganisation takes back is taken back, in memory and where it is kept; another chain is read anew", async () => {
	const keeper = memoryKeeper();
	const book = await openProviderBook(contracts, keeper);
	const account = await newAccount();
	await node.mine(20);
	const before = (await seen(book))[0];
	await register(account, 0);
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
	await register(account, 0, { tokens: 11n });
	assert.deepEqual([(await seen(again))[0], again.stakeOf(account.address)], [lower(account), 11n * UNIT]);
	// Deeper than any reorganisation: a restored copy of a chain, say. The events are only a copy of it.
	await node.mine(20);
	await again.refresh();
	await node.fork(35);
	assert.deepEqual([(await seen(again))[0], again.stakeOf(account.address)], [before, 0n]);
	assert.equal((await openProviderBook(contracts, keeper)).stakeOf(account.address), 0n);
});

test("the ledger: slashed from the stake first, gone when empty, and nothing below zero whatever a node says", () => {
	const account: Hex = `0x${"ab".repeat(20)}`;
	const fold = (...events: LedgerEvent[]) => {
		const found = foldLedger([{ kind: "registered", account, role: 1, key: alice }, ...events]).get(account);
		return found === undefined ? null : [found.stake, found.unbonding];
	};
	const staked: LedgerEvent = { kind: "staked", account, stake: "100" };
	const unstaked: LedgerEvent = { kind: "unstaked", account, amount: "60" };
	const slashed = (amount: string): LedgerEvent => ({ kind: "slashed", account, amount });
	assert.deepEqual(fold(staked, unstaked, slashed("30")), [10n, 60n]);
	assert.deepEqual(fold(staked, unstaked, slashed("50")), [0n, 50n]);
	assert.equal(fold(staked, unstaked, slashed("100")), null);
	assert.deepEqual(fold(staked, unstaked, { kind: "withdrawn", account, amount: "60" }), [40n, 0n]);
	assert.deepEqual(fold(staked, { kind: "unstaked", account, amount: "500" }), [0n, 500n]);
	assert.equal(fold(staked, slashed("500")), null);
	assert.equal(foldLedger([staked]).size, 0, "a registration that was left out makes nobody a provider");
});
