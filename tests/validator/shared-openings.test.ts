// A network of two validators on one chain that draws its roll calls from drand, whole: rounds signed by a
// key of our own behind a relay over HTTP, the real contracts, a host that both have called. The host answers
// both and opens once; the other validator takes the openings over. One that was down in between takes its
// call up again, and needs the host no more.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Contracts, callOf } from "../../src/chain/contracts/contracts.ts";
import { approveCall, registerCall } from "../../src/chain/contracts/registry.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import type { RollCallReply, RollCallRequest } from "../../src/engine/agent/agent-calls.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { runRollAnswer } from "../../src/engine/client/roll-call-run.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { signChainKey } from "../../src/protocol/chain/key-binding.ts";
import { sha256Of } from "../../src/protocol/hash/tagged-hash.ts";
import { signedRound, TOY_DRAND } from "../../src/protocol/roll-call/drand.test-kit.ts";
import {
	isRollCall,
	NO_ACCOUNT,
	type RollSpec,
	rollAnswerHash,
	rollLeaf,
} from "../../src/protocol/roll-call/roll-call.ts";
import { type DrandRound, decodeRollCallFile, roundAtS } from "../../src/protocol/roll-call/roll-file.ts";
import type { RollCallRow } from "../../src/store/roll-calls.ts";
import { chainFolder, loadChainKey, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import { readChainFacts } from "../../src/verify/roll-call/read-chain-facts.ts";
import { verifyRollCall } from "../../src/verify/roll-call/verify-roll-call.ts";
import type { Cheat } from "../toy/toy-engine.ts";
import {
	createToyLink,
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
	toyClaimOf,
} from "./toy-agent.test-kit.ts";

const env = realEnvironment();
const UNIT = 10n ** 18n;
/**
 * Nobody waits for it here; who is late answers the next call. One validator leaves an opening to the other
 * for twice as long: where it is the turn of the one that was down, the other opens after that.
 */
const DEADLINE_MS = 30_000;
/** A call takes as long as this; one whose commitment comes later is followed by another. */
const WINDOW_S = 14;
/**
 * Stamps of a probe are on a clock that runs so many times as fast: the host has proven little, and little is
 * asked of it.
 */
const PROBE_CLOCK = 20;
const surroundings = { clockUs: () => Math.floor(1000 * PROBE_CLOCK * performance.now()) };
const EVERY = 2;
const DRAND = { ...TOY_DRAND, genesisS: Math.floor(Date.now() / 1000) - 10, periodS: 4 };
const HOST = signerOf(51);
const CLAIM = toyClaimOf("GPU-shared");
const [dataA, dataB] = [makeDataDir(), makeDataDir()];
let [a, b]: ToyValidator[] = [];
let contracts: Contracts;
const closing: (() => unknown)[] = [];

/**
 * While this is set, a round that would call comes to the relay only when the next one is there: too late to
 * call.
 */
let isQuiet = true;
/** While this is set, no round after it comes to the relay: nothing is drawn. */
let last = Number.POSITIVE_INFINITY;
/** Which validators were given a round as it came. */
const given = new Map<number, Set<string>>();
const signed = new Map<number, DrandRound>();
function roundOf(round: number): DrandRound {
	if (!signed.has(round)) signed.set(round, signedRound(round));
	return signed.get(round)!;
}
const calls = (round: number) => isRollCall(sha256Of(hexToBytes(roundOf(round).signature)!), EVERY);
const isDue = (round: number) => 1000 * roundAtS(DRAND, round) <= Date.now();

/** Gives a round when its time has come, and not before. */
const relay = createServer((request, response) => {
	const [, who = "", number] = /^\/([ab])\/public\/(\d+)$/.exec(request.url ?? "") ?? [];
	const round = Number(number);
	const isHeldBack = isQuiet && !isDue(round + 1) && calls(round);
	const isThere = round > 0 && round <= last && isDue(round) && !isHeldBack;
	if (isThere && !isDue(round + 1)) given.set(round, (given.get(round) ?? new Set()).add(who));
	response.writeHead(isThere ? 200 : 404).end(isThere ? JSON.stringify(roundOf(round)) : "");
});

const settings = (who: "a" | "b", chain: object) => ({
	params: { rollCallLeastMs: DEADLINE_MS, maxAgeMs: 36_000_000 },
	chain: { epochSeconds: 3600, ...chain },
	rollCalls: {
		...{ openMs: 600_000, restMs: 0, drandNetwork: DRAND },
		drandUrl: `http://127.0.0.1:${(relay.address() as AddressInfo).port}/${who}`,
	},
	probe: { busyMs: 0 },
});
const startB = (port = 0) =>
	startToyValidator(
		{
			...settings("b", { rpcUrl: a!.chain!.url, contracts: contracts.addresses, confirmations: 1 }),
			...{ dataDir: dataB.path, listen: { port } },
		},
		surroundings,
	);

/** Of an answer: enough for the little that was proven. */
const ROUNDS = 10;
/** Of each call: the one answer, and how often it was made again to be opened. */
const answers = new Map<number, Promise<RollCallReply>>();
const opens = new Map<number, number>();
/** Slow when it is probed: it has proven little, and little is asked of it. */
const SLOW: Cheat = {
	async request(_, __, ask) {
		if (ask.kind !== "gemm") return false;
		if (ask.rounds !== ROUNDS) await new Promise((resolve) => setTimeout(resolve, 1500));
		else {
			const newest = [...answers.keys()].at(-1)!;
			opens.set(newest, (opens.get(newest) ?? 0) + 1);
		}
		return false;
	},
};

async function answer({ chainId, contract, call, beta0 }: RollCallRequest): Promise<RollCallReply> {
	const id = { chainId, contract: `0x${contract}`, call };
	const host = { key: HOST.key, account: NO_ACCOUNT };
	const seed = hexToBytes(beta0, 32)!;
	const spec: RollSpec = { device: 0, m: 128, n: 512, k: 128, rounds: ROUNDS, keep: ROUNDS };
	const { clockUs, randomBytes } = env;
	const client = await createEngineClient(createToyLink(CLAIM), { clockUs, readyDeadlineMs: 600_000, randomBytes });
	const rolled = await runRollAnswer(client, 1, { beta0: seed, host, spec }, { deadlineMs: 600_000 });
	await client.close();
	const signature = bytesToHex(HOST.sign(rollAnswerHash(id, seed, [rollLeaf(host, rolled.answer)])));
	return { account: null, answers: [rolled.answer], accountSignatures: null, signature };
}

const dial = ({ url }: ToyValidator) =>
	startToyAgent({
		...{ url, signer: HOST, claim: CLAIM },
		openLink: async () => createToyLink(CLAIM, SLOW),
		handlers: {
			call(request) {
				const known = answers.get(request.call) ?? answer(request);
				answers.set(request.call, known);
				return known;
			},
		},
	});

/** The second validator's stake, from the money of the chain's maker. */
async function stakeB(): Promise<void> {
	const account = accountOf(toHex(await loadChainKey(chainFolder(dataB.path), "account", env.randomBytes)));
	const treasurer = (await treasurerOf({ folder: chainFolder(dataA.path), isEmbedded: true }))!;
	const { client, addresses } = contracts;
	const amount = 10_000n * UNIT;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: 1000n * UNIT });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, amount));
	await sendCall(client, account, approveCall(contracts, amount));
	const signer = signerOf(61);
	const keyNumber = Date.now();
	const keyProof = signChainKey(signer, { ...addresses, account: account.address, number: keyNumber });
	const key = { signingKey: `0x${signer.key}`, keyNumber, keyProof } as const;
	await sendCall(client, account, registerCall(contracts, { role: "validator", ...key, endpoint: b!.url, amount }));
}

before(async () => {
	await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
	const rollCalls = { every: EVERY, windowSeconds: WINDOW_S, isDrand: true };
	a = await startToyValidator({ dataDir: dataA.path, ...settings("a", { rollCalls }) }, surroundings);
	const addresses = (await readContracts(join(chainFolder(dataA.path), "contracts.json")))!;
	contracts = {
		addresses,
		client: await createChainClient(httpRpc(a.chain!.url), { confirmations: 1, pollMs: 20 }),
	};
	b = await startB();
	await stakeB();
	for (const validator of [a, b]) closing.push((await dial(validator)).close);
});
after(async () => {
	for (const close of closing) await close();
	await b?.stop();
	await a?.stop();
	relay.close();
	await dataA.remove();
	await dataB.remove();
});

const callsOf = async ({ store }: ToyValidator) =>
	(await store.rollCalls.history(HOST.key)).rows.filter(({ state }) => state === "answered");
let newestSeen = 0;
/**
 * A round that calls, given to both as it came, when neither had anything else to do. Who is given one alone
 * sees it through first. `isHeld`: no round comes after it until `last` is set free.
 */
async function callBoth({ isHeld = false } = {}): Promise<number> {
	for (;;) {
		last = Number.POSITIVE_INFINITY;
		for (const { store } of [a!, b!])
			await eventually(
				async () => (await store.rollCalls.roster()).length === 1 && !(await store.rollCalls.isOpen({ sinceMs: 0 })),
			);
		isQuiet = false;
		const seen = await eventually(async () => [...given.keys()].find((round) => round > newestSeen && calls(round)));
		newestSeen = seen;
		if (isHeld) last = seen;
		await eventually(async () => given.get(seen)!.size === 2 || isDue(seen + 1));
		isQuiet = true;
		if (given.get(seen)!.size === 2) return seen;
	}
}
/** "none": it saw the round too late to take part. */
const rowOf = ({ store }: ToyValidator, call: number, states: readonly string[]) =>
	eventually(async (): Promise<RollCallRow | "none" | false> => {
		const found = (await store.rollCalls.list({ limit: 100 })).rows.find((one) => one.call === call);
		if (found === undefined) return isDue(call + 4) && "none";
		return states.includes(found.state) && found;
	});
/** A call that the host answered to both in time, and that both have seen through. */
async function sharedCall(): Promise<number> {
	for (;;) {
		const call = await callBoth();
		for (const validator of [a!, b!]) await rowOf(validator, call, ["done", "void"]);
		const ends = await Promise.all([a!, b!].map(callsOf));
		if (ends.every((rows) => rows.some((one) => one.call === call))) return call;
	}
}
/** A call that both are committed to, with the host's answer, and that nothing can be drawn for yet. */
async function heldCall(): Promise<number> {
	for (;;) {
		const call = await callBoth({ isHeld: true });
		const rows: (RollCallRow | "none")[] = [];
		for (const validator of [a!, b!]) rows.push(await rowOf(validator, call, ["committed", "void"]));
		if (rows.every((row) => row !== "none" && row.state === "committed" && row.leaves === 1)) return call;
	}
}
const fileOf = async (validator: ToyValidator, call: number) => {
	const { files } = (await callsOf(validator)).find((one) => one.call === call)!;
	return await validator.store.evidence.get(files[0]!.sha256);
};

test("a round of drand calls both validators; the host opens once, and each has a file of its own that a stranger finds true", async () => {
	const call = await sharedCall();
	assert.equal(opens.get(call), 1, "asked by one of them, taken over by the other");
	const rpc = httpRpc(a!.chain!.url);
	const bodies = [];
	for (const validator of [a!, b!]) {
		const file = await fileOf(validator, call);
		const decoded = decodeRollCallFile(file);
		assert.ok(decoded.ok);
		const { body } = decoded.evidence.envelope;
		assert.equal(body.beacon.kind, "drand");
		assert.equal(body.call, body.beacon.kind === "drand" && body.beacon.called.round);
		const facts = await readChainFacts((method, params) => rpc(method, [...params]), body);
		const verdict = verifyRollCall(file, facts, { host: HOST.key, drand: [DRAND] });
		assert.equal(verdict.status, "valid", JSON.stringify(verdict));
		// Quicknet alone is accepted where nobody names another network.
		const strict = verifyRollCall(file, facts, { host: HOST.key });
		assert.equal(strict.status === "invalid" && strict.code, "CALL_BEACON_UNKNOWN");
		bodies.push(body);
	}
	assert.notEqual(bodies[0]!.validator, bodies[1]!.validator);
	assert.deepEqual(bodies[0]!.answer, bodies[1]!.answer);
});

test("a validator that was down after its commitment takes the call up, with what the other has opened", async () => {
	const { port } = new URL(b!.url);
	const call = await heldCall();
	await b!.stop();
	// The host does not come back to this validator.
	await closing.pop()!();
	b = await startB(Number(port));
	last = Number.POSITIVE_INFINITY;
	const taken = await eventually(async () => {
		const found = await b!.store.rollCalls.get(call);
		return found?.state === "done" || found?.state === "void" ? found : null;
	});
	const told = JSON.stringify([await a!.store.rollCalls.known(taken), await b.store.rollCalls.known(taken)]);
	assert.deepEqual([taken.state, taken.hosts], ["done", 1], told);
	assert.ok(decodeRollCallFile(await fileOf(b, call)).ok);
	assert.equal(opens.get(call), 1);
});
