// Who is honest in a market under floods: customers who hand in jobs as they are typed, a newcomer who
// uploads, and what the validator itself takes meanwhile. Not here: who attacks it (market-flooder.ts), who
// reads (watcher.ts).
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { uploadBlob } from "../../src/api/blob-transfer.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import type { TrialNetwork } from "../jobs/trial-network.ts";
import { quantile } from "../network-result.ts";
import type { Log } from "./seen.ts";

export const JOBS_AT_ONCE = 2;
/** Sample and method of the jobs at work. */
const JOBS = [
	["gpt-mini", "redundant:2"],
	["gray-scott", "sampled:4"],
	["lora", "redundant:2"],
	["embed", "sampled:4"],
] as const;
const UPLOAD_BYTES = 2 << 20;
/** A busy machine: nothing here waits for less. */
const WITHIN_MS = 1_200_000;

export interface DoneJob {
	readonly job: string;
	readonly exit: number | null;
	readonly seconds: number;
	/** At its end, where it was not done. */
	readonly said: string;
}

/** Jobs in a loop until it is to end; then those at work are waited for. `submit` waits until all is paid. */
export function startJobs(network: TrialNetwork) {
	let isOver = false;
	let next = 0;
	const done: DoneJob[] = [];
	const one = async () => {
		while (!isOver) {
			const number = next++;
			const [sample, method] = JOBS[number % JOBS.length]!;
			const out = join(network.folder, `out-${number}-${Date.now()}`);
			const fromMs = performance.now();
			const asked = ["job", "submit", `samples/${sample}.json`, "--method", method, "--yes", "--out", out];
			const { exit, lines } = await network.type(...asked);
			rmSync(out, { recursive: true, force: true });
			const seconds = Number(((performance.now() - fromMs) / 1000).toFixed(1));
			done.push({ job: `${sample} ${method}`, exit, seconds, said: exit === 0 ? "" : lines.slice(-4).join(" | ") });
		}
	};
	const working = Promise.all(Array.from({ length: JOBS_AT_ONCE }, one));
	return {
		async end(): Promise<readonly DoneJob[]> {
			isOver = true;
			await working;
			return done;
		},
	};
}

/** A newcomer with 2 MiB, again and again, each time another one. */
export function startUploads({ url, key }: { readonly url: string; readonly key: string }) {
	let isOver = false;
	const log: Log = { ms: [], failed: {} };
	const working = (async () => {
		while (!isOver) {
			const client = createApiClient({ baseUrl: url, signer: createNodeSigner(randomBytes(32)), audience: key });
			const fromMs = performance.now();
			const signal = AbortSignal.timeout(WITHIN_MS);
			await uploadBlob(client, { bytes: randomBytes(UPLOAD_BYTES) }, { signal }).catch((error) => {
				const what = String(error.code ?? error.name);
				log.failed[what] = (log.failed[what] ?? 0) + 1;
			});
			log.ms.push(performance.now() - fromMs);
			await sleep(1000);
		}
	})();
	return {
		async end(): Promise<Log> {
			isOver = true;
			await working;
			return log;
		},
	};
}

export const rssMiB = ({ pid }: TrialNetwork): number =>
	Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);

/** CPU of the validator's process, and how late its loop was in the seconds before, from /metrics. */
async function usage(network: TrialNetwork) {
	const text = await (await fetch(`${network.url}/metrics`)).text();
	const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1] ?? Number.NaN);
	return {
		atMs: performance.now(),
		cpuS: metric("process_cpu_seconds_total"),
		loopP99Ms: 1000 * metric("nodejs_eventloop_lag_p99_seconds"),
	};
}

export interface Used {
	readonly maxRssMiB: number | null;
	readonly validatorCores: number | null;
	/** Median of the figures of two seconds each. */
	readonly loopP99Ms: number | null;
	/** Processes that ran or waited for a core, of the whole machine: others' work shows here. */
	readonly medianLoad: number | null;
}

/** Gives the function that stops. */
export function watchUsage(network: TrialNetwork): () => Used {
	const seen: Awaited<ReturnType<typeof usage>>[] = [];
	const [memory, loads]: number[][] = [[], []];
	const look = async () => {
		memory!.push(rssMiB(network));
		loads!.push(loadavg()[0]!);
		seen.push(await usage(network));
	};
	const timer = setInterval(() => void look().catch(() => {}), 2000);
	return () => {
		clearInterval(timer);
		const [first, last] = [seen[0], seen.at(-1)];
		const seconds = first && last ? (last.atMs - first.atMs) / 1000 : 0;
		return {
			maxRssMiB: quantile(memory!, 1),
			validatorCores: seconds === 0 ? null : Number(((last!.cpuS - first!.cpuS) / seconds).toFixed(2)),
			loopP99Ms: quantile(
				seen.map(({ loopP99Ms }) => loopP99Ms),
				0.5,
			),
			medianLoad: quantile(loads!, 0.5),
		};
	};
}
