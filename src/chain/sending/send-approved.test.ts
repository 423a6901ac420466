// Two programs, each with a client of its own, that spend one account's tokens at the same time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestNetwork, UNIT } from "../../../contracts/test/network.test-kit.ts";
import { callOf } from "../contracts/contracts.ts";
import { readJobDeposit } from "../contracts/job-escrow.ts";
import { createChainClient } from "../node/chain-client.ts";
import { type IntentJournal, memoryIntents, type SentIntent } from "./publish.ts";
import { sendApproved } from "./send-approved.ts";
import { sendKept } from "./send-call.ts";

test("deposits of one account by several programs at once all arrive, each once", async (t) => {
	const { contracts, treasurer, close } = await openTestNetwork(1);
	t.after(close);
	const deposit = async (tokens: bigint) => {
		const client = await createChainClient(contracts.client.rpc, { confirmations: 1, pollMs: 5 });
		const own = { ...contracts, client };
		const amount = tokens * UNIT;
		const call = callOf(own, "jobEscrow", "deposit", amount);
		await sendApproved(own, treasurer, { spender: "jobEscrow", amount, call });
	};
	const before = (await readJobDeposit(contracts, treasurer.address)).free;
	await Promise.all([3n, 5n, 7n].map(deposit));
	assert.equal((await readJobDeposit(contracts, treasurer.address)).free - before, 15n * UNIT);
});

test("a deposit that is asked for again after a cut is the one that was cut; after that it is another", async (t) => {
	const { contracts, treasurer, close } = await openTestNetwork(1);
	t.after(close);
	const amount = 3n * UNIT;
	const call = callOf(contracts, "jobEscrow", "deposit", amount);
	const journal = memoryIntents();
	const earlier: string[] = [];
	const deposit = (book: IntentJournal) =>
		sendApproved(contracts, treasurer, { spender: "jobEscrow", amount, call }, (one) =>
			sendKept(contracts.client, treasurer, one, book, (hash) => earlier.push(hash)),
		);
	const put = async (id: string, sent: SentIntent) => {
		await journal.put(id, sent);
		throw new Error("killed");
	};
	const free = async () => (await readJobDeposit(contracts, treasurer.address)).free;
	const before = await free();
	await assert.rejects(deposit({ ...journal, put }), { code: "CHAIN_UNKNOWN" });
	await deposit(journal);
	assert.deepEqual([(await free()) - before, earlier.length], [amount, 1]);
	await deposit(journal);
	assert.deepEqual([(await free()) - before, earlier.length], [2n * amount, 1]);
});
