// A roll call of 10,000 devices before one validator process: 1,250 hosts of eight devices on real agent
// links, answers and openings by real engines with toy sizes, the embedded chain, one PostgreSQL. Everything
// runs on this machine, the hosts too.
//   bash scripts/node.sh bench/roll-call.ts [--hosts 1250] [--write]
// What the sizes of a real card change is measured in bench/scale.ts: checking an answer takes longer with
// its k.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createChainClient } from "../src/chain/node/chain-client.ts";
import { httpRpc } from "../src/chain/node/http-rpc.ts";
import type { RollCallReply, RollCallRequest } from "../src/engine/agent/agent-calls.ts";
import { dialAgent, parseValidatorUrl } from "../src/engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../src/engine/client/create-engine-client.ts";
import { runRollAnswer } from "../src/engine/client/roll-call-run.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { createNodeSigner } from "../src/platform/node-ed25519.ts";
import { createSemaphore } from "../src/platform/semaphore.ts";
import { bytesToHex, hexToBytes } from "../src/protocol/bytes/bytes.ts";
import type { Signer } from "../src/protocol/probe/signer.ts";
import { NO_ACCOUNT, rollAnswerHash, rollLeaf } from "../src/protocol/roll-call/roll-call.ts";
import { openStore } from "../src/store/open-store.ts";
import { figure, gpu, probeByHand } from "../src/store/sample-rows.test-kit.ts";
import { type ChildProgram, startChild } from "../tests/network/child-program.ts";
import type { StartedValidator, StartValidator } from "../tests/network/validator-process.ts";
import { toyClaim } from "../tests/toy/toy-claim.ts";
import { quantile, writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: { hosts: { type: "string", default: "1250" }, write: { type: "boolean", default: false } },
});
const HOSTS = Number(values.hosts);
const DEVICES = 8;
const SIZES = { m: 128, n: 512, k: 128, rounds: 1, keep: 1 };
/** What such sizes are enough for: 24 s of so little speed, and so few bytes. */
const PROVEN = { opsPerS: 9e5, bytes: 100_000 };
const ENGINES = 2;

const env = realEnvironment();
const { path: command } = await findEngine(hostPlatform());
const openEngine = () => createLocalLink({ command, args: ["--cpu-devices", String(DEVICES)], env: process.env });
const signers = Array.from({ length: HOSTS }, (_, i) =>
	createNodeSigner(new Uint8Array(createHash("sha256").update(`roll call host ${i}`).digest())),
);

/** Engines that answer calls, each host in its turn: a host of its own would have one of its own. */
async function openPool(): Promise<(host: Signer, request: RollCallRequest) => Promise<RollCallReply>> {
	const free: EngineClient[] = [];
	for (let i = 0; i < ENGINES; i++)
		free.push(
			await createEngineClient(await openEngine(), {
				clockUs: env.clockUs,
				readyDeadlineMs: 20_000,
				randomBytes: env.randomBytes,
			}),
		);
	const turns = createSemaphore(ENGINES);
	return async (signer, request) => {
		const release = await turns.acquire();
		const client = free.pop()!;
		const beta0 = hexToBytes(request.beta0, 32)!;
		const host = { key: signer.key, account: NO_ACCOUNT };
		const within = { deadlineMs: 120_000 };
		try {
			const answers = await Promise.all(
				request.devices.map(async ({ device }) => {
					const spec = { device, ...SIZES };
					const { answer } = await runRollAnswer(client, device + 1, { beta0, host, spec }, within);
					await client.release(device + 1, within);
					return answer;
				}),
			);
			const id = { chainId: request.chainId, contract: `0x${request.contract}`, call: request.call };
			const leaves = answers.map((answer) => rollLeaf(host, answer));
			const signature = bytesToHex(signer.sign(rollAnswerHash(id, beta0, leaves)));
			return { account: null, answers, signature, accountSignatures: null };
		} finally {
			free.push(client);
			release();
		}
	};
}

async function dialAll(url: string): Promise<void> {
	const answer = await openPool();
	const dialling = createSemaphore(8);
	const claim = toyClaim(DEVICES, 0);
	await Promise.all(
		signers.map(async (signer, i) => {
			const release = await dialling.acquire();
			try {
				await dialAgent({
					...{ url: parseValidatorUrl(url), signer, trust: () => {}, claim: () => claim, clockUs: env.clockUs },
					...{
						randomBytes: env.randomBytes,
						handlers: { open: openEngine, call: (request) => answer(signer, request) },
					},
					offer: { name: `host ${i}`, pricePerHourMicros: 0, rentable: false, ssh: null, jobs: null },
				});
			} finally {
				release();
			}
		}),
	);
}

async function main(): Promise<void> {
	const dataDir = mkdtempSync(join(tmpdir(), "assay-roll-call-"));
	const validator: ChildProgram = startChild("validator-process.ts");
	const settings = {
		...{ dataDir, listen: { port: 0 }, probes: false, verifierThreads: 1, params: { rollCallLeastMs: 24_000 } },
		...{
			chain: { epochSeconds: 36_000, rollCalls: { every: 1, windowSeconds: 36 } },
			rollCalls: { openAtOnce: 16, openMs: 600_000 },
			api: { limits: { connectionsPerAddress: 100_000 } },
		},
	};
	const many = 100_000;
	const door = {
		...{ knocksPerS: many, knocksAtOnce: many, perAddress: many, unproven: many },
		newcomers: { perAddress: many, inAll: many },
	};
	const started: StartedValidator = await validator.ask("start", {
		settings,
		door,
		plan: "small",
	} satisfies StartValidator);
	const store = await openStore({ dataDir });
	try {
		const dialFromMs = performance.now();
		await dialAll(started.url);
		const dialledInS = (performance.now() - dialFromMs) / 1000;
		console.log(`${HOSTS} hosts are connected after ${dialledInS.toFixed(0)} s`);
		const devices = Array.from({ length: DEVICES }, (_, device) => gpu(device, { uuid: "" }));
		const figures = devices.flatMap(({ device }) => [
			figure(device, "gemm.int8", PROVEN.opsPerS),
			figure(device, "memory.resident", PROVEN.bytes, "B"),
		]);
		const proving = createSemaphore(8);
		await Promise.all(
			signers.map(async ({ key }, i) => {
				const release = await proving.acquire();
				await probeByHand(store, key, `roll call ${i}`, { devices, figures, startedAtMs: Date.now() }).finally(release);
			}),
		);
		console.log("all are proven");
		await report(await wholeCall(), { dataDir, dialledInS, validator });
	} finally {
		await store.close();
		await validator.ask("stop", null).catch(() => {});
		rmSync(dataDir, { recursive: true, force: true });
	}

	async function wholeCall() {
		for (;;) {
			const { rows } = await store.rollCalls.list({ limit: 20 });
			const found = rows.find(({ state, counted }) => state === "done" && counted === HOSTS);
			const states = rows.map(
				({ call, state, code, hosts, counted }) => `${call} ${state} ${code ?? ""} ${hosts}/${counted}`,
			);
			console.log(states.slice(0, 2).join("; "));
			if (found !== undefined) return found;
			await new Promise((resolve) => setTimeout(resolve, 5000));
		}
	}

	async function report(
		row: Awaited<ReturnType<typeof wholeCall>>,
		run: { readonly dataDir: string; readonly dialledInS: number; readonly validator: ChildProgram },
	): Promise<void> {
		const stampsMs: number[] = [];
		const states: Record<string, number> = {};
		let cursor: string | null = null;
		do {
			const page: Awaited<ReturnType<typeof store.rollCalls.answers>> = await store.rollCalls.answers(row, {
				limit: 500,
				cursor,
			});
			for (const { state, ms } of page.rows) {
				states[state] = (states[state] ?? 0) + 1;
				if (ms !== null) stampsMs.push(ms);
			}
			cursor = page.cursor;
		} while (cursor !== null);
		const { url } = JSON.parse(readFileSync(join(run.dataDir, "chain", "rpc.json"), "utf8")) as { url: string };
		const client = await createChainClient(httpRpc(url), { confirmations: 1 });
		const receipt = await client.viem.getTransactionReceipt({ hash: row.transaction as `0x${string}` });
		const result = {
			...{
				hosts: HOSTS,
				devices: row.leaves,
				states,
				gas: Number(receipt.gasUsed),
				dialledInS: Math.round(run.dialledInS),
			},
			stampsMs: { p50: quantile(stampsMs, 0.5), p99: quantile(stampsMs, 0.99), max: quantile(stampsMs, 1) },
			deadlineMs: row.deadlineMs,
			committedAfterS: row.b1AtS! - row.b0AtS,
			openedAndVerifiedInS: Math.round(row.endedAtMs! / 1000 - row.b2AtS!),
		};
		console.log(JSON.stringify(result, null, 2));
		if (values.write) writeNetworkResult("roll-call", result);
	}
}

await main();
process.exit(0);
