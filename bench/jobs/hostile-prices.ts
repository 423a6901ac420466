// What programs of a hostile customer are priced at beside what they take, on this machine's CPU: the model
// of the work (docs/workloads.md §8) by the figures that probes of this machine prove, against the seconds
// that the engine's cores are at work. An init phase by itself too, which no card has timed.
//   bash scripts/node.sh bench/jobs/hostile-prices.ts [--seconds 8] [--probes 3] [--rates INT8,INT32,BYTES]
// Other work on the machine makes a probe prove less, and so the model say more: `--rates` takes figures of
// before. Many small steps wait for each other, so a machine with other work tells nothing of them. Results:
// bench/results/network-hostile-prices-….json. Exit code 1 where one is priced below half or above twice of
// what it takes.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fileNameOf, HOSTILE } from "../../src/work/cost/priced-programs.test-kit.ts";
import { nsOn, PROVEN_H200, programTime, type Rates } from "../../src/work/cost/work-time.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { quantile, writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({
	options: {
		seconds: { type: "string", default: "8" },
		probes: { type: "string", default: "3" },
		rates: { type: "string" },
	},
});
const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "assay-prices-"));
const MAX_SEGMENTS = 2000;
const SEED = "ab".repeat(32);

/** The engine's threads are its children: what all of them used, and what was printed. */
function assay(...args: string[]) {
	const timed = `TIMEFORMAT=$'\\n%R %U %S'; time "$@"`;
	const asked = ["-c", timed, "bash", process.execPath, "bin/assay.mjs", ...args];
	const { status, stdout, stderr } = spawnSync("bash", asked, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 });
	if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
	const [wallS, userS, systemS] = stderr.trim().split("\n").at(-1)!.split(" ").map(Number);
	return { stdout, wallS: wallS!, cpuS: userS! + systemS! };
}

/** What probes prove here: the most of each figure, since other work only takes away. */
function ratesHere(): Required<Rates> {
	if (values.rates !== undefined) {
		const [int8OpsPerS, int32OpsPerS, bytesPerS] = values.rates.split(",").map(Number);
		return { int8OpsPerS: int8OpsPerS!, int32OpsPerS: int32OpsPerS!, bytesPerS: bytesPerS! };
	}
	const best = (name: string, all: readonly string[]): number =>
		Math.max(
			...all.flatMap((text) =>
				(JSON.parse(text).verdict.figures as { device: number; name: string; value: number }[])
					.filter((one) => one.device === 0 && one.name === name)
					.map(({ value }) => value),
			),
		);
	const all = Array.from(
		{ length: Number(values.probes) },
		() => assay("probe", "local", "--json", "--out", join(folder, "probe.assay")).stdout,
	);
	return {
		int8OpsPerS: best("gemm.int8", all),
		int32OpsPerS: best("fma.int32", all),
		bytesPerS: best("memory.bandwidth", all),
	};
}

/** CPU seconds of the init phase, and of a segment: what a run of none takes is no part of either. */
function secondsOf(name: string, modelledS: number) {
	const path = join(folder, `${fileNameOf(name)}.bin`);
	const program = HOSTILE[name]!();
	writeFileSync(path, encodeProgram(program));
	const run = (segments: number) =>
		assay("program", "run", path, "--segments", String(segments), "--seed", SEED, "--json");
	const wanted = Math.ceil(Number(values.seconds) / Math.max(modelledS, 1e-3));
	const segments = Math.min(MAX_SEGMENTS, Math.max(2, wanted));
	const [one, many] = [run(1), run(1 + segments)];
	const segment = (many.cpuS - one.cpuS) / segments;
	return { segments, oneCpuS: one.cpuS, segmentCpuS: Math.max(0, segment), wallS: many.wallS };
}

try {
	const rates = ratesHere();
	const cores = availableParallelism();
	console.error(JSON.stringify(rates));
	// A program of next to nothing: Node, the engine's start, opening.
	const startCpuS = secondsOf("65,536 steps of two ops on one element", 1).oneCpuS;
	const rows = Object.entries(HOSTILE).map(([name, build]) => {
		const time = programTime(build());
		const modelled = { initS: Number(nsOn(time.init, rates)) / 1e9, segmentS: Number(nsOn(time.segment, rates)) / 1e9 };
		const { segments, oneCpuS, segmentCpuS, wallS } = secondsOf(name, modelled.segmentS);
		// What the cores would take with nothing beside them.
		const took = { initS: Math.max(0, oneCpuS - segmentCpuS - startCpuS) / cores, segmentS: segmentCpuS / cores };
		const ratio = (of: "initS" | "segmentS") => (took[of] < 0.01 ? null : Number((modelled[of] / took[of]).toFixed(2)));
		const onH200 = {
			initS: Number(nsOn(time.init, PROVEN_H200)) / 1e9,
			segmentS: Number(nsOn(time.segment, PROVEN_H200)) / 1e9,
		};
		const row = {
			name,
			segments,
			wallS,
			modelled,
			took,
			pricedAt: { init: ratio("initS"), segment: ratio("segmentS") },
			onH200,
		};
		console.error(JSON.stringify(row));
		return row;
	});
	const ratios = rows.flatMap(({ pricedAt }) => [pricedAt.init, pricedAt.segment].filter((one) => one !== null));
	const result = { rates, cores, startCpuS, programs: rows, medianRatio: quantile(ratios, 0.5) };
	console.log(writeNetworkResult("hostile-prices", result));
	process.exitCode = ratios.every((one) => one >= 0.5 && one <= 2) ? 0 : 1;
} finally {
	rmSync(folder, { recursive: true, force: true });
}
