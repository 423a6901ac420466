// Reorganisations of up to 10 blocks and nodes that go away: nothing published twice, nothing lost, on a real
// EVM.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { type Contracts, callOf, read } from "../contracts/contracts.ts";
import { deployContracts } from "../contracts/deploy.ts";
import { type ChainClient, createChainClient } from "../node/chain-client.ts";
import { type RetryOptions, withRetries } from "../node/http-rpc.ts";
import type { Rpc } from "../node/rpc.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../node/toy-node.test-kit.ts";
import { memoryIntents, publish } from "../sending/publish.ts";
import { sendCall } from "../sending/send-call.ts";
import { accountOf } from "../sending/sign.ts";
import { type FollowedEvent, followEvents, memoryCursor } from "./follow-events.ts";

const receiver = accountOf(`0x${"22".repeat(32)}`).address;

interface Stage {
	readonly node: ToyNode;
	readonly client: ChainClient;
	readonly contracts: Contracts;
}

const quick = { firstDelayMs: 1, mostDelayMs: 4 };

/** Waiting mines a block, so that confirmations come; `onWait` may do worse. */
async function stage(
	o: { onWait?: (node: ToyNode, wait: number) => Promise<void>; retry?: Partial<RetryOptions> } = {},
): Promise<Stage> {
	const node = await createToyNode();
	let wait = 0;
	const client = await createChainClient(withRetries(awayFor(node, 30), { ...quick, ...o.retry }), {
		confirmations: 12,
		sleep: async () => {
			await node.mine(1);
			await o.onWait?.(node, wait++);
		},
	});
	const deployer = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	const params = { genesis: TOY_GENESIS_S, epochSeconds: 600 };
	const { addresses } = await deployContracts(deployer, TREASURER, params);
	return { node, client, contracts: { client, addresses } };
}

/** Answers again after so many questions into the void. */
function awayFor(node: ToyNode, asks: number): Rpc {
	let left = asks;
	return (method, params) => {
		if (node.down !== false && left-- === 0) node.down = false;
		return node.rpc(method, params);
	};
}

const paying = ({ contracts }: Pick<Stage, "contracts">, id: string) => ({
	id,
	isDone: async () => (await read(contracts, "token", "balanceOf", receiver)) > 0n,
	call: callOf(contracts, "token", "transfer", receiver, 7n),
});

for (const depth of [2, 5, 10])
	test(`a publication that ${depth} blocks of fork take back is made again, once`, async () => {
		let forked = 0;
		const s = await stage({
			async onWait(node, wait) {
				// The transaction is `depth` blocks deep now. Once more later, when it is again.
				if (wait === depth - 2 || wait === depth + 2) {
					forked++;
					await node.fork(depth);
				}
			},
		});
		const journal = memoryIntents();
		const receipt = await publish(s.client, TREASURER, journal, paying(s, "pay/1"));
		assert.equal(receipt?.status, "success");
		assert.equal(forked, 2);
		// The deployment, the first time, and again: the fork did drop it.
		assert.ok(s.node.sent >= 5 + 2);
		assert.equal(await read(s.contracts, "token", "balanceOf", receiver), 7n);
		assert.equal(journal.size(), 0);
		assert.equal(await publish(s.client, TREASURER, journal, paying(s, "pay/1")), null);
		assert.equal(await read(s.contracts, "token", "balanceOf", receiver), 7n);
	});

test("a node that is away for many questions, and one whose answer is lost: sent again, mined once", async () => {
	for (const down of [true, "after"] as const) {
		const s = await stage();
		s.node.down = down;
		await publish(s.client, TREASURER, memoryIntents(), paying(s, "pay/1"));
		assert.equal(await read(s.contracts, "token", "balanceOf", receiver), 7n);
	}
});

test("a node that stays away is an error, and the intent is there for the next process, which sends the same bytes", async () => {
	const s = await stage({ retry: { patienceMs: 20 } });
	const deployed = s.node.sent;
	const journal = memoryIntents();
	const dying = {
		...journal,
		put: async (...o: Parameters<typeof journal.put>) => {
			await journal.put(...o);
			s.node.down = true;
		},
	};
	await assert.rejects(publish(s.client, TREASURER, dying, paying(s, "pay/1")), { code: "CHAIN_UNREACHABLE" });
	assert.equal(s.node.sent, deployed);
	s.node.down = false;
	const kept = await journal.get("pay/1");
	// It did reach the chain by some other way before the next process came: the same bytes, so still once.
	await s.node.rpc("eth_sendRawTransaction", [kept![0]!.raw]);
	const receipt = await publish(s.client, TREASURER, journal, paying(s, "pay/1"));
	assert.equal(receipt?.transactionHash, kept![0]!.hash);
	assert.equal(await read(s.contracts, "token", "balanceOf", receiver), 7n);
});

test("a nonce that another transaction took: told, then signed anew", async () => {
	const s = await stage();
	const deployed = s.node.sent;
	const journal = memoryIntents();
	const other = accountOf(`0x${"33".repeat(32)}`).address;
	const stolen = {
		...journal,
		put: async (...o: Parameters<typeof journal.put>) => {
			await journal.put(...o);
			if (s.node.sent > deployed + 1) return;
			const rival = await createChainClient(s.node.rpc, { confirmations: 1, sleep: async () => {} });
			await sendCall(rival, TREASURER, callOf(s.contracts, "token", "transfer", other, 1n));
		},
	};
	await assert.rejects(publish(s.client, TREASURER, stolen, paying(s, "pay/1")), { code: "CHAIN_TAKEN" });
	await publish(s.client, TREASURER, stolen, paying(s, "pay/1"));
	assert.equal(await read(s.contracts, "token", "balanceOf", receiver), 7n);
	assert.equal(await read(s.contracts, "token", "balanceOf", other), 1n);
});

test("a refused one leaves nothing behind", async () => {
	const s = await stage();
	const journal = memoryIntents();
	const tooMuch = {
		...paying(s, "pay/1"),
		call: callOf(s.contracts, "token", "transfer", receiver, 10n ** 40n),
	};
	await assert.rejects(publish(s.client, TREASURER, journal, tooMuch), { code: "CHAIN_REFUSED" });
	assert.equal(journal.size(), 0);
});

test("events: told once each, taken back by a rollback, read again; too deep is an error", async () => {
	const s = await stage();
	const plain = await createChainClient(s.node.rpc, { confirmations: 1, sleep: async () => {} });
	const pay = (amount: bigint) =>
		sendCall(plain, TREASURER, callOf(s.contracts, "token", "transfer", receiver, amount));
	const cursor = memoryCursor();
	const book: { block: number; amount: bigint }[] = [];
	const round = () =>
		followEvents(s.client, {
			abi: assayTokenAbi,
			addresses: [s.contracts.addresses.token],
			fromBlock: s.contracts.addresses.deployedAtBlock,
			cursor,
			step: 7,
			async take(events: readonly FollowedEvent<typeof assayTokenAbi>[]) {
				for (const event of events)
					if (event.eventName === "Transfer")
						book.push({ block: Number(event.blockNumber), amount: (event.args as { value: bigint }).value });
			},
			async rollback(toBlock) {
				while ((book.at(-1)?.block ?? 0) > toBlock) book.pop();
			},
		});
	const amounts = () => book.map(({ amount }) => amount);
	for (let i = 1n; i <= 5n; i++) await pay(i);
	await s.node.mine(20);
	assert.equal(await round(), 0);
	assert.deepEqual(amounts(), [1n, 2n, 3n, 4n, 5n]);
	await pay(6n);
	await s.node.mine(4);
	await pay(7n);
	await s.node.mine(4);
	await round();
	assert.deepEqual(amounts(), [1n, 2n, 3n, 4n, 5n, 6n, 7n]);
	// 7 was in the fifth block from the head.
	await s.node.fork(5);
	assert.equal(await round(), 5);
	assert.deepEqual(amounts(), [1n, 2n, 3n, 4n, 5n, 6n]);
	await pay(8n);
	await round();
	assert.deepEqual(amounts(), [1n, 2n, 3n, 4n, 5n, 6n, 8n]);
	assert.equal(await round(), 0);
	await s.node.fork(10);
	await pay(9n);
	assert.equal(await round(), 10);
	assert.deepEqual(amounts(), [1n, 2n, 3n, 4n, 5n, 6n, 9n]);
	await s.node.fork(25);
	await assert.rejects(round(), { code: "CHAIN_REORGANISED" });
});
