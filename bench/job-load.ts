// A thousand jobs in flight before one validator process, and a hundred random kills of validator, hosts and
// database connections: how quickly does the API answer, what does it cost, and is anything lost or doubled?
//   bash scripts/node.sh bench/job-load.ts [--jobs 1000] [--hosts 2200] [--processes 4] [--kills 100]
//     [--validators 1] [--seed N] [--steady 60] [--work 30,90] [--beat 5]
//     [--deadline 120] [--cores 0,1] [--profile FILE]
// Hosts are toys in processes of their own that answer at once and then take their time; they share the
// machine, and so do customers and readers. --cores gives some to validators and database alone: `taskset -c
// 2-7 bash scripts/node.sh bench/job-load.ts --cores 0,1`. Results: bench/results/network-job-load-….json,
// with kills network-job-load-kills-….json. --profile keeps what the validator did for some seconds after the
// steady time (without kills they slow nothing that is measured). Exit code 1 when something is wrong with
// any job.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { type Phase, runLoad } from "../tests/jobs/load/run-load.ts";
import { postgresCpuS, quantile, writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: {
		jobs: { type: "string", default: "1000" },
		hosts: { type: "string", default: "2200" },
		processes: { type: "string", default: "4" },
		kills: { type: "string", default: "100" },
		"kill-every": { type: "string", default: "2" },
		validators: { type: "string", default: "1" },
		seed: { type: "string" },
		steady: { type: "string", default: "60" },
		work: { type: "string", default: "30,90" },
		beat: { type: "string", default: "5" },
		deadline: { type: "string", default: "120" },
		reads: { type: "string", default: "20" },
		method: { type: "string", default: "redundant" },
		cores: { type: "string" },
		profile: { type: "string" },
		dry: { type: "boolean", default: false },
	},
});
const [least = 0, most = 0] = values.work.split(",").map((s) => 1000 * Number(s));
const method = { name: values.method as "redundant" | "optimistic", count: values.method === "redundant" ? 2 : 0 };

const ms = (all: readonly number[]) => ({
	...{ count: all.length, p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99), maxMs: quantile(all, 1) },
});
const phase = ({ reads, hostCalls, rssBytes, seconds, validatorCpuS, ...rest }: Phase) => ({
	...rest,
	...{
		seconds: Math.round(seconds),
		reads: ms(Object.values(reads).flat()),
		readsByRoute: Object.fromEntries(Object.entries(reads).map(([name, all]) => [name, ms(all)])),
		hostCalls: ms(hostCalls),
		rssMiB: Math.round(rssBytes / 2 ** 20),
	},
	validatorCores: Number((validatorCpuS / seconds).toFixed(3)),
});

const { steady, disturbed, audit, hostErrors, ...report } = await runLoad({
	...{ jobs: Number(values.jobs), hosts: Number(values.hosts), hostProcesses: Number(values.processes) },
	...{
		validators: Number(values.validators),
		kills: Number(values.kills),
		killEveryMs: 1000 * Number(values["kill-every"]),
	},
	...{ seed: Number(values.seed ?? randomInt(2 ** 31)), steadyMs: 1000 * Number(values.steady) },
	...{ workMs: [least, most], beatMs: 1000 * Number(values.beat), method, readsPerS: Number(values.reads) },
	...{ params: { jobLeastWorkMs: 1000 * Number(values.deadline) } },
	...(values.cores !== undefined && { cores: values.cores }),
	...(values.profile !== undefined && { profile: values.profile }),
	onPhase: (name, found) => console.error(name, JSON.stringify(phase(found))),
	onProgress: (line) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`),
	databaseCpuS: postgresCpuS,
});
const result = {
	...{ jobsInFlight: Number(values.jobs), hosts: Number(values.hosts), validatorProcesses: Number(values.validators) },
	...(values.cores !== undefined && { coresOfValidatorAndDatabase: values.cores }),
	...{ method, workS: [least / 1000, most / 1000], beatS: Number(values.beat), ...report },
	...{ steady: phase(steady), disturbed: phase(disturbed) },
	...{ audit: { ...audit, wrong: audit.wrong.slice(0, 50), wrongs: audit.wrong.length } },
	hostErrors: Object.fromEntries([...Map.groupBy(hostErrors, (one) => one)].map(([one, all]) => [one, all.length])),
};
console.log(JSON.stringify(result, null, "\t"));
const name = `job-load${values.validators === "1" ? "" : `-${values.validators}-validators`}${values.kills === "0" ? "" : "-kills"}`;
if (!values.dry) console.log(writeNetworkResult(name, result));
process.exit(audit.wrong.length === 0 ? 0 : 1);
