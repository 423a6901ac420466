// A silent, a trickling and a flooding provider among a hundred: by how much do the others' probes take
// longer?
//   bash scripts/node.sh bench/network-disturbers.ts [--rounds 6] [--seconds 20]
// Rounds with and without them take turns, so that what else the machine does falls on both. Each round
// counts the others' probes from due to verdict and from begun to verdict. Results:
// bench/results/network-disturbers-….json. Exit code 1 when the others' median is delayed by more than 10 %.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startChild } from "../tests/network/child-program.ts";
import type { StartProviders } from "../tests/network/provider-process.ts";
import { kindNamed } from "../tests/network/simulated-kinds.ts";
import { simulatedSigner } from "../tests/network/simulated-provider.ts";
import { openToyNetwork } from "../tests/network/toy-network.ts";
import { quantile, writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: { rounds: { type: "string", default: "6" }, seconds: { type: "string", default: "20" } },
});
const OTHERS = 97;
const DISTURBERS = ["silence-after-claim", "trickled-openings", "endless-progress"];
/**
 * Each of the others is probed so often: five probes a second, twice the rate of 10,000 providers in 72
 * minutes, and few enough for the toys to keep up.
 */
const INTERVAL_MS = 20_000;
const ROUNDS = Number(values.rounds);
const ROUND_MS = Number(values.seconds) * 1000;

interface Took {
	readonly latencyMs: number;
	readonly probeMs: number;
}

const network = await openToyNetwork();
try {
	const { url, child } = await network.startValidator({
		plan: "small",
		dispatchEveryMs: 100,
		params: { intervalMs: INTERVAL_MS, jitterMs: 1, retryFirstMs: 1000, retries: 5, maxAgeMs: 3_600_000 },
	});
	await network.startProviders({
		urls: [url],
		kinds: Array.from({ length: OTHERS }, () => kindNamed("honest")),
		processes: 1,
	});
	const ids = DISTURBERS.map((_, i) => simulatedSigner(OTHERS + i).key);
	await sleep(INTERVAL_MS);

	/** Honest probes that began in this round. Due is when the interval after the one before was over. */
	const measure = async (): Promise<Took[]> => {
		const fromMs = Date.now();
		await sleep(ROUND_MS);
		const { rows } = await network.sql.query(
			`SELECT finished_at_ms::float8 - started_at_ms::float8 AS probe, finished_at_ms::float8 - before - $3::float8 AS latency FROM
				(SELECT *, lag(started_at_ms) OVER (PARTITION BY provider_id ORDER BY started_at_ms)::float8 AS before FROM probes WHERE state = 'done') r
			WHERE started_at_ms >= $1 AND NOT provider_id = ANY ($2) AND before IS NOT NULL AND verdict = 'valid'`,
			[fromMs, ids, INTERVAL_MS],
		);
		return rows.map(({ probe, latency }) => ({ probeMs: probe, latencyMs: latency }));
	};
	const without: Took[] = [];
	const withThem: Took[] = [];
	let disturbed = 0;
	for (let round = 0; round < ROUNDS; round++) {
		without.push(...(await measure()));
		// In a process of their own: what they burn there is theirs.
		const crowd = startChild("./provider-process.ts");
		await crowd.ask("start", {
			urls: [url],
			providers: DISTURBERS.map((kind, i) => ({ number: OTHERS + i, kind })),
		} satisfies StartProviders);
		await sleep(2000);
		withThem.push(...(await measure()));
		crowd.kill("SIGKILL");
		await crowd.ended;
		const { rows } = await network.sql.query(
			"SELECT count(*)::integer AS count FROM probes WHERE provider_id = ANY ($1)",
			[ids],
		);
		disturbed = rows[0].count;
		await network.sql.query("UPDATE providers SET retries = 0 WHERE id = ANY ($1)", [ids]);
		await sleep(2000);
		console.error(
			`round ${round + 1} of ${ROUNDS}: ${without.length} probes without, ${withThem.length} with; ${disturbed} of theirs`,
		);
	}
	const spread = (ms: readonly number[]) => ({
		p50: quantile(ms, 0.5),
		p90: quantile(ms, 0.9),
		mean: Math.round(ms.reduce((total, one) => total + one, 0) / ms.length),
	});
	const sum = (took: readonly Took[]) => ({
		probes: took.length,
		dueToVerdictMs: spread(took.map(({ latencyMs }) => latencyMs)),
		begunToVerdictMs: spread(took.map(({ probeMs }) => probeMs)),
	});
	const [a, b] = [sum(without), sum(withThem)];
	const ratio = (of: (one: typeof a) => number | null) => Number((of(b)! / of(a)!).toFixed(3));
	const result = {
		others: OTHERS,
		disturbers: DISTURBERS,
		probesOfDisturbers: disturbed,
		without: a,
		with: b,
		ratio: {
			dueToVerdict: { p50: ratio((x) => x.dueToVerdictMs.p50), mean: ratio((x) => x.dueToVerdictMs.mean) },
			begunToVerdict: { p50: ratio((x) => x.begunToVerdictMs.p50), mean: ratio((x) => x.begunToVerdictMs.mean) },
		},
		validatorRssMiB: Math.round((await child.ask<{ rssBytes: number }>("usage")).rssBytes / 2 ** 20),
	};
	console.log(JSON.stringify(result, null, "\t"));
	console.log(writeNetworkResult("disturbers", result));
	process.exitCode = result.ratio.dueToVerdict.p50 <= 1.1 ? 0 : 1;
} finally {
	await network.close();
}
process.exit();
