// What disks do to the embedded chain's journal: flipped bits, NULs, cut lines, no room. Each ends in a code
// that says what is whole, a repair that loses no more than that, and a chain that goes on.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { crc32 } from "node:zlib";
import { sendCall } from "../sending/send-call.ts";
import { accountOf } from "../sending/sign.ts";
import { createChainClient } from "./chain-client.ts";
import { openEmbeddedChain, repairEmbeddedChain } from "./embedded-chain.ts";

const treasurer = accountOf(`0x${"11".repeat(32)}`);
const somebody = accountOf(`0x${"22".repeat(32)}`).address;
let folder: string;
let path: string;
let nowMs: number;
const open = () =>
	openEmbeddedChain({
		folder,
		genesis: { chainId: 7373, timestamp: 1_800_000_000, treasurer: treasurer.address.toLowerCase() },
		nowMs: () => nowMs,
	});
type Chain = Awaited<ReturnType<typeof open>>;

const clientOf = (chain: Chain) => createChainClient(chain.rpc, { confirmations: 1 });
async function pay(chain: Chain, value: bigint): Promise<void> {
	await sendCall(await clientOf(chain), treasurer, { to: somebody, data: "0x", value });
}
const balance = async (chain: Chain) => (await clientOf(chain)).viem.getBalance({ address: somebody });
const height = async (chain: Chain) => Number(await chain.rpc("eth_blockNumber", []));
const journal = () => readFileSync(path);
const lines = () => String(journal()).split("\n").slice(0, -1);

/** Blocks 1 to 6: a payment of 1, an empty block, payments of 2, 4, 8 and 16. */
beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "assay-journal-"));
	path = join(folder, "blocks.jsonl");
	nowMs = 1_800_000_000_000;
	const chain = await open();
	await pay(chain, 1n);
	nowMs += 13_000;
	await chain.rpc("eth_blockNumber", []);
	for (const value of [2n, 4n, 8n, 16n]) await pay(chain, value);
	await chain.close();
	assert.equal(lines().length, 6);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Refused with a code, repaired to `kept` blocks, and goes on. */
async function recovers(kept: number, paid: bigint): Promise<void> {
	const harmed = journal();
	await assert.rejects(open(), { code: "CHAIN_JOURNAL", message: new RegExp(`${kept} blocks before it are whole`) });
	assert.deepEqual(journal(), harmed, "opening changes nothing");
	const repaired = await repairEmbeddedChain(folder, nowMs);
	assert.equal(repaired.kept, kept);
	const aside = readdirSync(folder).filter((name) => name.startsWith("blocks.jsonl.after-"));
	assert.deepEqual(Buffer.concat([journal(), readFileSync(join(folder, aside[0]!))]), harmed, "nothing is thrown away");
	const chain = await open();
	assert.deepEqual([await height(chain), await balance(chain)], [kept, paid]);
	await pay(chain, 100n);
	await chain.close();
	const again = await open();
	assert.equal(await balance(again), paid + 100n);
	await again.close();
	assert.equal((await repairEmbeddedChain(folder, nowMs)).lost, null);
}

test("every flipped bit of a line is found, wherever it is", async () => {
	const whole = journal();
	const [begin, end] = [whole.indexOf("\n") + 1, whole.indexOf("\n", whole.indexOf("\n") + 1)];
	for (let at = begin; at < end; at += 7) {
		const harmed = Buffer.from(whole);
		harmed[at]! ^= 1 << (at % 8);
		writeFileSync(path, harmed);
		await assert.rejects(open(), { code: "CHAIN_JOURNAL" }, `byte ${at}`);
	}
});

test("a flipped bit in the fourth block", async () => {
	const harmed = journal();
	harmed[harmed.indexOf(lines()[3]!) + 40]! ^= 4;
	writeFileSync(path, harmed);
	await recovers(3, 3n);
});

test("NULs over the end", async () => {
	const harmed = journal();
	harmed.fill(0, harmed.indexOf(lines()[4]!) + 10);
	writeFileSync(path, harmed);
	await recovers(4, 7n);
});

test("a line that was cut, with others after it", async () => {
	const all = lines();
	writeFileSync(path, [all[0], all[1], all[2]!.slice(0, 50), all[3], all[4], ""].join("\n"));
	await recovers(2, 1n);
});

test("a line that is gone", async () => {
	const all = lines();
	writeFileSync(path, [...all.slice(0, 2), ...all.slice(3), ""].join("\n"));
	await recovers(2, 1n);
});

test("another genesis is not the journal's fault: nothing is cut", async () => {
	const genesis = join(folder, "genesis.json");
	writeFileSync(genesis, String(readFileSync(genesis)).replace("1800000000", "1800000001"));
	const before = journal();
	await assert.rejects(repairEmbeddedChain(folder, nowMs), { code: "CHAIN_JOURNAL" });
	assert.deepEqual(journal(), before);
	writeFileSync(genesis, "\0\0\0\0");
	await assert.rejects(open(), { code: "CHAIN_JOURNAL" });
});

test("a disk without room: nothing happens, nothing is lost, and with room it goes on", async () => {
	const limit = (bytes: number | "unlimited") =>
		execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:`]);
	const chain = await open();
	const held = statSync(path).size;
	limit(held + 20);
	try {
		await assert.rejects(pay(chain, 32n), { code: "CHAIN_JOURNAL" });
		assert.equal(await balance(chain), 31n);
		nowMs += 13_000;
		await assert.rejects(chain.rpc("eth_blockNumber", []), { code: "CHAIN_JOURNAL" });
	} finally {
		limit("unlimited");
	}
	await pay(chain, 32n);
	assert.equal(await balance(chain), 63n);
	await chain.close();
	const again = await open();
	assert.equal(await balance(again), 63n);
	await again.close();
});

test("a process that died with a full disk: the half line is dropped", async () => {
	writeFileSync(path, Buffer.concat([journal(), Buffer.from('{"t":1800000013,"x":["0x02f8'), Buffer.alloc(30, " ")]));
	const chain = await open();
	assert.equal(await balance(chain), 31n);
	await chain.close();
});

test("a line without its checksum is damaged", async () => {
	const all = lines();
	writeFileSync(path, [...all.slice(0, 4), all[4]!.slice(0, -9), all[5], ""].join("\n"));
	await recovers(4, 7n);
});

test("a run of empty blocks is compared by its last hash; the first that differs is found", async () => {
	const chain = await open();
	for (let block = 0; block < 5; block++) {
		nowMs += 12_000;
		await chain.rpc("eth_blockNumber", []);
	}
	await chain.close();
	const all = lines();
	const harmed = JSON.parse(all[8]!.slice(0, -9)) as { t: number };
	const text = JSON.stringify({ ...harmed, t: harmed.t + 1 });
	const line = `${text} ${crc32(text).toString(16).padStart(8, "0")}`;
	writeFileSync(path, [...all.slice(0, 8), line, ...all.slice(9), ""].join("\n"));
	// So that looking makes no new block.
	nowMs -= 36_000;
	await recovers(8, 31n);
});

test("N12: blocks of a clock that ran ahead: named, taken back, and the right time goes on", async () => {
	const chain = await open();
	const right = nowMs;
	nowMs += 96 * 86_400_000;
	await pay(chain, 32n);
	await chain.close();
	nowMs = right + 60_000;
	await assert.rejects(open(), { code: "CHAIN_AHEAD", message: /block 7 .* lies in the future, at 2027-04-/ });
	const { kept, lost } = await repairEmbeddedChain(folder, nowMs);
	assert.deepEqual([kept, lost?.transactions], [6, 1]);
	const again = await open();
	await pay(again, 64n);
	const block = (await again.rpc("eth_getBlockByNumber", ["latest", false])) as { timestamp: string };
	assert.deepEqual([Number(block.timestamp), await balance(again)], [nowMs / 1000, 95n]);
	await again.close();
});
