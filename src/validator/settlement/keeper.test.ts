// A whole validator with the embedded chain: contracts at the first start, a probe with a beacon, its score
// and evidence on chain at the epoch's end, weights final, the reward claimed; all of it there after a
// restart. Without a chain nothing of this happens.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "../../../tests/validator/toy-agent.test-kit.ts";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { approveCall, registerCall } from "../../chain/contracts/registry.ts";
import { claimCall } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { httpRpc } from "../../chain/node/http-rpc.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf } from "../../chain/sending/sign.ts";
import { openRewards } from "../../market/epochs/weights.ts";
import { given } from "../../market/scores/recompute.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { auditEpoch } from "../audit/audit-epoch.ts";
import { archiveSource } from "../audit/audit-source.ts";
import { chainFolder, loadChainKey, readContracts, treasurerOf } from "./home.ts";
import { createReportArchive } from "./report-archive.ts";
import { waitsUntil } from "./report-scores.ts";

const HOUR = 3_600_000;
const data = makeDataDir();
let validator: ToyValidator;
/**
 * Moved by tests; else so slow that no window, a minute long, ends while a busy machine is at work in it. It
 * does not stand: what failed is tried again by it.
 */
let movedTo = { clockMs: Date.now(), realMs: Date.now() };
const nowMs = () => movedTo.clockMs + Math.floor((Date.now() - movedTo.realMs) / 20);
const start = () =>
	startToyValidator(
		{
			dataDir: data.path,
			params: { maxAgeMs: 10 * HOUR },
			chain: { epochSeconds: 3600, firstEpochSeconds: 3600 },
		},
		{ nowMs },
	);
before(async () => {
	validator = await start();
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

const goTo = (second: number): void => {
	movedTo = { clockMs: Math.max(nowMs(), second * 1000 + 50), realMs: Date.now() };
};
const reach = async () => {
	const addresses = (await readContracts(join(chainFolder(data.path), "contracts.json")))!;
	return {
		addresses,
		client: await createChainClient(httpRpc(validator.chain!.url), { confirmations: 1, pollMs: 20 }),
	};
};

test("the first epoch is published and claimable, and all is kept over a restart", async () => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(11) });
	const probe = await eventually(async () => {
		const shown = await validator.client.getProvider({ params: { id: agent.id } }).catch(() => null);
		if (shown === null || shown.scorePpm === null) return null;
		return (await validator.store.probes.list({ providerId: agent.id })).rows.find(({ state }) => state === "done");
	});
	await agent.close();
	const first = await reach();
	const decoded = decodeEvidence(await validator.store.evidence.get(probe.evidenceSha256!));
	assert.ok(decoded.ok);
	const beacon = decoded.evidence.envelope.body.beacon!;
	const [chainId, number, hash] = beacon.value.split(":");
	assert.equal(beacon.kind, "evm-block");
	assert.equal(Number(chainId), first.addresses.chainId);
	assert.equal((await first.client.viem.getBlock({ blockNumber: BigInt(number!) })).hash, hash);

	// A toy's figures are worth nothing; this one's are.
	const id = "a1".repeat(32);
	const offer = { name: "x", pricePerHourMicros: 0, rentable: false, ssh: false, claim: null } as const;
	await validator.store.providers.register(
		{ id, link: "agent", target: "", ...offer },
		{ nowMs: nowMs(), actor: "test" },
	);
	const root = given("score", "ppm", 600_000);
	const terms = { version: 1, providerId: id, mode: "holistic", evidence: null, scorePpm: 600_000, why: "", root };
	await validator.store.scores.put([
		{ providerId: id, atMs: nowMs(), scorePpm: 600_000, mode: "holistic", terms: terms as unknown as Json },
	]);

	const self = validator.chain!.account.toLowerCase() as Hex;
	const params = await board.readEpochParams(first);
	const { endsAt, revealsAt, signsAt } = board.windowsOf(params, 0);
	goTo(endsAt);
	await eventually(async () => BigInt((await board.readReport(first, 0, self)).digest) !== 0n);
	goTo(revealsAt);
	await eventually(async () => (await board.readReport(first, 0, self)).revealed);
	goTo(signsAt);
	const standing = await eventually(() => board.readPosted(first, 0));
	const report = await fetch(`${validator.url}/chain/0/report-${self}.json`);
	assert.equal(report.status, 200);
	const published = (await report.json()) as { leaves: [Hex, number, Hex][] };
	assert.deepEqual(published.leaves.map(([, score, evidence]) => [score, evidence]).sort(), [
		[0, `0x${probe.evidenceSha256}`],
		[600_000, `0x${"0".repeat(64)}`],
	]);
	assert.equal((await fetch(`${validator.url}/chain/1/report-${self}.json`)).status, 404);

	await validator.stop();
	validator = await start();
	const contracts = await reach();
	const { client } = contracts;
	assert.deepEqual(contracts.addresses, first.addresses);
	assert.deepEqual(await board.readPosted(contracts, 0), standing);
	goTo(standing.finalAt);
	const [provider] = published.leaves.find(([, score]) => score > 0)!;
	const archive = createReportArchive(join(chainFolder(data.path), "epochs"));
	const leaves = (await archive.rewards(0, standing.id))!;
	const { weights } = (await board.readStated(contracts, 0, standing.id))!;
	const tree = openRewards(leaves);
	const opening = tree.open(tree.indexOf(provider)!);
	const treasurer = (await treasurerOf({ folder: chainFolder(data.path), isEmbedded: true }))!;
	await eventually(async () => validator.chain!.newestFinal()?.epoch === 0);
	assert.equal(validator.chain!.newestFinal()!.claimable, weights.paid);
	await sendCall(client, treasurer, claimCall(contracts, { weights, opening }));
	// The providers' part of an emission, all of it to the only one with a score; the rest is the validator's.
	assert.equal(await read(contracts, "token", "balanceOf", provider), 900n * 10n ** 18n);
	assert.equal(tree.leaves.find(({ account }) => account === self)?.total, 100n * 10n ** 18n);
	const found = await auditEpoch({ contracts, epoch: 0, source: archiveSource(archive), evidence: null });
	assert.deepEqual([found.differences, found.paid, found.providers], [[], 1, 2]);
});

test("a second validator, with a database of its own, joins over JSON-RPC: each fetches the other's leaves", async () => {
	const contracts = await reach();
	const { client } = contracts;
	const place = makeDataDir();
	const other = await startToyValidator(
		{
			dataDir: place.path,
			chain: { rpcUrl: validator.chain!.url, contracts: contracts.addresses, confirmations: 1 },
		},
		{ nowMs },
	);
	try {
		const account = accountOf(toHex(await loadChainKey(chainFolder(place.path), "account", () => new Uint8Array(8))));
		assert.equal(account.address, other.chain!.account);
		const amount = 10_000n * 10n ** 18n;
		const treasurer = (await treasurerOf({ folder: chainFolder(data.path), isEmbedded: true }))!;
		await sendCall(client, treasurer, { to: account.address, data: "0x", value: 10n ** 18n });
		await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, amount));
		await sendCall(client, account, approveCall(contracts, amount));
		const signingKey: Hex = `0x${other.key}`;
		const registration = { role: "validator", signingKey, keyProof: "0x", endpoint: other.url, amount } as const;
		await sendCall(client, account, registerCall(contracts, registration));
		const epoch = 1;
		const params = await board.readEpochParams(contracts);
		const { endsAt, revealsAt, signsAt } = board.windowsOf(params, epoch);
		const both = [validator.chain!.account, other.chain!.account] as Hex[];
		const states = () => Promise.all(both.map((one) => board.readReport(contracts, epoch, one)));
		goTo(endsAt);
		await eventually(async () => BigInt((await states())[0]!.digest) !== 0n);
		// The other one knows no score, and waits for one while it can.
		goTo(waitsUntil(params, epoch));
		await eventually(async () => (await states()).every(({ digest }) => BigInt(digest) !== 0n));
		goTo(revealsAt);
		await eventually(async () => (await states()).every(({ revealed }) => revealed));
		goTo(signsAt);
		const posted = await eventually(() => board.readPosted(contracts, epoch));
		const stated = (await board.readStated(contracts, epoch, posted.id))!;
		assert.deepEqual([stated.weights.set, stated.signers], [3n, 3n], "both reports, both signatures");
		// Whoever posted had to fetch the other's report, and its signature, to do so.
		const folder = stated.sender === both[0]!.toLowerCase() ? data.path : place.path;
		const archive = createReportArchive(join(chainFolder(folder), "epochs"));
		const found = await auditEpoch({ contracts, epoch, source: archiveSource(archive), evidence: null });
		assert.deepEqual([found.validators, found.weights, found.differences], [2, "posted", []]);
	} finally {
		await other.stop();
		await place.remove();
	}
});

test("a validator without a chain makes none", async () => {
	const other = makeDataDir();
	const plain = await startToyValidator({ dataDir: other.path });
	try {
		assert.equal(plain.chain, null);
		assert.equal(existsSync(chainFolder(other.path)), false);
	} finally {
		await plain.stop();
		await other.remove();
	}
});
