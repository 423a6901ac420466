// The crash test: validator processes are killed (SIGKILL) and their database connections cut at random
// moments while they probe, again and again, and started again. At the end everything must be as if nothing
// had happened, but for the time it took: docs/schedule.md §3. Used by crash.test.ts (few kills) and
// bench/network-crash.ts (many). The same seed makes the same choices; when they fall is up to the machine.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { openStore } from "../../src/store/open-store.ts";
import { kindNamed } from "./simulated-kinds.ts";
import { openToyNetwork, type ToyNetwork } from "./toy-network.ts";

export interface CrashOptions {
	readonly kills: number;
	readonly seed: number;
	readonly providers: number;
	/** Validator processes that share the database; each is started again when it was killed. */
	readonly validators: number;
	readonly onProgress?: (line: string) => void;
}

export interface CrashReport {
	readonly seed: number;
	readonly killed: number;
	/** Of them, before the process had said that it was ready. */
	readonly killedInStart: number;
	/** Notes of evidence that was durable and not yet counted, seen right after a kill. */
	readonly pendingAfterKills: number;
	readonly cuts: number;
	readonly cutConnections: number;
	readonly counted: number;
	readonly abandoned: number;
	readonly seconds: number;
	/** Everything that is not as it should be; empty when all is well. */
	readonly wrong: readonly string[];
}

/** Of every ten disturbances so many cut database connections; the others kill. */
const CUTS_IN_TEN = 3;
const LEASE_MS = 1500;
const NOTE_WAIT_MS = 2000;

export function seeded(seed: number): () => number {
	let count = 0;
	return () => {
		const digest = createHash("sha256").update(`crash ${seed} ${count++}`).digest();
		return digest.readUIntBE(0, 6) / 2 ** 48;
	};
}

export async function runCrashes(o: CrashOptions): Promise<CrashReport> {
	const say = o.onProgress ?? (() => {});
	const random = seeded(o.seed);
	const began = performance.now();
	const network = await openToyNetwork();
	const counts = { killed: 0, killedInStart: 0, pendingAfterKills: 0, cuts: 0, cutConnections: 0 };
	const notes = join(network.dataDir, "pending");
	try {
		const ports = await Promise.all(Array.from({ length: o.validators }, freePort));
		const start = (port: number) =>
			network.beginValidator({
				plan: "small",
				listen: { port },
				leaseMs: LEASE_MS,
				dispatchEveryMs: 50,
				recoverEveryMs: 300,
				verifierThreads: 0,
				concurrency: 8,
				// On a machine with much else to do a provider may be late as often as the retries allow: it is asked
				// again within a second all the same.
				params: { intervalMs: 400, jitterMs: 200, retryFirstMs: 100, backOffMs: 1000, maxAgeMs: 3_600_000 },
			});
		const places = ports.map((port) => createPlace(() => start(port)));
		await Promise.all(places.map((place) => place.ready()));
		await network.startProviders({
			urls: ports.map((port) => `http://127.0.0.1:${port}`),
			kinds: Array.from({ length: o.providers }, () => kindNamed("honest")),
			processes: 1,
		});
		while (counts.killed + counts.cuts < o.kills) {
			await sleep(300 * random());
			const place = places[Math.floor(random() * places.length)]!;
			if (random() * 10 < CUTS_IN_TEN) {
				counts.cutConnections += await cutConnections(network, random);
				counts.cuts += 1;
			} else {
				// Most of them at work, some while they start and take over what the one before had left.
				if (random() < 0.8) {
					await place.ready();
					await sleep(600 * random());
					// Half of those in the narrow moment between durable and counted, if it was this process that had
					// come to it.
					if (random() < 0.5) await noteAppears(notes);
				}
				const wasReady = await place.kill();
				counts.pendingAfterKills += readdirSync(notes).length;
				counts.killed += 1;
				if (!wasReady) counts.killedInStart += 1;
			}
			if ((counts.killed + counts.cuts) % 10 === 0) say(`${counts.killed} killed, ${counts.cuts} times cut`);
		}
		await Promise.all(places.map((place) => place.ready()));
		const lastKillAtMs = Date.now();
		await probedAgain(network, o.providers, lastKillAtMs);
		await Promise.all(places.map((place) => place.stop()));
		const seconds = (performance.now() - began) / 1000;
		return { seed: o.seed, ...counts, ...(await tallyOf(network)), seconds, wrong: await wrongIn(network) };
	} finally {
		await network.close();
	}
}

/** One validator process after the other on one port. */
function createPlace(start: () => ReturnType<ToyNetwork["beginValidator"]>) {
	const begin = () => {
		const { child, started } = start();
		const now = { child, started, isReady: false };
		// Killed before it was ready: somebody else waits for that, or nobody.
		started.then(
			() => {
				now.isReady = true;
			},
			() => {},
		);
		return now;
	};
	let running = begin();
	return {
		ready: async () => void (await running.started),
		/** False: it was still starting. */
		async kill(): Promise<boolean> {
			const { child, isReady } = running;
			child.kill("SIGKILL");
			await child.ended;
			running = begin();
			return isReady;
		},
		async stop() {
			await running.started;
			await running.child.ask("stop");
			await running.child.ended;
		},
	};
}

/** Until evidence is noted as durable, or nothing was for a while. */
async function noteAppears(folder: string): Promise<void> {
	await new Promise<void>((resolve) => {
		const before = new Set(readdirSync(folder));
		const end = () => {
			watcher.close();
			clearTimeout(timer);
			resolve();
		};
		const watcher = watch(folder, (_event, name) => {
			if (name !== null && !before.has(name)) end();
		});
		const timer = setTimeout(end, NOTE_WAIT_MS);
	});
}

/**
 * What an administrator, a failing proxy or a restart of the server does to a client: some of its connections
 * end in mid-statement.
 */
async function cutConnections(network: ToyNetwork, random: () => number): Promise<number> {
	const share = random();
	const { rows } = await network.sql.query(
		"SELECT count(pg_terminate_backend(pid)) AS cut FROM pg_stat_activity WHERE application_name LIKE 'assay/%' AND random() <= $1",
		[share],
	);
	return Number(rows[0].cut);
}

async function probedAgain(network: ToyNetwork, providers: number, sinceMs: number): Promise<void> {
	for (;;) {
		const { rows } = await network.sql.query(
			"SELECT count(DISTINCT provider_id)::integer AS again FROM probes WHERE state = 'done' AND verdict = 'valid' AND started_at_ms > $1",
			[sinceMs],
		);
		if (rows[0].again === providers) return;
		await sleep(100);
	}
}

async function tallyOf(network: ToyNetwork): Promise<{ counted: number; abandoned: number }> {
	const { rows } = await network.sql.query(
		"SELECT count(*) FILTER (WHERE state = 'done')::integer AS counted, count(*) FILTER (WHERE state = 'abandoned')::integer AS abandoned FROM probes",
	);
	return rows[0];
}

/** Files on the disk, by hash; a file that does not hash to its name is reported as such. */
function filesIn(dataDir: string): { readonly hashes: readonly string[]; readonly broken: readonly string[] } {
	const folder = join(dataDir, "evidence");
	const hashes = readdirSync(folder).flatMap((two) => readdirSync(join(folder, two)).map((rest) => two + rest));
	const hashOf = (name: string) =>
		createHash("sha256")
			.update(readFileSync(join(folder, name.slice(0, 2), name.slice(2))))
			.digest("hex");
	return { hashes, broken: hashes.filter((name) => hashOf(name) !== name) };
}

/** What must hold when all validators have been stopped in good order. */
async function wrongIn({ sql, dataDir }: ToyNetwork): Promise<string[]> {
	const wrong: string[] = [];
	const none = async (what: string, statement: string) => {
		const { rows } = await sql.query(statement);
		if (rows.length > 0) wrong.push(`${what}: ${rows.length}, first ${JSON.stringify(rows[0])}`);
	};
	const { hashes, broken } = filesIn(dataDir);
	if (broken.length > 0) wrong.push(`evidence files that are not what their name says: ${broken.length}`);
	const { rows: counted } = await sql.query(
		"SELECT evidence_sha256 AS hash, count(*)::integer AS times FROM probes WHERE state = 'done' AND evidence_sha256 IS NOT NULL GROUP BY 1",
	);
	const times = new Map(counted.map(({ hash, times: n }) => [hash as string, n as number]));
	const uncounted = hashes.filter((hash) => !times.has(hash));
	if (uncounted.length > 0)
		wrong.push(`evidence files that no probe counts: ${uncounted.length}, first ${uncounted[0]}`);
	const twice = [...times].filter(([, n]) => n !== 1);
	if (twice.length > 0) wrong.push(`evidence counted more than once: ${twice.length}`);
	const onDisk = new Set(hashes);
	const lost = [...times.keys()].filter((hash) => !onDisk.has(hash));
	if (lost.length > 0) wrong.push(`counted evidence that is not on the disk: ${lost.length}`);
	const pending = readdirSync(join(dataDir, "pending"));
	if (pending.length > 0) wrong.push(`pending notes left: ${pending.length}`);

	await none("probes still running", "SELECT id FROM probes WHERE state = 'running'");
	await none("providers that nobody lets go", "SELECT id, probed_by FROM providers WHERE probed_by IS NOT NULL");
	await none("leases held", "SELECT name, holder FROM leases WHERE expires_at > clock_timestamp()");
	await none(
		"done probes without evidence although valid or invalid",
		"SELECT id FROM probes WHERE state = 'done' AND verdict <> 'inconclusive' AND evidence_sha256 IS NULL",
	);
	await none("honest ones found invalid", "SELECT provider_id, code, detail FROM probes WHERE verdict = 'invalid'");
	await none(
		"probes without exactly one line in the journal",
		`SELECT r.id FROM probes r LEFT JOIN journal a ON a.kind = 'probe.done' AND a.detail::jsonb ->> 'probe' = r.id
		WHERE r.state = 'done' GROUP BY r.id HAVING count(a.seq) <> 1`,
	);
	await none(
		"hours that do not add up",
		`SELECT h.total, r.total AS rows FROM (SELECT sum(count) AS total FROM probe_hours) h,
			(SELECT count(*) AS total FROM probes WHERE state = 'done') r WHERE h.total <> r.total`,
	);
	await none(
		"counted probes of one provider that overlap",
		`SELECT a.id, b.id FROM probes a JOIN probes b ON a.provider_id = b.provider_id AND a.id < b.id AND a.state = 'done' AND b.state = 'done'
		AND a.started_at_ms < b.started_at_ms AND b.finished_at_ms < a.finished_at_ms AND a.process = b.process`,
	);
	const store = await openStore({ dataDir, keepServer: true });
	try {
		const { brokenAt } = await store.journal.verify();
		if (brokenAt !== null) wrong.push(`the journal is broken at line ${brokenAt}`);
	} finally {
		await store.close();
	}
	return wrong;
}
