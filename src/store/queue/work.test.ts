// The queue within one process and between two stores: who is dispatched, who is not, what a failed handler leaves, what leases promise.
import assert from "node:assert/strict";
import { once } from "node:events";
import { beforeEach, test } from "node:test";
import { onBothServers } from "../postgres/servers.test-kit.ts";
import { finishOf, idOf, probe, register } from "../sample-rows.test-kit.ts";
import type { ProbeJob, Store } from "../store.ts";

const nowMs = () => 50_000;
const by = { nowMs: 2000, actor: "admin" };

/** Hands every job out to be looked at; `release` or the end of the store ends its handler. */
function collect() {
	const waiting: { job: ProbeJob; release: () => void; fail: (error: Error) => void }[] = [];
	let wake = Promise.withResolvers<void>();
	return {
		handler: async (job: ProbeJob): Promise<void> => {
			const done = Promise.withResolvers<void>();
			job.signal.addEventListener("abort", () => done.resolve());
			waiting.push({ job, release: done.resolve, fail: done.reject });
			wake.resolve();
			wake = Promise.withResolvers();
			await done.promise;
		},
		async next() {
			while (waiting.length === 0) await wake.promise;
			return waiting.shift()!;
		},
	};
}

/** Looks until it is so; the test's own time limit ends the wait. */
async function until(condition: () => Promise<boolean>): Promise<void> {
	while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

onBothServers((server) => {
	let store: Store;
	beforeEach(async () => {
		store = await server.open();
	});

	test("due, active, unrented, unleased providers are dispatched once each, longest due first", async () => {
		const late = await register(store, "late", { nowMs: 3000 });
		const early = await register(store, "early", { nowMs: 1000 });
		const future = await register(store, "future", { nowMs: 99_000 });
		const paused = await register(store, "paused");
		await store.providers.setState(paused, "paused", by);
		const leased = await register(store, "leased");
		await store.leases.acquire(`provider/${leased}`);
		const rented = await register(store, "rented");
		const row = {
			id: idOf("r", 32),
			providerId: rented,
			customer: "c",
			publicKey: "k",
			pricePerHourMicros: 1,
			devices: [],
		};
		await store.rentals.reserve({ ...row, reservedAtMs: 1, untilMs: 2 }, { actor: "c" });
		const agent = await register(store, "agent", { link: "agent" });
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 4000, limit: 1 }), [early]);
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 4000, limit: 100 }), [late]);
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 4000, limit: 100 }), []);
		assert.deepEqual(await store.work.counts({ nowMs: 4000 }), { queued: 2, running: 0, due: 2 });
		await store.providers.connect(agent, { nowMs: 1 });
		await store.leases.release(`provider/${leased}`);
		await store.rentals.change({ id: row.id, from: "reserved", to: "refused", atMs: 4000, actor: "p" });
		await store.providers.setState(paused, "active", by);
		const rest = await store.work.dispatchDue({ nowMs: 4000, limit: 100 });
		assert.deepEqual([...rest].sort(), [agent, leased, rented, paused].sort());
		assert.equal((await store.providers.get(future))?.jobId, null);
		await store.close();
	});

	test("a job is taken under a lease, and its probe completes it", async () => {
		const id = await register(store, "one");
		const jobs = collect();
		await store.work.take({ concurrency: 2, nowMs }, jobs.handler);
		await store.work.dispatchDue({ nowMs: 2000, limit: 10 });
		const { job, release } = await jobs.next();
		assert.equal(job.providerId, id);
		assert.equal((await store.leases.holder(`provider/${id}`))?.holder, store.process);
		assert.deepEqual(await store.work.counts({ nowMs: 2000 }), { queued: 0, running: 1, due: 0 });
		assert.deepEqual(await probe(store, job, "one"), { counted: true, latest: true });
		// Counted, but the handler still runs: not due, not leased to anyone else.
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 200_000, limit: 10 }), []);
		release();
		await until(async () => (await store.leases.holder(`provider/${id}`)) === null);
		assert.equal((await store.providers.get(id))?.nextProbeAtMs, 100_000);
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 200_000, limit: 10 }), [id]);
		release();
		await store.close();
	});

	test("a handler that fails leaves its provider due again, later each time, and its probe abandoned", async () => {
		const id = await register(store, "fails");
		const jobs = collect();
		await store.work.take({ concurrency: 1, retryMs: 1000, nowMs }, jobs.handler);
		for (const [round, dueAtMs] of [51_000, 52_000, 54_000].entries()) {
			await store.work.dispatchDue({ nowMs: 60_000, limit: 10 });
			const { job, fail } = await jobs.next();
			const probeId = idOf(`fails ${round}`, 32);
			await store.probes.begin({ id: probeId, providerId: id, jobId: job.id, validator: "v", startedAtMs: round });
			fail(new Error("the link broke"));
			await until(async () => (await store.leases.holder(`provider/${id}`)) === null);
			const provider = await store.providers.get(id);
			assert.deepEqual([provider?.nextProbeAtMs, provider?.jobId], [dueAtMs, null]);
			assert.equal((await store.probes.get(probeId))?.state, "abandoned");
		}
		await store.close();
	});

	test("what is rented or paused while queued is not probed", async () => {
		const [rented, paused, free] = [
			await register(store, "a"),
			await register(store, "b"),
			await register(store, "c", { nowMs: 1001 }),
		];
		await store.work.dispatchDue({ nowMs: 2000, limit: 10 });
		const row = {
			id: idOf("r", 32),
			providerId: rented,
			customer: "c",
			publicKey: "k",
			pricePerHourMicros: 1,
			devices: [],
		};
		await store.rentals.reserve({ ...row, reservedAtMs: 1, untilMs: 2 }, { actor: "c" });
		await store.providers.setState(paused, "paused", by);
		const jobs = collect();
		await store.work.take({ concurrency: 5, nowMs }, jobs.handler);
		const { job, release } = await jobs.next();
		assert.equal(job.providerId, free);
		await until(async () => (await store.work.counts({ nowMs: 0 })).queued === 0);
		assert.deepEqual(await store.work.counts({ nowMs: 0 }), { queued: 0, running: 1, due: 0 });
		await store.providers.setState(paused, "active", by);
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 2000, limit: 10 }), [paused]);
		release();
		await store.close();
	});

	test("agents are probed by the process that holds their connection", async () => {
		const other = await server.open({ schema: store.schema });
		const mine = await register(store, "mine", { link: "agent" });
		const theirs = await register(store, "theirs", { link: "agent" });
		await store.providers.connect(mine, { nowMs: 1 });
		await other.providers.connect(theirs, { nowMs: 1 });
		assert.deepEqual(await store.work.dispatchDue({ nowMs: 2000, limit: 10 }), [mine]);
		assert.deepEqual(await other.work.dispatchDue({ nowMs: 2000, limit: 10 }), [theirs]);
		const [here, there] = [collect(), collect()];
		await other.work.take({ concurrency: 5, nowMs }, there.handler);
		const second = await there.next();
		assert.equal(second.job.providerId, theirs);
		await store.work.take({ concurrency: 5, nowMs }, here.handler);
		const first = await here.next();
		assert.equal(first.job.providerId, mine);
		first.release();
		second.release();
		// A connection belongs to the last who got it; the former holder's farewell does not end it.
		await other.providers.connect(mine, { nowMs: 2 });
		await store.providers.disconnect(mine, { nowMs: 3 });
		assert.equal((await store.providers.get(mine))?.connectedTo, other.process);
		await other.close();
		assert.equal((await store.providers.get(mine))?.connectedTo, null);
		await store.close();
	});

	test("suspects are dispatched together or not at all", async () => {
		const other = await server.open({ schema: store.schema });
		const a = await register(store, "a", { link: "agent", nowMs: 99_000 });
		const b = await register(store, "b", { link: "agent", nowMs: 99_000 });
		const c = await register(store, "c", { nowMs: 99_000 });
		const order = { providerIds: [a, b, c], startAtMs: 7000, nowMs: 2000 };
		await store.providers.connect(a, { nowMs: 1 });
		assert.equal(await store.work.dispatchTogether(order), false, "b is nowhere");
		await other.providers.connect(b, { nowMs: 1 });
		await store.leases.acquire(`provider/${c}`);
		assert.equal(await store.work.dispatchTogether(order), false, "c is busy");
		await store.leases.release(`provider/${c}`);
		assert.equal((await store.work.counts({ nowMs: 0 })).queued, 0);
		assert.equal(await store.work.dispatchTogether(order), true);
		assert.equal(await store.work.dispatchTogether(order), false);
		const [here, there] = [collect(), collect()];
		await store.work.take({ concurrency: 2, nowMs }, here.handler);
		await other.work.take({ concurrency: 1, nowMs }, there.handler);
		const found = [await here.next(), await here.next(), await there.next()];
		assert.deepEqual(found.map(({ job }) => job.providerId).sort(), [a, b, c].sort());
		assert.deepEqual(new Set(found.map(({ job }) => job.together?.id)).size, 1);
		assert.deepEqual(
			found.map(({ job }) => job.together?.startAtMs),
			[7000, 7000, 7000],
		);
		for (const { release } of found) release();
		await other.close();
		await store.close();
	});

	test("closing aborts what runs, gives everything back and leaves it due", async () => {
		const other = await server.open({ schema: store.schema });
		const id = await register(store, "shut");
		await store.work.dispatchDue({ nowMs: 2000, limit: 1 });
		const started = Promise.withResolvers<void>();
		await store.work.take({ concurrency: 1, nowMs }, async (job) => {
			started.resolve();
			await once(job.signal, "abort");
		});
		await started.promise;
		await store.close();
		const provider = await other.providers.get(id);
		assert.deepEqual([provider?.jobId, provider?.nextProbeAtMs], [null, 50_000]);
		assert.deepEqual(
			(await other.leases.list()).map((lease) => lease.holder),
			[other.process],
		);
		assert.deepEqual(await other.work.dispatchDue({ nowMs: 50_000, limit: 1 }), [id]);
		await other.close();
	});

	test("a lease is held by one, renewed by itself, lost when it was taken", async () => {
		const other = await server.open({ schema: store.schema, leaseMs: 600 });
		const third = await server.open({ schema: store.schema, leaseMs: 600 });
		assert.equal(await other.leases.acquire("epoch"), true);
		assert.equal(await other.leases.acquire("epoch"), true);
		assert.equal(await third.leases.acquire("epoch"), false);
		const first = await third.leases.holder("epoch");
		await until(async () => (await third.leases.holder("epoch"))!.expiresAtMs > first!.expiresAtMs);
		const lost = Promise.withResolvers<string>();
		other.leases.onLost(lost.resolve);
		await third.leases.release("epoch");
		assert.equal(
			(await third.leases.holder("epoch"))?.holder,
			other.process,
			"who does not hold it cannot give it back",
		);
		await other.leases.release("epoch");
		assert.equal(await third.leases.acquire("epoch"), true);
		// Taken away behind its back, as a take-over would: the holder is told.
		await other.leases.acquire("mine");
		const { Client } = (await import("pg")).default;
		const client = new Client(await server.connection());
		await client.connect();
		await client.query(`DELETE FROM ${store.schema}.leases WHERE name = 'mine'`);
		await client.end();
		assert.equal(await lost.promise, "mine");
		for (const opened of [other, third, store]) await opened.close();
	});

	test("a crash between evidence and transaction is recovered and counted once", async () => {
		const id = await register(store, "crash");
		const victim = await server.open({ schema: store.schema, leaseMs: 300 });
		await victim.leases.acquire(`provider/${id}`);
		const probeId = idOf("crash", 32);
		await victim.probes.begin({ id: probeId, providerId: id, jobId: null, validator: "v", startedAtMs: 5 });
		const evidence = await victim.evidence.put(probeId, Buffer.from(`crash on ${server.name}`));
		// While its lease lives, it may still be at work.
		assert.deepEqual((await store.probes.recover({ nowMs: 6 })).pending, []);
		await victim.leases.release(`provider/${id}`);
		const { pending, abandoned } = await store.probes.recover({ nowMs: 7 });
		assert.deepEqual(
			pending.map((entry) => [entry.probeId, entry.evidenceSha256, entry.probe?.state]),
			[[probeId, evidence.sha256, "abandoned"]],
		);
		assert.deepEqual(
			abandoned.map((row) => row.id),
			[probeId],
		);
		// Two recover it at once.
		const results = await Promise.all(
			[store, victim].map((each) => each.probes.finish(finishOf(probeId, { evidence }))),
		);
		assert.deepEqual(results.map((result) => result.counted).sort(), [false, true]);
		assert.deepEqual((await store.probes.recover({ nowMs: 8 })).pending, []);
		assert.equal((await store.overview({ nowMs: 5000 })).probes.total.valid, 1);
		assert.equal((await store.audit.verify()).brokenAt, null);

		// Killed between the transaction and the removal of the note; and a note of another database.
		await store.evidence.put(probeId, Buffer.from(`crash on ${server.name}`));
		const stranger = idOf("stranger", 32);
		await store.evidence.put(stranger, Buffer.from("stranger"));
		const again = await store.probes.recover({ nowMs: 9 });
		assert.deepEqual(
			again.pending.map((entry) => [entry.probeId, entry.probe]),
			[[stranger, null]],
		);
		await store.evidence.dropPending(stranger);
		await victim.close();
		await store.close();
	});
});
