// N12: a process ran while its machine's clock was wrong, by a day or by years, and has left its dates in the
// tables. When the clock is right again nothing waits for that day, and nobody is probed in a loop.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import pg from "pg";
import type { Store } from "../open-store.ts";
import { onBothServers } from "../postgres/servers.test-kit.ts";
import { finishOf, idOf, register } from "../sample-rows.test-kit.ts";

const DAY = 86_400_000;
const NOW = 1_790_000_000_000;
const FARTHEST = 20 * 3_600_000;

onBothServers((server) => {
	/** Who is taken in one look; `then` is what becomes of each. */
	async function look(store: Store, ids: readonly string[], then: (id: string) => Promise<void> = async () => {}) {
		const last = await register(store, `last ${ids.length} ${Math.random()}`, { nowMs: NOW });
		const taken: string[] = [];
		const over = Promise.withResolvers<void>();
		const options = { concurrency: 100, nowMs: () => NOW, farthestMs: FARTHEST };
		const worker = store.dueProbes.take(options, async ({ providerId, signal }) => {
			taken.push(providerId);
			if (providerId === last) return over.resolve();
			await then(providerId);
			if (!signal.aborted) await once(signal, "abort");
		});
		await over.promise;
		await worker.stop();
		await store.providers.setState(last, "removed", { nowMs: NOW, actor: "admin" });
		return ids.filter((id) => taken.includes(id));
	}

	/** As a process leaves it that counted a probe at that time. */
	async function probedAt(store: Store, id: string, name: string, atMs: number, nowMs?: number) {
		const probeId = idOf(name, 32);
		await store.leases.acquire(`provider/${id}`);
		await store.probes.begin({ id: probeId, providerId: id, validator: "v", startedAtMs: atMs });
		const base = finishOf(probeId);
		const provider = { ...base.provider, nextProbeAtMs: atMs + 72 * 60_000 };
		const more = nowMs === undefined ? {} : { nowMs };
		const result = await store.probes.finish({ ...base, ...more, finishedAtMs: atMs + 5000, provider });
		await store.leases.release(`provider/${id}`);
		return result;
	}

	for (const [name, aheadMs] of [
		["a day", DAY],
		["96 days", 96 * DAY],
		["30 years", 30 * 365 * DAY],
	] as const)
		test(`N12: probed by a clock that was ${name} ahead: due when it is right again, once, and counted`, async () => {
			const store = await server.open();
			const ids = await Promise.all(["wrong", "right"].map((one) => register(store, one, { nowMs: NOW })));
			const [wrong, right] = ids as [string, string];
			await probedAt(store, wrong, "future", NOW + aheadMs);
			await probedAt(store, right, "now", NOW - 1000);
			assert.deepEqual(await look(store, ids), [wrong]);
			const result = await probedAt(store, wrong, "again", NOW - 500, NOW);
			assert.deepEqual(result, { counted: true, latest: true });
			assert.deepEqual(await look(store, ids), [], "its next probe has a right date");
			const provider = await store.providers.get(wrong);
			assert.deepEqual([provider?.lastProbeAtMs, provider?.nextProbeAtMs], [NOW - 500, NOW - 500 + 72 * 60_000]);
		});

	test("N12: a clock that was years behind leaves nothing but due providers; a late count of an older probe stays older", async () => {
		const store = await server.open();
		const id = await register(store, "behind", { nowMs: NOW - 30 * 365 * DAY });
		await probedAt(store, id, "past", NOW - 30 * 365 * DAY);
		assert.deepEqual(await look(store, [id]), [id]);
		await probedAt(store, id, "newer", NOW - 60_000, NOW);
		assert.deepEqual(await probedAt(store, id, "older", NOW - 120_000, NOW), { counted: true, latest: false });
	});

	test("N12: a lease that a wrong clock made ends with it; one of a right clock does not", async () => {
		const one = await server.open({ leaseMs: 600_000 });
		const other = await server.open({ schema: one.schema, leaseMs: 600_000 });
		assert.ok(await one.leases.acquire("thing"));
		assert.equal(await other.leases.acquire("thing"), false);
		const client = new pg.Client(await server.connection());
		await client.connect();
		const set = (interval: string) =>
			client.query(
				`UPDATE ${one.schema}.leases SET expires_at = clock_timestamp() + interval '${interval}' WHERE name = 'thing'`,
			);
		await set("59 minutes");
		assert.equal(await other.leases.acquire("thing"), false);
		await set("1 day");
		assert.equal(await other.leases.acquire("thing"), true);
		await set("30 years");
		assert.deepEqual(await one.leases.list({ prefix: "thing" }), []);
		assert.equal(await one.leases.acquire("thing"), true);
		await client.end();
	});
});
