// Roll calls, whole: a validator with the embedded chain, a host with the real engine and toys that cheat. A block calls, hosts answer, one
// transaction commits, a later block draws, everything is opened and verified, and a stranger comes to the same from chain and file alone.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readCommitted } from "../../src/chain/contracts/roll-call.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import type { RollCallRequest } from "../../src/engine/agent/agent-calls.ts";
import type { AgentHandlers } from "../../src/engine/agent/dial-agent.ts";
import { parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { runRollAnswer } from "../../src/engine/client/roll-call-run.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { NO_ACCOUNT, type RollSpec, rollAnswerHash, rollLeaf } from "../../src/protocol/roll-call/roll-call.ts";
import { decodeRollCallFile } from "../../src/protocol/roll-call/roll-file.ts";
import { createProvider, type Provider } from "../../src/provider/create-provider.ts";
import { chainFolder, readContracts } from "../../src/validator/settlement/home.ts";
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

const SETTINGS = {
	dataDir: data.path,
	params: { rollCallLeastMs: 2500, maxAgeMs: 36_000_000 },
	chain: { epochSeconds: 3600, rollCalls: { every: 1, windowSeconds: 4 } },
	rollCalls: { openMs: 4000 },
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
	/** Asked for its engine once it has answered. */
	readonly open?: AgentHandlers["open"];
}

/** A toy host that answers calls with toy sizes, as its owner likes. */
async function startCaller(signer: Signer, how: ToyCaller = {}) {
	const claim = toyClaimOf(`GPU-${signer.key.slice(0, 8)}`);
	let hasAnswered = false;
	const call = async (request: RollCallRequest) => {
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
			readyDeadlineMs: 5000,
			randomBytes: env.randomBytes,
		});
		const rolled = await runRollAnswer(client, 1, { beta0, host, spec }, { deadlineMs: 20_000 });
		await client.close();
		const answer = { ...rolled.answer, ...how.lie?.(rolled.answer) };
		await new Promise((resolve) => setTimeout(resolve, how.waitMs ?? 0));
		const id = { chainId: request.chainId, contract: `0x${request.contract}`, call: request.call };
		hasAnswered = true;
		return {
			...{ account: null, answers: [answer], accountSignatures: null },
			signature: bytesToHex(signer.sign(rollAnswerHash(id, beta0, [rollLeaf(host, answer)]))),
		};
	};
	const open: AgentHandlers["open"] = (request) =>
		hasAnswered && how.open !== undefined
			? how.open(request)
			: Promise.resolve(createToyLink(claim, hasAnswered ? {} : SLOW));
	const agent = await startToyAgent({ url: validator.url, signer, claim, openLink: open, handlers: { call } });
	closing.push(agent.close);
	return agent.id;
}

before(async () => {
	validator = await startToyValidator(SETTINGS);
	provider = await createProvider({
		...{
			signer: signerOf(1),
			validators: [parseValidatorUrl(validator.url)],
			trust: [],
			dataFolder: home.path,
			name: "real",
		},
		...{
			pricePerHourMicros: 0,
			engine: { command: (await findEngine(hostPlatform())).path, args: [] },
			env: process.env,
		},
		...{ limits: { memoryBytes: 1e11, minutes: 60 }, rental: null, clockUs: env.clockUs, nowMs: Date.now },
		...{
			randomBytes: (size) => new Uint8Array(randomBytes(size)),
			onEvent: () => {},
			rollCalls: { leastBetweenMs: 0 },
		},
	});
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

/** The newest call that is done and has this host. */
const outcomeOf = (id: string, from = 0) =>
	eventually(async () => {
		const { rows } = await validator.store.rollCalls.history(id);
		const [newest] = rows.filter(({ call, state }) => call >= from && state !== "excused");
		return newest;
	});

/** Calls answered, as the score has it once a call has counted. */
const presenceOf = (id: string) =>
	eventually(async () => {
		const terms = JSON.stringify((await validator.store.scores.get(id))?.terms ?? {});
		const [, counted] = /"name":"counted","rule":"given","unit":"1","value":(\d+)/.exec(terms) ?? [];
		if (!Number(counted)) return null;
		return { answered: Number(/"name":"answered","rule":"given","unit":"1","value":(\d+)/.exec(terms)![1]) };
	}).then(({ answered }) => Math.min(1, answered));

test("a host answers, and a stranger with a node comes to the same verdict", async () => {
	const { call, state, files } = await outcomeOf(signerOf(1).key);
	assert.equal(state, "answered");
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
			windowS: 4,
			blocks: new Map(await Promise.all(numbers.map(async (n) => [n, await block(n)] as const))),
		},
		commitments: (await readCommitted(contracts, { from: row.b1!, to: row.b1! })).map((one) => ({
			...one,
			root: one.root.slice(2),
		})),
	};
	const verdict = verifyRollCall(file, facts, { host: signerOf(1).key });
	assert.equal(verdict.status, "valid", JSON.stringify(verdict));
	assert.deepEqual(verdict.status === "valid" && verdict.findings.map(({ code }) => code), ["CHAIN_EMBEDDED"]);
	assert.equal(body.tree.root, row.root);
	// One transaction, and cheap.
	const receipt = await contracts.client.viem.getTransactionReceipt({ hash: row.transaction as `0x${string}` });
	assert.ok(receipt.gasUsed <= 60_000n, `${receipt.gasUsed} gas`);
	assert.equal(await presenceOf(signerOf(1).key), 1);
});

test("late, wrong, too little, withheld and silent all count as absent; honest ones in the same call do not", async () => {
	const started = (await validator.store.rollCalls.list({ limit: 1 })).rows[0]?.call ?? 0;
	const refuse = async (): Promise<never> => {
		throw new AssayError("PROVIDER_LIMIT", "not now");
	};
	const flip = (hex: string) => (hex[0] === "0" ? "1" : "0") + hex.slice(1);
	const ids = {
		honest: await startCaller(signerOf(11)),
		late: await startCaller(signerOf(12), { waitMs: 3000 }),
		wrong: await startCaller(signerOf(13), { lie: ({ end, last }) => ({ end, last: flip(last) }) }),
		less: await startCaller(signerOf(14), { less: true }),
		withheld: await startCaller(signerOf(15), { open: refuse }),
		busy: await startCaller(signerOf(16), {
			open: async () => Promise.reject(new AssayError("PROVIDER_BUSY", "in use")),
		}),
	};
	const found = Object.fromEntries(
		await Promise.all(
			Object.entries(ids).map(async ([name, id]) => {
				const { state, code } = await outcomeOf(id, started + 1);
				return [name, [state, code]];
			}),
		),
	);
	assert.deepEqual(found, {
		honest: ["answered", null],
		late: ["late", null],
		wrong: ["wrong", "ROLL_CALL_FAILED"],
		less: ["wrong", "CALL_TOO_LITTLE"],
		withheld: ["wrong", "PROVIDER_LIMIT"],
		busy: ["wrong", "PROVIDER_BUSY"],
	});
	assert.equal((await outcomeOf(signerOf(1).key, started + 1)).state, "answered");
	// Who was never there has no presence, and so no score.
	assert.equal(await presenceOf(ids.honest), 1);
	for (const id of [ids.late, ids.wrong, ids.less, ids.withheld, ids.busy]) assert.equal(await presenceOf(id), 0);
});
