// The embedded chain: contracts on it, and the same chain again after a restart, block for block. A changed
// or torn journal is the negative twin.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { crc32 } from "node:zlib";
import { deployContracts } from "../contracts/deploy.ts";
import { approveCall, ROLES, readAccount, registerCall } from "../contracts/registry.ts";
import { sendCall } from "../sending/send-call.ts";
import { accountOf } from "../sending/sign.ts";
import { createChainClient } from "./chain-client.ts";
import { edrVersion } from "./edr-provider.ts";
import { openEmbeddedChain } from "./embedded-chain.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-chain-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const treasurer = accountOf(`0x${"11".repeat(32)}`);
let nowMs = 1_800_000_000_000;
const open = () =>
	openEmbeddedChain({
		folder,
		genesis: { chainId: 7373, timestamp: 1_800_000_000, treasurer: treasurer.address.toLowerCase() },
		nowMs: () => nowMs,
	});

test("contracts stand, a validator registers, and all of it is there after a restart", async () => {
	const first = await open();
	const client = await createChainClient(first.rpc, { confirmations: 1 });
	const contracts = await deployContracts(client, treasurer, { genesis: 1_800_000_000, epochSeconds: 600 });
	nowMs += 5000;
	await sendCall(client, treasurer, approveCall(contracts, 10n ** 24n));
	const register = registerCall(contracts, {
		role: "validator",
		signingKey: `0x${"ab".repeat(32)}`,
		keyProof: "0x",
		endpoint: "http://127.0.0.1:1",
		amount: 5000n * 10n ** 18n,
	});
	await sendCall(client, treasurer, register);
	await assert.rejects(sendCall(client, treasurer, register), /AlreadyRegistered/);
	const account = await readAccount(contracts, treasurer.address);
	assert.equal(account.role, ROLES.validator);
	assert.equal(account.stake, 5000n * 10n ** 18n);
	const head = await client.viem.getBlock();
	await assert.rejects(open(), { code: "CHAIN_BUSY" });
	await first.close();
	await assert.rejects(first.rpc("eth_chainId", []), { code: "CHAIN_CLOSED" });

	const second = await open();
	const again = await createChainClient(second.rpc, { confirmations: 1 });
	assert.equal((await again.viem.getBlock()).hash, head.hash);
	assert.deepEqual(await readAccount({ ...contracts, client: again }, treasurer.address), account);
	await second.close();
});

test("a torn last line is dropped, a changed one is refused", async () => {
	const path = join(folder, "blocks.jsonl");
	const journal = readFileSync(path, "utf8");
	appendFileSync(path, '{"t":18000');
	const chain = await open();
	nowMs += 60_000;
	await chain.rpc("eth_blockNumber", []);
	await chain.close();
	assert.equal(readFileSync(path, "utf8").split("\n").length, journal.split("\n").length + 1);
	const lines = readFileSync(path, "utf8").split("\n");
	const kept = JSON.parse(lines[2]!.slice(0, lines[2]!.lastIndexOf(" ")));
	const changed = JSON.stringify({ ...kept, t: kept.t + 1 });
	// With the right checksum, and without one.
	for (const line of [`${changed} ${crc32(changed).toString(16).padStart(8, "0")}`, JSON.stringify(kept)]) {
		writeFileSync(path, [...lines.slice(0, 2), line, ...lines.slice(3)].join("\n"));
		await assert.rejects(open(), { code: "CHAIN_JOURNAL" });
	}
	writeFileSync(path, lines.join("\n"));
	await (await open()).close();
});

test("outsiders cannot set balances or clocks", async () => {
	const chain = await open();
	await assert.rejects(chain.rpc("hardhat_setBalance", [treasurer.address, "0x1"]), { code: "CHAIN_METHOD" });
	await assert.rejects(chain.rpc("evm_increaseTime", [100]), { code: "CHAIN_METHOD" });
	await chain.close();
});

test("what pays nothing for gas does not reach the journal", async () => {
	const chain = await open();
	const path = join(folder, "blocks.jsonl");
	const lines = () => readFileSync(path, "utf8").split("\n").length;
	const before = lines();
	const pauper = accountOf(`0x${"33".repeat(32)}`);
	const raw = (maxFeePerGas: bigint) =>
		pauper.signTransaction({
			type: "eip1559",
			chainId: 7373,
			nonce: 0,
			to: pauper.address,
			gas: 100_000n,
			data: `0x${"ff".repeat(1000)}`,
			maxFeePerGas,
			maxPriorityFeePerGas: 0n,
		});
	await assert.rejects(chain.rpc("eth_sendRawTransaction", [await raw(0n)]), /base fee/);
	await assert.rejects(chain.rpc("eth_sendRawTransaction", [await raw(10n ** 10n)]), /funds/);
	await assert.rejects(chain.rpc("eth_sendRawTransaction", ["0xabcd"]), /not a transaction/);
	assert.equal(lines(), before);
	await chain.close();
});

test("a new chain has Osaka's rules; one that was begun with Prague's keeps them", async () => {
	// P-256 at 0x100: hash, r, s, x, y of a signature that is good (Wycheproof).
	const signed =
		"0xbb5a52f42f9c9261ed4361f59422a1e30036e7c32b270c8807a419feca6050230000000000000000000000000000000000000000000000000000000000000005" +
		"0000000000000000000000000000000000000000000000000000000000000001a71af64de5126a4a4e02b7922d66ce9415ce88a4c9d25514d91082c8725ac957" +
		"5d47723c8fbe580bb369fec9c2665d8e30a435b9932645482e7c9f11e872296b";
	const other = mkdtempSync(join(tmpdir(), "assay-chain-"));
	const genesis = { chainId: 7373, timestamp: 1_800_000_000, treasurer: treasurer.address.toLowerCase() };
	const asked = async (): Promise<unknown> => {
		const chain = await openEmbeddedChain({ folder: other, genesis, nowMs: () => nowMs });
		try {
			return await chain.rpc("eth_call", [{ to: `0x${"100".padStart(40, "0")}`, data: signed }, "latest"]);
		} finally {
			await chain.close();
		}
	};
	try {
		writeFileSync(join(other, "genesis.json"), JSON.stringify({ ...genesis, hardfork: "Prague", edr: edrVersion() }));
		assert.equal(await asked(), "0x");
		rmSync(other, { recursive: true });
		assert.equal(await asked(), `0x${"1".padStart(64, "0")}`);
	} finally {
		rmSync(other, { recursive: true, force: true });
	}
});
