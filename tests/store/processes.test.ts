// Four real processes on one server: nobody is probed by two at once, every evidence file counts once, and
// what a killed one held is taken over.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Store } from "../../src/store/open-store.ts";
import { onBothServers, type TestServer } from "../../src/store/postgres/servers.test-kit.ts";
import { type BusyOptions, recover } from "../../src/store/queue/busy-process.test-kit.ts";
import { register } from "../../src/store/sample-rows.test-kit.ts";
import { isDeep } from "../fuzz.test-kit.ts";

const PROGRAM = fileURLToPath(new URL("../../src/store/queue/busy-process.test-kit.ts", import.meta.url));
const FAR_MS = 1_000_000;
/** A process that a busy machine lets wait is not taken for dead. */
const LEASE_MS = 600_000;
const KILLS = isDeep ? 4 : 2;

interface Crowd {
	readonly overlaps: string[];
	/** Providers whose probe a process could not bring to its end, each as often as it was so. */
	readonly broken: string[];
	/** With the name that each has in the database. */
	readonly children: Map<ChildProcess, string>;
	add(): Promise<void>;
	kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void>;
}

function crowd(options: BusyOptions): Crowd {
	const children = new Map<ChildProcess, string>();
	const overlaps: string[] = [];
	const broken: string[] = [];
	return {
		overlaps,
		broken,
		children,
		async add() {
			const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
				stdio: ["ignore", "pipe", "inherit"],
			});
			children.set(child, "");
			const ready = Promise.withResolvers<void>();
			createInterface(child.stdout!).on("line", (line) => {
				if (line.startsWith("READY ")) {
					children.set(child, line.slice("READY ".length));
					ready.resolve();
				}
				if (line.startsWith("OVERLAP")) overlaps.push(line);
				if (line.startsWith("BROKEN")) broken.push(line);
			});
			child.once("exit", () => ready.reject(new Error("a process ended before it was ready")));
			await ready.promise;
		},
		async kill(child, signal) {
			children.delete(child);
			const gone = once(child, "exit");
			child.kill(signal);
			await gone;
		},
	};
}

async function until(condition: () => Promise<boolean>): Promise<void> {
	while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 100));
}

async function setUp(
	server: TestServer,
): Promise<{ store: Store; people: Crowd; evidenceBefore: number; registerMore: (count: number) => Promise<void> }> {
	const leaseMs = LEASE_MS;
	const store = await server.open({ leaseMs });
	let registered = 0;
	const registerMore = async (count: number) => {
		for (let i = 0; i < count; i++) await register(store, `${store.schema}-${registered++}`);
	};
	const busyDir = join(server.dataDir, `busy-${store.schema}`);
	mkdirSync(busyDir);
	const databaseUrl = server.name === "external" ? { databaseUrl: await server.connection() } : {};
	const options = server.options({ schema: store.schema, leaseMs, poolSize: 4, ...databaseUrl });
	const people = crowd({ store: options, busyDir, probeMs: 20, nextProbeAtMs: FAR_MS, nowMs: 2000 });
	return { store, people, evidenceBefore: countEvidence(server), registerMore };
}

function countEvidence(server: TestServer): number {
	const folder = join(server.dataDir, "evidence");
	return readdirSync(folder).reduce((sum, part) => sum + readdirSync(join(folder, part)).length, 0);
}

async function doneByProvider(store: Store): Promise<Map<string, number>> {
	const done = new Map<string, number>();
	let cursor: string | null = null;
	do {
		const page = await store.probes.list({ state: "done", limit: 500, cursor });
		for (const row of page.rows) done.set(row.providerId, (done.get(row.providerId) ?? 0) + 1);
		cursor = page.cursor;
	} while (cursor !== null);
	return done;
}

const sum = (done: ReadonlyMap<string, number>): number => [...done.values()].reduce((all, count) => all + count, 0);

/** Whatever died between evidence and transaction. */
const countTheRest = (store: Store): Promise<void> =>
	until(async () => {
		await recover(store, FAR_MS);
		return (await store.probes.recover({ nowMs: 2000 })).pending.length === 0;
	});

onBothServers((server) => {
	test("four processes share the work: each provider is probed once", async () => {
		const { store, people, evidenceBefore, registerMore } = await setUp(server);
		try {
			await Promise.all([1, 2, 3, 4].map(() => people.add()));
			let count = 0;
			// More than one of them does the work, else nothing is shown.
			for (const atWork = new Set<string | null>(); atWork.size < 2; ) {
				count += 60;
				await registerMore(60);
				await until(async () => (await doneByProvider(store)).size === count);
				for (const { process } of (await store.probes.list({ limit: 500 })).rows) atWork.add(process);
			}
			await Promise.all([...people.children.keys()].map((child) => people.kill(child, "SIGTERM")));
			await countTheRest(store);
			const done = await doneByProvider(store);
			// A database that does not answer in time ends a probe. It is made again, and both count: both have
			// evidence.
			const brokenOf = (id: string) => people.broken.filter((line) => line.split(" ")[1] === id).length;
			const tooOften = [...done].filter(([id, times]) => times > 1 + brokenOf(id));
			assert.deepEqual(tooOften, [], people.broken.join("\n"));
			assert.equal(done.size, count);
			assert.deepEqual(people.overlaps, []);
			assert.equal(countEvidence(server) - evidenceBefore, sum(done), "every evidence file was counted, and once");
			assert.deepEqual(
				(await store.leases.list()).map((lease) => lease.holder),
				[store.process],
				"all leases were given back",
			);
			assert.deepEqual(await store.dueProbes.counts({ nowMs: 2000 }), { running: 0, due: 0 });
			assert.equal((await store.journal.verify()).brokenAt, null);
		} finally {
			for (const child of [...people.children.keys()]) await people.kill(child, "SIGKILL");
			await store.close();
		}
	});

	test("killed processes lose nothing: leases are taken over, evidence counts once", async () => {
		const { store, people, evidenceBefore, registerMore } = await setUp(server);
		try {
			await registerMore(60);
			await Promise.all([1, 2, 3].map(() => people.add()));
			for (let kills = 1; kills <= KILLS; kills++) {
				await until(async () => (await doneByProvider(store)).size >= kills * 10);
				const [victim] = people.children.keys();
				await people.kill(victim!, "SIGKILL");
				// Its leases would hold for ten minutes more: the next one on the folder takes over what it had.
				await people.add();
			}
			await until(async () => (await doneByProvider(store)).size === 60);
			await until(async () => (await store.dueProbes.counts({ nowMs: 2000 })).running === 0);
			await Promise.all([...people.children.keys()].map((child) => people.kill(child, "SIGTERM")));
			await countTheRest(store);
			const counted = sum(await doneByProvider(store));
			assert.deepEqual(people.overlaps, []);
			assert.equal(counted, countEvidence(server) - evidenceBefore, "every evidence file was counted, and once");
			assert.equal((await store.overview({ nowMs: Date.now() })).probes.total.valid, counted);
			assert.equal((await store.probes.list({ state: "running" })).rows.length, 0);
			assert.equal((await store.journal.verify()).brokenAt, null);
		} finally {
			for (const child of [...people.children.keys()]) await people.kill(child, "SIGKILL");
			await store.close();
		}
	});
});
