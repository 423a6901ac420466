// Ten thousand registered providers on a 72-minute schedule before one validator process, or several on one
// PostgreSQL server: is the schedule kept, how quickly does the API answer meanwhile, what does it cost?
//   bash scripts/node.sh bench/network-load.ts [--providers 10000] [--validators 1] [--minutes 3] [--local 0]
//     [--real-files] [--node-options ""]
// One validator runs on the embedded server, several on Debian's PostgreSQL by its URL. --local: so many of
// the providers are on links that any process may open (the others belong to the process that they dialled),
// so that processes compete for them. --real-files: beside all that, as many files as probes come are
// verified that are as large as an H200's (vectors/h200.assay), because a toy's evidence is judged in a few
// milliseconds. Results: bench/results/network-load-….json. The simulated providers run on the same machine;
// their share is told apart.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startChild } from "../tests/network/child-program.ts";
import { claimOf, kindNamed } from "../tests/network/simulated-kinds.ts";
import { simulatedSigner } from "../tests/network/simulated-provider.ts";
import { openToyNetwork, type ToyNetwork, usageOf } from "../tests/network/toy-network.ts";
import type { LoopDelay } from "../tests/network/validator-process.ts";
import { postgresCpuS, quantile, writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: {
		providers: { type: "string", default: "10000" },
		validators: { type: "string", default: "1" },
		minutes: { type: "string", default: "3" },
		local: { type: "string", default: "0" },
		"real-files": { type: "boolean", default: false },
		// As the container starts a validator (deploy/Dockerfile).
		"node-options": { type: "string", default: "--max-semi-space-size=16" },
	},
});
const NODE_OPTIONS = values["node-options"];
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} ${NODE_OPTIONS}`;
// With what Node compiled before, as bin/assay.mjs does: a process that finds its modules there holds no
// compiler for types.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("../build/node-compile-cache", import.meta.url));
const PROVIDERS = Number(values.providers);
const VALIDATORS = Number(values.validators);
const WINDOW_MS = Number(values.minutes) * 60_000;
const LOCAL = Number(values.local);
const INTERVAL_MS = 72 * 60_000;
/** Requests a second, of all readers together. */
const READS_PER_S = 10;
const kind = kindNamed("honest");

/**
 * Rows as registering leaves them, but due one after the other over the whole interval: a network that has
 * run for a while.
 */
async function register(sql: ToyNetwork["sql"], ids: readonly string[]): Promise<void> {
	for (let at = 0; at < ids.length; at += 1000) {
		const some = ids.slice(at, at + 1000);
		const links = some.map((_, i) => (at + i < LOCAL ? "local" : "agent"));
		await sql.query(
			`INSERT INTO providers (id, name, link, target, state, price_per_hour_micros, rentable, ssh, registered_at_ms, next_probe_at_ms)
			SELECT id, 'toy', link, CASE WHEN link = 'local' THEN 'local' ELSE '' END, 'active', 1000000, false, false, $3::bigint, $3::bigint + $4::bigint
			FROM unnest($1::text[], $2::text[]) AS n (id, link)`,
			[some, links, Date.now(), INTERVAL_MS],
		);
		await sql.query("INSERT INTO provider_memory (provider_id) SELECT unnest($1::text[])", [some]);
		const claims = some.map((id) => JSON.stringify(claimOf(kind.host, id)));
		await sql.query(
			"INSERT INTO claims (provider_id, claim, at_ms) SELECT id, claim::jsonb, $3 FROM unnest($1::text[], $2::text[]) AS n (id, claim)",
			[some, claims, Date.now()],
		);
	}
}

interface Read {
	readonly route: string;
	readonly ms: number;
}

/** Reads routes in turn, at an even rate, whatever the answers take. */
function startReading(urls: readonly string[], ids: readonly string[], probeIds: () => readonly string[]) {
	const reads: Read[] = [];
	const failed: string[] = [];
	const open = new Set<Promise<void>>();
	let count = 0;
	const pick = <T>(some: readonly T[]) => some[Math.floor(Math.random() * some.length)];
	const paths: readonly (() => readonly [string, string])[] = [
		() => ["/v1/providers", "/v1/providers?limit=50&sort=score"],
		() => ["/v1/providers/:id", `/v1/providers/${pick(ids)}`],
		() => ["/v1/probes", "/v1/probes?limit=50"],
		() => ["/v1/network", "/v1/network"],
		() => ["/v1/providers/:id/probes", `/v1/providers/${pick(ids)}/probes`],
		() => ["/v1/probes/:id", `/v1/probes/${pick(probeIds()) ?? "0".repeat(32)}`],
		() => ["/v1/offers", "/v1/offers?limit=20"],
		() => ["/v1/health", "/v1/health"],
	];
	const one = async () => {
		const [route, path] = paths[count % paths.length]!();
		const url = urls[count++ % urls.length]!;
		const began = performance.now();
		const reply = await fetch(url + path);
		await reply.arrayBuffer();
		reads.push({ route, ms: performance.now() - began });
		if (reply.status >= 500 || (reply.status >= 400 && reply.status !== 404)) failed.push(`${path}: ${reply.status}`);
	};
	const timer = setInterval(() => {
		const read = one().catch((error: Error) => void failed.push(error.message));
		open.add(read);
		void read.finally(() => open.delete(read));
	}, 1000 / READS_PER_S);
	return {
		reads,
		failed,
		async stop() {
			clearInterval(timer);
			await Promise.all(open);
		},
	};
}

const network = await openToyNetwork({ external: VALIDATORS > 1 });
try {
	const validators = [];
	for (let i = 0; i < VALIDATORS; i++)
		validators.push(
			await network.startValidator({
				plan: "small",
				dispatchEveryMs: 1000,
				leaseMs: 30_000,
				params: { intervalMs: INTERVAL_MS, jitterMs: 15 * 60_000, retryFirstMs: 60_000, retries: 5 },
			}),
		);
	const urls = validators.map(({ url }) => url);
	const ids = Array.from({ length: PROVIDERS }, (_, i) => simulatedSigner(i).key);
	await register(network.sql, ids);
	console.error(`${PROVIDERS} registered, ${VALIDATORS} validator process(es); dialling`);
	const dialBegan = performance.now();
	const providers = await network.startProviders({
		urls,
		kinds: ids.slice(LOCAL).map(() => kind),
		processes: 1,
		from: LOCAL,
	});
	for (;;) {
		const { rows } = await network.sql.query("SELECT count(connected_to)::integer AS connected FROM providers");
		if (rows[0].connected >= PROVIDERS - LOCAL) break;
		await new Promise((resolve) => setTimeout(resolve, 200));
	}
	const dialS = (performance.now() - dialBegan) / 1000;
	console.error(`all have dialled in after ${dialS.toFixed(0)} s; measuring for ${values.minutes} min`);
	const children = validators.map(({ child }) => child);
	const t0 = Date.now();
	const { rows: due } = await network.sql.query(
		"UPDATE providers SET next_probe_at_ms = $1::bigint + floor(random() * $2::float8)::bigint RETURNING id, next_probe_at_ms::float8 AS at",
		[t0, INTERVAL_MS],
	);
	const dueAtMs = new Map(due.map(({ id, at }) => [id as string, at as number]));
	const before = { validator: await usageOf(children), simulated: await usageOf(providers), postgres: postgresCpuS() };
	let probeIds: readonly string[] = [];
	await Promise.all(children.map((child) => child.ask("loop")));
	const own = monitorEventLoopDelay({ resolution: 5 });
	own.enable();
	const reading = startReading(urls, ids, () => probeIds);
	const real = values["real-files"] ? startChild("../../bench/network-real-files.ts") : null;
	void real?.ask("start", { perS: PROVIDERS / (INTERVAL_MS / 1000) });
	let peakRss = 0;
	let peakOneRss = 0;
	while (Date.now() - t0 < WINDOW_MS) {
		await new Promise((resolve) => setTimeout(resolve, 5000));
		const each = await Promise.all(children.map((child) => usageOf([child])));
		peakRss = Math.max(
			peakRss,
			each.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
		);
		peakOneRss = Math.max(peakOneRss, ...each.map(({ rssBytes }) => rssBytes));
		probeIds = (await network.sql.query("SELECT id FROM probes ORDER BY started_at_ms DESC LIMIT 200")).rows.map(
			({ id }) => id,
		);
	}
	await reading.stop();
	const seconds = (Date.now() - t0) / 1000;
	const tEnd = Date.now();
	const after = { validator: await usageOf(children), simulated: await usageOf(providers), postgres: postgresCpuS() };
	const loops = await Promise.all(children.map((child) => child.ask<LoopDelay>("loop")));
	const realFiles = real === null ? null : await real.ask<{ files: number; cpuS: number }>("stop");
	const { rows: probes } = await network.sql.query(
		"SELECT provider_id, started_at_ms::float8 AS started, finished_at_ms::float8 AS finished, state, verdict, code, process FROM probes",
	);
	const times = new Map<string, number>();
	for (const { provider_id: id } of probes) times.set(id, (times.get(id) ?? 0) + 1);
	const lags = probes.map(({ provider_id: id, started }) => (started - dueAtMs.get(id)!) / 1000);
	// Whoever became due in the last ten seconds may still wait its turn.
	const wanted = [...dueAtMs].filter(([, at]) => at <= tEnd - 10_000).map(([id]) => id);
	const took = probes
		.filter(({ finished }) => finished !== null)
		.map((probe) => (probe.finished - probe.started) / 1000);
	const lost = await Promise.all(
		urls.map(async (url) => {
			const text = await (await fetch(`${url}/metrics`)).text();
			return Number(/^assay_leases_lost_total (\d+)/m.exec(text)?.[1] ?? 0);
		}),
	);
	const byRoute = Map.groupBy(reading.reads, ({ route }) => route);
	const ms = (reads: readonly Read[]) => ({
		reads: reads.length,
		p50Ms: quantile(reads, 0.5, (read) => read.ms),
		p99Ms: quantile(reads, 0.99, (read) => read.ms),
		maxMs: quantile(reads, 1, (read) => read.ms),
	});
	const rate = (key: "validator" | "simulated") => Number(((after[key].cpuS - before[key].cpuS) / seconds).toFixed(3));
	const result = {
		providers: PROVIDERS,
		onSharedLinks: LOCAL,
		validatorProcesses: VALIDATORS,
		nodeOptions: NODE_OPTIONS,
		server: VALIDATORS > 1 ? "external PostgreSQL, by its URL" : "embedded",
		intervalMinutes: INTERVAL_MS / 60_000,
		seconds: Math.round(seconds),
		dialInS: Math.round(dialS),
		probes: {
			count: probes.length,
			perS: Number((probes.length / seconds).toFixed(2)),
			dueInWindow: wanted.length,
			dueAndNotProbed: wanted.filter((id) => !times.has(id)).length,
			probedTwice: [...times.values()].filter((count) => count > 1).length,
			probedBeforeDue: lags.filter((lag) => lag < 0).length,
			notValid: probes.filter(({ state, verdict }) => state === "done" && verdict !== "valid").length,
			abandoned: probes.filter(({ state }) => state === "abandoned").length,
			byProcess: Object.values(Object.groupBy(probes, ({ process }) => process)).map((some) => some?.length),
			tookS: { p50: quantile(took, 0.5), p99: quantile(took, 0.99) },
		},
		lagS: { p50: quantile(lags, 0.5), p99: quantile(lags, 0.99), max: quantile(lags, 1) },
		leasesLost: lost.reduce((a, b) => a + b, 0),
		api: {
			perS: READS_PER_S,
			...ms(reading.reads),
			failed: reading.failed.length,
			// What the machine adds: how late the timers of the reading process itself were, which does nothing
			// else.
			readerHeldUpMs: { p99: Number((own.percentile(99) / 1e6).toFixed(1)), max: Number((own.max / 1e6).toFixed(1)) },
			byRoute: Object.fromEntries([...byRoute].map(([route, reads]) => [route, ms(reads)])),
		},
		eventLoopHeldUp: loops,
		validatorRssMiB: { all: Math.round(peakRss / 2 ** 20), largest: Math.round(peakOneRss / 2 ** 20) },
		coresUsed: {
			validators: rate("validator"),
			postgres: Number(((after.postgres - before.postgres) / seconds).toFixed(3)),
			simulatedProviders: rate("simulated"),
			realFiles: realFiles === null ? 0 : Number((realFiles.cpuS / seconds).toFixed(3)),
		},
		realFiles: realFiles?.files ?? 0,
		simulatedRssMiB: Math.round(after.simulated.rssBytes / 2 ** 20),
	};
	const name = `load-${VALIDATORS}-validator${VALIDATORS > 1 ? "s" : ""}${values["real-files"] ? "-real-files" : ""}`;
	console.log(JSON.stringify(result, null, "\t"));
	console.log(writeNetworkResult(name, result));
} finally {
	await network.close();
}
process.exit(0);
