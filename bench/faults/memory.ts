// A validator's memory over steady jobs and probes, and nothing that fails: it must be a flat line after the
// first ten minutes.
//   bash scripts/node.sh bench/faults/memory.ts [--minutes 60]
// Results: bench/results/network-memory-….json. Exit code 1 when it grew by more than 40 MiB an hour.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openFaultNetwork } from "../../tests/faults/fault-network.ts";
import { writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "60" } } });
const minutes = Number(values.minutes);
const WARM_MINUTES = 10;
const MAX_GROWTH_MIB = 40;
const MINUTE = 60_000;

const network = await openFaultNetwork({ validators: 1, confirmations: 1, draw: () => 1 });
const untilMs = Date.now() + minutes * MINUTE;
let [handedIn, refused] = [0, 0];
const customer = async () => {
	while (Date.now() < untilMs) {
		const { code } = await network.type(0, "job", "submit", "life.json", "--yes", "--detach");
		if (code === 0) handedIn += 1;
		else refused += 1;
		await sleep(3000);
	}
};
const working = customer();
const mib: number[] = [];
while (Date.now() < untilMs) {
	await sleep(Math.min(MINUTE, Math.max(0, untilMs - Date.now())));
	// The hosts are proven by hand, for less than an hour: fault-network.ts.
	await network.sql.query(
		"UPDATE leases SET expires_at = clock_timestamp() + interval '50 minutes' WHERE expires_at > clock_timestamp() + interval '5 minutes'",
	);
	mib.push(Math.round((await network.places[0]!.usage()).rssBytes / 2 ** 20));
	console.error(`minute ${mib.length}: ${mib.at(-1)} MiB, ${handedIn} jobs handed in, ${refused} refused`);
}
await working;
const { rows } = await network.sql.query(
	"SELECT (SELECT count(*) FROM probes WHERE state = 'done')::integer AS probes, (SELECT count(*) FROM jobs WHERE is_over)::integer AS jobs",
);
/** MiB an hour, by least squares over the minutes after the first ten. */
function growth(all: readonly number[]): number | null {
	const later = all.slice(WARM_MINUTES).map((y, x) => ({ x, y }));
	if (later.length < 2) return null;
	const mean = (of: (one: (typeof later)[number]) => number) =>
		later.reduce((sum, one) => sum + of(one), 0) / later.length;
	const [x, y] = [mean((one) => one.x), mean((one) => one.y)];
	return (60 * mean((one) => (one.x - x) * (one.y - y))) / mean((one) => (one.x - x) ** 2);
}
const grewMiBAnHour = growth(mib);
const result = { minutes, mib, grewMiBAnHour, jobs: rows[0].jobs, probes: rows[0].probes, handedIn, refused };
console.log(JSON.stringify(result, null, "\t"));
if (minutes >= 60) console.log(writeNetworkResult("memory", result));
await network.close();
process.exit(grewMiBAnHour !== null && grewMiBAnHour > MAX_GROWTH_MIB ? 1 : 0);
