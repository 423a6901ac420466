// An account whose owner's key is elsewhere, by the command line against a real EVM: the data folder's key
// signs, and moves nothing. Registering, allowances, payout, another signer, a wallet's consent, leaving;
// each with what is refused.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Contracts, callOf, read } from "../../src/chain/contracts/contracts.ts";
import { deployContracts } from "../../src/chain/contracts/deploy.ts";
import { readAccount } from "../../src/chain/contracts/registry.ts";
import { openProviderBook } from "../../src/chain/history/provider-book.ts";
import { type ChainClient, createChainClient } from "../../src/chain/node/chain-client.ts";
import { type RpcServer, serveRpc } from "../../src/chain/node/serve-rpc.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { createReceiptSigner } from "../../src/provider/sign-receipts.ts";
import { createReceiptCollector } from "../../src/validator/receipts/collect-receipts.ts";

const UNIT = 10n ** 18n;
const scratch = mkdtempSync(join(tmpdir(), "assay-owner-"));
const keyOf = (n: number): Hex => `0x${n.toString(16).padStart(64, "0")}`;
const owner = accountOf(keyOf(0x71));
const other = accountOf(keyOf(0x72));
const VAULT = `0x${"7a".repeat(20)}` as const;
let node: ToyNode;
let server: RpcServer;
let client: ChainClient;
let contracts: Contracts;

before(async () => {
	node = await createToyNode();
	server = await serveRpc(node.rpc);
	client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	contracts = await deployContracts(client, TREASURER, { genesis: TOY_GENESIS_S, epochSeconds: 3600 });
	writeFileSync(join(scratch, "contracts.json"), JSON.stringify(contracts.addresses));
	for (const [name, n] of [
		["owner", 0x71],
		["other", 0x72],
	] as const) {
		writeFileSync(join(scratch, `${name}.key`), keyOf(n).slice(2));
		const { address } = accountOf(keyOf(n));
		await sendCall(client, TREASURER, { to: address, data: "0x", value: 10n * UNIT });
		await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", address, 5000n * UNIT));
	}
});
after(async () => {
	await server.close();
	rmSync(scratch, { recursive: true, force: true });
});

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const io = { env: { ASSAY_HOME: scratch, NO_COLOR: "1" }, cwd: scratch, interrupted: new AbortController().signal };
	const chain = ["--rpc", server.url, "--contracts", "contracts.json"];
	const code = await runCommand([...args, ...chain], { ...io, out: stream("out"), err: stream("err") });
	return { code, ...said };
}
async function done(...args: string[]): Promise<string> {
	const { code, out, err } = await assay(...args);
	assert.equal(code, 0, `${args.join(" ")}: ${err}${out}`);
	return out;
}
const refused = async (why: RegExp, ...args: string[]) => {
	const { code, err } = await assay(...args);
	assert.ok(code !== 0 && why.test(err), `${args.join(" ")}: ${code} ${err}`);
};

/** A provider's folder, and the address of its own key. */
async function folderOf(name: string, seed: number) {
	const folder = join(scratch, name);
	mkdirSync(folder);
	writeFileSync(join(folder, "provider.key"), `${Buffer.alloc(32, seed).toString("hex")}\n`);
	const at = ["--provider", "--data", folder];
	const { signer, provider } = JSON.parse(await done("chain", "status", ...at, "--json"));
	return { folder, at, signer: signer as Hex, key: provider as string };
}
const OWNER = ["--owner-key", "owner.key"];

test("the owner's key registers and pays; the folder's signs receipts in its name and moves nothing", async () => {
	const { folder, at, signer, key } = await folderOf("one", 41);
	await done("stake", "100", ...at, ...OWNER, "--payout", VAULT);
	const account = await readAccount(contracts, owner.address);
	assert.deepEqual([account.stake, account.signer, account.payout.toLowerCase()], [100n * UNIT, signer, VAULT]);
	assert.equal(await read(contracts, "token", "balanceOf", owner.address), 4900n * UNIT);
	const book = await openProviderBook(contracts, { load: async () => null, save: async () => {} });
	await book.refresh();
	assert.equal(book.accountOf(key), owner.address.toLowerCase());
	assert.equal(book.signerOf(owner.address), signer.toLowerCase());
	assert.notEqual(book.limitOf(owner.address, node.nowS).mostPpm, 0, "it allows what the network takes");
	const status = await done("chain", "status", ...at);
	assert.match(status, new RegExp(`account {4}${owner.address}[\\s\\S]*signer {5}${signer}`, "i"));
	assert.match(status, new RegExp(`payout {5}${VAULT}`, "i"));

	// What it signs names the owner's account, as the validator's book has it.
	const { chainId, slashing } = contracts.addresses;
	const probeId = "5a".repeat(16);
	const collector = createReceiptCollector({
		domain: contracts.addresses,
		provider: owner.address,
		signer: book.signerOf(owner.address)!,
		probeId,
	});
	const spec = { precision: "int8", m: 128, n: 512, k: 128 } as const;
	const gemm = { challenge: 0, spec: { ...spec, kind: "gemm", device: 0, rounds: 1, keep: 1, samples: 8 } as const };
	const committed = [{ ...gemm, seed: new Uint8Array(32), roots: [new Uint8Array(32)] }];
	const { factsOfGemm } = await import("../../src/protocol/chain/probe-receipt.ts");
	const signed = await createReceiptSigner({ dataFolder: folder, randomBytes: (size) => new Uint8Array(size) }).sign({
		validatorKey: "",
		probe: probeId,
		wanted: { chainId, slashing: slashing.slice(2).toLowerCase() },
		facts: [factsOfGemm(0, spec, new Uint8Array(32), [new Uint8Array(32)])],
	});
	collector.onCommitted(committed, signed);
	assert.deepEqual(collector.file("00".repeat(32)).missing, []);

	for (const args of [
		["stake", "1"],
		["unstake", "100"],
		["chain", "payout", VAULT],
		["chain", "allow", VAULT, "--most-ppm", "1000000"],
		["chain", "disallow", "slashing"],
	])
		await refused(/speaks for 0x[0-9a-f]+ \[CHAIN_REFUSED\]\n.*--owner-key/s, ...args, ...at);
	await refused(/speaks for .* not for 0x/, "stake", "1", ...at, "--owner-key", "other.key");
	await refused(/FILE_UNREADABLE/, "stake", "1", ...at, "--owner-key", "nowhere.key");
	await done("stake", "11", ...at, ...OWNER);
	assert.equal((await readAccount(contracts, owner.address)).stake, 111n * UNIT);
});

test("allowances, payout and another signer, by the owner", async () => {
	const at = ["--provider", "--data", join(scratch, "one")];
	const allowed = async (slasher: Hex) => read(contracts, "registry", "allowanceOf", owner.address, slasher);
	await refused(/needs --most-ppm/, "chain", "allow", VAULT, ...at, ...OWNER);
	const { code, err } = await assay("chain", "allow", VAULT, "--most-locked", "5", ...at, ...OWNER);
	assert.ok(code === 0 && /validators score no provider/.test(err), err);
	assert.deepEqual(await allowed(VAULT), [0, 5n * UNIT]);
	assert.match(await done("chain", "disallow", VAULT, ...at, ...OWNER), /lock 0 tokens/);
	await done("chain", "disallow", "roll-call", ...at, ...OWNER);
	await refused(/NotAllowed/, "chain", "disallow", "roll-call", ...at, ...OWNER);
	assert.match(await done("chain", "allow", "roll-call", "--most-ppm", "1000000", ...at, ...OWNER), /1000000 ppm/);
	await refused(/AllowanceSmaller/, "chain", "allow", "slashing", "--most-ppm", "1", ...at, ...OWNER);
	await refused(/40 hex digits/, "chain", "allow", "somebody", "--most-ppm", "1", ...at, ...OWNER);
	await done("chain", "payout", owner.address, ...at, ...OWNER);
	assert.equal((await readAccount(contracts, owner.address)).payout, owner.address);

	// A second machine takes over: its key signs for the account from now on.
	const next = await folderOf("two", 42);
	await done("chain", "signer", ...next.at, ...OWNER);
	assert.equal((await readAccount(contracts, owner.address)).signer, next.signer);
	const kept = JSON.parse(readFileSync(join(next.folder, "chain-owners.json"), "utf8"));
	assert.deepEqual(Object.values(kept), [owner.address.toLowerCase()]);
	// Nobody else's.
	await refused(/speaks for .* not for 0x/, "chain", "signer", ...next.at, "--owner-key", "other.key");
});

test("an owner without a key file registers with the consent that a folder prints", async () => {
	const { at, signer } = await folderOf("three", 43);
	const { consent } = JSON.parse(await done("chain", "consent", other.address, ...at, "--json"));
	await sendCall(client, other, callOf(contracts, "token", "approve", contracts.addresses.registry, 100n * UNIT));
	const { registerCall } = await import("../../src/chain/contracts/registry.ts");
	const entry = { role: "provider", signingKey: keyOf(9), keyProof: "0x", endpoint: "", amount: 100n * UNIT } as const;
	await sendCall(client, other, registerCall(contracts, { ...entry, signer: { address: signer, consent } }));
	assert.equal((await readAccount(contracts, other.address)).signer, signer);
	await refused(/speaks for/, "unstake", "100", ...at);
	await done("unstake", "100", ...at, "--owner-key", "other.key");
	await node.at(node.nowS + 8 * 86_400);
	await done("unstake", "--withdraw", ...at, "--owner-key", "other.key");
	assert.equal(await read(contracts, "token", "balanceOf", other.address), 5000n * UNIT);
});
