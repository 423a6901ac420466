// A database as the version before the queue moved into the rows left it (migrations 1 and 2, pg-boss beside
// them), opened by this one: everything is found again, and what was queued or running there is probed again.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import pg from "pg";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import type { ProviderMemory } from "../../protocol/network/provider-memory.ts";
import { cardFigures, gpu, idOf, memory, probe } from "../sample-rows.test-kit.ts";
import { MIGRATIONS, migrate } from "./migrations.ts";
import { onBothServers } from "./servers.test-kit.ts";
import { inTransaction } from "./sql.ts";

const [queued, running, fresh] = ["queued", "running", "fresh"].map((name) => idOf(name)) as [string, string, string];
const [done, cut] = [idOf("done", 32), idOf("cut", 32)];

const remembered: ProviderMemory = memory({
	why: "interval",
	lastStartedAtMs: 4000,
	validSinceWithheld: 3,
	changeProbeAtMs: 3500,
	suspicion: { kind: "shared-uuid", sinceMs: 3900, uuids: ["gpu-0"] },
	suspectProbeAtMs: 3900,
	proof: { probeId: done, evidence: idOf("file"), provenAtMs: 4000, claimedRamBytes: 5, rentedMs: 7 },
	firstProven: [{ uuid: "gpu-0", atMs: 4000 }],
	series: [{ uuid: "gpu-0", name: "gemm.fp16", values: [1, 2, 667_000_000_000_000] }],
	clearedWith: [{ providerId: running, atMs: 3950 }],
	recent: [{ evidence: idOf("file"), counts: "success" }],
	reliabilityBeforePpm: 900_000,
	provenInMs: 0,
	turn: 0,
	together: { group: "g", status: "valid", code: null, startedAtMs: 1, endedAtMs: 2, window: { fromMs: 1, toMs: 2 } },
});

/** Rows as that version wrote them. */
async function fill(client: pg.Client, schema: string): Promise<void> {
	await inTransaction(client, async (sql) => await migrate(sql, schema, MIGRATIONS.slice(0, 2)));
	await client.query(`SET search_path = ${schema}; CREATE SCHEMA ${schema}_queue;
		CREATE TABLE ${schema}_queue.version (version integer); CREATE TABLE ${schema}_queue.job (id uuid, name text)`);
	const job = "0b0e8e0e-6d5f-4c58-a4f2-6a0a3c0f7d11";
	const provider = `INSERT INTO providers (id, name, link, target, state, price_per_hour_micros, rentable, ssh, registered_at_ms, next_probe_at_ms,
		schedule, job_id, job_queue, job_at_ms, job_taken_by) VALUES ($1, $2, 'ssh', 'ssh://a', 'active', 5, true, true, 1000, 5000, $3, $4, $5, $6, $7)`;
	const schedule = JSON.stringify({ version: 1, ...remembered });
	await client.query(provider, [queued, "queued", schedule, job, "probe", 5001, null]);
	await client.query(provider, [running, "running", schedule, job, "probe.p1", 5001, "p1"]);
	await client.query(provider, [fresh, "fresh", "null", null, null, null, null]);
	const row = `INSERT INTO probes (id, provider_id, job_id, validator, process, link, state, started_at_ms, finished_at_ms, verdict, evidence_sha256, figures, devices)
		VALUES ($1, $2, $3, 'v', 'p1', 'ssh', $4, 4000, $5, $6, $7, $8, $9)`;
	const [figures, devices] = [JSON.stringify(cardFigures(0)), JSON.stringify([gpu(0)])];
	await client.query(row, [done, queued, job, "done", 4500, "valid", idOf("file"), figures, devices]);
	await client.query(row, [cut, running, job, "running", null, null, null, "[]", "[]"]);
	await client.query(
		`INSERT INTO leases VALUES ('provider/${running}', 'p1', now() - interval '1 h'), ('process/p1', 'p1', now() - interval '1 h')`,
	);
	const line = { seq: 1, atMs: 4500, actor: "v", kind: "probe.done", subject: queued, detail: `{"probe":"${done}"}` };
	const hash = createHash("sha256").update(Buffer.alloc(32)).update(encodeCanonicalJson(line)).digest();
	await client.query("INSERT INTO audit VALUES ($1, $2, $3, $4, $5, $6, $7)", [...Object.values(line), hash]);
}

onBothServers((server) => {
	test("a database of the version before is opened: nothing is lost, and who was queued is probed", async () => {
		const schema = `before_${server.name}`;
		const client = new pg.Client(await server.connection());
		await client.connect();
		try {
			await fill(client, schema);
			const store = await server.open({ schema });
			assert.deepEqual((await store.providers.recall(queued))?.memory, remembered);
			assert.deepEqual((await store.providers.recall(fresh))?.memory, memory());
			const found = await store.probes.get(done);
			assert.deepEqual(
				[found?.verdict, found?.evidenceSha256, found?.figures, found?.devices],
				["valid", idOf("file"), cardFigures(0), [gpu(0)]],
			);
			await store.journal.append({ actor: "a", kind: "k", subject: "s", detail: {} }, { nowMs: 6000 });
			const { lines, brokenAt } = await store.journal.verify();
			assert.deepEqual([lines, brokenAt], [2, null]);
			const queue = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [`${schema}_queue`]);
			assert.equal(queue.rowCount, 0);
			// What the dead process was at is given up by the first who looks, as ever.
			await store.probes.recover({ nowMs: 6000 });
			assert.equal((await store.probes.get(cut))?.state, "abandoned");

			const all = Promise.withResolvers<void>();
			const probed = new Set<string>();
			const worker = store.dueProbes.take({ concurrency: 3, nowMs: () => 6000 }, async (due) => {
				const { counted } = await probe(store, due, `again ${due.providerId}`);
				if (counted) probed.add(due.providerId);
				if (probed.size === 3) all.resolve();
			});
			await all.promise;
			await worker.stop();
			assert.deepEqual(probed, new Set([queued, running, fresh]));
			await store.close();
			const again = await server.open({ schema });
			assert.equal((await again.probes.list({ state: "done" })).rows.length, 4);
		} finally {
			await client.end();
		}
	});
});
