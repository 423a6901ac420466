// Two hundred random kills of validator processes and cuts of their database connections during probes: is
// anything lost or counted twice?
//   bash scripts/node.sh bench/network-crash.ts [--kills 200] [--seed N]
// The same as tests/network/crash.test.ts, with more of everything. Results:
// bench/results/network-crash-….json. Exit code 1 when something is wrong.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { runCrashes } from "../tests/network/crash-run.ts";
import { writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: { kills: { type: "string", default: "200" }, seed: { type: "string" } },
});
const seed = Number(values.seed ?? randomInt(2 ** 31));
console.error(`seed ${seed}`);
const report = await runCrashes({
	kills: Number(values.kills),
	seed,
	providers: 20,
	validators: 2,
	onProgress: (line) => console.error(line),
});
console.log(JSON.stringify(report, null, "\t"));
console.log(writeNetworkResult("crash", report));
process.exit(report.wrong.length === 0 ? 0 : 1);
