// What a validator pays on to auditors, on the embedded chain: once, whoever asks again and whatever the
// journal has forgotten.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestNetwork, UNIT } from "../../../../contracts/test/network.test-kit.ts";
import { read } from "../../../chain/contracts/contracts.ts";
import { createChainClient } from "../../../chain/node/chain-client.ts";
import { createLateness } from "../../../chain/node/never-behind.ts";
import { memoryIntents } from "../../../chain/sending/publish.ts";
import { accountOf } from "../../../chain/sending/sign.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { createJobChain } from "./job-chain.ts";

test("an auditor is paid once for a claim, and again for another one", async (t) => {
	const { contracts, treasurer, close } = await openTestNetwork(1);
	t.after(close);
	const auditor = accountOf(`0x${"d7".repeat(32)}`).address.toLowerCase() as Hex;
	/** As after a crash: nothing is remembered but what the chain shows. */
	const pay = async (amount: bigint, claim: string) => {
		const home = { contracts, account: treasurer, isEmbedded: true, lateness: createLateness() };
		const chain = createJobChain({ home, journal: memoryIntents(), nowMs: () => 0 });
		await chain.pay("a name", auditor, amount, { tag: `0x${claim.repeat(32)}`, since: 1 });
		return read(contracts, "token", "balanceOf", auditor);
	};
	assert.equal(await pay(3n * UNIT, "ab"), 3n * UNIT);
	assert.equal(await pay(3n * UNIT, "ab"), 3n * UNIT, "told twice");
	assert.equal(await pay(3n * UNIT, "cd"), 6n * UNIT, "the same amount for another claim");
	// A node that is behind does not show what was paid; the journal does.
	const { rpc } = contracts.client;
	const late = await createChainClient(
		async (method, params) => (method === "eth_getLogs" ? [] : rpc(method, params)),
		{
			...{ confirmations: 1, pollMs: 5 },
		},
	);
	const journal = memoryIntents();
	for (const again of [1, 2]) {
		const home = {
			contracts: { ...contracts, client: late },
			...{ account: treasurer, isEmbedded: true, lateness: createLateness() },
		};
		const chain = createJobChain({ home, journal, nowMs: () => 0 });
		await chain.pay("another", auditor, UNIT, { tag: `0x${"ef".repeat(32)}`, since: 1 });
		assert.equal(await read(contracts, "token", "balanceOf", auditor), 7n * UNIT, `asked ${again} times`);
	}
	const found = createJobChain({
		home: { contracts, account: treasurer, isEmbedded: true, lateness: createLateness() },
		...{ journal: memoryIntents(), nowMs: () => 0 },
	});
	assert.equal(await found.conviction(1n, 0, auditor), null);
});
