// A provider's own account on chain by the commands its owner has: registered by `assay up`'s step or by
// hand, stake added and taken back, what is missing named; the validators' book then pays that account. The
// chain is an embedded one of this machine, run by another process's door.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { read } from "../../src/chain/contracts/contracts.ts";
import { readAccount } from "../../src/chain/contracts/registry.ts";
import { openProviderBook } from "../../src/chain/history/provider-book.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { registerLocalProvider } from "../../src/cli/up/register-local-provider.ts";
import { type ChainHome, openChainHome } from "../../src/validator/settlement/home.ts";
import { chainDefaults } from "../../src/validator/settlement/settings.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-register-"));
const network = join(scratch, "network");
const ofUp = join(network, "provider");
const UNIT = 10n ** 18n;
let home: ChainHome;
before(async () => {
	home = await openChainHome({
		dataDir: network,
		settings: { ...chainDefaults, epochSeconds: 600 },
		mayDeploy: true,
		nowMs: () => Date.now(),
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
});
after(async () => {
	await home?.close();
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
const local = () => registerLocalProvider({ dataDir: network, providerFolder: ofUp, url: home.url, isEmbedded: true });
/** As assay provide leaves it at its first start. */
function makeProvider(folder: string, seed: number): void {
	mkdirSync(folder);
	writeFileSync(join(folder, "provider.key"), `${Buffer.alloc(32, seed).toString("hex")}\n`);
}
const memoryBook = () => openProviderBook(home.contracts, { load: async () => null, save: async () => {} });

test("the provider of assay up is registered once, over restarts", async () => {
	const first = await local();
	assert.equal(first.state, "registered");
	const again = await local();
	assert.deepEqual([again.state, again.account], ["was registered", first.account]);
	const shown = JSON.parse((await assay("chain", "status", "--provider", "--json")).out);
	assert.deepEqual([shown.account, shown.isRegistered, shown.stake], [first.account, true, String(100n * UNIT)]);
	// The network's own folder is as good a name for it.
	assert.equal(
		JSON.parse((await assay("chain", "status", "--provider", "--data", network, "--json")).out).account,
		first.account,
	);
	const book = await memoryBook();
	await book.refresh();
	assert.equal(book.accountOf(shown.provider), first.account.toLowerCase());
	assert.equal(book.accountOf("ab".repeat(32)), null);
});

test("another provider registers by hand; what it lacks is named, and how to send it", async () => {
	const data = join(scratch, "other");
	const none = await assay("stake", "50", "--provider", "--data", data, "--network", network);
	assert.deepEqual([none.code, /there is no provider in .*\[KEY_UNUSABLE\]/.test(none.err)], [77, true]);
	makeProvider(data, 5);
	const where = ["--provider", "--data", data, "--network", network];
	const noGas = await assay("stake", "50", ...where);
	assert.equal(noGas.code, 69);
	assert.match(noGas.err, /own coin.*\[CHAIN_FUNDS\]\n.*assay chain send 0x[0-9a-fA-F]{40} 0 --coins /s);
	const account = /0x[0-9a-fA-F]{40}/.exec(noGas.err)![0] as `0x${string}`;
	assert.equal((await assay("chain", "send", account, "0", "--coins", "1")).code, 0);
	const poor = await assay("stake", "50", ...where);
	assert.match(poor.err, /has 0 tokens, and 50 are needed \[CHAIN_FUNDS\]\n.*assay chain send 0x[0-9a-fA-F]{40} 50\n/s);
	assert.equal((await assay("chain", "send", account, "60.5")).code, 0);
	assert.equal(await read(home.contracts, "token", "balanceOf", account), 605n * (UNIT / 10n));
	const little = await assay("stake", "1", ...where);
	assert.match(little.err, /at least 10 tokens: StakeTooSmall/);
	assert.equal((await readAccount(home.contracts, account)).role, 0, "nothing was sent");
	const first = await assay("stake", "50", ...where);
	assert.deepEqual([first.code, /stake {2}50\n$/.test(first.out)], [0, true]);
	assert.match((await assay("stake", "10.5", ...where)).out, /stake {2}60\.5\n$/);
	assert.match((await assay("unstake", "55", ...where)).err, /StakeTooSmall/);
	assert.match((await assay("unstake", "60.5", ...where)).out, /^stake {5}0\nunstaking 60\.5, can be withdrawn from /);
	assert.match((await assay("unstake", "--withdraw", ...where)).err, /StillUnbonding/);
	const shown = await assay("chain", "status", ...where);
	assert.match(shown.out, /stake {6}0, 60\.5 being unstaked/);
});

test("which provider is meant is asked where there are two, and a validator's account is no provider's", async () => {
	makeProvider(join(scratch, "provider"), 6);
	const both = await assay("chain", "status", "--provider");
	assert.deepEqual([both.code, /two providers/.test(both.err)], [64, true]);
	assert.equal((await assay("chain", "send", "0x12", "1")).code, 64);
	assert.equal((await assay("chain", "send", `0x${"12".repeat(20)}`, "0")).code, 64);
	assert.equal((await assay("chain", "status", "--rpc", "http://127.0.0.1:9")).code, 69);
});
