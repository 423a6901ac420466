// Two processes of one validator on one database, under jobs and probes: at random moments one of them is
// killed, or frozen for longer than its lease. Work must go on within 30 s, and nothing happen twice.
//   bash scripts/node.sh bench/faults/kills.ts [--kills 50] [--seed 1]
// Results: bench/results/network-kills-….json. Exit code 1 when something is not as it should be.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { wrongIn } from "../../tests/faults/checker.ts";
import { openFaultNetwork } from "../../tests/faults/fault-network.ts";
import { gatherFacts } from "../../tests/faults/gather-facts.ts";
import { areOver } from "../../tests/faults/run-faults.ts";
import { seeded } from "../../tests/network/crash-run.ts";
import { quantile, writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({
	options: { kills: { type: "string", default: "50" }, seed: { type: "string", default: "1" } },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
const GOES_ON_WITHIN_MS = 30_000;
const FROZEN_MS = 10_000;

const random = seeded(seed);
const network = await openFaultNetwork({ validators: 2, confirmations: 1, draw: () => 1 });
const { places, sql } = network;
let isOver = false;
let handedIn = 0;
const customer = async (at: number) => {
	while (!isOver) {
		const { code } = await network.type(at, "job", "submit", "life.json", "--yes", "--detach");
		if (code === 0) handedIn += 1;
		await sleep(2000);
	}
};
const working = Promise.all([customer(0), customer(1)]);
/** Whatever happens to jobs and probes is one more of these. */
const events = async () =>
	Number(
		(
			await sql.query(
				"SELECT (SELECT count(*) FROM job_events) + (SELECT count(*) FROM probes WHERE state = 'done') AS count",
			)
		).rows[0].count,
	);
const pausesMs: number[] = [];
const kinds = { killed: 0, frozen: 0 };
for (let i = 1; i <= kills; i++) {
	await sleep(1000 + 7000 * random());
	const place = places[random() < 0.5 ? 0 : 1]!;
	const isKill = random() < 0.5;
	kinds[isKill ? "killed" : "frozen"] += 1;
	const atMs = Date.now();
	const back = isKill ? place.kill(3000 * random()) : place.freeze(FROZEN_MS);
	const before = await events();
	while ((await events()) === before) await sleep(100);
	pausesMs.push(Date.now() - atMs);
	await back;
	await place.ready();
	console.error(`${i} of ${kills}, ${isKill ? "killed" : "frozen"}: work went on after ${pausesMs.at(-1)} ms`);
}
isOver = true;
await working;
const ended = await areOver(network);
const wrong = wrongIn(await gatherFacts(network, []));
const longestMs = Math.max(...pausesMs);
const result = { kills, seed, ...kinds, handedIn, longestMs, medianMs: quantile(pausesMs, 0.5), ended, wrong };
console.log(JSON.stringify(result, null, "\t"));
if (kills >= 50) console.log(writeNetworkResult("kills", result));
await network.close();
process.exit(wrong.length === 0 && ended && longestMs <= GOES_ON_WITHIN_MS ? 0 : 1);
