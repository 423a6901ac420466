// Roll calls, whole: a validator with the embedded chain, a host with the real engine and toys that cheat. A
// block calls, hosts answer, one transaction commits, a later block draws, everything is opened and verified,
// and a stranger comes to the same from chain and file alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiClient } from "../../src/api/create-client.ts";
import { read } from "../../src/chain/contracts/contracts.ts";
import { demandCall, readCommitted } from "../../src/chain/contracts/roll-call.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { loadProviderKey } from "../../src/cli/data-folder.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { registerLocalProvider } from "../../src/cli/up/register-local-provider.ts";
import type { RollCallRequest } from "../../src/engine/agent/agent-calls.ts";
import type { AgentHandlers } from "../../src/engine/agent/dial-agent.ts";
import { parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { runRollAnswer } from "../../src/engine/client/roll-call-run.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { NO_ACCOUNT, type RollSpec, rollAnswerHash, rollLeaf } from "../../src/protocol/roll-call/roll-call.ts";
import { decodeRollCallFile } from "../../src/protocol/roll-call/roll-file.ts";
import { loadProviderAccount } from "../../src/provider/chain-account.ts";
import { createProvider, type Provider } from "../../src/provider/create-provider.ts";
import type { ProviderEvent } from "../../src/provider/provider-event.ts";
import { openRollChain } from "../../src/provider/roll-call/open-roll-chain.ts";
import { chainFolder, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import type { ChainFacts } from "../../src/verify/roll-call/chain-facts.ts";
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
const data = makeDataDir();
const home = makeDataDir();
let validator: ToyValidator;
let provider: Provider;
const closing: (() => Promise<void>)[] = [];
const told: ProviderEvent[] = [];

/** A busy machine answers in it, commits in the rest of the window, and opens in what follows. */
const DEADLINE_MS = 4000;
const SETTINGS = {
	dataDir: data.path,
	params: { rollCallLeastMs: DEADLINE_MS, maxAgeMs: 36_000_000 },
	chain: { epochSeconds: 3600, rollCalls: { every: 1, windowSeconds: 8 } },
	rollCalls: { openMs: 12_000, restMs: 0 },
	probe: { busyMs: 0 },
};

/** Slow when it is probed, so that toys of one event loop can answer together: they have proven little. */
const SLOW: Cheat = {
	async request(_, __, { kind }) {
		if (kind === "gemm") await new Promise((resolve) => setTimeout(resolve, 1500));
		return false;
	},
};

interface ToyCaller {
	/** Before it answers. */
	readonly waitMs?: number;
	/** Changes what it says. */
	readonly lie?: (answer: { end: string; last: string }) => { end: string; last: string };
	readonly less?: boolean;
	/** Its owner wants it to answer none; told how often it was asked. */
	readonly off?: () => void;
	/** One card behind several keys: who finds it in use says so. */
	readonly card?: { isBusy: boolean };
	/** Asked for its engine once it has answered. */
	readonly open?: AgentHandlers["open"];
	/**
	 * Its line breaks when it is asked for its engine: the first time in each call, or every time. It dials
	 * again.
	 */
	readonly breaks?: "once" | "always";
}

/** A toy host that answers calls with toy sizes, as its owner likes. */
async function startCaller(signer: Signer, how: ToyCaller = {}, url = validator.url) {
	const claim = toyClaimOf(`GPU-${signer.key.slice(0, 8)}`);
	let hasAnswered = false;
	let isBroken = false;
	const call = async (request: RollCallRequest) => {
		const { card, off } = how;
		off?.();
		if (off !== undefined) throw new AssayError("ROLL_CALL_OFF", "this provider answers no roll calls");
		if (card === undefined) return answer(request);
		if (card.isBusy) throw new AssayError("PROVIDER_BUSY", "in use");
		card.isBusy = true;
		try {
			// What the rule makes of a card's time.
			const [reply] = await Promise.all([answer(request), sleep(0.7 * request.deadlineMs)]);
			return reply;
		} finally {
			card.isBusy = false;
		}
	};
	const answer = async (request: RollCallRequest) => {
		const [wanted] = request.devices;
		const beta0 = hexToBytes(request.beta0, 32)!;
		const host = { key: signer.key, account: NO_ACCOUNT };
		const perRound = 2 * 128 * 512 * 128;
		const rounds = Math.max(2, Math.ceil((1e6 * wanted!.megaOps) / perRound));
		const spec: RollSpec = {
			device: 0,
			m: 128,
			n: 512,
			k: 128,
			rounds: how.less ? 1 : rounds,
			keep: how.less ? 1 : rounds,
		};
		const link = createToyLink(claim);
		const client = await createEngineClient(link, {
			clockUs: env.clockUs,
			readyDeadlineMs: 600_000,
			randomBytes: env.randomBytes,
		});
		const rolled = await runRollAnswer(client, 1, { beta0, host, spec }, { deadlineMs: 600_000 });
		await client.close();
		const said = { ...rolled.answer, ...how.lie?.(rolled.answer) };
		await new Promise((resolve) => setTimeout(resolve, how.waitMs ?? 0));
		const id = { chainId: request.chainId, contract: `0x${request.contract}`, call: request.call };
		hasAnswered = true;
		isBroken = false;
		return {
			...{ account: null, answers: [said], accountSignatures: null },
			signature: bytesToHex(signer.sign(rollAnswerHash(id, beta0, [rollLeaf(host, said)]))),
		};
	};
	const open: AgentHandlers["open"] = async (request) => {
		if (hasAnswered && how.open !== undefined) return how.open(request);
		if (!hasAnswered || how.breaks === undefined || isBroken)
			return createToyLink(claim, hasAnswered || how.less ? {} : SLOW);
		isBroken = how.breaks === "once";
		const { promise, reject } = Promise.withResolvers<never>();
		void agent.close().then(async () => {
			agent = await dial();
			reject();
		}, reject);
		return promise;
	};
	const dial = () => startToyAgent({ url, signer, claim, openLink: open, handlers: { call } });
	let agent = await dial();
	closing.push(() => agent.close());
	return signer.key;
}

let real = "";

/** This host's account has a stake, and its answers stand on it. */
async function startReal(): Promise<Provider> {
	const folder = home.path;
	await registerLocalProvider({
		dataDir: data.path,
		providerFolder: folder,
		url: validator.chain!.url,
		isEmbedded: true,
	});
	const signer = await loadProviderKey(folder);
	const chain = await openRollChain(await reach(), await loadProviderAccount(folder, env.randomBytes));
	real = signer.key;
	return createProvider({
		...{ signer, validators: [parseValidatorUrl(validator.url)], trust: [], dataFolder: folder, name: "real" },
		...{
			pricePerHourMicros: 0,
			engine: { command: (await findEngine(hostPlatform())).path, args: [] },
			env: process.env,
		},
		...{
			limits: { memoryBytes: 1e11, minutes: 60 },
			diskBytesPerDay: null,
			rental: null,
			clockUs: env.clockUs,
			nowMs: Date.now,
			chain,
		},
		...{ randomBytes: env.randomBytes, onEvent: (event) => void told.push(event), demands: { everyMs: 200 } },
		rollCalls: { leastBetweenMs: 0 },
	});
}

before(async () => {
	validator = await startToyValidator(SETTINGS);
	provider = await startReal();
});
after(async () => {
	await provider?.stop();
	for (const close of closing) await close();
	await validator?.stop();
	await data.remove();
	await home.remove();
});

async function reach() {
	const addresses = (await readContracts(join(chainFolder(data.path), "contracts.json")))!;
	const client = await createChainClient(httpRpc(validator.chain!.url), { confirmations: 1, pollMs: 20 });
	return { client, addresses };
}

/**
 * The newest call in which this host came to this. On a busy machine a host may be late for a call, or for
 * its opening: calls come again and again. The machine may also be slower now than it was when it was probed,
 * and then late for all of them: the real host is probed again.
 */
async function outcomeOf(id: string, from: number, state: string, ...codes: readonly (string | null)[]) {
	let askedAtMs = Date.now();
	return eventually(async () => {
		const { rows } = await validator.store.rollCalls.history(id);
		const found = rows.find((one) => one.call >= from && one.state === state && codes.includes(one.code));
		if (found === undefined && Date.now() - askedAtMs > 25_000) {
			askedAtMs = Date.now();
			await admin()
				.askProbe({ params: { id: real }, body: { why: "late for roll calls" } })
				.catch(unlessUnderWay);
		}
		return found;
	});
}

const admin = () =>
	createApiClient({ baseUrl: validator.url, token: readFileSync(validator.adminTokenFile, "utf8").trim() });

/** On a slow machine it is still being probed, or has not dialled in yet. */
function unlessUnderWay(error: unknown): void {
	if (!(error instanceof AssayError && ["PROBE_RUNNING", "PROVIDER_UNKNOWN"].includes(error.code))) throw error;
}

/** Calls answered, as the score of one that was counted has it. */
async function answeredOf(id: string): Promise<number> {
	const terms = JSON.stringify((await validator.store.scores.get(id))?.terms ?? {});
	return Number(/"name":"answered","rule":"given","unit":"1","value":(\d+)/.exec(terms)?.[1] ?? 0);
}

test("a host answers, and a stranger with a node comes to the same verdict", async () => {
	const { call, files } = await outcomeOf(real, 0, "answered", null);
	const row = (await validator.store.rollCalls.get(call))!;
	assert.equal(row.state, "done");
	assert.deepEqual([row.hosts, row.devices, row.counted], [1, 1, 1]);
	assert.ok(row.gigaOps > 0);
	const file = await validator.store.evidence.get(files[0]!.sha256);
	const decoded = decodeRollCallFile(file);
	assert.ok(decoded.ok);
	const { body } = decoded.evidence.envelope;
	const contracts = await reach();
	const block = async (number: number) => {
		const { hash, timestamp } = await contracts.client.viem.getBlock({ blockNumber: BigInt(number) });
		return { number, hash: hash.slice(2), atS: Number(timestamp) };
	};
	const numbers = [row.call, row.b1!, row.b2! - 1, row.b2!];
	const facts: ChainFacts = {
		...{ chainId: contracts.addresses.chainId, contract: contracts.addresses.rollCall.toLowerCase(), beacon: "block" },
		...{
			every: 1,
			windowS: 8,
			blocks: new Map(await Promise.all(numbers.map(async (n) => [n, await block(n)] as const))),
		},
		commitments: (await readCommitted(contracts, { from: row.b1!, to: row.b1! })).map((one) => ({
			...one,
			root: one.root.slice(2),
		})),
	};
	const verdict = verifyRollCall(file, facts, { host: real });
	assert.equal(verdict.status, "valid", JSON.stringify(verdict));
	assert.deepEqual(verdict.status === "valid" && verdict.findings.map(({ code }) => code), ["CHAIN_EMBEDDED"]);
	assert.equal(body.tree.root, row.root);
	// One transaction, and cheap.
	const receipt = await contracts.client.viem.getTransactionReceipt({ hash: row.transaction as `0x${string}` });
	assert.ok(receipt.gasUsed <= 60_000n, `${receipt.gasUsed} gas`);
	await eventually(async () => (await answeredOf(real)) > 0);
});

test("late, wrong, too little, withheld, silent and never called all count as absent; honest ones in the same call do not", async () => {
	const started = (await validator.store.rollCalls.list({ limit: 1 })).rows[0]?.call ?? 0;
	const refuse = async (): Promise<never> => {
		throw new AssayError("PROVIDER_LIMIT", "not now");
	};
	let asked = 0;
	const flip = (hex: string) => (hex[0] === "0" ? "1" : "0") + hex.slice(1);
	const ids = {
		honest: await startCaller(signerOf(11)),
		late: await startCaller(signerOf(12), { waitMs: DEADLINE_MS + 1000 }),
		wrong: await startCaller(signerOf(13), { lie: ({ end, last }) => ({ end, last: flip(last) }) }),
		less: await startCaller(signerOf(14), { less: true }),
		withheld: await startCaller(signerOf(15), { open: refuse }),
		busy: await startCaller(signerOf(16), {
			open: async () => Promise.reject(new AssayError("PROVIDER_BUSY", "in use")),
		}),
		broken: await startCaller(signerOf(17), { breaks: "once" }),
		hangsUp: await startCaller(signerOf(18), { breaks: "always" }),
		off: await startCaller(signerOf(19), { off: () => void asked++ }),
	};
	const expected: Readonly<Record<keyof typeof ids, readonly [state: string, ...codes: (string | null)[]]>> = {
		honest: ["answered", null],
		late: ["late", null],
		wrong: ["wrong", "ROLL_CALL_FAILED"],
		// Nothing false was shown: it was too slow.
		less: ["late", "CALL_TOO_LITTLE"],
		withheld: ["wrong", "PROVIDER_LIMIT"],
		busy: ["wrong", "PROVIDER_BUSY"],
		broken: ["answered", null],
		// Looked for until nobody could open it any more, and no longer: else it would make the call void for
		// all.
		hangsUp: ["wrong", "AGENT_CLOSED", "PROVIDER_STOPPING"],
		off: ["uncalled", "ROLL_CALL_OFF"],
	};
	for (const [name, [state, ...codes]] of Object.entries(expected))
		await outcomeOf(ids[name as keyof typeof ids], started + 1, state, ...codes);
	await outcomeOf(real, started + 1, "answered", null);
	// Who was never there has no presence, and so no score.
	await eventually(async () => (await answeredOf(ids.honest)) > 0);
	for (const id of [ids.late, ids.wrong, ids.less, ids.withheld, ids.busy, ids.hangsUp, ids.off])
		assert.equal(await answeredOf(id), 0);
	// It has said so: it is asked no more, and listed in every call.
	const met = async () => (await validator.store.rollCalls.history(ids.off)).rows.map(({ state }) => state);
	const [before, askedBefore] = [await met(), asked];
	await eventually(async () => (await met()).length > before.length + 1);
	assert.deepEqual([asked, new Set(await met())], [askedBefore, new Set(["uncalled"])]);
	assert.match(
		JSON.stringify(await validator.store.scores.get(ids.off)),
		/it answers no roll calls, as its owner wants/,
	);
	// What follows is about others.
	for (const id of Object.values(ids))
		await validator.store.providers.setState(id, "paused", { nowMs: Date.now(), actor: "test" });
});

test("an opening that is demanded on chain is given, and pays the host's account", async () => {
	const { call, files } = await outcomeOf(real, 0, "answered", null);
	const row = (await validator.store.rollCalls.get(call))!;
	const [entry] = (await validator.client.getRollCallLeaves({ params: { call } })).hosts.filter(
		({ providerId }) => providerId === real,
	);
	const decoded = decodeRollCallFile(await validator.store.evidence.get(files[0]!.sha256));
	assert.ok(decoded.ok && entry);
	const { tree } = decoded.evidence.envelope.body;
	const contracts = await reach();
	const hex = (text: string) => `0x${text}` as const;
	const { end, last, ...sizes } = entry.answers[0]!;
	const leaf = { providerKey: hex(real), account: entry.account as Hex, ...sizes, end: hex(end), last: hex(last) };
	const commitment = {
		...{ validator: validator.chain!.account as Hex, call: BigInt(call), root: hex(row.root!), count: row.leaves! },
		...{ beta: hex(row.beta0), blockNumber: BigInt(row.b1!) },
	};
	const proof = { leaf, index: tree.index, path: tree.path.map(hex), signature: entry.accountSignatures![0] as Hex };
	const place = { round: sizes.rounds - 1, leaf: 3, column: 17 };
	const treasurer = (await treasurerOf({ folder: chainFolder(data.path), isEmbedded: true }))!;
	await sendCall(contracts.client, treasurer, await demandCall(contracts, commitment, proof, place));
	await eventually(async () => told.some(({ kind }) => kind === "demanded"));
	const owed = await read(contracts, "rollCall", "owedTo", entry.account as Hex);
	assert.ok(owed > 0n);

	// The same by the command, which takes nothing on the validator's word.
	const keyFile = join(chainFolder(data.path), "treasurer.key");
	const assay = async (...args: string[]) => {
		const said = { out: "", err: "" };
		const stream = (name: "out" | "err") =>
			({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
		const io = { env: {}, cwd: data.path, interrupted: new AbortController().signal };
		const at = ["--data", data.path, "--key-file", keyFile, "--json"];
		const code = await runCommand(["chain", ...args, ...at], { ...io, out: stream("out"), err: stream("err") });
		return { code, ...said };
	};
	const demanded = await assay("demand", String(call), real.slice(0, 12), "--validator", validator.url);
	assert.equal(demanded.code, 0, demanded.err);
	await eventually(async () => told.filter(({ kind }) => kind === "demanded").length === 2);
	assert.ok((await read(contracts, "rollCall", "owedTo", entry.account as Hex)) > owed);
	const nobody = await assay("demand", String(call), "00", "--validator", validator.url);
	assert.match(nobody.err, /ROLL_CALL_UNKNOWN|no provider/);
	const expired = await assay("expire");
	assert.deepEqual(JSON.parse(expired.out || "null"), { expired: 0, paid: "0" }, expired.err);
});

test("a host at another process of the same network is called and opened through that process", async () => {
	const second = await startToyValidator(SETTINGS);
	const id = await startCaller(signerOf(21), {}, second.url);
	try {
		await outcomeOf(id, 0, "answered", null);
	} finally {
		await validator.store.providers.setState(id, "paused", { nowMs: Date.now(), actor: "test" });
		await second.stop();
	}
});

test("20 keys on one card share one presence: of each call one of them is there", async () => {
	const card = { isBusy: false };
	const keys = await Promise.all(Array.from({ length: 20 }, (_, i) => startCaller(signerOf(100 + i), { card })));
	const crowd = await eventually(async () => {
		const { rows: calls } = await validator.store.rollCalls.list({ state: "done", limit: 1 });
		const whole = calls.find(({ counted }) => counted === 21);
		if (whole === undefined) return null;
		const { rows } = await validator.store.rollCalls.answers(whole, { limit: 100 });
		const found = rows.filter(({ providerId }) => keys.includes(providerId));
		const answered = found.filter(({ state }) => state === "answered").length;
		assert.ok(answered <= 1, `${answered} keys of one card were there`);
		// None: this machine was too busy for the one.
		return answered === 1 ? found : null;
	});
	assert.equal(crowd.filter(({ state, code }) => state === "absent" && code === "PROVIDER_BUSY").length, 19);
	for (const id of keys) await validator.store.providers.setState(id, "paused", { nowMs: Date.now(), actor: "test" });
});

test("a call that a restart cuts short is void, and counts for nobody", async () => {
	const before = await validator.store.rollCalls.history(real);
	const newest = async () => (await validator.store.rollCalls.list({ limit: 1 })).rows[0]!;
	const cutShort = async () => {
		const { call } = await newest();
		const open = await eventually(async () => {
			const row = await newest();
			return row.call > call && row.state === "open" && row;
		});
		await validator.stop();
		validator = await startToyValidator({ ...SETTINGS, listen: { port: Number(new URL(validator.url).port) } });
		return (await validator.store.rollCalls.get(open.call))!;
	};
	// One that was committed to before the end is another matter: it is taken up.
	let open = await cutShort();
	while (open.root !== null) open = await cutShort();
	assert.equal(open.state, "void");
	const after = await validator.store.rollCalls.history(real);
	assert.ok(after.rows.every(({ call }) => call !== open.call));
	assert.ok(after.rows.length >= before.rows.length);
	// Its node is at another address now.
	await provider.stop();
	provider = await startReal();
	await outcomeOf(real, open.call + 1, "answered", null);
});
