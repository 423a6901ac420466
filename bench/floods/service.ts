// The service under test: a real `assay validate` in a process of its own, on a data folder that has
// providers, probes and evidence in it. Not here: who attacks it (flooder.ts), who measures it (watcher.ts).
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/store/open-store.ts";
import { finishOf, idOf, register } from "../../src/store/sample-rows.test-kit.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PROVIDERS = 300;
/** As large as an H200's. */
const EVIDENCE_BYTES = 3 << 20;
const TICKS_PER_S = 100;
/** A service that does not stop by itself is killed then, and that is its figure. */
const STOP_MS = 60_000;

/** What there is to ask for. */
export interface Known {
	readonly providerIds: readonly string[];
	readonly probeId: string;
	readonly evidence: string;
}

/** What ordinary readers ask for. */
export const pagesOf = ({ providerIds: [provider], probeId }: Known): readonly string[] => [
	"/v1/network",
	"/v1/providers?limit=50",
	`/v1/providers/${provider}`,
	"/v1/probes?limit=50",
	`/v1/probes/${probeId}`,
	"/v1/offers?limit=20",
];

export interface DataFolder {
	readonly known: Known;
	/** A copy of its own, which the service may spoil. */
	copy(): { readonly path: string; remove(): void };
	remove(): void;
}

export async function makeDataFolder(): Promise<DataFolder> {
	const dataDir = mkdtempSync(join(tmpdir(), "assay-floods-"));
	const store = await openStore({ dataDir });
	const providerIds: string[] = [];
	const probeId = idOf("flooded probe", 32);
	let evidence = "";
	const nowMs = Date.now();
	for (let n = 0; n < PROVIDERS; n++) {
		const id = await register(store, `flooded ${n}`, { link: "agent", target: "", nowMs });
		providerIds.push(id);
		await store.leases.acquire(`provider/${id}`);
		const probe = n === 0 ? probeId : idOf(`probe of ${n}`, 32);
		await store.probes.begin({ id: probe, providerId: id, validator: idOf("v"), startedAtMs: nowMs - 9000 });
		const file = await store.evidence.put(probe, n === 0 ? randomBytes(EVIDENCE_BYTES) : Buffer.from(`evidence ${n}`));
		if (n === 0) evidence = file.sha256;
		await store.probes.finish(finishOf(probe, { evidence: file, finishedAtMs: nowMs }));
		await store.leases.release(`provider/${id}`);
	}
	await store.close();
	return {
		known: { providerIds, probeId, evidence },
		copy() {
			const path = mkdtempSync(join(tmpdir(), "assay-flooded-"));
			// With its owners: PostgreSQL has an account of its own.
			execFileSync("cp", ["-a", `${dataDir}/.`, path]);
			return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
		},
		remove: () => rmSync(dataDir, { recursive: true, force: true }),
	};
}

export interface Service {
	readonly url: string;
	readonly key: string;
	readonly pid: number;
	readonly adminToken: string;
	/** The most it has held so far. */
	memoryMiB(): number;
	/** Of one core, until now. */
	cpuS(): number;
	/** Seconds until it was gone, and how it ended. */
	stop(): Promise<{ readonly stopS: number; readonly ending: number | string | null }>;
	kill(): Promise<void>;
	/** The end of what it said on standard error. */
	said(): string;
}

export async function startService(
	dataDir: string,
	o: {
		readonly arguments?: readonly string[];
		readonly descriptors?: number;
		readonly nodeArguments?: readonly string[];
	} = {},
): Promise<Service> {
	const limit = o.descriptors === undefined ? [] : ["prlimit", `--nofile=${o.descriptors}:${o.descriptors}`];
	const listen = ["--data", dataDir, "--listen", "127.0.0.1:0", "--json"];
	const [program, ...rest] = [
		...limit,
		process.execPath,
		...(o.nodeArguments ?? []),
		main,
		"validate",
		...listen,
		...(o.arguments ?? []),
	];
	const child = spawn(program!, rest, { stdio: ["ignore", "pipe", "pipe"] });
	let said = "";
	child.stderr.on("data", (text) => {
		said = (said + text).slice(-4000);
	});
	const lines = createInterface({ input: child.stdout });
	const [line] = (await Promise.race([once(lines, "line"), once(child, "exit").then(() => [""])])) as [string];
	if (!line.startsWith('{"url"')) {
		await once(child, "exit");
		throw new Error(`the service did not start: ${said}`);
	}
	const { url, key, adminTokenFile } = JSON.parse(line) as Record<string, string>;
	const status = (name: string) =>
		Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]);
	return {
		url: url!,
		key: key!,
		pid: child.pid!,
		adminToken: readFileSync(adminTokenFile!, "utf8").trim(),
		memoryMiB: () => Math.round(status("VmHWM") / 1024),
		cpuS() {
			const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
			const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
			return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
		},
		stop: () => stop(child),
		async kill() {
			child.kill("SIGKILL");
			if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
		},
		said: () => said,
	};
}

async function stop(child: ChildProcess) {
	const fromMs = performance.now();
	const kill = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
	if (child.exitCode === null && child.signalCode === null) {
		child.kill("SIGTERM");
		await once(child, "exit");
	}
	clearTimeout(kill);
	return {
		stopS: Number(((performance.now() - fromMs) / 1000).toFixed(2)),
		ending: child.exitCode ?? child.signalCode,
	};
}

/** From now on the most is counted anew. */
export const forgetPeak = (pid: number) => writeFileSync(`/proc/${pid}/clear_refs`, "5");
