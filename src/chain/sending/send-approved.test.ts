// Two programs, each with a client of its own, that spend one account's tokens at the same time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestNetwork, UNIT } from "../../../contracts/test/network.test-kit.ts";
import { callOf } from "../contracts/contracts.ts";
import { readJobDeposit } from "../contracts/job-escrow.ts";
import { createChainClient } from "../node/chain-client.ts";
import { sendApproved } from "./send-approved.ts";

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
