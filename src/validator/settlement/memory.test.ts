// The journal and the book in the store.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeDataDir } from "../../../tests/validator/toy-agent.test-kit.ts";
import { accountOf, type SignedTransaction } from "../../chain/sending/sign.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { Store } from "../../store/open-store.ts";
import { openStore, serverFolder } from "../../store/open-store.ts";
import { copyCluster } from "../../store/postgres/cluster.test-kit.ts";
import { openChainMemory } from "./memory.ts";

const LEASE = "chain";
const registry: Hex = `0x${"AB".repeat(20)}`;
const account = accountOf(`0x${"31".repeat(32)}`);
const data = makeDataDir();
let store: Store;
before(async () => {
	await copyCluster(serverFolder(data.path), { durable: false });
	store = await openStore({ dataDir: data.path });
});
after(async () => {
	await store?.close();
	await data.remove();
});
const open = (of = store, chainId = 7) =>
	openChainMemory({
		store: of,
		addresses: { chainId, registry },
		account: account.address,
		lease: LEASE,
	});

async function signed(by: typeof account, chainId: number): Promise<SignedTransaction> {
	const fees = { gas: 21_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
	const raw = await by.signTransaction({ type: "eip1559", chainId, nonce: 3, to: by.address, ...fees });
	return { raw, hash: `0x${"cd".repeat(32)}`, from: by.address, nonce: 3 };
}

test("who lost the lease writes no intent; what it had written is there for the one that holds it", async () => {
	const second = await openStore({ dataDir: data.path });
	try {
		assert.equal(await store.leases.acquire(LEASE), true);
		const mine = open().journal;
		const theirs = open(second).journal;
		const one = await signed(account, 7);
		await mine.put("reveal/1", [one]);
		await assert.rejects(theirs.put("reveal/1", []), { code: "STORE_LEASE_LOST" });
		await store.leases.release(LEASE);
		assert.equal(await second.leases.acquire(LEASE), true);
		await assert.rejects(mine.put("reveal/2", [one]), { code: "STORE_LEASE_LOST" });
		assert.deepEqual(await theirs.get("reveal/1"), [one]);
		await theirs.remove("reveal/1");
		assert.equal(await mine.get("reveal/1"), null);
	} finally {
		await second.close();
	}
});

test("the book's events and place, as they were saved", async () => {
	const { book } = open(store, 9);
	const entry = (block: number) =>
		({ block, logIndex: 0, event: { kind: "staked", account: account.address, stake: "7" } }) as const;
	const blocks = [{ number: 12, hash: `0x${"ef".repeat(32)}` }] as const;
	await book.save({ keepTo: 4, added: [entry(10), entry(12)], blocks });
	assert.deepEqual(await book.load(), { blocks, entries: [entry(10), entry(12)] });
	await book.save({ keepTo: 10, added: [], blocks: [] });
	assert.deepEqual(await book.load(), { blocks: [], entries: [entry(10)] });
	assert.equal(await open().book.load(), null, "of another chain");
});
