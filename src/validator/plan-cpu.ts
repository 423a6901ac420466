// The CPU's part of a probe, with nothing else running on the host on our behalf: matrix speed, a share of the RAM, scalar chains.
// Sizes are in cpu-sizes.ts. Page: docs/hardware-proof.md.
import type { GemmSpec } from "../protocol/evidence.ts";
import { CPU_FMA, cpuGemmSpec, cpuKeepSpec, cpuStreamPasses } from "./cpu-sizes.ts";
import { fmaSpec, sustainedSpec } from "./gpu-sizes.ts";
import {
	type Budgets,
	deadlineMs,
	devicesOf,
	filled,
	longerRuns,
	type Phase,
	type PlanOptions,
	SUSTAINED_SAMPLES,
	speedOf,
	stage,
	warm,
} from "./plan-stage.ts";
import type { Seen, WarmUp } from "./probe-plan.ts";

export function cpuPhases(options: PlanOptions, budgets: Budgets, samples: number): Phase[] {
	const cpu = (seen: Seen) => devicesOf(seen, "cpu")[0];
	const freeOf = (seen: Seen, device: number) => seen.claim.devices[device]!.freeBytes;
	const has = (seen: Seen, precision: string) =>
		cpu(seen) !== undefined && (seen.claim.devices[cpu(seen)!]!.precisions as readonly string[]).includes(precision);
	const keeps = (seen: Seen): GemmSpec[] => {
		const device = cpu(seen)!;
		const lessBy = seen.tooBig.some((spec) => spec.device === device) ? 0.5 : 0;
		const limits = { budgetS: budgets.cpuKeepS, ...budgets.cpuKeepBytes, lessBy };
		return [cpuKeepSpec(device, freeOf(seen, device), speedOf(seen, device, "int8"), limits, samples)];
	};
	return [
		{
			name: "cpu warm-up",
			step: (seen) => {
				const device = cpu(seen);
				if (device === undefined) return null;
				const runs: WarmUp[] = [];
				if (has(seen, "int8"))
					runs.push({ kind: "gemm", device, precision: "int8", m: 512, n: 1024, k: 2048, rounds: 3, passes: 16 });
				for (const precision of budgets.fma)
					if (has(seen, precision)) runs.push({ kind: "fma", device, precision, ...CPU_FMA, rounds: 3 });
				return warm(runs);
			},
		},
		{
			name: "cpu warm-up, longer",
			step: (seen) => {
				const device = cpu(seen);
				return device === undefined
					? null
					: warm([...longerRuns(seen, [device], "gemm"), ...longerRuns(seen, [device], "fma")]);
			},
		},
		{
			name: "cpu gemm int8",
			step: (seen) => {
				if (!has(seen, "int8")) return null;
				const device = cpu(seen)!;
				const { opsPerS } = speedOf(seen, device, "int8");
				return stage(seen, [cpuGemmSpec(device, freeOf(seen, device), opsPerS, budgets.cpuGemmS, samples)]);
			},
		},
		{
			name: "cpu keep",
			step: (seen) => (has(seen, "int8") ? stage(seen, keeps(seen), { mayShrink: true, hold: true }) : null),
		},
		{
			name: "cpu keep, smaller",
			step: (seen) =>
				seen.tooBig.some((spec) => spec.device === cpu(seen)) ? stage(seen, keeps(seen), { hold: true }) : null,
		},
		{
			// Its size is right only when measured on the bytes themselves: the warm-up's fit into a cache.
			name: "cpu stream trial",
			step: (seen) => {
				const device = cpu(seen);
				const kept = device === undefined ? null : filled(seen, device);
				return device === undefined || !kept
					? null
					: warm([{ kind: "stream", device, of: kept.index, newest: 0, passes: 3 }]);
			},
		},
		{
			name: "cpu stream",
			step: (seen) => {
				const device = cpu(seen);
				const kept = device === undefined ? null : filled(seen, device);
				if (device === undefined || !kept) return null;
				const trial = seen.warmUps.findLast(({ run }) => run.kind === "stream" && run.device === device);
				if (!trial || trial.bytesPerS <= 0) return null;
				const bytes = 2 * kept.spec.m * kept.spec.n * kept.spec.keep;
				const passes = cpuStreamPasses(bytes, trial.bytesPerS, budgets.cpuStreamS);
				const late = 4 * passes * seen.challenges[kept.index]!.seconds;
				return stage(seen, [{ kind: "stream", device, of: kept.index, newest: 0, passes, samples }], {
					hold: true,
					deadlineMs: Math.min(120_000, deadlineMs(late)),
				});
			},
		},
		{ name: "cpu release", step: (seen) => (has(seen, "int8") ? { act: "release" } : null) },
		...budgets.fma.map((precision) => ({
			name: `cpu fma ${precision}`,
			step: (seen: Seen) => {
				if (!has(seen, precision)) return null;
				const device = cpu(seen)!;
				const { opsPerS } = speedOf(seen, device, precision);
				const size = { ...CPU_FMA, budgetS: budgets.cpuFmaS, opsPerS };
				return stage(seen, [fmaSpec(device, precision, Math.ceil(samples / 2), size)]);
			},
		})),
		{
			name: "cpu sustained",
			step: (seen) => {
				if (options.sustainMs <= 0 || devicesOf(seen, "gpu").length > 0 || !has(seen, "int8")) return null;
				const device = cpu(seen)!;
				const { opsPerS } = speedOf(seen, device, "int8");
				return stage(
					seen,
					[sustainedSpec(device, freeOf(seen, device), opsPerS, options.samples ?? SUSTAINED_SAMPLES)],
					{
						stopAfterMs: options.sustainMs,
						deadlineMs: options.sustainMs + 60_000,
					},
				);
			},
		},
	];
}
