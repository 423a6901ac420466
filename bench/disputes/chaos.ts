// Two hundred kills of watcher, provider and the line to their node during disputes, reorganisations of up to
// ten blocks, fees up to the cap and above.
//   bash scripts/node.sh bench/disputes/chaos.ts [--kills 200] [--lies 60] [--rights 2] [--seed N]
// Results: bench/results/network-dispute-chaos-….json. Exit code 1 when something is wrong.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { runDisputeChaos } from "../../tests/jobs/chaos/dispute-chaos.ts";
import { writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({
	options: {
		kills: { type: "string", default: "200" },
		lies: { type: "string", default: "60" },
		rights: { type: "string", default: "2" },
		seed: { type: "string" },
	},
});
const seed = Number(values.seed ?? randomInt(2 ** 31));
console.error(`seed ${seed}`);
const report = await runDisputeChaos({
	...{ kills: Number(values.kills), lies: Number(values.lies), rights: Number(values.rights), seed },
	onProgress: (line) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`),
});
console.log(JSON.stringify(report, null, "\t"));
console.log(writeNetworkResult("dispute-chaos", report));
process.exit(report.wrong.length === 0 ? 0 : 1);
