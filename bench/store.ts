// How fast the store answers when the network is large: 10,000 providers with 4 cards each and their history. Prints milliseconds (median, 99th
// percentile); asserts nothing. Run: node bench/store.ts [providers] [probes per provider] — on the embedded server, or on DATABASE_URL.
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { openStore, serverFolder } from "../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../src/store/postgres/embedded-server.ts";
import type { ProviderFilter } from "../src/store/provider-query.ts";

const providers = Number(process.argv[2] ?? 10_000);
const history = Number(process.argv[3] ?? 20);
const dataDir = mkdtempSync(join(tmpdir(), "assay-bench-"));
const url = process.env.DATABASE_URL;
const schema = `bench_${randomBytes(4).toString("hex")}`;
const store = await openStore({
	dataDir,
	schema,
	statementTimeoutMs: 600_000,
	...(url === undefined ? {} : { databaseUrl: url }),
});
const client = new pg.Client(url === undefined ? await ensureEmbeddedServer({ folder: serverFolder(dataDir) }) : url);
await client.connect();
await client.query(`SET search_path = ${schema}`);

const figures = `jsonb_build_object('memory.resident', (20 + n % 120) * 1000000000::bigint, 'gemm.fp16', (40 + n % 700) * 1000000000000::bigint,
	'gemm.int8', (80 + n % 900) * 1000000000000::bigint, 'gemm.fp8', 1, 'gemm.bf16', 1, 'gemm.tf32', 1, 'fma.fp32', 1, 'fma.fp64', (n % 60) * 1000000000000::bigint,
	'fma.int32', 1, 'memory.bandwidth', (n % 4000) * 1000000000::bigint, 'pcie.up', 1, 'pcie.down', 1)`;
const id = (n: string) => `encode(sha256(convert_to('provider ' || ${n}, 'UTF8')), 'hex')`;
const filled = performance.now();
await client.query(`
	INSERT INTO providers (id, name, link, target, state, price_per_hour_micros, rentable, ssh, registered_at_ms, next_probe_at_ms, last_verdict, last_probe_at_ms,
		last_valid_at_ms, reliability_ppm, uptime_ppm, score_ppm, model, gpu_count, memory_bytes, fp16_ops_per_s, memory_bytes_per_s)
	SELECT ${id("n")}, 'host ' || n, 'ssh', 'ssh://host-' || n, 'active', (n * 7919) % 5000000, n % 10 > 0, true, n, n, 'valid', n, n, 900000, (n * 31) % 1000000,
		(n * 104729) % 1000000, 'model-' || n % 40, 4, (20 + n % 120) * 1000000000::bigint, (40 + n % 700) * 1000000000000::bigint, (n % 4000) * 1000000000::bigint
	FROM generate_series(1, ${providers}) n;
	INSERT INTO holdings SELECT ${id("n")}, 'model-' || n % 40, 4, (20 + n % 120) * 1000000000::bigint, (40 + n % 700) * 1000000000000::bigint,
		(n % 4000) * 1000000000::bigint, ${figures} FROM generate_series(1, ${providers}) n;
	INSERT INTO devices SELECT ${id("n")}, d, 'gpu', 'card', 'GPU-' || n || '-' || d, 1, 'model-' || n % 40, 'confirmed', 'p', 1
		FROM generate_series(1, ${providers}) n, generate_series(0, 3) d;
	INSERT INTO figures SELECT ${id("n")}, d, f.key, f.value::bigint, 'op/s', 'p', 'e', 1
		FROM generate_series(1, ${providers}) n, generate_series(0, 3) d, LATERAL jsonb_each_text(${figures}) f;
	CREATE TEMPORARY TABLE history AS SELECT n, ${id("n")} AS provider_id,
		(SELECT jsonb_agg(jsonb_build_object('device', d, 'name', f.key, 'value', f.value::bigint, 'unit', 'op/s', 'challenge', 0))
		FROM generate_series(0, 3) d, LATERAL jsonb_each_text(${figures}) f) AS figures FROM generate_series(1, ${providers}) n;
	INSERT INTO probes (id, provider_id, validator, process, link, state, started_at_ms, finished_at_ms, verdict, figures)
		SELECT left(encode(sha256(convert_to(n || ' ' || h, 'UTF8')), 'hex'), 32), provider_id, 'v', 'p', 'ssh', 'done', h * 1000000::bigint + n, 1, 'valid', figures
		FROM history, generate_series(1, ${history}) h;
	ANALYZE;`);
const size = await client.query(
	"SELECT pg_size_pretty(sum(pg_total_relation_size(c.oid))) AS size FROM pg_class c WHERE relnamespace = $1::regnamespace AND relkind = 'r'",
	[schema],
);
console.log(
	`${providers} providers, ${providers * history} probes, ${size.rows[0].size}; filled in ${Math.round((performance.now() - filled) / 1000)} s`,
);

async function time(what: string, runs: number, work: (run: number) => Promise<unknown>): Promise<void> {
	const times: number[] = [];
	for (let run = 0; run < runs + 3; run++) {
		const start = performance.now();
		await work(run);
		if (run >= 3) times.push(performance.now() - start);
	}
	times.sort((a, b) => a - b);
	const at = (share: number) =>
		times[Math.min(times.length - 1, Math.floor(share * times.length))]!.toFixed(1).padStart(8);
	console.log(`${what.padEnd(48)} median ${at(0.5)}  p99 ${at(0.99)}`);
}

const some = createHash("sha256").update("provider 77").digest("hex");
const search: ProviderFilter = {
	model: "model-7",
	minCount: 2,
	minMemoryBytes: 60e9,
	minFp16OpsPerS: 100e12,
	rented: false,
	maxPricePerHourMicros: 4e6,
};
await time("get", 200, async () => await store.providers.get(some));
for (const sort of ["score", "price", "fp16", "name"] as const)
	await time(`list by ${sort}, 50 a page`, 100, async () => await store.providers.list({ sort, limit: 50 }));
await time("list, 500 a page", 50, async () => await store.providers.list({ limit: 500 }));
let { cursor } = await store.providers.list({ limit: 500 });
for (let page = 0; page < 8 && cursor !== null; page++)
	({ cursor } = await store.providers.list({ limit: 500, cursor }));
await time("list, far down", 100, async () => await store.providers.list({ limit: 50, cursor }));
await time(
	"search: model, memory, fp16, price, free",
	100,
	async () => await store.providers.list({ filter: search, sort: "price" }),
);
await time("search: any figure, sorted by bandwidth", 100, async () => {
	await store.providers.list({ filter: { minFigures: { "fma.fp64": 50e12, "gemm.int8": 500e12 } }, sort: "bandwidth" });
});
await time(
	"search that finds nothing",
	100,
	async () => await store.providers.list({ filter: { minFp16OpsPerS: 9e15 }, sort: "price" }),
);
await time("search by a part of the name", 100, async () => await store.providers.list({ filter: { text: "999" } }));
await time("figures of one", 200, async () => await store.providers.figures(some));
await time("probes of one", 100, async () => await store.probes.list({ filter: { providerId: some } }));
await time("newest probes", 100, async () => await store.probes.list());
await time(
	"history of a figure",
	100,
	async () => await store.probes.figureHistory({ providerId: some, device: 0, name: "gemm.fp16" }),
);
await time("overview", 50, async () => await store.overview({ nowMs: Date.now() }));
/** From the look for due ones to the first handler, and everything given back. */
async function takeDue(nowMs: number, concurrency: number): Promise<void> {
	const taken = Promise.withResolvers<void>();
	const worker = store.dueProbes.take({ concurrency, retryMs: 0, nowMs: () => nowMs }, async () => taken.resolve());
	if (nowMs > 0) await taken.promise;
	await worker.stop();
}
await time("take 16 of the due and give them back", 50, async () => await takeDue(Date.now(), 16));
await time("look when nobody is due", 50, async () => await takeDue(0, 16));
console.log(`memory of this process: ${Math.round(process.memoryUsage().rss / 1e6)} MB`);

await client.query(`DROP SCHEMA ${schema} CASCADE`);
await client.end();
await store.close();
rmSync(dataDir, { recursive: true, force: true });
