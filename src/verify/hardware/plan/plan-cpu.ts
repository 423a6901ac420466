// The CPU's part of a probe, with nothing else running on the host on our behalf: matrix speed and a share of
// the RAM in one, the disk that is given some of it, scalar chains. A host may show its CPU as several
// devices: they are asked all at once, like cards. Sizes are in cpu-sizes.ts. Page: docs/hardware-proof.md.
import type { Precision } from "../../../protocol/maths/precision.ts";
import type { GemmSpec, StreamSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { CPU_FMA, cpuKeepSpec, cpuStreamPasses } from "./cpu-sizes.ts";
import { fmaSpec } from "./gpu-sizes.ts";
import { alonePhases } from "./plan-alone.ts";
import { chasePhase } from "./plan-chase.ts";
import { diskPhases } from "./plan-disk.ts";
import { peerPhases } from "./plan-peers.ts";
import {
	deadlineMs,
	devicesOf,
	devicesWith,
	filled,
	longerRuns,
	type Phase,
	type PlanOptions,
	releasePhase,
	scalarPhases,
	speedOf,
	stage,
	sustainedPhase,
	warm,
} from "./plan-stage.ts";
import type { Seen, WarmUp } from "./probe-plan.ts";

const cpusWith = (seen: Seen, precision: Precision) => devicesWith(seen, "cpu", precision);

export function cpuWarmUps(seen: Seen, budgets: Budgets): WarmUp[] {
	const gemms = cpusWith(seen, "int8").map((device): WarmUp => {
		const shape = { m: 512, n: 1024, k: 2048 };
		return { kind: "gemm", device, precision: "int8", ...shape, rounds: 3, passes: 64 };
	});
	const fmas = budgets.fma.flatMap((precision) =>
		cpusWith(seen, precision).map((device): WarmUp => ({ kind: "fma", device, precision, ...CPU_FMA, rounds: 3 })),
	);
	return [...gemms, ...fmas];
}

export function cpuPhases(options: PlanOptions, budgets: Budgets, samples: number): Phase[] {
	const sustained = sustainedPhase("cpu", options, 60_000);
	const keeps = (seen: Seen): GemmSpec[] => {
		const cpus = cpusWith(seen, "int8");
		// Devices that share the cores share the bytes: together they make as many as one would, in steps of two
		// for the same reason.
		const usualBytes = budgets.cpuKeepBytes.usualBytes / 2 ** Math.ceil(Math.log2(Math.max(1, cpus.length)));
		return cpus.map((device) => {
			const lessBy = seen.tooBig.some((spec) => spec.device === device) ? 0.5 : 0;
			const limits = { budgetS: budgets.cpuKeepS, ...budgets.cpuKeepBytes, usualBytes, lessBy };
			return cpuKeepSpec(device, seen.claim.devices[device]!.freeBytes, speedOf(seen, device, "int8"), limits, samples);
		});
	};
	return [
		{
			name: "cpu warm-up",
			// Done before when there are GPUs: while the places of their streams were opened.
			step: (seen) =>
				seen.warmUps.some(({ run }) => devicesOf(seen, "cpu").includes(run.device))
					? null
					: warm(cpuWarmUps(seen, budgets)),
		},
		{
			name: "cpu warm-up, longer",
			step: (seen) => {
				const cpus = devicesOf(seen, "cpu");
				return warm([...longerRuns(seen, cpus, "gemm"), ...longerRuns(seen, cpus, "fma")]);
			},
		},
		{ name: "cpu keep", step: (seen) => stage(seen, keeps(seen), { mayShrink: true, hold: true }) },
		{
			name: "cpu keep, smaller",
			step: (seen) =>
				seen.tooBig.some((spec) => devicesOf(seen, "cpu").includes(spec.device))
					? stage(seen, keeps(seen), { hold: true })
					: null,
		},
		{
			// Its size is right only when measured on the bytes themselves: the warm-up's fit into a cache.
			name: "cpu stream trial",
			step: (seen) =>
				warm(
					devicesOf(seen, "cpu").flatMap((device): WarmUp[] => {
						const kept = filled(seen, device);
						return kept ? [{ kind: "stream", device, of: kept.index, newest: 0, passes: 3 }] : [];
					}),
				),
		},
		{
			name: "cpu stream",
			step: (seen) => {
				let late = 0;
				const specs = devicesOf(seen, "cpu").flatMap((device): StreamSpec[] => {
					const kept = filled(seen, device);
					const trial = seen.warmUps.findLast(({ run }) => run.kind === "stream" && run.device === device);
					if (!kept || !trial || trial.bytesPerS <= 0) return [];
					const bytes = 2 * kept.spec.m * kept.spec.n * kept.spec.keep;
					const passes = cpuStreamPasses(bytes, trial.bytesPerS, budgets.cpuStreamS);
					late = Math.max(late, 4 * passes * seen.challenges[kept.index]!.seconds);
					return [{ kind: "stream", device, of: kept.index, newest: 0, passes, samples }];
				});
				return stage(seen, specs, { hold: true, deadlineMs: Math.min(120_000, deadlineMs(late)) });
			},
		},
		chasePhase("cpu", budgets, samples),
		...peerPhases("cpu", budgets, samples),
		...diskPhases(budgets, samples),
		releasePhase("cpu"),
		...alonePhases("cpu", "int8", budgets),
		...scalarPhases("cpu", budgets, (device, precision, opsPerS) =>
			fmaSpec(device, precision, Math.ceil(samples / 2), { ...CPU_FMA, budgetS: budgets.cpuFmaS, opsPerS }),
		),
		{
			name: sustained.name,
			step: (seen) => (devicesOf(seen, "gpu").length > 0 ? null : sustained.step(seen)),
		},
	];
}
