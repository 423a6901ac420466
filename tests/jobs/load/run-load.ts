// The job market under load: so many jobs in flight at all times, toy hosts in processes of their own, and
// random kills (SIGKILL) of validators and hosts and cuts of database connections meanwhile. At the end every
// job must be over, and the store as if nothing had happened but for the time it took (audit-load.ts). Used
// by load.test.ts (few) and bench/job-load.ts (many). The same seed makes the same choices; when they fall is
// up to the machine.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { nameBlob, uploadBlob } from "../../../src/api/blob-transfer.ts";
import { type ApiClient, createApiClient } from "../../../src/api/create-client.ts";
import { freePort } from "../../../src/engine/links/test-sshd.test-kit.ts";
import type { ParamOverrides } from "../../../src/market/params.ts";
import { createNodeSigner } from "../../../src/platform/node-ed25519.ts";
import { hexToBytes } from "../../../src/protocol/bytes/bytes.ts";
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import { toyWorkload } from "../../../src/provider/jobs/toy-run.test-kit.ts";
import { openStore, serverFolder } from "../../../src/store/open-store.ts";
import { readRunningServer } from "../../../src/store/postgres/postgres-pid.ts";
import { mlpSample } from "../../../src/work/builder/samples.test-kit.ts";
import { specOfWorkload } from "../../../src/work/workloads/spec-of-workload.ts";
import { type ChildProgram, startChild, type Usage } from "../../network/child-program.ts";
import { seeded } from "../../network/crash-run.ts";
import { simulatedSigner } from "../../network/simulated-provider.ts";
import { openToyNetwork, type ToyNetwork } from "../../network/toy-network.ts";
import type { LoopDelay, StartedValidator } from "../../network/validator-process.ts";
import { prove } from "../prove-host.test-kit.ts";
import { auditLoad, type LoadAudit } from "./audit-load.ts";
import type { ReadJob, Reads, StartReading } from "./reader-process.ts";
import type { Acknowledged, StartWorkers, WorkersStatus } from "./workers-process.ts";

export interface LoadOptions {
	/** In flight at all times, until the kills are done. */
	readonly jobs: number;
	readonly hosts: number;
	readonly hostProcesses: number;
	readonly validators: number;
	readonly kills: number;
	readonly seed: number;
	/** Without kills, before them: what is measured. */
	readonly steadyMs: number;
	/** From one kill to the next, on average. */
	readonly killEveryMs: number;
	readonly workMs: readonly [least: number, most: number];
	readonly beatMs: number;
	readonly method: JobMethod;
	readonly readsPerS: number;
	readonly params?: ParamOverrides;
	/**
	 * For validators and database alone, as taskset takes them ("0,1"); everybody else is where this process
	 * is. Unless given: all share all.
	 */
	readonly cores?: string;
	/**
	 * A file for the CPU profile of the first validator, taken for some seconds after the steady time, so that
	 * it slows nothing that is measured.
	 */
	readonly profile?: string;
	readonly onProgress?: (line: string) => void;
	/** CPU seconds of a database server and its processes. */
	readonly databaseCpuS?: (pid: number) => number;
	/** When it is over: what follows may take long, or not end. */
	readonly onPhase?: (name: "steady" | "disturbed", phase: Phase) => void;
}

export interface Phase {
	readonly seconds: number;
	/** Milliseconds of the reader's requests by route, and of the hosts' own. */
	readonly reads: Readonly<Record<string, readonly number[]>>;
	readonly hostCalls: readonly number[];
	readonly failedReads: number;
	readonly jobsEnded: number;
	/** Of the busiest validator process. */
	readonly rssBytes: number;
	/** CPU seconds; kills lose some of them. */
	readonly validatorCpuS: number;
	readonly transactions: number;
	readonly loops: readonly LoopDelay[];
}

export interface LoadReport {
	readonly seed: number;
	readonly submitted: number;
	readonly killed: { validators: number; hosts: number; cuts: number; connections: number };
	readonly acknowledged: number;
	readonly steady: Phase;
	readonly disturbed: Phase;
	readonly handInS: number;
	readonly drainS: number;
	/**
	 * From the first job to the end of the last one, by the number of jobs: does not depend on who else is on
	 * the machine.
	 */
	readonly aJob: {
		readonly validatorCpuMs: number;
		readonly databaseCpuMs: number | null;
		readonly transactions: number;
	};
	readonly audit: LoadAudit;
	/** What hosts met that they should not have. */
	readonly hostErrors: readonly string[];
}

const CUSTOMERS = 10;
const CUSTOMER_KEYS = Array.from({ length: CUSTOMERS }, (_, i) => 100 + i);
const LEASE_MS = 3000;
const AT_ONCE = 8;
const SUBMIT_WITHIN_MS = 120_000;
const PROFILE_MS = 20_000;
const LIMITS = {
	...{ readsPerS: 1e6, writesPerS: 1e6, transfersPerS: 1e6, connectionsPerAddress: 1e5, dialsPerS: 1e5 },
	...{ turnsPerAddress: 1e5, turnsInAll: 1e5, streamsPerAddress: 1e5, piecesBytes: 512 << 20 },
};
/**
 * Long enough for a busy machine, short enough that what a killed host had goes to another within the run.
 */
const PARAMS: ParamOverrides = {
	...{ jobAcceptMs: 30_000, jobBeatMs: 5000, jobBeatMisses: 4, jobLeastWorkMs: 120_000, jobCheckedMs: 1000 },
	jobWindowMs: 60_000,
};

/** One process after the other in one place. */
function createPlace<Started>(begin: () => { readonly child: ChildProgram; readonly started: Promise<Started> }) {
	const start = () => {
		const now = begin();
		// Killed before it was ready: somebody else waits for that, or nobody.
		now.started.catch(() => {});
		return now;
	};
	let running = start();
	return {
		child: () => running.child,
		ready: () => running.started,
		async kill(): Promise<void> {
			running.child.kill("SIGKILL");
			await running.child.ended;
			running = start();
		},
	};
}
type Place<Started> = ReturnType<typeof createPlace<Started>>;

async function eventually(isSo: () => Promise<boolean>, withinMs: number, what: string): Promise<void> {
	const untilMs = Date.now() + withinMs;
	while (!(await isSo())) {
		if (Date.now() > untilMs) throw new Error(`${what}: not in ${withinMs / 1000} s`);
		await sleep(200);
	}
}

const count = async ({ sql }: ToyNetwork, statement: string): Promise<number> =>
	Number((await sql.query(statement)).rows[0].count);
const openJobs = (network: ToyNetwork) => count(network, "SELECT count(*) FROM jobs WHERE NOT is_over");
const transactionsOf = (network: ToyNetwork) =>
	count(network, "SELECT sum(xact_commit) AS count FROM pg_stat_database WHERE datname = current_database()");

/** Hands in jobs so that `want` are in flight, whatever happens to the validator. */
function startCustomers(network: ToyNetwork, clients: readonly ApiClient[], method: JobMethod) {
	const submitted: string[] = [];
	let news: ReadJob[] = [];
	const stopping = new AbortController();
	const made = specOfWorkload(toyWorkload(mlpSample(), 5), {
		...{ title: "one of many", kind: "program", method },
		rootOf: async (bytes) => hexToBytes((await nameBlob({ bytes })).blob.root, 32)!,
	});
	let number = 0;
	let want = 0;
	async function one(): Promise<void> {
		const { spec, blobs } = await made;
		const at = number++;
		const client = clients[at % clients.length]!;
		const salt = createHash("sha256").update(`job ${at}`).digest("hex");
		const untilMs = Date.now() + SUBMIT_WITHIN_MS;
		for (;;)
			try {
				if (at < clients.length) for (const { bytes } of blobs) await uploadBlob(client, { bytes: bytes() });
				const ask = { spec: spec as never, mostMicros: null, salt, account: null };
				const { offer } = await client.quoteJob({ body: ask });
				const { id } = await client.submitJob({ body: { spec, offer } as never });
				submitted.push(id);
				news.push({ id, customer: CUSTOMER_KEYS[at % clients.length]! });
				return;
			} catch (error) {
				if (Date.now() > untilMs) throw error;
				await sleep(300);
			}
	}
	async function keepUp(): Promise<void> {
		while (!stopping.signal.aborted) {
			const missing = Math.max(0, want - (await openJobs(network)));
			let left = number === 0 ? Math.min(missing, CUSTOMERS) : missing;
			await Promise.all(
				Array.from({ length: AT_ONCE }, async () => {
					while (left-- > 0 && !stopping.signal.aborted) await one();
				}),
			);
			if (missing === 0) await sleep(200);
		}
	}
	let failed: unknown = null;
	const keeping = keepUp().catch((error: unknown) => {
		failed = error;
	});
	return {
		submitted,
		/** What was handed in since this was asked last. */
		takeNews(): readonly ReadJob[] {
			const taken = news;
			news = [];
			return taken;
		},
		want: (jobs: number) => {
			want = jobs;
		},
		mustGoOn(): void {
			if (failed !== null) throw failed;
		},
		async stop() {
			stopping.abort();
			await keeping;
		},
	};
}
type Customers = ReturnType<typeof startCustomers>;

/**
 * CPU seconds of processes that come and go, looked at every second: a kill loses what came after the last
 * look.
 */
function createMeter(places: readonly Place<unknown>[]) {
	const seen = new Map<number, number>();
	let [totalS, rssBytes] = [0, 0];
	async function look(): Promise<void> {
		for (const place of places) {
			const child = place.child();
			const usage = await child.ask<Usage>("usage").catch(() => null);
			if (usage === null) continue;
			rssBytes = Math.max(rssBytes, usage.rssBytes);
			totalS += usage.cpuS - (seen.get(child.pid) ?? 0);
			seen.set(child.pid, usage.cpuS);
		}
	}
	return {
		look,
		cpuS: () => totalS,
		/** The most since this was asked last. */
		takeRss(): number {
			const most = rssBytes;
			rssBytes = 0;
			return most;
		},
	};
}

interface Stage {
	readonly network: ToyNetwork;
	readonly validators: readonly Place<StartedValidator>[];
	readonly hosts: readonly Place<unknown>[];
	readonly customers: Customers;
	readonly reader: ChildProgram;
	readonly meter: ReturnType<typeof createMeter>;
	/** Of the database server. */
	readonly serverPid: number;
	readonly errors: string[];
}

/** Looks at everything while `act` runs. */
async function measured(
	{ network, validators, hosts, customers, reader, meter, errors }: Stage,
	act: () => Promise<void>,
): Promise<Phase> {
	const beganMs = performance.now();
	const before = { ended: await ended(network), transactions: await transactionsOf(network) };
	const hostCalls: number[] = [];
	let reads: Record<string, number[]> = {};
	let failedReads = 0;
	const look = async () => {
		for (const place of hosts)
			await place
				.child()
				.ask<WorkersStatus>("status")
				.then(
					(status) => {
						hostCalls.push(...status.took);
						errors.push(...status.errors);
					},
					() => {},
				);
		const { took, failed } = await reader.ask<Reads>("take", customers.takeNews());
		for (const [name, all] of Object.entries(took)) reads[name] = [...(reads[name] ?? []), ...all];
		failedReads += failed;
		await meter.look();
	};
	await look();
	hostCalls.splice(0);
	reads = {};
	failedReads = 0;
	meter.takeRss();
	const cpuBefore = meter.cpuS();
	await Promise.all(
		validators.map((place) =>
			place
				.child()
				.ask("loop")
				.catch(() => {}),
		),
	);
	let isOver = false;
	const acting = act().finally(() => {
		isOver = true;
	});
	while (!isOver) {
		await Promise.race([sleep(1000), acting]);
		await look();
	}
	await acting;
	const loops = await Promise.all(
		validators.map((place) =>
			place
				.child()
				.ask<LoopDelay>("loop")
				.catch(() => null),
		),
	);
	return {
		...{ seconds: (performance.now() - beganMs) / 1000, reads, hostCalls, failedReads, rssBytes: meter.takeRss() },
		...{ jobsEnded: (await ended(network)) - before.ended, validatorCpuS: meter.cpuS() - cpuBefore },
		...{ transactions: (await transactionsOf(network)) - before.transactions },
		loops: loops.filter((one) => one !== null),
	};
}
const ended = (network: ToyNetwork) => count(network, "SELECT count(*) FROM jobs WHERE is_over");

async function disturb(stage: Stage, o: LoadOptions, killed: LoadReport["killed"]): Promise<void> {
	const random = seeded(o.seed);
	const first = Math.floor(3 * random());
	for (let left = o.kills; left > 0; left--) {
		await sleep(2 * o.killEveryMs * random());
		stage.customers.mustGoOn();
		const share = random();
		const kind = (["validators", "hosts", "cuts"] as const)[(first + o.kills - left) % 3]!;
		if (kind === "cuts") {
			// One that starts has nothing to be cut.
			await Promise.all(stage.validators.map((place) => place.ready()));
			const { rows } = await stage.network.sql.query(
				"SELECT count(pg_terminate_backend(pid)) AS cut FROM pg_stat_activity WHERE application_name LIKE 'assay/%' AND random() <= $1",
				[Math.max(share, 0.2)],
			);
			killed.connections += Number(rows[0].cut);
		} else {
			const places = stage[kind];
			const place = places[Math.floor(share * places.length)]!;
			// Most of them at work, some while they start and take over what the one before had left.
			if (random() < 0.8) await place.ready();
			await place.kill();
		}
		killed[kind] += 1;
		if (left % 10 === 1) o.onProgress?.(`${JSON.stringify(killed)}; ${await ended(stage.network)} jobs are over`);
	}
}

async function profile(validator: ChildProgram, path: string): Promise<void> {
	await validator.ask("profile");
	await sleep(PROFILE_MS);
	await validator.ask("keepProfile", path);
}

async function proveHosts({ dataDir }: ToyNetwork, hosts: number): Promise<void> {
	const store = await openStore({ dataDir, keepServer: true });
	let next = 0;
	try {
		await Promise.all(
			Array.from({ length: AT_ONCE }, async () => {
				// So that parts and audits are no quicker than their hosts are proven to be.
				for (let i = next++; i < hosts; i = next++) await prove(store, simulatedSigner(i).key, { int8: 1e9 });
			}),
		);
	} finally {
		await store.close();
	}
}

/** With all its threads; what it starts from now on is there too. */
function pin(pid: number, cores: string): void {
	execFileSync("taskset", ["-a", "-c", "-p", cores, String(pid)], { stdio: "ignore" });
}

/** The server, and those of its processes that run already. */
async function pinDatabase({ dataDir, sql }: ToyNetwork, cores: string): Promise<void> {
	const server = await readRunningServer(join(serverFolder(dataDir), "data"));
	const { rows } = await sql.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
	for (const pid of [server!.pid, ...rows.map((row) => row.pid)]) pin(pid, cores);
}

async function openStage(network: ToyNetwork, o: LoadOptions, told: string): Promise<Stage> {
	const ports = await Promise.all(Array.from({ length: o.validators }, freePort));
	const urls = ports.map((port) => `http://127.0.0.1:${port}`);
	if (o.cores !== undefined) await pinDatabase(network, o.cores);
	const validators = ports.map((port) =>
		createPlace(() => {
			const begun = network.beginValidator({
				...{ plan: "small", listen: { port }, leaseMs: LEASE_MS, verifierThreads: 0, probes: false },
				jobs: { isLoopbackApart: true, mostOpen: 100_000 },
				api: { limits: LIMITS },
				params: { ...PARAMS, ...o.params },
				log: "error",
			});
			if (o.cores !== undefined) pin(begun.child.pid, o.cores);
			return begun;
		}),
	);
	const [{ key: audience }] = (await Promise.all(validators.map((place) => place.ready()))) as [StartedValidator];
	const each = Math.ceil(o.hosts / o.hostProcesses);
	const hosts = Array.from({ length: o.hostProcesses }, (_, i) =>
		createPlace(() => {
			const child = startChild("../jobs/load/workers-process.ts");
			const start: StartWorkers = {
				...{ urls, audience, from: i * each, count: Math.min(each, o.hosts - i * each), acknowledged: told },
				...{ workMs: o.workMs, beatMs: o.beatMs },
			};
			return { child, started: child.ask("start", start) };
		}),
	);
	await eventually(
		async () => (await count(network, "SELECT count(connected_to) FROM providers")) >= o.hosts,
		120_000,
		"hosts dial in",
	);
	await proveHosts(network, o.hosts);
	const clients = CUSTOMER_KEYS.map((seed, i) => {
		const signer = createNodeSigner(new Uint8Array(32).fill(seed));
		return createApiClient({ baseUrl: urls[i % urls.length]!, signer, audience });
	});
	const customers = startCustomers(network, clients, o.method);
	const reader = startChild("../jobs/load/reader-process.ts");
	await reader.ask("start", { urls, audience, customers: CUSTOMER_KEYS, perS: o.readsPerS } satisfies StartReading);
	const server = await readRunningServer(join(serverFolder(network.dataDir), "data"));
	const [meter, serverPid] = [createMeter(validators), server!.pid];
	return { network, validators, hosts, customers, reader, meter, serverPid, errors: [] };
}

interface Costs {
	readonly validatorCpuS: number;
	readonly databaseCpuS: number;
	readonly transactions: number;
}

async function costs({ network, meter, serverPid }: Stage, { databaseCpuS }: LoadOptions): Promise<Costs> {
	await meter.look();
	return {
		validatorCpuS: meter.cpuS(),
		databaseCpuS: databaseCpuS?.(serverPid) ?? 0,
		transactions: await transactionsOf(network),
	};
}

export async function runLoad(o: LoadOptions): Promise<LoadReport> {
	const say = o.onProgress ?? (() => {});
	const network = await openToyNetwork();
	const told = join(network.dataDir, "acknowledged.jsonl");
	writeFileSync(told, "");
	const killed = { validators: 0, hosts: 0, cuts: 0, connections: 0 };
	let stage: Stage | null = null;
	try {
		stage = await openStage(network, o, told);
		const { customers, validators, hosts, reader, errors } = stage;
		say(`${o.hosts} hosts have dialled in and proven themselves`);
		const before = await costs(stage, o);
		const handedMs = performance.now();
		customers.want(o.jobs);
		await eventually(
			async () => {
				customers.mustGoOn();
				return customers.submitted.length >= o.jobs;
			},
			600_000,
			"jobs are handed in",
		);
		const handInS = (performance.now() - handedMs) / 1000;
		say(`${o.jobs} jobs are in flight`);
		const steady = await measured(stage, () => sleep(o.steadyMs));
		o.onPhase?.("steady", steady);
		if (o.profile !== undefined) await profile(validators[0]!.child(), o.profile);
		const disturbed = await measured(stage, () => disturb(stage!, o, killed));
		o.onPhase?.("disturbed", disturbed);
		customers.want(0);
		await customers.stop();
		reader.kill("SIGKILL");
		customers.mustGoOn();
		const beganMs = performance.now();
		say(`${customers.submitted.length} jobs were handed in; waiting for the end of all`);
		await Promise.all(validators.map((place) => place.ready()));
		await eventually(async () => (await openJobs(network)) === 0, 600_000, "all jobs are over");
		const drainS = (performance.now() - beganMs) / 1000;
		const after = await costs(stage, o);
		const aJob = (of: (one: Costs) => number) => (of(after) - of(before)) / customers.submitted.length;
		for (const place of hosts) place.child().kill("SIGKILL");
		for (const place of validators) {
			await place.child().ask("stop");
			await place.child().ended;
		}
		const lines = readFileSync(told, "utf8").trimEnd().split("\n");
		const acknowledged = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Acknowledged);
		const audit = await auditLoad(network, { submitted: customers.submitted, told: acknowledged });
		return {
			...{ seed: o.seed, submitted: customers.submitted.length, killed, acknowledged: acknowledged.length },
			...{ handInS, steady, disturbed, drainS, audit, hostErrors: errors },
			aJob: {
				validatorCpuMs: Math.round(aJob(({ validatorCpuS }) => 1000 * validatorCpuS)),
				databaseCpuMs:
					o.databaseCpuS === undefined ? null : Math.round(aJob(({ databaseCpuS }) => 1000 * databaseCpuS)),
				transactions: Math.round(aJob(({ transactions }) => transactions)),
			},
		};
	} finally {
		await stage?.customers.stop();
		stage?.reader.kill("SIGKILL");
		for (const place of stage?.hosts ?? []) place.child().kill("SIGKILL");
		await network.close();
	}
}
