// The chain's commands over an embedded chain that nobody runs, and over one behind a URL: deploy, status,
// stake, unstake, claim, audit, and what goes wrong.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { callOf } from "../../src/chain/contracts/contracts.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { type RpcServer, serveRpc } from "../../src/chain/node/serve-rpc.ts";
import { createToyNode, type ToyNode, TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { lockFolder } from "../../src/platform/folder-lock.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { chainFolder, loadChainKey, openChainHome, treasurerOf } from "../../src/validator/settlement/home.ts";
import { chainDefaults } from "../../src/validator/settlement/settings.ts";
import { atEnd } from "../at-end.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-chain-cli-"));
const [mine, outside] = [join(scratch, "mine"), join(scratch, "outside")];
let node: ToyNode;
let server: RpcServer;
before(async () => {
	node = await createToyNode();
	server = await serveRpc(node.rpc);
});
after(async () => {
	await server.close();
	rmSync(scratch, { recursive: true, force: true });
});

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const interrupted = new AbortController().signal;
	const env = { ASSAY_HOME: scratch, NO_COLOR: "1" };
	const code = await runCommand(args, { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted });
	return { code, ...said };
}
const bytes = (size: number) => new Uint8Array(randomBytes(size));

test("without a chain nothing is made, and the hint says how", async () => {
	const run = await assay("chain", "status", "--data", mine);
	assert.deepEqual([run.code, /CHAIN_MISSING/.test(run.err)], [69, true]);
	assert.equal((await assay("chain", "deploy", "--data", mine)).code, 64);
	assert.equal((await assay("chain", "mint")).code, 64);
	assert.equal((await assay("unstake", "--data", mine)).code, 64);
	assert.equal((await assay("stake", "0", "--data", mine)).code, 64);
	assert.equal((await assay("audit", "x", "--data", mine)).code, 64);
});

test("an embedded chain: status, stake, unstake, nothing to claim, an empty epoch", async (t) => {
	const home = await openChainHome({
		dataDir: mine,
		settings: { ...chainDefaults, epochSeconds: 600 },
		mayDeploy: true,
		nowMs: () => Date.now(),
		randomBytes: bytes,
	});
	atEnd(t, () => home.close());
	const treasurer = (await treasurerOf(home))!;
	const { account } = home;
	await sendCall(home.contracts.client, treasurer, { to: account.address, data: "0x", value: 10n ** 18n });
	await sendCall(
		home.contracts.client,
		treasurer,
		callOf(home.contracts, "token", "transfer", account.address, 5000n * 10n ** 18n),
	);
	// A second program finds the first one's chain over its door.
	const beside = await assay("chain", "status", "--data", mine, "--json");
	assert.equal(JSON.parse(beside.out).contracts.registry, home.contracts.addresses.registry);
	await home.close();

	assert.equal((await assay("stake", "2000", "--data", mine)).code, 64, "the first stake needs an endpoint");
	const poor = await assay("stake", "9000", "--endpoint", "http://127.0.0.1:1", "--data", mine);
	assert.deepEqual([poor.code, /5000 tokens/.test(poor.err)], [69, true]);
	const first = await assay("stake", "2000", "--endpoint", "http://127.0.0.1:1", "--data", mine);
	assert.deepEqual([first.code, first.out], [0, "stake  2000\n"], first.err);
	const second = await assay("stake", "1500.5", "--data", mine);
	assert.deepEqual([second.code, second.out], [0, "stake  3500.5\n"], second.err);
	const refused = await assay("unstake", "3000", "--data", mine);
	assert.deepEqual([refused.code, /StakeTooSmall/.test(refused.err)], [69, true]);
	assert.match(
		(await assay("unstake", "500.5", "--data", mine)).out,
		/^stake {5}3000\nunstaking 500\.5, can be withdrawn from /,
	);
	assert.match((await assay("unstake", "--withdraw", "--data", mine)).err, /StillUnbonding/);
	const shown = await assay("chain", "status", "--data", mine);
	assert.equal(shown.code, 0);
	assert.match(shown.out, /stake {6}3000, 500\.5 being unstaked/);
	assert.equal((await assay("claim", "--data", mine)).out, "  nothing to claim\n");
	const early = await assay("audit", "0", "--data", mine);
	assert.equal(early.code, 67);
	assert.match(early.err, /epoch 0 has not ended: it ends at .* \[EPOCH_UNKNOWN\]\n.*`assay chain status --data /);
});

test("any node by its URL: deployed, staked, shown; another chain's contracts are refused", async () => {
	const secret = await loadChainKey(chainFolder(outside), "account", bytes);
	const account = accountOf(toHex(secret));
	const client = await createChainClient(node.rpc, { confirmations: 1 });
	const early = await assay("chain", "status", "--data", outside, "--rpc", server.url);
	assert.match(early.err, /CHAIN_MISSING/);
	await sendCall(client, TREASURER, { to: account.address, data: "0x", value: 10n ** 19n });
	const deployed = await assay("chain", "deploy", "--data", outside, "--rpc", server.url, "--json");
	assert.equal(deployed.code, 0, deployed.err);
	const { registry, chainId } = JSON.parse(deployed.out);
	assert.equal(chainId, 7373);
	const shown = JSON.parse((await assay("chain", "status", "--data", outside, "--rpc", server.url, "--json")).out);
	assert.equal(shown.contracts.registry, registry);
	assert.equal(shown.reserve, String(10n ** 26n));
	const wrong = await assay(
		"chain",
		"status",
		"--rpc",
		server.url,
		"--data",
		mine,
		"--contracts",
		join(chainFolder(mine), "contracts.json"),
	);
	assert.deepEqual([wrong.code, /not on this chain/.test(wrong.err)], [69, true]);
});

test("a damaged journal is named, repaired and gone on with, contracts and stakes included", async () => {
	const journal = join(chainFolder(mine), "embedded", "blocks.jsonl");
	const settings = { ...chainDefaults, epochSeconds: 600 };
	const open = () =>
		openChainHome({ dataDir: mine, settings, mayDeploy: true, nowMs: () => Date.now(), randomBytes: bytes });
	assert.match((await assay("chain", "repair", "--data", mine)).out, /^nothing to repair: \d+ blocks, all whole\n$/);
	const [whole, count] = [readFileSync(journal), String(readFileSync(journal)).split("\n").length - 1];
	const harm = (at: number) => {
		const harmed = Buffer.from(whole);
		harmed.fill(0, at, at + 9);
		writeFileSync(journal, harmed);
	};
	harm(whole.length - 30);
	const refused = await assay("chain", "status", "--data", mine);
	assert.deepEqual(
		[refused.code, /CHAIN_JOURNAL/.test(refused.err), /chain repair/.test(refused.err)],
		[69, true, true],
	);
	const repaired = await assay("chain", "repair", "--data", mine);
	assert.match(repaired.out, new RegExp(`kept {3}${count - 1} blocks\nlost {3}1 block: `), repaired.err);
	assert.equal((await assay("chain", "status", "--data", mine)).code, 0);
	// The contracts themselves are lost.
	harm(200);
	const worse = await assay("chain", "repair", "--data", mine);
	assert.match(worse.out, /kept {3}0 blocks[\s\S]*the next start deploys new ones/);
	await (await open()).close();
	assert.equal((await assay("chain", "status", "--data", mine)).code, 0);
});

test("an address that a dead process left is asked nothing: somebody else may listen there", async (t) => {
	const folder = chainFolder(mine);
	const lock = await lockFolder(join(folder, "embedded"));
	atEnd(t, () => lock!.release());
	let asked = 0;
	const squatter = await serveRpc(async () => {
		asked++;
		return "0x1";
	});
	atEnd(t, () => squatter.close());
	const dead = { pid: process.pid, startTicks: "1" };
	writeFileSync(join(folder, "rpc.json"), JSON.stringify({ url: squatter.url, ...dead }));
	assert.match((await assay("chain", "status", "--data", mine)).err, /CHAIN_BUSY/);
	assert.equal(asked, 0);
});
