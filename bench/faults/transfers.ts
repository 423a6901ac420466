// Ten thousand transfers by a pair of nodes of which one is up to 14 blocks behind, which forgets
// transactions, hands some on twice and loses answers: does each arrive once, or is said to be unknown?
//   bash scripts/node.sh bench/faults/transfers.ts [--transfers 10000] [--seed N]
// The same as tests/faults/transfers.test.ts, with more of everything, on a new chain for every 250. Results:
// bench/results/network-transfers-….json. Exit code 1 when something is wrong.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { runTransfers } from "../../tests/faults/transfers.ts";
import { writeNetworkResult } from "../network-result.ts";

const EACH = 250;
const ACCOUNTS = 8;

const { values } = parseArgs({
	options: { transfers: { type: "string", default: "10000" }, seed: { type: "string" } },
});
const seed = Number(values.seed ?? randomInt(2 ** 31));
const transfers = Number(values.transfers);
const add = (to: Record<string, number>, more: Readonly<Record<string, number>>) => {
	for (const [name, count] of Object.entries(more)) to[name] = (to[name] ?? 0) + count;
};
const [told, faults]: Record<string, number>[] = [{}, {}];
const sums = { taken: 0, blocks: 0, unknownArrived: 0 };
const wrong: string[] = [];
const begunMs = performance.now();
for (let done = 0; done < transfers; done += EACH) {
	const run = await runTransfers(`${seed}/${done}`, Math.min(EACH, transfers - done), ACCOUNTS);
	add(told!, run.told);
	add(faults!, run.faults);
	for (const name of ["taken", "blocks", "unknownArrived"] as const) sums[name] += run[name];
	wrong.push(...run.wrong);
	console.error(`${done + EACH} of ${transfers}: ${JSON.stringify(told)}, ${wrong.length} wrong`);
}
const seconds = Math.round((performance.now() - begunMs) / 1000);
const report = { seed, transfers, accounts: ACCOUNTS, seconds, told, ...sums, faults, wrong };
console.log(JSON.stringify(report, null, "\t"));
console.log(writeNetworkResult("transfers", report));
process.exit(wrong.length === 0 ? 0 : 1);
