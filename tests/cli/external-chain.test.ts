// Another chain, end to end, by the commands of docs/chain.md "On another chain": a real node of hardhat as
// anybody would run it, contracts from a key at hand, a validator staked, a provider registered, the first
// epoch published, claimed and audited, a restart; and two providers that show one card. The node's clock is
// moved, ours is not.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import type { Logger } from "pino";
import { contractsOn } from "../../src/chain/contracts/contracts.ts";
import { signDevice } from "../../src/chain/contracts/registry.ts";
import { signWeights } from "../../src/chain/contracts/scoreboard.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { packageRoot } from "../../src/engine/builds.ts";
import { given } from "../../src/market/scores/recompute.ts";
import { type Environment, realEnvironment } from "../../src/platform/environment.ts";
import type { Json } from "../../src/protocol/bytes/canonical-json.ts";
import { DEVICE_KEY_SCHEMA, deviceCommitment } from "../../src/protocol/chain/device-commitment.ts";
import type { ProbeAttestation } from "../../src/protocol/probe/verdict.ts";
import { NO_CHAIN_KEYS } from "../../src/store/devices.ts";
import { attestation, idOf, memory, probeByHand } from "../../src/store/sample-rows.test-kit.ts";
import { createKeyHolders } from "../../src/validator/settlement/key-holders.ts";
import { createReportArchive } from "../../src/validator/settlement/report-archive.ts";
import type { ValidatorMetrics } from "../../src/validator/validator-metrics.ts";
import {
	eventually,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
	toyClaimOf,
} from "../validator/toy-agent.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-external-"));
const network = join(scratch, "network");
/** The first account of every node for development; its key is public. */
const DEV_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
/** Longer than the test on any machine: each epoch that ends pays the validator. */
const EPOCH_S = 3600;
const UUID = "GPU-11112222-3333-4444-5555-666677778888";

let node: ChildProcess;
let rpcUrl = "";
let validator: ToyValidator;
/** The epoch that was published. */
let published = 0;
before(async () => {
	const hardhat = join(packageRoot(), "node_modules", ".bin", "hardhat");
	const args = ["--config", "tests/cli/bare-node.config.ts", "node", "--hostname", "127.0.0.1", "--port", "0"];
	node = spawn(hardhat, args, { cwd: packageRoot(), stdio: ["ignore", "pipe", "inherit"] });
	rpcUrl = await new Promise<string>((resolve, reject) => {
		node.once("exit", (code) => reject(new Error(`the node ended with ${code}`)));
		createInterface({ input: node.stdout! }).on("line", (line) => {
			const found = /(http:\/\/127\.0\.0\.1:\d+)/.exec(line);
			if (found !== null) resolve(found[1]!);
		});
	});
	node.removeAllListeners("exit");
	writeFileSync(join(scratch, "dev.key"), `${DEV_KEY}\n`);
});
after(async () => {
	await validator?.stop();
	if (node !== undefined) {
		const ended = new Promise((resolve) => node.once("exit", resolve));
		node.kill("SIGKILL");
		await ended;
	}
	rmSync(scratch, { recursive: true, force: true });
});

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const interrupted = new AbortController().signal;
	const env = { ASSAY_HOME: scratch, ASSAY_RPC: rpcUrl, NO_COLOR: "1" };
	const code = await runCommand(args, { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted });
	return { code, ...said };
}
async function done(...args: string[]): Promise<string> {
	const { code, out, err } = await assay(...args);
	assert.equal(code, 0, `${args.join(" ")}: ${err}${out}`);
	return out;
}
const pass = async (seconds: number) => {
	const rpc = httpRpc(rpcUrl);
	await rpc("evm_increaseTime", [seconds]);
	await rpc("evm_mine", []);
};
const start = () => startToyValidator({ dataDir: network, chain: { rpcUrl }, params: { maxAgeMs: 86_400_000 } });

/** A provider of this machine by its key; registered by hand. */
async function register(name: string, seed: number): Promise<{ folder: string; account: `0x${string}`; key: string }> {
	const folder = join(scratch, name);
	mkdirSync(folder);
	writeFileSync(join(folder, "provider.key"), `${Buffer.alloc(32, seed).toString("hex")}\n`);
	const where = ["--provider", "--data", folder];
	const { account, provider } = JSON.parse(await done("chain", "status", ...where, "--json"));
	await done("chain", "send", account, "100", "--coins", "1", "--key-file", "dev.key");
	await done("stake", "100", ...where);
	return { folder, account: account.toLowerCase(), key: provider };
}

test("deployed from a key at hand; what is missing before is said", async () => {
	const poor = await assay("chain", "deploy");
	assert.match(poor.err, /own coin.*\[CHAIN_FUNDS\]\n.*--key-file FILE/s);
	assert.match((await assay("chain", "deploy", "--key-file", "none.key")).err, /FILE_UNREADABLE/);
	writeFileSync(join(scratch, "bad.key"), "0x12\n");
	assert.match((await assay("chain", "deploy", "--key-file", "bad.key")).err, /KEY_UNUSABLE/);
	const out = await done("chain", "deploy", "--epoch-seconds", String(EPOCH_S), "--key-file", "dev.key");
	assert.match(out, /900000000 tokens are on 0xf39F/);
	const { validator: own } = JSON.parse(await done("chain", "status", "--json"));
	await done("chain", "send", own.account, "2000", "--coins", "10", "--key-file", "dev.key");
	await done("stake", "2000", "--endpoint", "http://127.0.0.1:1");
	validator = await start();
	assert.equal(validator.chain!.account, own.account);
	assert.match(await done("chain", "endpoint", validator.url), new RegExp(`endpoint {2}${validator.url}`));
});

test("a provider registers, is proven, published, paid; anyone audits it; a restart finds all", async () => {
	const provider = await register("provider", 21);
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(21), claim: toyClaimOf(UUID) });
	await eventually(async () => {
		const { rows } = await validator.store.probes.list({ providerId: provider.key });
		return rows.some(({ state, verdict }) => state === "done" && verdict === "valid");
	});
	await agent.close();
	// A toy's figures are worth nothing; of another provider somebody says that they are.
	const paid = await register("paid", 22);
	const root = given("score", "ppm", 600_000);
	const offer = { name: "x", pricePerHourMicros: 0, rentable: false, ssh: false, claim: null } as const;
	const nowMs = Date.now();
	await validator.store.providers.register(
		{ id: paid.key, link: "agent", target: "", ...offer },
		{ nowMs, actor: "test" },
	);
	const terms = {
		version: 1,
		providerId: paid.key,
		mode: "holistic",
		evidence: null,
		scorePpm: 600_000,
		why: "",
		root,
	};
	await validator.store.scores.put([
		{ providerId: paid.key, atMs: nowMs, scorePpm: 600_000, mode: "holistic", terms: terms as unknown as Json },
	]);
	const epochs = async () => JSON.parse(await done("chain", "status", "--json", "--epochs", "100"));
	const { epoch, params } = await epochs();
	published = epoch;
	const reach = async (state: (line: { reports: number; state: string }) => boolean) =>
		eventually(async () => {
			const line = (await epochs()).epochs.find((one: { epoch: number }) => one.epoch === epoch);
			return line !== undefined && state(line);
		});
	const chain = await createChainClient(httpRpc(rpcUrl), { confirmations: 1 });
	const goTo = async (second: number) => {
		const { timestamp } = await chain.viem.getBlock({ blockTag: "pending" });
		if (Number(timestamp) < second) await pass(second - Number(timestamp));
	};
	const endsAt = params.genesis + (epoch + 1) * EPOCH_S;
	const scoreboard = await import("../../src/chain/contracts/scoreboard.ts");
	const addresses = JSON.parse(readFileSync(join(network, "chain", "contracts-external.json"), "utf8"));
	const own = validator.chain!.account as `0x${string}`;
	await goTo(endsAt);
	await eventually(
		async () => BigInt((await scoreboard.readReport({ client: chain, addresses }, epoch, own)).digest) !== 0n,
	);
	await goTo(endsAt + params.commitSeconds);
	await reach(({ reports }) => reports === 1);
	await goTo(endsAt + params.commitSeconds + params.revealSeconds);
	await reach(({ state }) => state === "posted" || state === "final");
	await goTo((await scoreboard.readPosted({ client: chain, addresses }, epoch))!.finalAt);
	// What signers of a lie would lose bounds the pot: half of two thirds of 2,000. The provider's stake stands
	// for a tenth of a whole weight, the validator gets its tenth of the pot.
	assert.match(await done("claim"), /paid 126\.66\d*, by the weights of epoch/);

	// Nobody's folder, the addresses as the validator tells them.
	const contracts = join(scratch, "told.json");
	writeFileSync(contracts, await (await fetch(`${validator.url}/chain/contracts.json`)).text());
	const stranger = ["--contracts", contracts, "--data", join(scratch, "nobody"), "--json"];
	const all = JSON.parse(await done("audit", String(epoch), ...stranger));
	assert.deepEqual([all.differences, all.validators, all.scores, all.paid, all.weights], [[], 1, 2, 2, "final"]);
	const proven = JSON.parse(
		await done("audit", String(epoch), ...stranger, "--evidence", "--provider", provider.account),
	);
	assert.equal(proven.evidenceFiles, 1);
	const [{ after: from, before: to }] = proven.made;
	assert.ok(from.block < to.block && from.timeS <= to.timeS, JSON.stringify(proven.made));
	// The invented score has no evidence, and that is said.
	const wrong = await assay("audit", String(epoch), ...stranger, "--evidence");
	assert.deepEqual(
		[wrong.code, JSON.parse(wrong.out).differences.map((one: { what: string; who: string }) => [one.what, one.who])],
		[1, [["evidence", paid.account]]],
	);

	await validator.stop();
	validator = await start();
	assert.match(await done("claim"), /nothing to pay/);
	await done("chain", "endpoint", validator.url);
	assert.deepEqual(JSON.parse(await done("audit", String(epoch), ...stranger)).differences, []);
});

test("two providers show one card: it is bound to the first, until it lets go", async () => {
	const first = join(scratch, "provider");
	const second = await register("second", 23);
	const agent = await startToyAgent({
		url: validator.url,
		signer: signerOf(23),
		claim: toyClaimOf(UUID.toLowerCase()),
	});
	await eventually(async () => {
		const { rows } = await validator.store.probes.list({ providerId: second.key });
		return rows.some(({ state, verdict }) => state === "done" && verdict === "valid");
	});
	await agent.close();
	const bind = (folder: string, url = validator.url) =>
		assay("chain", "bind", "--validator", url, "--data", folder, "--json");
	const bound = await bind(first);
	assert.equal(bound.code, 0, bound.err);
	const [device] = JSON.parse(bound.out).devices;
	assert.equal(device.device, deviceCommitment(UUID));
	assert.equal(JSON.parse((await bind(first)).out).devices[0].isNew, false, "the same attestation again");
	assert.match(await done("chain", "status", "--provider", "--data", first), new RegExp(`device {5}${device.device}`));
	// The validator itself gives the card to whoever proved it first.
	assert.match((await bind(second.folder)).err, /DEVICE_UNATTESTED/);

	// One that attests it all the same changes nothing; nor does a signature of somebody else.
	const secret = readFileSync(join(network, "chain", "account.key"), "utf8").trim();
	const addresses = JSON.parse(readFileSync(join(network, "chain", "contracts-external.json"), "utf8"));
	const statement = {
		device: device.device,
		provider: second.account,
		evidenceSha256: `0x${"ab".repeat(32)}`,
		issuedAt: BigInt(device.until - 7 * 86_400),
	} as const;
	const attester = accountOf(`0x${secret}`);
	let signer = attester;
	const files = createServer(async (_, response) => {
		const { device: id, evidenceSha256, issuedAt } = statement;
		const signature = await signDevice(signer, addresses, statement);
		const one = { device: id, name: "card", evidenceSha256, issuedAt: Number(issuedAt), signature };
		const { chainId, registry } = addresses;
		const { account: provider } = second;
		response.end(
			JSON.stringify({ version: 2, chainId, registry, signer: attester.address, provider, statements: [one] }),
		);
	});
	await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
	try {
		const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
		const taken = await bind(second.folder, url);
		assert.deepEqual([taken.code, /DEVICE_TAKEN/.test(taken.err)], [75, true], taken.err);
		signer = accountOf(`0x${"77".repeat(32)}`);
		assert.match((await bind(second.folder, url)).err, /did not sign/);
		signer = attester;
		assert.equal((await assay("chain", "release", "--data", second.folder, "--device", device.device)).code, 69);
		await done("chain", "release", "--data", first);
		const now = await bind(second.folder, url);
		assert.equal(now.code, 0, now.err);
		assert.equal(JSON.parse(now.out).devices[0].provider, second.account);
		assert.match((await bind(first)).err, /DEVICE_TAKEN/);
	} finally {
		files.close().closeAllConnections();
	}
});

test("a device key is bound to whoever showed it, and to nobody else, whichever validator another one finds to vouch for it", async () => {
	const first = await register("keyed", 24);
	const second = await register("other", 25);
	const key = "5d".repeat(32);
	/** A valid probe of it, as one would end whose devices sign. */
	const show = async ({ key: id }: { key: string }, name: string, shown: ProbeAttestation) => {
		const offer = { name, pricePerHourMicros: 0, rentable: false, ssh: false, claim: null } as const;
		const nowMs = Date.now();
		await validator.store.providers.register({ id, link: "agent", target: "", ...offer }, { nowMs, actor: "test" });
		const kept = { probeId: idOf(name, 32), evidence: idOf(`evidence of ${name}`), provenAtMs: nowMs };
		const proof = { ...kept, claimedRamBytes: 0, rentedMs: 0 };
		const next = { nextProbeAtMs: nowMs + 1e9, failures: 0, retries: 0, reliabilityPpm: 0, answeredPpm: 0 };
		await probeByHand(validator.store, id, name, {
			...{ attestation: shown, startedAtMs: nowMs, finishedAtMs: nowMs, devices: [], figures: [] },
			// However long the commands between two of them take.
			keysHeld: { freeMs: 3_600_000, rentedMs: 3_600_000 },
			provider: { ...next, memory: memory({ proof }) },
		});
	};
	const bind = async ({ folder }: { folder: string }, url = validator.url) => {
		const { out, err } = await assay("chain", "bind", "--validator", url, "--data", folder, "--json");
		return /\[([A-Z_]+)\]/.exec(err)?.[1] ?? JSON.parse(out).devices.map(({ device }: { device: string }) => device);
	};
	await show(first, "simulated", attestation([key], { isSimulated: true, level: "none" }));
	assert.equal(await bind(first), "DEVICE_UNATTESTED", "anybody signs under simulated roots");
	await show(first, "genuine", attestation([key]));
	assert.deepEqual(await bind(first), [`0x${key}`]);
	assert.match(await done("chain", "status", "--provider", "--data", first.folder), new RegExp(`0x${key}, by its key`));
	// Every validator of this chain reads whose it is, whatever its own database says.
	const addressed = JSON.parse(readFileSync(join(network, "chain", "contracts-external.json"), "utf8"));
	const contracts = await contractsOn(await createChainClient(httpRpc(rpcUrl)), addressed);
	const failures: unknown[] = [];
	const holdersIn = (after: Environment["after"]) =>
		createKeyHolders(contracts, {
			...{ env: { after }, log: { error: (word: unknown) => failures.push(word) } as unknown as Logger },
			metrics: { failures: { inc: () => {} } } as unknown as ValidatorMetrics,
		});
	const holders = holdersIn(realEnvironment().after);
	const unbound = "5e".repeat(32);
	assert.deepEqual(await holders(first.key, [key, unbound, key]), { own: [key], elsewhere: [] });
	assert.deepEqual(await holders(second.key, [key, unbound]), {
		...{ own: [], elsewhere: [{ key, providerId: first.key }] },
	});
	assert.deepEqual(await holders(second.key, []), NO_CHAIN_KEYS);
	const atOnce = holdersIn((_, act) => {
		act();
		return () => {};
	});
	assert.deepEqual([await atOnce(second.key, [key]), failures], [NO_CHAIN_KEYS, []], "a slow node keeps no probe");
	// Here the key counts for the first. Of a validator with a database of its own the chain takes no second
	// statement.
	await show(second, "the same", attestation([key]));
	assert.equal(await bind(second), "DEVICE_UNATTESTED");
	const own = accountOf(`0x${readFileSync(join(network, "chain", "account.key"), "utf8").trim()}`);
	const addresses = JSON.parse(readFileSync(join(network, "chain", "contracts-external.json"), "utf8"));
	const said = {
		device: `0x${key}`,
		evidenceSha256: `0x${"ab".repeat(32)}`,
		issuedAt: Math.floor(Date.now() / 1000),
	} as const;
	const statement = { ...said, provider: second.account, issuedAt: BigInt(said.issuedAt), schema: DEVICE_KEY_SCHEMA };
	const one = { ...said, name: "card", signature: await signDevice(own, addresses, statement) };
	const { chainId, registry } = addresses;
	const file = { version: 2, chainId, registry, signer: own.address, provider: second.account };
	let told: object = { ...file, statements: [], keys: [one] };
	const files = createServer((_, response) => void response.end(JSON.stringify(told)));
	await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
	try {
		const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
		assert.equal(await bind(second, url), "DEVICE_TAKEN");
		told = { ...file, statements: [one], keys: [] };
		assert.equal(await bind(second, url), "DEVICE_UNATTESTED", "as a UUID nobody has signed it");
		await done("chain", "release", "--data", first.folder);
		told = { ...file, statements: [], keys: [one] };
		assert.deepEqual(await bind(second, url), [`0x${key}`]);
		assert.deepEqual(await holders(second.key, [key]), { own: [key], elsewhere: [] });
		assert.deepEqual((await holders(first.key, [key])).elsewhere, [{ key, providerId: second.key }]);
	} finally {
		files.close().closeAllConnections();
	}
});

test("a validator that signed wrong weights, though nobody posted them: anyone takes its stake", async () => {
	const told = ["--contracts", join(scratch, "told.json"), "--data", join(scratch, "nobody")];
	const addresses = JSON.parse(readFileSync(join(network, "chain", "contracts-external.json"), "utf8"));
	const account = accountOf(`0x${readFileSync(join(network, "chain", "account.key"), "utf8").trim()}`);
	const self = account.address.toLowerCase() as `0x${string}`;
	const audit = (...more: string[]) => assay("audit", String(published), ...told, "--json", "--accuse", ...more);
	assert.deepEqual(JSON.parse((await audit()).out).accused, [], "an honest one is left alone");

	const archive = createReportArchive(join(network, "chain", "epochs"));
	const [right] = (await archive.statements(published))!;
	const lie = { ...right!.weights, set: 3n };
	const signature = await signWeights(account, addresses, lie);
	await archive.putStatements(published, [right!, { weights: lie, signatures: [{ signer: self, signature }] }]);
	const needy = await audit();
	assert.deepEqual([needy.code, /--accuse needs an account/.test(needy.err)], [64, true]);
	const found = await audit("--key-file", "dev.key");
	assert.equal(found.code, 1, found.err);
	const { accused, differences } = JSON.parse(found.out);
	assert.deepEqual(
		[accused, differences.map(({ code, who }: { code: string; who: string }) => [code, who])],
		[[self], [["STATEMENT_WRONG", self]]],
	);
	assert.equal(JSON.parse(await done("chain", "status", "--json")).validator.stake, String(1000n * 10n ** 18n));
	assert.deepEqual(JSON.parse((await audit("--key-file", "dev.key")).out).accused, [], "once");
});
