// Transactions that blocks pass by because the base fee rose: replaced for a higher fee under one nonce, up
// to a cap; whichever lands counts once. And nodes whose receipts or fees cannot be true.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { parseTransaction } from "viem";
import type { AssayError } from "../../protocol/assay-error.ts";
import { type ChainClient, createChainClient } from "../node/chain-client.ts";
import { type Rpc, RpcRefusal } from "../node/rpc.ts";
import { createToyNode, type ToyNode, TREASURER } from "../node/toy-node.test-kit.ts";
import { type IntentJournal, lookAgain, memoryIntents, publish, type SentIntent } from "./publish.ts";
import { refusal } from "./refusal.ts";
import { sendCall, sendKept } from "./send-call.ts";
import { accountOf } from "./sign.ts";

const GWEI = 10n ** 9n;
let receivers = 0x40;
let node: ToyNode;
before(async () => {
	node = await createToyNode();
});

interface Stage {
	readonly client: ChainClient;
	readonly receiver: `0x${string}`;
	readonly intent: Parameters<typeof publish>[3];
	readonly balance: () => Promise<bigint>;
}

/** Waiting mines a block at the price that `gwei` says for that wait. */
async function stage(o: {
	readonly gwei: (wait: number) => bigint;
	readonly mostGwei?: bigint;
	readonly rpc?: Rpc;
	readonly confirmations?: number;
}): Promise<Stage> {
	let wait = 0;
	const rpc = o.rpc ?? node.rpc;
	const client = await createChainClient(rpc, {
		confirmations: o.confirmations ?? 2,
		mostFeePerGas: (o.mostGwei ?? 500n) * GWEI,
		sleep: async () => {
			await node.price(o.gwei(wait++) * GWEI);
			await node.mine(1);
		},
	});
	const receiver = accountOf(`0x${(receivers++).toString(16).repeat(32)}`).address;
	const balance = () => client.viem.getBalance({ address: receiver });
	const intent = {
		id: "pay/1",
		isDone: async () => (await balance()) > 0n,
		call: { to: receiver, data: "0x" as const, value: 7n },
	};
	return { client, receiver, intent, balance };
}

const feeOf = (raw: `0x${string}`) => parseTransaction(raw as `0x02${string}`).maxFeePerGas!;

/** A journal that remembers everything that was ever put into it. */
function watched() {
	const journal = memoryIntents();
	const puts: SentIntent[] = [];
	return {
		...journal,
		puts,
		put: async (id: string, sent: SentIntent) => {
			puts.push(sent);
			await journal.put(id, sent);
		},
	};
}

test("a base fee that outruns the offer: one nonce, an eighth more each time, all hashes kept, done once", async () => {
	// A hundred times as dear from the moment it was signed.
	const s = await stage({ gwei: () => 100n });
	const journal = watched();
	await node.price(1n * GWEI);
	await node.mine(1);
	node.hold = async () => node.price(100n * GWEI);
	const receipt = await publish(s.client, TREASURER, journal, s.intent);
	assert.equal(receipt?.status, "success");
	assert.equal(await s.balance(), 7n);
	assert.equal(journal.size(), 0);
	const last = journal.puts.at(-1)!;
	assert.ok(last.length >= 2, "it was replaced");
	assert.equal(new Set(last.map(({ nonce }) => nonce)).size, 1);
	assert.equal(new Set(last.map(({ hash }) => hash)).size, last.length);
	for (const [i, { raw }] of last.entries())
		if (i > 0) assert.ok(feeOf(raw) * 8n >= feeOf(last[i - 1]!.raw) * 9n, "at least 12.5 % more");
	assert.ok(last.some(({ hash }) => hash === receipt!.transactionHash));
	assert.equal(await publish(s.client, TREASURER, journal, s.intent), null, "and no second time");
	assert.equal(await s.balance(), 7n);
});

test("a process that died after replacing: the next one knows every hash, and the older one landing counts", async () => {
	const s = await stage({ gwei: () => 1n });
	const journal = watched();
	await node.price(1n * GWEI);
	await node.mine(1);
	node.hold = async () => node.price(100n * GWEI);
	const dying = {
		...journal,
		put: async (id: string, sent: SentIntent) => {
			await journal.put(id, sent);
			if (sent.length === 2) throw new Error("killed");
		},
	};
	const dear = await stage({ gwei: () => 100n });
	await assert.rejects(publish(dear.client, TREASURER, dying, s.intent), /killed/);
	const kept = (await journal.get("pay/1"))!;
	assert.equal(kept.length, 2);
	// The replacement was never handed in; the first one lands.
	await node.price(1n * GWEI);
	await node.mine(1);
	const receipt = await publish(s.client, TREASURER, journal, s.intent);
	assert.equal(receipt?.transactionHash, kept[0]!.hash);
	assert.equal(await s.balance(), 7n);
	assert.equal(journal.size(), 0);
});

test("never more than the cap: neither in a replacement nor because a node says so", async () => {
	const s = await stage({ gwei: () => 100n, mostGwei: 6n });
	await node.price(1n * GWEI);
	await node.mine(1);
	const journal = watched();
	node.hold = async () => node.price(100n * GWEI);
	await assert.rejects(publish(s.client, TREASURER, journal, s.intent), { code: "CHAIN_UNKNOWN" });
	const tried = journal.puts.at(-1)!;
	assert.ok(tried.length > 1);
	for (const { raw } of tried) assert.ok(feeOf(raw) <= 6n * GWEI);
	assert.equal(await s.balance(), 0n);
	// What waits is still known to the next round, which is through once the price is back.
	const later = await stage({ gwei: () => 1n, mostGwei: 6n });
	await node.price(1n * GWEI);
	await publish(later.client, TREASURER, journal, s.intent);
	assert.equal(await s.balance(), 7n);

	await node.price(7n * GWEI);
	await node.mine(1);
	await assert.rejects(publish(s.client, TREASURER, memoryIntents(), { ...s.intent, isDone: async () => false }), {
		code: "CHAIN_FEES",
	});
	await node.price(1n * GWEI);
	await node.mine(1);
	const greedy: Rpc = async (method, params) =>
		method === "eth_maxPriorityFeePerGas" ? "0x174876e800" : node.rpc(method, params);
	const tipped = await stage({ gwei: () => 1n, rpc: greedy, mostGwei: 300n });
	const sent = watched();
	await publish(tipped.client, TREASURER, sent, tipped.intent);
	const tip = parseTransaction(sent.puts[0]![0]!.raw as `0x02${string}`).maxPriorityFeePerGas!;
	assert.equal(tip, 30n * GWEI, "100 were asked");
});

test("the nonce went to another program with the same key: not sent again when the deed is done, else told by whom", async () => {
	for (const isDoneByOther of [true, false]) {
		const s = await stage({ gwei: () => 1n });
		const journal = watched();
		const rival = await createChainClient((method, params) => node.rpc(method, params), {
			confirmations: 1,
			sleep: async () => {},
		});
		let robbed = false;
		const stolen = {
			...journal,
			put: async (id: string, sent: SentIntent) => {
				await journal.put(id, sent);
				if (robbed) return;
				robbed = true;
				const to = isDoneByOther ? s.receiver : TREASURER.address;
				await sendCall(rival, TREASURER, { to, data: "0x", value: 9n });
			},
		};
		let taker = "";
		const sending = publish(s.client, TREASURER, stolen, { ...s.intent, isPayment: !isDoneByOther });
		if (isDoneByOther) assert.equal(await sending, null);
		else
			await assert.rejects(sending, (error: AssayError) => {
				taker = /0x[0-9a-f]{64} has its nonce/.exec(error.message)![0].slice(0, 66);
				return error.code === "CHAIN_TAKEN";
			});
		assert.equal(journal.size(), 0);
		assert.equal(await s.balance(), isDoneByOther ? 9n : 0n);
		if (isDoneByOther) continue;
		assert.equal((await s.client.viem.getTransaction({ hash: taker as `0x${string}` })).value, 9n);
		// What is known never to happen may be begun anew.
		assert.equal((await publish(s.client, TREASURER, journal, s.intent))?.status, "success");
		assert.equal(await s.balance(), 7n);
	}
});

test("refused because another did it between the look and the estimate: done, and no error; refused otherwise: told", async () => {
	for (const isDoneByOther of [true, false]) {
		const s = await stage({ gwei: () => 1n });
		let looks = 0;
		const refusing: Rpc = async (method, params) => {
			if (method === "eth_estimateGas") throw new RpcRefusal({ code: 3, message: "execution reverted", data: "0x" });
			return node.rpc(method, params);
		};
		const client = await createChainClient(refusing, { confirmations: 1, sleep: async () => {} });
		const intent = { ...s.intent, isDone: async () => isDoneByOther && looks++ > 0 };
		const sending = publish(client, TREASURER, memoryIntents(), intent);
		if (isDoneByOther) assert.equal(await sending, null);
		else await assert.rejects(sending, { code: "CHAIN_REFUSED" });
	}
});

test("a receipt that its block does not have is none", async () => {
	let lies = 1;
	const rpc: Rpc = async (method, params) => {
		const answer = await node.rpc(method, params);
		if (method !== "eth_getTransactionReceipt" || lies-- <= 0) return answer;
		const head = (await node.rpc("eth_getBlockByNumber", ["latest", false])) as { number: string; hash: string };
		const [transactionHash] = params;
		const made = { transactionHash, blockNumber: head.number, blockHash: head.hash, status: "0x1", logs: [] };
		return {
			...made,
			transactionIndex: "0x0",
			cumulativeGasUsed: "0x0",
			gasUsed: "0x0",
			from: TREASURER.address,
			to: null,
		};
	};
	const s = await stage({ gwei: () => 1n, rpc, confirmations: 1 });
	node.lose = 1;
	const receipt = await sendCall(s.client, TREASURER, s.intent.call);
	assert.equal(lies, -2, "one lie, and two looks at what is true");
	assert.notEqual(receipt.gasUsed, 0n);
	assert.equal(await s.balance(), 7n);
});

test("a node that denies every receipt has an act sent under one nonce, and its outcome called unknown", async () => {
	let denies = true;
	const nonces = new Set<number>();
	const rpc: Rpc = async (method, params) => {
		if (method === "eth_sendRawTransaction") nonces.add(parseTransaction(params[0] as `0x02${string}`).nonce!);
		return denies && method === "eth_getTransactionReceipt" ? null : node.rpc(method, params);
	};
	const s = await stage({ gwei: () => 1n, rpc, confirmations: 1 });
	const hashed = { code: "CHAIN_UNKNOWN", message: /0x[0-9a-f]{64}/ };
	await assert.rejects(sendCall(s.client, TREASURER, s.intent.call), hashed);
	assert.equal(await s.balance(), 7n);
	assert.equal(nonces.size, 1);
	// A payment of the book: it stays there, and the same bytes are looked at when it is published again.
	const journal = watched();
	const payment = { ...s.intent, isDone: async () => false, isPayment: true };
	await assert.rejects(publish(s.client, TREASURER, journal, payment), hashed);
	denies = false;
	assert.notEqual(await publish(s.client, TREASURER, journal, payment), null);
	assert.equal(await publish(s.client, TREASURER, journal, payment), null, "the book knows that it was paid");
	assert.equal(await s.balance(), 14n);
	assert.equal(nonces.size, 2);
});

test("a receipt and a block that come late: waited for, whether a contract guards the act or not", async () => {
	for (const isPayment of [true, false]) {
		let late = 6;
		const rpc: Rpc = async (method, params) => {
			if (late > 0 && method === "eth_getTransactionReceipt") late--;
			const isHidden =
				method === "eth_getTransactionReceipt" || (method === "eth_getBlockByNumber" && params[1] === true);
			return late > 0 && isHidden ? null : node.rpc(method, params);
		};
		const s = await stage({ gwei: () => 1n, rpc, confirmations: 1 });
		const act = { ...s.intent, isDone: async () => false, isPayment };
		assert.equal((await publish(s.client, TREASURER, memoryIntents(), act))?.status, "success");
		assert.equal(await s.balance(), 7n);
	}
});

test("a payment that is asked for again after a cut is the one that was cut; after that it is another", async () => {
	const s = await stage({ gwei: () => 1n });
	const journal = memoryIntents();
	const earlier: string[] = [];
	const pay = (book: IntentJournal) => sendKept(s.client, TREASURER, s.intent.call, book, (hash) => earlier.push(hash));
	const dying = {
		...journal,
		put: async (id: string, sent: SentIntent) => {
			await journal.put(id, sent);
			throw new Error("killed");
		},
	};
	await assert.rejects(pay(dying), { code: "CHAIN_UNKNOWN", message: /0x[0-9a-f]{64}/ });
	assert.equal(await s.balance(), 0n);
	await pay(journal);
	assert.deepEqual([await s.balance(), earlier.length, journal.size()], [7n, 1, 0]);
	await pay(journal);
	assert.deepEqual([await s.balance(), earlier.length, journal.size()], [14n, 1, 0]);
});

test("what is left in a journal is looked at again: a mined one is removed, a payment kept as paid", async () => {
	const s = await stage({ gwei: () => 1n });
	const journal = watched();
	const cut = { ...journal, remove: async () => assert.fail("the connection was cut") };
	await assert.rejects(publish(s.client, TREASURER, cut, s.intent), /cut/);
	const kept = (await journal.get("pay/1"))!;
	await journal.put("pay/2", [{ ...kept[0]!, isPayment: true }]);
	await journal.put("pay/3", [{ ...kept[0]!, nonce: kept[0]!.nonce + 9, hash: `0x${"77".repeat(32)}` }]);
	const unsettled: string[] = [];
	await lookAgain(s.client, { ...journal, list: async () => ["pay/1", "pay/2", "pay/3"] }, (id) => unsettled.push(id));
	assert.equal(await journal.get("pay/1"), null);
	assert.equal((await journal.get("pay/2"))!.at(-1)!.isMined, true);
	assert.deepEqual(unsettled, ["pay/3"]);
});

test("what a token refuses is told in words", () => {
	const data = `0xfb8f41b2${["11".repeat(20).padStart(64, "0"), "0".repeat(64), "7".padStart(64, "0")].join("")}`;
	const told = refusal(new RpcRefusal({ code: 3, message: "unrecognized custom error", data })) as AssayError;
	assert.match(told.message, /fewer tokens are approved .* ERC20InsufficientAllowance\(0x1111.*, 0, 7\)/);
});
