// Due probes within one process and between two stores: who is taken, who is not, what a failed handler
// leaves, what leases promise.
import assert from "node:assert/strict";
import { once } from "node:events";
import { beforeEach, test } from "node:test";
import pg from "pg";
import type { Store } from "../open-store.ts";
import { onBothServers } from "../postgres/servers.test-kit.ts";
import { finishOf, idOf, memory, probe, register } from "../sample-rows.test-kit.ts";
import type { DueProbe } from "./due-probes.ts";
import type { Lease } from "./leases.ts";

const nowMs = () => 50_000;
const by = { nowMs: 2000, actor: "admin" };

/** Hands every probe out to be looked at; `release` or the end of the store ends its handler. */
function collect() {
	const waiting: { due: DueProbe; release: () => void; fail: (error: Error) => void }[] = [];
	let wake = Promise.withResolvers<void>();
	return {
		handler: async (due: DueProbe): Promise<void> => {
			const done = Promise.withResolvers<void>();
			due.signal.addEventListener("abort", () => done.resolve());
			waiting.push({ due, release: done.resolve, fail: done.reject });
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

let looks = 0;

/** Whom one look takes; all are given back. One more provider, due as well, shows that the look is over. */
async function takenAt(store: Store, atMs: number): Promise<readonly string[]> {
	const last = await register(store, `last of look ${++looks}`, { nowMs: atMs });
	const taken: string[] = [];
	const over = Promise.withResolvers<void>();
	const worker = store.dueProbes.take({ concurrency: 100, nowMs: () => atMs }, async ({ providerId, signal }) => {
		if (providerId === last) over.resolve();
		else taken.push(providerId);
		if (!signal.aborted) await once(signal, "abort");
	});
	await over.promise;
	await worker.stop();
	await store.providers.setState(last, "removed", by);
	return taken.sort();
}

async function leaseOf(store: Store, name: string): Promise<Lease | undefined> {
	return (await store.leases.list({ prefix: name })).find((lease) => lease.name === name);
}

function rental(providerId: string) {
	const row = { id: idOf(`rental of ${providerId}`, 32), providerId, customer: "c", publicKey: "k", devices: [] };
	return { ...row, pricePerHourMicros: 1, reservedAtMs: 1, untilMs: 2, escrow: null };
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

	test("due, active, unrented, unleased providers are taken, longest due first", async () => {
		const late = await register(store, "late", { nowMs: 3000 });
		const early = await register(store, "early", { nowMs: 1000 });
		await register(store, "future", { nowMs: 99_000 });
		const paused = await register(store, "paused");
		await store.providers.setState(paused, "paused", by);
		const leased = await register(store, "leased");
		await store.leases.acquire(`provider/${leased}`);
		const rented = await register(store, "rented");
		await store.rentals.reserve(rental(rented), { actor: "c" });
		const agent = await register(store, "agent", { link: "agent" });
		assert.deepEqual(await store.dueProbes.counts({ nowMs: 4000 }), { running: 0, due: 4 });
		const probes = collect();
		const worker = store.dueProbes.take({ concurrency: 1, nowMs: () => 4000 }, probes.handler);
		for (const expected of [early, late]) {
			const { due, release } = await probes.next();
			assert.equal(due.providerId, expected);
			assert.deepEqual((await store.dueProbes.counts({ nowMs: 4000 })).running, 1);
			release();
			await until(async () => (await leaseOf(store, `provider/${expected}`)) === undefined);
		}
		await worker.stop();
		assert.deepEqual(await takenAt(store, 4000), []);
		await store.connections.connect(agent, { nowMs: 1 });
		await store.leases.release(`provider/${leased}`);
		const end = { id: rental(rented).id, from: "reserved", to: "refused", atMs: 4000, actor: "p" } as const;
		await store.rentals.change(end);
		await store.providers.setState(paused, "active", by);
		assert.deepEqual(await takenAt(store, 4000), [agent, leased, rented, paused].sort());
		await store.close();
	});

	test("prompt hosts first, the others by their turn and never more than their places", async () => {
		const ids: Record<string, string> = {};
		for (const [name, turn, atMs] of [
			["stalled", 5, 1],
			["new", 2, 2],
			["second", 2, 3],
			["prompt", 0, 4],
		] as const) {
			const id = await register(store, name, { nowMs: atMs });
			await store.providers.remember(id, memory({ turn }));
			ids[name] = id;
		}
		const probes = collect();
		const worker = store.dueProbes.take({ concurrency: 3, others: 1, nowMs }, probes.handler);
		const first = [await probes.next(), await probes.next()];
		assert.deepEqual(first.map(({ due }) => due.providerId).sort(), [ids.prompt, ids.new].sort());
		assert.equal((await store.dueProbes.counts({ nowMs: 50_000 })).running, 2, "a place stays free");
		first.find(({ due }) => due.providerId === ids.new)!.release();
		const next = await probes.next();
		assert.ok(next.due.providerId !== ids.prompt);
		assert.equal((await store.dueProbes.counts({ nowMs: 50_000 })).running, 2);
		await worker.stop();
		await store.close();
	});

	test("a provider is taken under a lease, and its counted probe frees it", async () => {
		const id = await register(store, "one");
		const probes = collect();
		store.dueProbes.take({ concurrency: 2, nowMs }, probes.handler);
		const { due, release } = await probes.next();
		assert.equal(due.providerId, id);
		assert.equal((await leaseOf(store, `provider/${id}`))?.holder, store.process);
		assert.equal((await store.providers.get(id))?.probedBy, store.process);
		assert.deepEqual(await store.dueProbes.counts({ nowMs: 2000 }), { running: 1, due: 0 });
		assert.deepEqual(await probe(store, due, "one"), { counted: true, latest: true });
		assert.equal((await store.providers.get(id))?.probedBy, null);
		// Counted, but the handler still runs: nobody else has it, due or not.
		assert.deepEqual(await takenAt(store, 200_000), []);
		release();
		await until(async () => (await leaseOf(store, `provider/${id}`)) === undefined);
		assert.equal((await store.providers.get(id))?.nextProbeAtMs, 100_000);
		assert.deepEqual(await takenAt(store, 200_000), [id]);
		await store.close();
	});

	test("a handler that fails leaves its provider due again, later each time, and its probe abandoned", async () => {
		const id = await register(store, "fails");
		const probes = collect();
		let clockMs = 50_000;
		const worker = store.dueProbes.take({ concurrency: 1, retryMs: 1000, nowMs: () => clockMs }, probes.handler);
		for (const [round, pauseMs] of [1000, 2000, 4000].entries()) {
			const { fail } = await probes.next();
			const probeId = idOf(`fails ${round}`, 32);
			await store.probes.begin({ id: probeId, providerId: id, validator: "v", startedAtMs: round });
			fail(new Error("the link broke"));
			await until(async () => (await leaseOf(store, `provider/${id}`)) === undefined);
			const provider = await store.providers.get(id);
			assert.deepEqual([provider?.nextProbeAtMs, provider?.probedBy], [clockMs + pauseMs, null]);
			assert.equal((await store.probes.get(probeId))?.state, "abandoned");
			clockMs += pauseMs;
			worker.wake();
		}
		await store.close();
	});

	test("agents are probed by the process that holds their connection", async () => {
		const other = await server.open({ schema: store.schema });
		const mine = await register(store, "mine", { link: "agent" });
		const theirs = await register(store, "theirs", { link: "agent" });
		await store.connections.connect(mine, { nowMs: 1 });
		await other.connections.connect(theirs, { nowMs: 1 });
		assert.deepEqual(await takenAt(store, 2000), [mine]);
		assert.deepEqual(await takenAt(other, 2000), [theirs]);
		// A connection belongs to the last who got it; the former holder's farewell does not end it.
		await other.connections.connect(mine, { nowMs: 2 });
		await store.connections.disconnect(mine, { nowMs: 3 });
		assert.equal((await store.providers.get(mine))?.connectedTo, other.process);
		assert.deepEqual(await takenAt(store, 2000), []);
		await other.close();
		assert.equal((await store.providers.get(mine))?.connectedTo, null);
		await store.close();
	});

	test("suspects are called together or not at all", async () => {
		const other = await server.open({ schema: store.schema });
		const a = await register(store, "a", { link: "agent", nowMs: 99_000 });
		const b = await register(store, "b", { link: "agent", nowMs: 99_000 });
		const c = await register(store, "c", { nowMs: 99_000 });
		const order = { providerIds: [a, b, c], startAtMs: 7000, nowMs: 2000 };
		await store.connections.connect(a, { nowMs: 1 });
		assert.equal(await store.dueProbes.callTogether(order), false, "b is nowhere");
		await other.connections.connect(b, { nowMs: 1 });
		await store.leases.acquire(`provider/${c}`);
		assert.equal(await store.dueProbes.callTogether(order), false, "c is busy");
		await store.leases.release(`provider/${c}`);
		assert.deepEqual(await takenAt(store, 2000), []);
		const [here, there] = [collect(), collect()];
		store.dueProbes.take({ concurrency: 2, nowMs }, here.handler);
		other.dueProbes.take({ concurrency: 1, nowMs }, there.handler);
		assert.equal(await store.dueProbes.callTogether(order), true);
		const found = [await here.next(), await here.next(), await there.next()];
		assert.deepEqual(found.map(({ due }) => due.providerId).sort(), [a, b, c].sort());
		assert.equal(new Set(found.map(({ due }) => due.together?.id)).size, 1);
		for (const { due } of found)
			assert.deepEqual([due.together?.startAtMs, due.together?.providerIds], [7000, [a, b, c]]);
		assert.equal(await store.dueProbes.callTogether(order), false, "they are busy");
		for (const { release } of found) release();
		await other.close();
		await store.close();
	});

	test("a call goes before what is due, waits for who is rented or paused, and is forgotten after a minute", async () => {
		const due = await register(store, "due", { nowMs: 1 });
		const [rented, paused, free] = [
			await register(store, "rented", { nowMs: 999_000 }),
			await register(store, "paused", { nowMs: 999_000 }),
			await register(store, "free", { nowMs: 999_000 }),
		];
		const order = { providerIds: [rented, paused, free], startAtMs: 3000, nowMs: 2000 };
		assert.equal(await store.dueProbes.callTogether(order), true);
		assert.equal(await store.dueProbes.callTogether(order), false, "they are called already");
		await store.rentals.reserve(rental(rented), { actor: "c" });
		await store.providers.setState(paused, "paused", by);
		const probes = collect();
		const worker = store.dueProbes.take({ concurrency: 1, nowMs: () => 4000 }, probes.handler);
		const first = await probes.next();
		assert.deepEqual([first.due.providerId, first.due.together?.startAtMs], [free, 3000]);
		first.release();
		const second = await probes.next();
		assert.deepEqual([second.due.providerId, second.due.together], [due, null]);
		second.release();
		await until(async () => (await leaseOf(store, `provider/${due}`)) === undefined);
		await worker.stop();
		await store.providers.setState(paused, "active", by);
		assert.deepEqual(await takenAt(store, 63_000), [], "nobody waits for it any more");
		assert.equal(await store.dueProbes.callTogether({ ...order, providerIds: [paused], nowMs: 63_000 }), true);
		await store.close();
	});

	test("a process whose lease was lost takes the provider only when its handler has ended; another does at once", async () => {
		const other = await server.open({ schema: store.schema });
		const id = await register(store, "lost");
		const ended = Promise.withResolvers<void>();
		const began: string[] = [];
		const started = Promise.withResolvers<void>();
		const worker = store.dueProbes.take({ concurrency: 5, retryMs: 0, nowMs: () => 2000 }, async (due) => {
			began.push(due.providerId);
			started.resolve();
			await ended.promise;
		});
		await started.promise;
		const client = new pg.Client(await server.connection());
		await client.connect();
		await client.query(`DELETE FROM ${store.schema}.leases WHERE name = 'provider/${id}'`);
		await client.end();
		await other.probes.recover({ nowMs: 2000 });
		assert.equal((await store.providers.get(id))?.probedBy, null);
		const seen = await register(store, "seen by the second look");
		worker.wake();
		await until(async () => began.includes(seen));
		assert.deepEqual(began, [id, seen]);
		assert.deepEqual(await takenAt(other, 2000), [id]);
		ended.resolve();
		await other.close();
		await store.close();
	});

	test("closing aborts what runs, gives everything back and leaves it due", async () => {
		const other = await server.open({ schema: store.schema });
		const id = await register(store, "shut");
		const started = Promise.withResolvers<void>();
		store.dueProbes.take({ concurrency: 1, nowMs }, async (due) => {
			started.resolve();
			await once(due.signal, "abort");
		});
		await started.promise;
		await store.close();
		const provider = await other.providers.get(id);
		assert.deepEqual([provider?.probedBy, provider?.nextProbeAtMs], [null, 50_000]);
		assert.deepEqual(
			(await other.leases.list()).map((lease) => lease.holder),
			[other.process],
		);
		assert.deepEqual(await takenAt(other, 50_000), [id]);
		await other.close();
	});

	test("a lease is held by one, renewed by itself, lost when it was taken", async () => {
		const [other, third] = [
			await server.open({ schema: store.schema, leaseMs: 600_000 }),
			await server.open({ schema: store.schema, leaseMs: 600_000 }),
		];
		assert.equal(await other.leases.acquire("epoch"), true);
		assert.equal(await other.leases.acquire("epoch"), true);
		assert.equal(await third.leases.acquire("epoch"), false);
		await third.leases.release("epoch");
		assert.equal((await leaseOf(third, "epoch"))?.holder, other.process, "who does not hold it cannot give it back");
		await other.leases.release("epoch");
		assert.equal(await third.leases.acquire("epoch"), true);
		// One whose heart beats often. A busy machine may let it expire in between: then it is not listed.
		const beating = await server.open({ schema: store.schema, leaseMs: 1000 });
		assert.equal(await beating.leases.acquire("mine"), true);
		let firstMs = 0;
		await until(async () => {
			firstMs = (await leaseOf(third, "mine"))?.expiresAtMs ?? 0;
			return firstMs > 0;
		});
		await until(async () => ((await leaseOf(third, "mine"))?.expiresAtMs ?? 0) > firstMs);
		// Taken away behind its back, as a take-over would: the holder is told.
		const lost = Promise.withResolvers<string>();
		beating.leases.onLost(lost.resolve);
		const client = new pg.Client(await server.connection());
		await client.connect();
		await client.query(`DELETE FROM ${store.schema}.leases WHERE name = 'mine'`);
		await client.end();
		assert.equal(await lost.promise, "mine");
		for (const opened of [beating, other, third, store]) await opened.close();
	});

	test("a crash between evidence and transaction is recovered and counted once", async () => {
		const id = await register(store, "crash");
		const victim = await server.open({ schema: store.schema });
		await victim.leases.acquire(`provider/${id}`);
		const probeId = idOf("crash", 32);
		await victim.probes.begin({ id: probeId, providerId: id, validator: "v", startedAtMs: 5 });
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
		assert.equal((await store.journal.verify()).brokenAt, null);

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
