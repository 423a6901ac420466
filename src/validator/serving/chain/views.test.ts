// The chain as public requests read it, over a node that tests count, fork and take down: a flood costs a
// node a handful of questions, a silent node is told within seconds, what a reorganisation takes back is no
// longer shown, and old epochs make room. Whole epochs with leaves and payments are
// tests/web/chain-pages.test.ts.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Contracts, callOf, read } from "../../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards } from "../../../chain/contracts/deploy.ts";
import { approveCall, registerCall } from "../../../chain/contracts/registry.ts";
import { claimCall } from "../../../chain/contracts/rewards.ts";
import { ChainHistory } from "../../../chain/history/chain-history.ts";
import { type ChainClient, createChainClient } from "../../../chain/node/chain-client.ts";
import { createLateness } from "../../../chain/node/never-behind.ts";
import type { Rpc } from "../../../chain/node/rpc.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../../chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { accountOf } from "../../../chain/sending/sign.ts";
import { createWeights } from "../../../market/epochs/weights.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { signChainKey } from "../../../protocol/chain/key-binding.ts";
import { createSigner } from "../../../protocol/probe/signer.ts";
import { accuseSigners } from "../../audit/accuse-signers.ts";
import { auditEpoch } from "../../audit/audit-epoch.ts";
import { archiveSource } from "../../audit/audit-source.ts";
import { factsByHand, postByHand, reportByHand } from "../../audit/settle-epoch.test-kit.ts";
import type { ChainHome } from "../../settlement/home.ts";
import { createReportArchive } from "../../settlement/report-archive.ts";
import { ChainAccounts } from "./accounts.ts";
import { chainHandlers } from "./handlers.ts";
import { trialAccountHandlers } from "./trial-accounts.ts";
import { createChainViews } from "./views.ts";

const EPOCH_S = 1000;
const signer = createSigner(new Uint8Array(32).fill(9));
const self = TREASURER.address.toLowerCase() as Hex;
const folder = mkdtempSync(join(tmpdir(), "assay-views-"));
let node: ToyNode;
let client: ChainClient;
let contracts: Contracts;
before(async () => {
	node = await createToyNode();
	client = await createChainClient(node.rpc, { confirmations: 1, pollMs: 1 });
	contracts = await deployContracts(client, TREASURER, {
		genesis: TOY_GENESIS_S,
		epochSeconds: EPOCH_S,
		windowSeconds: 50,
	});
	await fundRewards(contracts, TREASURER, 10n ** 22n);
	const amount = 1000n * 10n ** 18n;
	await sendCall(client, TREASURER, approveCall(contracts, amount));
	const keyProof = signChainKey(signer, {
		chainId: contracts.addresses.chainId,
		registry: contracts.addresses.registry,
		account: self,
		number: 0,
	});
	const registration = { role: "validator", signingKey: `0x${signer.key}`, keyProof, endpoint: "x", amount } as const;
	await sendCall(client, TREASURER, registerCall(contracts, registration));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A clock and timers that only tests move, and a count of what the node was asked. */
async function openViews(ask: Rpc = (method, params) => node.rpc(method, params), isHost = false) {
	const counted: string[] = [];
	/** How long it wanted to wait, each time. */
	const patienceMs: number[] = [];
	let clockUs = 0;
	const timers = new Set<() => void>();
	const env = {
		nowMs: () => node.nowS * 1000,
		ratesClockUs: () => clockUs,
		after(ms: number, run: () => void) {
			patienceMs.push(ms);
			timers.add(run);
			return () => void timers.delete(run);
		},
	};
	const place = { folder, url: "", publicUrl: null, lateness: createLateness() };
	const home = { contracts, account: TREASURER, ...place, isEmbedded: false, isHost, keptAccountOf: null };
	const views = await createChainViews(home as unknown as ChainHome, env, (method, params) => {
		counted.push(method);
		return ask(method, params);
	});
	return {
		views,
		counted,
		patienceMs,
		pass: (us: number) => {
			clockUs += us;
		},
		runOut: () => {
			for (const run of [...timers]) run();
		},
	};
}

const commitment = (n: number) => toHex(new Uint8Array(32).fill(n));

test("a flood of requests is a handful of questions, and none while the newest block is young", async () => {
	const { views, counted, pass } = await openViews();
	const all = await Promise.all(
		Array.from({ length: 300 }, (_, i) =>
			i % 3 === 0 ? views.chain() : i % 3 === 1 ? views.epoch(0) : views.epochs({ limit: 50, before: null }),
		),
	);
	assert.equal(all.length, 300);
	const first = counted.length;
	assert.ok(first < 40, `${first} questions`);
	await Promise.all(Array.from({ length: 300 }, () => views.chain()));
	assert.equal(counted.length, first);
	pass(1_100_000);
	await Promise.all(Array.from({ length: 300 }, () => Promise.all([views.chain(), views.epoch(0)])));
	assert.ok(counted.length - first <= 4, "a second later only the newest block is asked for");
	const { validator, chainId, epoch, inFlight, rpcUrl } = await views.chain();
	assert.deepEqual(
		[validator, chainId, epoch],
		[{ account: self, signer: self, stake: String(10n ** 21n), unbonding: "0", isValidator: true }, 7373, 0],
	);
	assert.deepEqual(
		inFlight.map(({ number, phase }) => [number, phase]),
		[[0, "open"]],
	);
	assert.equal(rpcUrl, null, "a node's address may have a password in it");
});

test("a dead node and one that never answers are CHAIN_UNREACHABLE at once, for all who ask; then it is back", async () => {
	const { views, counted, pass } = await openViews();
	node.down = true;
	await assert.rejects(views.chain(), { code: "CHAIN_UNREACHABLE" });
	const asked = counted.length;
	for (const ask of [() => views.epoch(0), () => views.chain(), () => views.transactions(0, 0, 10)])
		await assert.rejects(ask(), { code: "CHAIN_UNREACHABLE" });
	assert.equal(counted.length, asked, "not asked again within the second");
	node.down = false;
	pass(1_100_000);
	assert.equal((await views.epoch(0)).phase, "open");

	const hung = await openViews(() => new Promise(() => {}));
	const waiting = hung.views.chain();
	const refused = assert.rejects(waiting, { code: "CHAIN_UNREACHABLE" });
	await new Promise((resolve) => setImmediate(resolve));
	hung.runOut();
	await refused;
});

test("a chain in the same process is waited for where another node is away", async () => {
	const longest = async (isHost: boolean) => {
		const { views, patienceMs } = await openViews(undefined, isHost);
		await views.chain();
		return Math.max(...patienceMs);
	};
	assert.deepEqual([await longest(false), await longest(true)], [4000, 80_000]);
});

test("a node that lies about its answers' shape is no more than a failure", async () => {
	const { views } = await openViews(async (method, params) =>
		method === "eth_getBlockByNumber" ? { number: "<b>", hash: 7 } : node.rpc(method, params),
	);
	await assert.rejects(views.chain(), { code: "CHAIN_UNREACHABLE" });
});

test("who has stake is listed with what it sent: sender, gas, time; a fork above it changes nothing", async () => {
	const { views, pass } = await openViews();
	const other = accountOf(`0x${"77".repeat(32)}`);
	await sendCall(client, TREASURER, { to: other.address, data: "0x", value: 10n ** 18n });
	await node.at(TOY_GENESIS_S + EPOCH_S + 1);
	const state = async () => {
		pass(1_100_000);
		return (await views.epoch(0)).reportsOf.map(({ account, state }) => [account, state]);
	};
	assert.deepEqual(await state(), [[self, "none"]]);
	await sendCall(client, TREASURER, callOf(contracts, "scoreboard", "commit", 0n, commitment(2)));
	// Anybody may commit; only who has stake is listed.
	await sendCall(client, other, callOf(contracts, "scoreboard", "commit", 0n, commitment(4)));
	assert.deepEqual(await state(), [[self, "committed"]]);
	const sent = await views.transactions(0, 0, 10);
	assert.deepEqual(
		sent.rows.map(({ what, about }) => [what, about]),
		[
			["commit", other.address.toLowerCase()],
			["commit", self],
		],
	);
	for (const { from, about, gasUsed, atMs } of sent.rows) {
		assert.equal(from, about);
		assert.ok((gasUsed ?? 0) > 40_000);
		assert.equal(atMs, node.nowS * 1000);
	}
	const history = new ChainHistory(contracts);
	await history.refresh();
	assert.equal(history.epoch(0).events.length, 2);
	await node.mine(1);
	await history.refresh();
	await node.fork(1);
	await history.refresh();
	assert.equal(history.epoch(0).events.length, 2, "a fork above it leaves it");
	assert.equal(history.accountOfKey(signer.key), self);
	assert.equal(history.accountOfKey("0".repeat(64)), null);
});

test("too many events: whole old epochs go, and are unknown from then on", async () => {
	await node.at(TOY_GENESIS_S + 2 * EPOCH_S + 1);
	await sendCall(client, TREASURER, callOf(contracts, "scoreboard", "commit", 1n, commitment(6)));
	const history = new ChainHistory(contracts, 1);
	await history.refresh();
	assert.equal(history.oldestEpoch(), 1);
	assert.equal(history.epoch(0).events.length, 0);
	assert.equal(history.epoch(1).commits.size, 1);
	assert.deepEqual(history.validators(), [self], "who is registered is not forgotten");
});

test("a fork that takes back a commitment, seen by one that had seen it", async () => {
	const deep = await createChainClient(node.rpc, { confirmations: 6, pollMs: 1 });
	const history = new ChainHistory({ ...contracts, client: deep });
	await history.refresh();
	const before_ = history.version();
	assert.equal(history.epoch(1).commits.get(self)?.hash.length, 66);
	await node.fork(1);
	await history.refresh();
	assert.ok(history.version() > before_);
	assert.equal(history.epoch(1).commits.size, 0);
	assert.equal(history.epoch(0).commits.size, 2, "older blocks stand");
});

test("weights that stand, and some that were proven wrong: who signed, who showed it, who lost what; earned and paid", async () => {
	const { views, pass } = await openViews();
	const archive = createReportArchive(join(folder, "epochs"));
	const hand = { contracts, account: TREASURER, archive, at: (second: number) => node.at(second) };
	const paid = `0x${"0b".repeat(20)}` as const;
	const leaves = [{ provider: paid, scorePpm: 500_000, evidenceSha256: toHex(new Uint8Array(32)) }];
	const facts = await factsByHand(hand, 2, await reportByHand(hand, 2, leaves));
	const wrong = createWeights(1n, { ...facts, pot: facts.pot - 7n });
	const { id } = await postByHand(hand, 2, wrong);
	const epoch = async () => {
		pass(1_100_000);
		return views.epoch(2);
	};
	const before_ = await epoch();
	assert.deepEqual([before_.phase, before_.posted?.id, before_.wrong], ["challenge", id, []]);
	const { view, wrong: found } = await auditEpoch({
		contracts,
		epoch: 2,
		source: archiveSource(archive),
		evidence: null,
	});
	const challenger = accountOf(`0x${"77".repeat(32)}`);
	await accuseSigners(contracts, challenger, { view, wrong: found, secret: new Uint8Array(32).fill(3) });
	const after_ = await epoch();
	assert.deepEqual([after_.phase, after_.posted], ["sign", null]);
	assert.deepEqual(
		after_.wrong.map(({ at: _, ...one }) => one),
		[
			{
				id,
				reason: "earned",
				isPosted: true,
				by: challenger.address.toLowerCase(),
				punished: [{ account: self, amount: String(500n * 10n ** 18n) }],
			},
		],
	);
	assert.deepEqual(
		after_.dropped.map((one) => one.id),
		[id],
	);
	const right = await postByHand(hand, 2, createWeights(1n, facts));
	const stands = await epoch();
	assert.deepEqual(
		[stands.posted!.id, stands.posted!.leaves, stands.posted!.signatures!.length, stands.earned, stands.pot],
		[right.id, "right", 1, String(right.weights.paid), String(facts.pot)],
	);
	const [own] = stands.reportsOf;
	assert.deepEqual([own!.account, own!.seat, own!.isCounted, own!.hasSigned], [self, 0, true, true]);
	const accounts = new ChainAccounts({ keptAccountOf: null } as never, views, { providers: {} } as never, {
		nowMs: () => node.nowS * 1000,
		ratesClockUs: () => 0,
		after: () => () => {},
	});
	const [leaf] = right.openAccount(paid);
	const earned = String(leaf!.leaf.total);
	const rewards = async () => {
		pass(1_100_000);
		const { earned: all, pending, claimed, claimable } = await accounts.view(paid, "x");
		return [all, pending, claimed, claimable];
	};
	assert.deepEqual(await rewards(), ["0", earned, "0", "0"], "not before they are final");
	await node.at(right.finalAt);
	assert.deepEqual(await rewards(), [earned, "0", "0", earned]);
	await sendCall(client, challenger, claimCall(contracts, { weights: right.weights, opening: leaf! }));
	assert.deepEqual(await rewards(), [earned, "0", earned, "0"]);
	assert.deepEqual(
		(await views.transactions(2, 0, 10)).rows.map(({ what }) => what),
		["post", "punish", "wrong", "drop", "post", "reveal", "commit"],
	);
	assert.equal((await epoch()).phase, "final");
	// An epoch in which nobody reported.
	await node.at(TOY_GENESIS_S + 4 * EPOCH_S + 500);
	pass(1_100_000);
	assert.deepEqual([(await views.epoch(3)).phase, (await views.epoch(3)).posted], ["lapsed", null]);
});

test("an old proof of a key takes nothing back: of several the highest number counts", async () => {
	const other = accountOf(`0x${"77".repeat(32)}`);
	const register = async (number: number) => {
		const stake = 10n * 10n ** 18n;
		await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", other.address, stake));
		await sendCall(client, other, approveCall(contracts, stake));
		const named = { ...contracts.addresses, account: other.address, number };
		const keyProof = signChainKey(signer, named);
		const registration = {
			role: "provider",
			signingKey: `0x${signer.key}`,
			keyNumber: number,
			keyProof,
			endpoint: "",
		} as const;
		await sendCall(client, other, registerCall(contracts, { ...registration, amount: stake }));
	};
	await register(9);
	const history = new ChainHistory(contracts);
	await history.refresh();
	assert.equal(history.accountOfKey(signer.key), other.address.toLowerCase());
	const again = signChainKey(signer, { ...contracts.addresses, account: self, number: 8 });
	await sendCall(client, TREASURER, callOf(contracts, "registry", "setSigningKey", `0x${signer.key}`, 8n, again));
	await history.refresh();
	assert.equal(history.accountOfKey(signer.key), other.address.toLowerCase(), "8 is older than 9");
});

test("without a chain: null, and CHAIN_NONE for everything else", async () => {
	const handlers = chainHandlers({ env: {}, store: {} } as never, null);
	assert.deepEqual(await handlers.getChain({ address: "127.0.0.1" } as never), { chain: null });
	const { getChain: _, ...others } = handlers;
	for (const [name, handle] of Object.entries(others))
		await assert.rejects(
			async () => (handle as (call: unknown) => unknown)({ params: {}, query: {}, body: {} }),
			{ code: "CHAIN_NONE" },
			name,
		);
});

test("an account of a browser on the trial network's machine is funded and its transactions go in; nobody else's", async () => {
	const trial = mkdtempSync(join(folder, "trial-"));
	writeFileSync(join(trial, "treasurer.key"), "11".repeat(32));
	const home = { contracts, folder: trial, isEmbedded: true } as unknown as ChainHome;
	const handlers = trialAccountHandlers(home);
	const browser = accountOf(toHex(new Uint8Array(32).fill(0x5c)));
	const params = { account: browser.address };
	const fund = (address: string) => handlers.fundTrialAccount({ params, address } as never);
	const send = (raw: string, address = "127.0.0.1") =>
		handlers.sendTrialTransaction({ body: { raw }, address } as never);
	for (const address of ["10.0.0.7", "::ffff:10.0.0.7", "", "1270.0.1"])
		await assert.rejects(fund(address), { code: "TRIAL_ONLY" }, address);
	const far = trialAccountHandlers({ ...home, isEmbedded: false });
	await assert.rejects(far.fundTrialAccount({ params, address: "::1" } as never), { code: "TRIAL_ONLY" });
	assert.equal(await read(contracts, "token", "balanceOf", browser.address), 0n);

	const { nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = await fund("127.0.0.1");
	const given = await read(contracts, "token", "balanceOf", browser.address);
	assert.ok(given > 0n);
	await fund("::1");
	assert.equal(await read(contracts, "token", "balanceOf", browser.address), given, "no more than fills it up");
	const fees = { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
	const signed = (to: Hex, more = {}) =>
		browser.signTransaction({
			...{ type: "eip1559", chainId: client.chainId, nonce, gas: BigInt(gas), ...fees, to },
			...{ data: approveCall(contracts, 5n).data, ...more },
		});
	const { token, registry } = contracts.addresses;
	await assert.rejects(send(await signed(registry)), { code: "REQUEST_BAD" });
	await assert.rejects(send(await signed(token, { gas: 30_000_000n })), { code: "REQUEST_BAD" });
	await assert.rejects(send("0x02c0"), { code: "REQUEST_BAD" });
	await assert.rejects(send(await signed(token), "192.168.1.2"), { code: "TRIAL_ONLY" });
	await assert.rejects(send(await signed(token, { nonce: nonce + 9, gas: 21_000n })), { code: "CHAIN_REFUSED" });
	assert.equal((await send(await signed(token))).isDone, true);
	const later = { nonce: nonce + 1, data: callOf(contracts, "token", "transfer", self, given + 1n).data };
	assert.equal((await send(await signed(token, later))).isDone, false, "it fails in its block");
});
