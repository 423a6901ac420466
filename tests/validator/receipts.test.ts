// Receipts and slashing, whole: a validator with the embedded chain, and three providers with accounts and
// stakes there. One computes with half of k and loses half its stake; its honest twin signs the same and
// keeps everything; one that signs nothing is not slashed, and worth nothing in the report.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import { approveCall, readAccount, registerCall } from "../../src/chain/contracts/registry.ts";
import * as board from "../../src/chain/contracts/scoreboard.ts";
import { receiptSigner } from "../../src/chain/contracts/slashing.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import { auditTerms } from "../../src/market/audit/audit-scores.ts";
import { given } from "../../src/market/scores/recompute.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import type { Json } from "../../src/protocol/bytes/canonical-json.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { signChainKey } from "../../src/protocol/chain/key-binding.ts";
import { factsOfGemm, receiptOf, roundTree } from "../../src/protocol/chain/probe-receipt.ts";
import { nextSeed, seedChain } from "../../src/protocol/probe/challenge-seed.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { decodeOpenings, decodeRoots } from "../../src/protocol/probe/records.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { loadProviderAccount } from "../../src/provider/chain-account.ts";
import { createProvider, type Provider } from "../../src/provider/create-provider.ts";
import { createReceiptSigner } from "../../src/provider/sign-receipts.ts";
import { chainFolder, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import { createReportArchive } from "../../src/validator/settlement/report-archive.ts";
import { readAnswers } from "../../src/verify/hardware/answers.ts";
import { probeSeeds } from "../../src/verify/hardware/probe-seeds.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "./toy-agent.test-kit.ts";

const HOUR = 3_600_000;
const STAKE = 100n * 10n ** 18n;
const toy = (name: string) => JSON.stringify(new URL(`../toy/${name}.ts`, import.meta.url).href);
/**
 * The toy engine as a program of a host with more memory than a toy's: a provider holds its engine to what
 * the host claims.
 */
const CHEATING_ENGINE = `
import { CHEATS } from ${toy("cheats")};
import { toyClaim } from ${toy("toy-claim")};
import { ToyEngine } from ${toy("toy-engine")};
const claim = toyClaim(1);
const write = (bytes) => void process.stdout.write(bytes);
const host = { ...claim.host, ramBytes: 8e9, ramFreeBytes: 4e9 };
await new ToyEngine({ ...claim, host }, CHEATS["smaller-k"], { write, hangUp: () => process.exit(0) }).serve(process.stdin);
process.exit(0);`;
const data = makeDataDir();
const homes: ReturnType<typeof makeDataDir>[] = [];
const providers: Provider[] = [];
let validator: ToyValidator;
let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
before(async () => {
	validator = await startToyValidator(
		{
			dataDir: data.path,
			params: { maxAgeMs: 10 * HOUR },
			chain: { epochSeconds: 3600, windowSeconds: 360 },
			rollCalls: { isOn: false },
		},
		{ nowMs },
	);
});
after(async () => {
	await Promise.all(providers.map((provider) => provider.stop()));
	await validator?.stop();
	for (const home of [data, ...homes]) await home.remove();
});

async function reach() {
	const addresses = (await readContracts(join(chainFolder(data.path), "contracts.json")))!;
	const client = await createChainClient(httpRpc(validator.chain!.url), { confirmations: 1, pollMs: 20 });
	return {
		contracts: { client, addresses },
		treasurer: (await treasurerOf({ folder: chainFolder(data.path), isEmbedded: true }))!,
	};
}

/** A data folder whose account has a stake under the provider's key. */
async function stakedHome(signer: Signer) {
	const home = makeDataDir();
	homes.push(home);
	const account = await loadProviderAccount(home.path, randomBytes);
	const { contracts, treasurer } = await reach();
	const { client } = contracts;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: 10n ** 18n });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, STAKE));
	await sendCall(client, account, approveCall(contracts, STAKE));
	const { chainId, registry } = contracts.addresses;
	const keyProof = signChainKey(signer, { chainId, registry, account: account.address, number: 1 });
	const registration = {
		role: "provider",
		signingKey: `0x${signer.key}`,
		keyNumber: 1,
		keyProof,
		endpoint: "",
		amount: STAKE,
	} as const;
	await sendCall(client, account, registerCall(contracts, registration));
	return { path: home.path, account };
}

async function startCheat(signer: Signer, dataFolder: string): Promise<void> {
	const env = realEnvironment();
	const provider = await createProvider({
		signer,
		validators: [parseValidatorUrl(validator.url)],
		trust: [],
		dataFolder,
		name: "toy",
		pricePerHourMicros: 1,
		engine: { command: process.execPath, args: ["--input-type=module", "-e", CHEATING_ENGINE, "--"] },
		env: process.env,
		limits: { memoryBytes: 1e12, minutes: 60 },
		diskBytesPerDay: null,
		rental: null,
		clockUs: env.clockUs,
		nowMs: Date.now,
		randomBytes,
		onEvent: () => {},
	});
	providers.push(provider);
}

/**
 * On a busy machine a first try may say nothing, or come before its validator has heard of the account: it is
 * made again.
 */
async function probeOf(providerId: string) {
	const seen = new Set<string>();
	return await eventually(async () => {
		const { rows } = await validator.store.probes.list({ providerId, state: "done" });
		const [newest] = rows;
		if (newest === undefined || seen.has(newest.id)) return null;
		if (newest.verdict !== "inconclusive" && newest.evidenceSha256 !== null && (await isSigned(newest.id)))
			return newest;
		seen.add(newest.id);
		await validator.store.providers.requestProbe(providerId, { atMs: 1 });
		validator.wake();
		return null;
	});
}

/** Whether receipts were asked for. */
const isSigned = (id: string): Promise<boolean> =>
	validator.client.getProbeReceipts({ params: { id } }).then(
		() => true,
		(error) => {
			assert.equal(error.code, "RECEIPTS_UNKNOWN");
			return false;
		},
	);

async function firstEvent(kind: string) {
	const stop = new AbortController();
	for await (const event of await validator.client.watchEvents({ query: { kind } }, { signal: stop.signal })) {
		stop.abort();
		return event;
	}
	throw new Error("the stream ended");
}

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const env = { env: { ASSAY_HOME: homes[0]!.path }, cwd: homes[0]!.path, interrupted: new AbortController().signal };
	const code = await runCommand(args, { ...env, out: stream("out"), err: stream("err") });
	return { code, ...said };
}

test("a wrong element that its provider signed for costs half the stake; the honest twin and the silent one lose nothing", async () => {
	const [cheat, honest, mute] = [signerOf(31), signerOf(32), signerOf(33)];
	const [cheatHome, honestHome, muteHome] = [await stakedHome(cheat), await stakedHome(honest), await stakedHome(mute)];
	const { contracts } = await reach();
	const { client } = contracts;
	const self = validator.chain!.account.toLowerCase() as Hex;
	const ownBefore = await read(contracts, "token", "balanceOf", self);
	const accusation = firstEvent("chain.accused");
	accusation.catch(() => {});
	await startCheat(cheat, cheatHome.path);
	const { sign } = createReceiptSigner({ dataFolder: honestHome.path, randomBytes });
	const right = await startToyAgent({ url: validator.url, signer: honest, handlers: { signReceipts: sign } });
	const silent = await startToyAgent({ url: validator.url, signer: mute });

	const [bad, good, unsigned] = [await probeOf(cheat.key), await probeOf(honest.key), await probeOf(mute.key)];
	await Promise.all([right.close(), silent.close()]);
	assert.deepEqual([bad.verdict, bad.code], ["invalid", "ELEMENT_WRONG"]);
	assert.deepEqual([good.verdict, unsigned.verdict], ["valid", "valid"]);

	// The accusation, by itself.
	const told = await accusation;
	assert.equal(told.subject, bad.id);
	assert.equal(told.providerId, cheat.key);
	const stakeOf = async (account: Hex) => (await readAccount(contracts, account)).stake;
	assert.equal(await stakeOf(cheatHome.account.address), STAKE / 2n);
	assert.equal(await read(contracts, "token", "balanceOf", self), ownBefore + STAKE / 20n);
	for (const { account } of [honestHome, muteHome]) assert.equal(await stakeOf(account.address), STAKE);

	// What everybody can see of it.
	const receipts = (id: string) => validator.client.getProbeReceipts({ params: { id } });
	const file = await receipts(good.id);
	assert.equal(file.evidence, good.evidenceSha256);
	assert.deepEqual(file.missing, []);
	const decoded = decodeEvidence(await validator.store.evidence.get(good.evidenceSha256!));
	assert.ok(decoded.ok);
	const { envelope, attachments } = decoded.evidence;
	const [challenge] = envelope.body.challenges;
	const roots = decodeRoots(attachments[challenge!.roots]!);
	assert.ok(roots.ok && challenge!.spec.kind === "gemm");
	const allRoots = roots.records.map(({ root }) => root);
	const [signed] = file.receipts;
	const answers = readAnswers(envelope.body, attachments);
	assert.ok(answers.ok);
	const first = probeSeeds(envelope.body, answers.answers).first(0);
	const facts = factsOfGemm(0, challenge!.spec, first, allRoots);
	assert.deepEqual({ ...facts, signature: signed!.signature }, signed);
	const account = honestHome.account.address.toLowerCase() as Hex;
	const receipt = receiptOf(account, good.id, facts);
	assert.equal(receiptSigner(contracts.addresses, receipt, signed!.signature as Hex), account);
	assert.deepEqual((await receipts(unsigned.id)).missing, [{ challenge: 0, why: "refused" }]);
	assert.deepEqual((await receipts(unsigned.id)).receipts, []);
	assert.equal((await receipts(bad.id)).receipts.length, 1);

	// Anyone fetches both files and brings the proof himself; here somebody was quicker, and of the honest one
	// there is nothing to bring.
	const [chainFile, key] = [join(cheatHome.path, "contracts.json"), join(muteHome.path, "chain-account.key")];
	await writeFile(chainFile, JSON.stringify(contracts.addresses));
	for (const [id, code] of [
		[bad.id, "FRAUD_PUNISHED"],
		[good.id, "FRAUD_NONE"],
	] as const) {
		const [evidence, signedFile] = [join(cheatHome.path, `${id}.assay`), join(cheatHome.path, `${id}.json`)];
		const fetched = await assay("evidence", id, "--api", validator.url, "--out", evidence, "--receipts", signedFile);
		assert.equal(fetched.code, 0, fetched.err);
		const chain = [
			"--rpc",
			validator.chain!.url,
			"--contracts",
			chainFile,
			"--key-file",
			key,
			"--data",
			cheatHome.path,
		];
		const accused = await assay("accuse", evidence, "--receipts", signedFile, ...chain);
		assert.deepEqual([accused.code, accused.err.includes(code)], [69, true], accused.err);
	}
	const url = `${validator.url}/v1/probes/${"00".repeat(16)}/receipts`;
	assert.equal((await assay("accuse", join(cheatHome.path, `${bad.id}.assay`), "--receipts", url)).code, 66);

	// An honest provider's receipt proves nothing against it: neither its own leaf nor a forged one.
	const openings = decodeOpenings(attachments[challenge!.opens[0]!.attachment]!);
	assert.ok(openings.ok);
	const [opened] = openings.records;
	assert.ok(opened);
	const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;
	const fraud = (leaf: Uint8Array) => ({
		round: opened.round,
		seed: hex(seedChain(first, allRoots, nextSeed)[opened.round]!),
		root: hex(allRoots[opened.round]!),
		roundPath: roundTree(first, allRoots).path(opened.round).map(hex),
		leaf: opened.index,
		column: 3,
		leafBytes: hex(leaf),
		path: opened.path.map(hex),
	});
	const forged = Uint8Array.from(opened.leaf);
	forged[6] = forged[6]! ^ 1;
	const accuse = (leaf: Uint8Array) =>
		sendCall(
			client,
			muteHome.account,
			callOf(contracts, "slashing", "proveGemm", receipt, signed!.signature as Hex, fraud(leaf), hex(randomBytes(32))),
		);
	await assert.rejects(accuse(opened.leaf), /ElementRight/);
	await assert.rejects(accuse(forged), /RootMismatch/);
	assert.equal(await read(contracts, "slashing", "isPunished", account, receipt.probeId), false);
	assert.equal(await stakeOf(account), STAKE);

	// A toy's figures are worth nothing; here all three are worth the same.
	for (const [id, evidence] of [
		[honest.key, good.evidenceSha256],
		[mute.key, unsigned.evidenceSha256],
	] as const) {
		const root = given("score", "ppm", 600_000);
		const terms = { version: 1, providerId: id, mode: "holistic", evidence, scorePpm: 600_000, why: "", root };
		await validator.store.scores.put([
			{ providerId: id, atMs: nowMs(), scorePpm: 600_000, mode: "holistic", terms: terms as unknown as Json },
		]);
	}
	const { endsAt, revealsAt } = board.windowsOf(validator.chain!.params, 0);
	const goTo = (second: number) => {
		aheadMs += Math.max(0, second * 1000 + 50 - nowMs());
	};
	goTo(endsAt);
	await eventually(async () => BigInt((await board.readReport(contracts, 0, self)).digest) !== 0n);
	goTo(revealsAt);
	await eventually(async () => (await board.readReport(contracts, 0, self)).revealed);
	// Public a moment after its root is.
	const report = await eventually(async () => {
		const reply = await fetch(`${validator.url}/chain/0/report-${self}.json`);
		return reply.ok && ((await reply.json()) as { leaves: [Hex, number, Hex][] });
	});
	const leaf = (who: { account: { address: string } }) =>
		report.leaves.find(([provider]) => provider === who.account.address.toLowerCase())?.slice(1);
	assert.deepEqual(leaf(honestHome), [600_000, `0x${good.evidenceSha256}`]);
	assert.deepEqual(leaf(muteHome), [0, `0x${unsigned.evidenceSha256}`]);
	assert.equal(leaf(cheatHome)?.[0], 0);
	// The zero explains itself: whoever computes the report again finds no difference.
	const archive = createReportArchive(join(chainFolder(data.path), "epochs"));
	const published = await archive.reasonsOf(0, self);
	const leaves = report.leaves.map(([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 }));
	const { differences, reasons } = await auditTerms(self, leaves, published!, new Set(leaves));
	assert.deepEqual(differences, []);
	assert.equal(reasons.get(muteHome.account.address.toLowerCase() as Hex)?.why, "no receipt for a challenge: refused");
});
