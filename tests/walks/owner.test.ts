// docs/owner.md: from a bare machine to the first reward, by its five commands as they are written. The
// network that is joined is a real validator on an embedded chain in this process, whose clock is moved on
// between the windows of an epoch.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { createValidator, type RunningValidator, type Validator } from "../../src/validator/create-validator.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { createWalk, makeUserFolder, mustSucceed, root, stepsOf } from "./walk.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-owner-"));
const [folder, home, network] = ["user", "home", "network"].map((name) => join(scratch, name)) as [
	string,
	string,
	string,
];
let aheadMs = 0;
/**
 * Stamps of a probe are on a clock that runs so many times as fast: the host proves a part of its speed, and
 * each roll call asks for half of that. So whatever else the machine does by then, the host keeps up.
 */
const PROBE_CLOCK = 50;
let validator: Validator;
let running: RunningValidator;
let client: ReturnType<typeof createApiClient>;
let walk: ReturnType<typeof createWalk>;

before(async () => {
	mkdirSync(home);
	makeUserFolder(folder);
	await copyCluster(serverFolder(network), { durable: false });
	validator = createValidator(
		{
			dataDir: network,
			listen: { port: 0 },
			verifierThreads: 1,
			dispatchEveryMs: 200,
			probe: { quick: true },
			// No GPU is needed.
			params: { hostOnlyPpm: 1_000_000, rollCallLeastMs: 90_000 },
			chain: { epochSeconds: 86_400, firstEpochSeconds: 86_400, windowSeconds: 3600 },
		},
		{ nowMs: () => Date.now() + aheadMs, clockUs: () => Math.floor(1000 * PROBE_CLOCK * performance.now()) },
	);
	running = await validator.start();
	client = createApiClient({ baseUrl: running.url });
	walk = createWalk(folder, {
		...{ PATH: process.env.PATH, HOME: home, ASSAY_HOME: home, NO_COLOR: "1" },
		...{ VALIDATOR: running.url, RPC: running.chain!.url },
	});
});
after(async () => {
	await walk?.end();
	await validator?.stop();
	rmSync(scratch, { recursive: true, force: true });
});

/** What an operator does for a new provider. */
async function send(account: string): Promise<void> {
	let err = "";
	const stream = { isTTY: false, write: (text: string) => (err += text) } as unknown as NodeJS.WriteStream;
	const io = { out: stream, err: stream, env: {}, cwd: scratch, interrupted: new AbortController().signal };
	const args = ["chain", "send", account, "100", "--coins", "1", "--data", network];
	assert.equal(await runCommand(args, io), 0, err);
}

/** Each window when what belongs into it has happened. */
async function endEpoch(): Promise<void> {
	const epoch = (await client.listChainEpochs()).rows.at(-1)!;
	const number = epoch.number;
	const now = async () => (await client.listChainEpochs()).rows.find((row) => row.number === number)!;
	const goTo = (atMs: number) => {
		aheadMs += Math.max(0, atMs + 1000 - (Date.now() + aheadMs));
	};
	goTo(epoch.endsAtMs);
	await eventually(async () => (await client.listChainTransactions({ params: { number } })).rows.length > 0);
	goTo(epoch.revealsAtMs);
	await eventually(async () => (await now()).reports === 1);
	goTo(epoch.signsAtMs);
	const { finalAtMs } = await eventually(async () => {
		const row = await now();
		return row.finalAtMs !== null && row;
	});
	goTo(finalAtMs!);
	await eventually(async () => (await now()).phase === "final");
}

test("five commands of docs/owner.md: probed, joined, staked, scored, paid", async () => {
	const steps = stepsOf("docs/owner.md");
	assert.equal(steps.length, 5);
	const [probe, provide, stake, scores, claim] = steps as [(typeof steps)[0], ...typeof steps];
	const probed = await walk.run(probe);
	mustSucceed(probe, probed);
	assert.match(probed.out, /VALID/);

	await walk.run(provide!);
	const provider = await eventually(async () => (await client.listProviders()).rows[0]);
	assert.equal(provider.name, "my-host");

	const poor = await walk.run(stake!);
	assert.deepEqual([poor.code, /\[CHAIN_FUNDS\]/.test(poor.err)], [69, true], poor.err);
	await send(/to (0x[0-9a-fA-F]{40})/.exec(poor.err)![1]!);
	const staked = await walk.run(stake!);
	mustSucceed(stake!, staked);
	assert.match(staked.out, /stake {2}100\n/);

	await eventually(async () => ((await client.getProvider({ params: { id: provider.id } })).scorePpm ?? 0) > 0).catch(
		(error) => assert.fail(`${error}\nthe provider said: ${walk.said().slice(-4000)}`),
	);
	const told = await walk.run(scores!);
	mustSucceed(scores!, told);
	assert.match(told.out, /presence/);
	// The running provider says it too.
	await eventually(
		async () =>
			/probe [0-9a-f]{32} by \w+….*: valid/.test(walk.said()) && /\n\S+ \S+ {2}score 0\.\d+ = /.test(walk.said()),
	);

	await endEpoch();
	const paid = await walk.run(claim!);
	mustSucceed(claim!, paid);
	assert.match(paid.out, /paid [1-9][\d.]*, by the weights of epoch 0/);
	assert.match((await walk.run(claim!)).out, /already paid|nothing to pay/);
});

test("the reasons for a score of 0 on the page are the ones that are given", () => {
	const page = readFileSync(join(root, "docs/owner.md"), "utf8");
	const rules = readFileSync(join(root, "src/market/scores/score-provider.ts"), "utf8");
	const reasons = [...rules.matchAll(/(?:nothing\(|= |: |return )"((?:no|nothing|the|it) [^"]+)"/g)].map(
		([, text]) => text!,
	);
	assert.ok(reasons.length >= 7, reasons.join());
	for (const reason of reasons) assert.ok(page.includes(`| ${reason} |`), reason);
});
