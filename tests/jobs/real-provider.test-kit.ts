// The provider that owners run, in tests of the job market: its real agent, book, desk and chain, and the
// real engine on this machine's CPU.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Contracts } from "../../src/chain/contracts/contracts.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import { parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { type After, realAfter } from "../../src/platform/abortable.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { METHOD_NAMES } from "../../src/protocol/network/job.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { createProvider, type Provider } from "../../src/provider/create-provider.ts";
import type { JobLimits } from "../../src/provider/jobs/check-offer.ts";
import { openHostJobs } from "../../src/provider/jobs/host-jobs.ts";
import type { AskedPart, Beat } from "../../src/provider/jobs/job-desk.ts";
import { openJobDesk } from "../../src/provider/jobs/job-desk.ts";
import { jobEngines, type StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { openJobChain } from "../../src/provider/jobs/open-job-chain.ts";
import { powersOf } from "../../src/provider/proofs/powers.ts";
import type { ProviderEvent } from "../../src/provider/provider-event.ts";
import { signerOf } from "../validator/toy-agent.test-kit.ts";

interface RealProviderOptions {
	/** Of the validator's API. */
	readonly url: string;
	readonly dataFolder: string;
	readonly signer: Signer;
	readonly chain?: { readonly contracts: Contracts; readonly account: ChainAccount } | null;
	readonly limits?: Partial<JobLimits>;
	readonly onEvent: (event: ProviderEvent) => void;
	/** After the validator has taken it. */
	readonly onBeat?: (beat: Beat) => void;
	/** Instead of our own build. */
	readonly engine?: { readonly command: string; readonly args: readonly string[] };
	/** It works with this instead of the engine, which then only says what the machine is. */
	readonly startEngine?: StartJobEngine;
	/** Instead of its own pauses. */
	readonly after?: After;
	/** Instead of this machine's clock. */
	readonly nowMs?: () => number;
}

const DIE_AT_WORK = "die at work";
const LIVE_ON = "live on";

export interface RealProvider {
	readonly events: readonly ProviderEvent[];
	/** News of parts, in order. */
	readonly news: readonly (AskedPart & { readonly state: string; readonly detail: string })[];
	/**
	 * From when this resolves on: once the validator has heard of work that was begun, its process is gone from
	 * one moment to the next.
	 */
	dieAtWork(): Promise<void>;
	/** Takes that back. */
	liveOn(): Promise<void>;
	/** The largest file that it may write from now on, as on a disk that is full; null: any. */
	limitFiles(bytes: number | null): void;
	/** When its process is gone. */
	readonly ended: Promise<unknown>;
	close(): Promise<void>;
}

/** What a process of its own is told. Keys are tests' keys. */
interface Told {
	readonly url: string;
	readonly dataFolder: string;
	readonly signer: number;
	readonly chain: { readonly url: string; readonly contracts: Contracts["addresses"]; readonly key: Hex } | null;
	readonly engineArgs?: readonly string[];
	/** How far its clock is off. */
	readonly clockAheadMs?: number;
	/** More for its environment. */
	readonly env?: Readonly<Record<string, string>>;
}

/** In a process of its own, with the key of `signerOf(n)`. */
export async function startRealProvider(told: Told): Promise<RealProvider> {
	const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(told)], {
		stdio: ["ignore", "pipe", "inherit", "ipc"],
		env: { ...process.env, ...told.env },
	});
	const events: ProviderEvent[] = [];
	const ended = once(child, "exit");
	const tell = async (word: string) => {
		const heard = once(child, "message");
		child.send(word);
		await heard;
	};
	createInterface({ input: child.stdout! }).on("line", (line) => {
		const event = JSON.parse(line) as ProviderEvent;
		events.push(event);
		if (process.env.ASSAY_TEST_NEWS) console.log(told.signer, line.slice(0, 300));
	});
	return {
		events,
		get news() {
			return events.flatMap((event) => (event.kind === "job" ? [event] : []));
		},
		ended,
		limitFiles(bytes) {
			execFileSync("prlimit", [`--pid=${child.pid}`, `--fsize=${bytes ?? "unlimited"}:unlimited`]);
		},
		dieAtWork: () => tell(DIE_AT_WORK),
		liveOn: () => tell(LIVE_ON),
		async close() {
			child.kill("SIGTERM");
			await ended;
		},
	};
}

export async function openRealProvider(o: RealProviderOptions): Promise<Provider> {
	const { clockUs, nowMs, randomBytes } = { ...realEnvironment(), ...(o.nowMs && { nowMs: o.nowMs }) };
	const engine = o.engine ?? { command: (await findEngine(hostPlatform())).path, args: [] };
	const { onEvent } = o;
	const limits: JobLimits = {
		...{ memoryBytes: 4e9, diskBytes: 4e9, minutes: 600, pricePerHourMicros: 1_000_000, leastMicros: 0 },
		...{ mostBondMicros: Number.MAX_SAFE_INTEGER, methods: METHOD_NAMES },
		...o.limits,
	};
	const chain = o.chain ? await openJobChain(o.chain.contracts, o.chain.account, o.signer.key) : null;
	return createProvider({
		...{ signer: o.signer, validators: [parseValidatorUrl(o.url)], trust: [], dataFolder: o.dataFolder },
		...{ name: "a real one", pricePerHourMicros: 1_000_000, engine, env: process.env, rental: null },
		...{ limits: { memoryBytes: 8e9, minutes: 10 }, diskBytesPerDay: null, clockUs, nowMs, randomBytes, onEvent },
		retry: { firstMs: 50, capMs: 500 },
		jobs: ({ claim, hold }) =>
			openHostJobs({
				...{
					dataFolder: join(o.dataFolder),
					devices: claim.devices.flatMap(({ kind }, i) => (kind === "cpu" ? [i] : [])),
					limits,
					chain,
					hold,
					nowMs,
					onEvent,
					after: o.after ?? realAfter,
					sweepMs: 500,
				},
				...(o.chain && { powersFor: powersOf(o.chain.contracts.addresses.chainId, null) }),
				startEngine:
					o.startEngine ??
					jobEngines({
						...{ engine, env: process.env, devices: claim.devices, memoryBytes: 8e9, clockUs, randomBytes },
					}),
				deskOf: (url, validatorKey) => {
					const desk = openJobDesk({ url, validatorKey, signer: o.signer, nowMs, randomBytes });
					const beat: typeof desk.beat = async (asked, said) => {
						const reply = await desk.beat(asked, said);
						o.onBeat?.(said);
						return reply;
					};
					return { ...desk, beat };
				},
			}),
	});
}

if (process.argv[1] === import.meta.filename) {
	const { url, dataFolder, signer, chain, engineArgs = [], clockAheadMs = 0 } = JSON.parse(process.argv[2]!) as Told;
	let isDoomed = false;
	process.on("message", (word) => {
		isDoomed = word === DIE_AT_WORK;
		process.send!(word);
	});
	const provider = await openRealProvider({
		...{ url, dataFolder, signer: signerOf(signer), nowMs: () => Date.now() + clockAheadMs },
		engine: { command: (await findEngine(hostPlatform())).path, args: engineArgs },
		chain: chain && {
			account: accountOf(chain.key),
			contracts: {
				client: await createChainClient(httpRpc(chain.url), { confirmations: 1, pollMs: 20 }),
				addresses: chain.contracts,
			},
		},
		onEvent: (event) => process.stdout.write(`${JSON.stringify(event)}\n`),
		// Signs of life come at once, so that no engine is done before its first one.
		after: (ms, run) => realAfter(isDoomed ? Math.min(ms, 20) : ms, run),
		onBeat({ done }) {
			if (isDoomed && done > 0) process.kill(process.pid, "SIGKILL");
		},
	});
	// Also when the test was killed.
	process.once("disconnect", () => process.exit(1));
	process.once("SIGTERM", () => void provider.stop().then(() => process.exit(0)));
}
