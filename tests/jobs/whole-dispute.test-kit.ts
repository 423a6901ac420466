// A whole dispute, from a customer's job to a convicted bond: a validator, a real provider whose engine lies
// in one element of one of a thousand steps, and a watcher with an engine of its own. By the signed road or,
// where the relay is silent, on chain. For tests of the deep tier and bench/disputes.ts.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createApiClient } from "../../src/api/create-client.ts";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { type LiePlace, lyingEngine } from "../../src/engine/lying-engine.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { jobEngines, type StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher, type WatchEvent } from "../../src/validator/jobs/watch/watcher.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { decodeProgram } from "../../src/work/program/decode.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import type { TensorKind } from "../../src/work/program/shapes.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { KINDS, type Kind, placeOfLie, workloadOfKind } from "./dispute-jobs.test-kit.ts";
import { type Stage, submit } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { openRealProvider } from "./real-provider.test-kit.ts";
import { endow } from "./toy-worker.test-kit.ts";

const UNIT = 10n ** 18n;
/** Nothing waits for a time to be over: windows are longer than any dispute. */
export const DISPUTE_PARAMS = {
	...{ jobWindowMs: 3_600_000, jobBeatMs: 6000, jobBeatMisses: 100, jobLeastWorkMs: 600_000, jobAuditPpm: 10_000 },
};

interface Dispute {
	readonly kind: Kind;
	/** `silent`: nobody relays anything, so that all is asked on chain. */
	readonly road: "signed" | "silent";
	/** Of this stage; each has keys of its own. */
	readonly number: number;
	readonly scratch: string;
	/** What bench/card-claim.ts left: the run of this claim, made elsewhere. */
	readonly from?: string;
}

interface KeptRun {
	readonly device: string;
	readonly metrics: readonly {
		readonly segment: number;
		readonly step: number;
		readonly tensor: number;
		readonly bytes: string;
	}[];
	readonly segments: readonly {
		readonly segment: number;
		readonly stateRoots: readonly string[];
		readonly resultRoots: readonly string[];
	}[];
}

const readRun = (folder: string): KeptRun => JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as KeptRun;

/**
 * Its run is the one of that folder, byte for byte. Questions about it are answered by the engine of this
 * machine, which lies at the same place.
 */
const runFrom =
	(folder: string, start: StartJobEngine): StartJobEngine =>
	async (at) => {
		const engine = await start(at);
		const kept = readRun(folder);
		const bytesOf = (hexes: readonly string[]) => hexes.map((hex) => hexToBytes(hex, 32)!);
		const take = (roots: readonly string[]) => {
			for (const root of roots) copyFileSync(join(folder, "store", root), join(at.storePath, root));
		};
		const open: typeof engine.open = async (work) => {
			const session = await engine.open(work);
			const { tensors } = orThrow(decodeProgram(work.program));
			const kinds = (kind: TensorKind) => tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));
			const run: typeof session.run = async ({ first, count, saveEvery = 0, onMetric, onSegment }) => {
				const done = kept.segments.slice(first, first + count);
				for (const { segment, stateRoots, resultRoots } of done) {
					for (const { bytes, ...line } of kept.metrics.filter((one) => one.segment === segment))
						onMetric?.({ ...line, bytes: hexToBytes(bytes)! });
					const saved = saveEvery > 0 && (segment + 1 - first) % saveEvery === 0;
					if (saved) take([...stateRoots, ...resultRoots]);
					onSegment?.({ segment, stateRoots: bytesOf(stateRoots), resultRoots: bytesOf(resultRoots), saved });
				}
				const { stateRoots, resultRoots } = done.at(-1)!;
				take([...stateRoots, ...resultRoots]);
				const held = [...kinds("state"), ...kinds("result")];
				for (const [i, root] of bytesOf([...stateRoots, ...resultRoots]).entries()) await session.load(held[i]!, root);
			};
			return new Proxy(session, {
				get(target, name) {
					if (name === "run") return run;
					const value = target[name as keyof typeof target];
					return typeof value === "function" ? value.bind(target) : value;
				},
			});
		};
		return { ...engine, open };
	};

async function startLiar(stage: Omit<Stage, "worker">, o: Dispute, lie: LiePlace) {
	const { contracts, treasurer } = stage.chain!;
	const signer = signerOf(150 + o.number);
	const account = accountOf(`0x${(0x50 + o.number).toString(16).repeat(32)}`);
	await endow(contracts, treasurer, account, 0n, 1000n * UNIT);
	const engine = lyingEngine((await findEngine(hostPlatform())).path, lie);
	const { clockUs, randomBytes } = realEnvironment();
	const options = { engine, env: process.env, devices: [], memoryBytes: 8e9, clockUs, randomBytes };
	const news: string[] = [];
	const provider = await openRealProvider({
		...{ url: stage.validator.url, signer, dataFolder: join(o.scratch, `liar-${o.number}`), engine },
		...(o.from !== undefined && { startEngine: runFrom(o.from, jobEngines(options)) }),
		onEvent: (event) => {
			news.push(JSON.stringify(event));
			if (process.env.ASSAY_TEST_NEWS) console.log(news.at(-1)!.slice(0, 300));
		},
		chain: { contracts, account },
	});
	await eventually(async () => (await stage.validator.store.providers.get(signer.key))?.connectedTo != null);
	// As fast as a large card: what comes sooner than its host can compute is always run again.
	await prove(stage.validator.store, signer.key, { int8: 1e15, bytesPerS: 4e12 });
	return { provider, signer, account, news };
}

async function openDisputeWatcher(stage: Omit<Stage, "worker">, o: Dispute, events: WatchEvent[]) {
	const { contracts, treasurer } = stage.chain!;
	const account = accountOf(`0x${(0x90 + o.number).toString(16).repeat(32)}`);
	await endow(contracts, treasurer, account, 0n, 0n);
	const folder = join(o.scratch, `watcher-${o.number}`);
	const book = await openWatchBook(join(folder, "watched.jsonl"), Date.now);
	const client = createApiClient({ baseUrl: stage.validator.url, signer: signerOf(200 + o.number) });
	const askClaim = () => Promise.reject(new AssayError("NO_ANSWER", "nobody relays it"));
	const isSilent = o.road === "silent";
	const watcher = createWatcher({
		...{ api: isSilent ? { ...client, askClaim } : client, folder, book, ...(isSilent && { patienceMs: 0 }) },
		chain: await openWatchChain(contracts, account, { gasADay: 1e8, book }),
		engine: ownEngine({ command: (await findEngine(hostPlatform())).path, args: [] }, realEnvironment()),
		...{ policy: { jobs: "all", sharePpm: 0 }, isDry: false, secret: new Uint8Array(32), nowMs: Date.now },
		sleep: (ms) => new Promise((awake) => setTimeout(awake, Math.min(ms, 200))),
		onEvent: (event) => {
			events.push(event);
			if (process.env.ASSAY_TEST_NEWS) console.log(JSON.stringify(event).slice(0, 300));
		},
	});
	return { watcher, account, book };
}

const secondsSince = (startedMs: number): number => Number(((Date.now() - startedMs) / 1000).toFixed(1));

/**
 * Throws unless it ends with the liar convicted at the place of its lie, and the watcher paid. Null: the
 * validator itself drew this claim, and was faster.
 */
export async function runDispute(stage: Omit<Stage, "worker">, o: Dispute) {
	const workload = await workloadOfKind(o.kind, o.scratch);
	const lie = placeOfLie(o.kind, workload);
	const { contracts } = stage.chain!;
	const liar = await startLiar(stage, o, lie);
	const all: WatchEvent[] = [];
	try {
		const startedMs = Date.now();
		const order = {
			method: { name: "optimistic", count: 0 },
			workload,
			salt: o.number.toString(16).padStart(64, "0"),
		} as const;
		const { id } = await eventually(() =>
			submit(stage, order).catch((error: unknown) => {
				// A validator may know of a new host a moment later.
				if (error instanceof AssayError && error.code === "JOB_NO_PROVIDER") return null;
				throw error;
			}),
		);
		const convictions = () => readEvents(contracts, "jobEscrow", "Convicted", { job: BigInt(`0x${id}`) });
		await eventually(async () => {
			const { rows } = await stage.customer.listClaims({ query: { job: id, limit: 10 } });
			return rows.some(({ ends }) => ends !== null) || (await convictions()).length > 0;
		});
		if ((await convictions()).length > 0) return null;
		const claimedS = secondsSince(startedMs);
		const { watcher, account, book } = await openDisputeWatcher(stage, o, all);
		const told = (state: WatchEvent["state"]) => all.filter((event) => event.job === id && event.state === state);
		const lookedMs = Date.now();
		await eventually(async () => {
			await watcher.round();
			await watcher.settle();
			assert.ok(told("right").length === 0, "the lie made no difference");
			return told("proven").length > 0;
		});
		const convictedS = secondsSince(lookedMs);
		const path = told("false")[0]!.detail.split("; ").at(-1)!;
		const file = readFileSync(path);
		const verdict = verifyFraud(file);
		assert.ok(verdict.status === "valid", JSON.stringify(verdict));
		const { segment, step, op, element, operator, said, right } = verdict;
		assert.deepEqual([segment, step, op, element], [lie.segment, lie.step, lie.op, lie.element]);
		const [one] = await convictions();
		assert.equal(one!.args.accuser, account.address);
		assert.equal(await read(contracts, "token", "balanceOf", account.address), one!.args.toAccuser);
		const steps = workload.segments * workload.program.k * KINDS[o.kind].each;
		return {
			...(o.from !== undefined && { claimedOn: readRun(o.from).device }),
			...{ kind: o.kind, road: o.road, steps, segment, step, op, operator, element, said, right },
			...{
				questionsOnChain: told("asked").length,
				gas: book.gasSpent(),
				fraudBytes: file.length,
				claimedS,
				convictedS,
			},
		};
	} catch (error) {
		throw new Error(`${o.kind}, ${o.road}: ${JSON.stringify(all)} ${liar.news.slice(-8).join("\n")}`, {
			cause: error,
		});
	} finally {
		await liar.provider.stop();
	}
}
