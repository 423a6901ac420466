// What the GPU's and the CPU's half of the plan share: phases, speeds as the warm-ups showed them, deadlines.
// Pure. The order of phases is in plan-probe.ts, the sizes in gpu-sizes.ts and cpu-sizes.ts.
import type { FmaPrecision, Precision } from "../../../protocol/maths/precision.ts";
import type { ChallengeSpec, DeviceKind, FmaSpec, GemmSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { sustainedSpec } from "./gpu-sizes.ts";
import { opsOfRound, roundBytes, type Seen, type Step, type WarmUp } from "./probe-plan.ts";

export interface PlanOptions {
	/** About 3 s in all: smaller fills, fewer precisions, 32 samples. Proves less, and the figures say so. */
	readonly quick: boolean;
	readonly sustainMs: number;
	/**
	 * Opened leaves a gemm and stream; fma takes half. Default 128: a skipped share of 3.5 % is caught with 99
	 * %.
	 */
	readonly samples: number | null;
	/** A small GPT is trained, too. */
	readonly training?: boolean;
	/** Only these of the claim's devices are asked; null: all. */
	readonly devices?: readonly number[] | null;
}

/**
 * A sustained run opens fewer leaves: almost every one lies in a round that must be computed again, 0.1 s
 * each.
 */
const SUSTAINED_SAMPLES = 32;

/**
 * More claimed devices of a kind than this are not asked: no host holds them, and an engine has 64 sessions.
 */
export const MAX_DEVICES = 16;

/** Spans below this are mostly the jitter of pipes and timers: run again with more rounds. */
const LEAST_SPAN_S = { gemm: 0.01, fma: 0.008 };
const MAX_LONGER = 16;

type StageStep = Extract<Step, { act: "stage" }>;
type Unnamed<S> = S extends { readonly name: string } ? Omit<S, "name"> & { readonly name?: string } : never;
/** A step as a phase makes it; named after the phase unless it says otherwise. */
type PhaseStep = Unnamed<Step>;
type StagePart = Unnamed<StageStep>;
/** `besideS`: how long what runs at the same time will take, when something does; null: nothing. */
export type Phase = {
	readonly name: string;
	readonly step: (seen: Seen, besideS?: number | null) => PhaseStep | null;
};

/**
 * Four times what the warm-up lets expect and 15 s for start and memory; 10 minutes at most, whatever was
 * claimed.
 */
export function deadlineMs(expectedS: number): number {
	return Math.min(600_000, Math.ceil(15_000 + 4000 * expectedS));
}

/** Those that are to be asked; as many as can be. */
export const devicesOf = (seen: Seen, kind: DeviceKind): number[] => wantedOf(seen, kind).slice(0, MAX_DEVICES);

export function wantedOf({ claim, only }: Seen, kind: DeviceKind): number[] {
	const isWanted = (index: number) => only?.includes(index) ?? true;
	return claim.devices.flatMap((device, index) => (device.kind === kind && isWanted(index) ? [index] : []));
}

/** Those of them that say they know this precision. */
export function devicesWith(seen: Seen, kind: DeviceKind, precision: Precision): number[] {
	return devicesOf(seen, kind).filter((device) => seen.claim.devices[device]!.precisions.includes(precision));
}

/** The longest warm-up of this kind on this device; its op/s, or a floor that asks for the smallest runs. */
export function speedOf(seen: Seen, device: number, precision: string): { opsPerS: number; bytesPerS: number } {
	const runs = seen.warmUps.filter(
		({ run, opsPerS }) =>
			(run.kind === "gemm" || run.kind === "fma") &&
			run.device === device &&
			run.precision === precision &&
			opsPerS > 0,
	);
	const best = runs.reduce<(typeof runs)[number] | null>((a, b) => (a && a.spanS > b.spanS ? a : b), null);
	return { opsPerS: best?.opsPerS ?? 1e9, bytesPerS: best?.bytesPerS || 1e9 };
}

function expectedS(seen: Seen, spec: ChallengeSpec): number {
	if (spec.kind === "stream") {
		const trial = seen.warmUps.findLast(({ run }) => run.kind === "stream" && run.device === spec.device);
		const gemm = seen.challenges[spec.of]?.spec;
		if (!trial?.bytesPerS || gemm?.kind !== "gemm") return 0;
		return (spec.passes * roundBytes(gemm) * (spec.newest || gemm.keep)) / trial.bytesPerS;
	}
	if (spec.kind !== "gemm" && spec.kind !== "fma") return 0;
	const { opsPerS } = speedOf(seen, spec.device, spec.kind === "gemm" ? "int8" : spec.precision);
	return (opsOfRound(spec) * Math.max(1, spec.rounds)) / opsPerS;
}

export function stage(seen: Seen, specs: readonly ChallengeSpec[], more: Partial<StageStep> = {}) {
	if (specs.length === 0) return null;
	const slowest = Math.max(...specs.map((spec) => expectedS(seen, spec)));
	// fp64 and tf32 may run at 1/64 of the int8 speed the estimate leans on.
	const slack = specs.some((spec) => spec.kind === "gemm" && spec.precision !== "int8") ? 8 : 1;
	return { act: "stage" as const, specs, deadlineMs: deadlineMs(slack * slowest), ...more };
}

/**
 * How long a run shall last: as long as what runs beside it (verify/hardware/common-time.ts forgives a
 * fifth), else the budget.
 */
export function lastingS(budgetS: number, besideS: number | null | undefined): number {
	return besideS ? LASTS_LONGER * besideS : budgetS;
}
/** Cards are slower in a long run than in a warm-up, and so are cores beside them: an H200 by a sixth. */
const LASTS_LONGER = 1.05;

/**
 * Two phases as one step: a card that answers for the CPU, too, is busy then. Named after the first that has
 * something to ask, GPUs before others.
 */
export function atOnce(gpus: Phase, others: Phase): Phase & { readonly also: string } {
	return {
		name: gpus.name,
		also: others.name,
		step(seen) {
			const first = gpus.step(seen);
			const takesS = first?.act === "stage" ? Math.max(...first.specs.map((spec) => expectedS(seen, spec))) : null;
			const second = others.step(seen, takesS);
			if (first === null) return second && { ...second, name: others.name };
			if (first.act === "warm-up" && second?.act === "warm-up")
				return { ...first, runs: [...first.runs, ...second.runs] };
			return first.act === "stage" && second?.act === "stage" ? joined(first, second) : first;
		},
	};
}

/**
 * Two warm-ups as one where there are cards, whose probe shall be short; elsewhere the second is asked in its
 * own turn, undisturbed.
 */
export function besideCards(phase: Phase, other: Phase): Phase {
	return {
		name: phase.name,
		step(seen, besideS) {
			const first = phase.step(seen, besideS);
			const second = devicesOf(seen, "gpu").length > 0 ? other.step(seen) : null;
			return first?.act === "warm-up" && second?.act === "warm-up"
				? { ...first, runs: [...first.runs, ...second.runs] }
				: first;
		},
	};
}

/** Only where there are no cards. */
export const withoutCards = ({ name, step }: Phase): Phase => ({
	name,
	step: (seen, besideS) => (devicesOf(seen, "gpu").length > 0 ? null : step(seen, besideS)),
});

function joined(a: StagePart, b: StagePart): StagePart {
	const held = ({ hold, specs }: StagePart) => (hold === true ? specs.map(({ device }) => device) : (hold ?? []));
	return {
		...b,
		...a,
		specs: [...a.specs, ...b.specs],
		deadlineMs: Math.max(a.deadlineMs, b.deadlineMs),
		hold: [...held(a), ...held(b)],
	};
}

export function longerRuns(seen: Seen, devices: readonly number[], kind: "gemm" | "fma"): WarmUp[] {
	return seen.warmUps.flatMap(({ run, opsPerS, spanS }) =>
		(run.kind === "gemm" || run.kind === "fma") &&
		run.kind === kind &&
		devices.includes(run.device) &&
		opsPerS > 0 &&
		spanS < LEAST_SPAN_S[kind]
			? [{ ...run, rounds: run.rounds * Math.min(MAX_LONGER, Math.ceil((2 * LEAST_SPAN_S[kind]) / spanS)) }]
			: [],
	);
}

export function warm(runs: readonly WarmUp[]) {
	return runs.length === 0 ? null : { act: "warm-up" as const, runs };
}

/** Short chains on each device of the kind; where they ended too soon, longer ones, which `asAsked` sizes. */
export function scalarWarmUpPhases(
	kind: DeviceKind,
	{ fma }: Budgets,
	size: { readonly lanes: number; readonly steps: number },
	asAsked: (seen: Seen, run: WarmUp) => WarmUp = (_, run) => run,
): Phase[] {
	const runs = (seen: Seen) =>
		fma.flatMap((precision) =>
			devicesWith(seen, kind, precision).map(
				(device): WarmUp => ({ kind: "fma", device, precision, ...size, rounds: 3 }),
			),
		);
	const longer = (seen: Seen) => longerRuns(seen, devicesOf(seen, kind), "fma").map((run) => asAsked(seen, run));
	return [
		{ name: `${kind} fma warm-up`, step: (seen) => warm(runs(seen)) },
		{ name: `${kind} fma warm-up, longer`, step: (seen) => warm(longer(seen)) },
	];
}

/** So many passes over what each device of the kind keeps. */
export function streamTrialPhase(kind: DeviceKind, passes: number): Phase {
	return {
		name: `${kind} stream trial`,
		step: (seen) =>
			warm(
				devicesOf(seen, kind).flatMap((device): WarmUp[] => {
					const kept = filled(seen, device);
					return kept ? [{ kind: "stream", device, of: kept.index, newest: 0, passes }] : [];
				}),
			),
	};
}

/** Once a second, less often when a long run of many devices would fill the file (MAX_READINGS). */
function readEveryMs(runMs: number, devices: number): number {
	return Math.max(1000, Math.ceil((runMs * devices) / 2048));
}

/** Fills of the record with their numbers: what a stream can run over. */
export function filled(seen: Seen, device: number): { index: number; spec: GemmSpec } | null {
	const index = seen.challenges.findLastIndex(
		({ spec }) => spec.kind === "gemm" && spec.device === device && spec.precision === "int8",
	);
	const found = seen.challenges[index];
	return found?.spec.kind === "gemm" && found.end === "complete" ? { index, spec: found.spec } : null;
}

export function releasePhase(kind: DeviceKind): Phase {
	return {
		name: `${kind} release`,
		step: (seen) => {
			const devices = devicesWith(seen, kind, "int8");
			// A card's memory is what the next products need; a CPU's is given back while cards are asked.
			const isAside = kind === "cpu" && devicesOf(seen, "gpu").length > 0;
			return devices.length > 0 ? { act: "release", devices, isAside } : null;
		},
	};
}

/** A stage of scalar chains for each precision; `specOf` sizes one by the speed of its warm-up. */
export function scalarPhases(
	kind: DeviceKind,
	{ fma }: Budgets,
	specOf: (
		of: { readonly device: number; readonly units: number; readonly rttUs: number },
		precision: FmaPrecision,
		opsPerS: number,
		besideS: number | null,
	) => FmaSpec,
): Phase[] {
	return fma.map((precision) => ({
		name: `${kind} fma ${precision}`,
		step: (seen, besideS = null) => {
			const toSpec = (device: number) => {
				const { units } = seen.claim.devices[device]!;
				return specOf(
					{ device, units, rttUs: seen.rttUs },
					precision,
					speedOf(seen, device, precision).opsPerS,
					besideS,
				);
			};
			return stage(seen, devicesWith(seen, kind, precision).map(toSpec));
		},
	}));
}

/** How long after the stop the last root may take. */
const SUSTAINED_SLACK_MS = { gpu: 30_000, cpu: 60_000 };

export function sustainedPhase(kind: "gpu" | "cpu", sustainMs: number, samples: number | null): Phase {
	return {
		name: `${kind} sustained`,
		step: (seen) => {
			const devices = devicesWith(seen, kind, "int8");
			if (sustainMs <= 0) return null;
			const specs = devices.map((device) => {
				const { freeBytes } = seen.claim.devices[device]!;
				return sustainedSpec(device, freeBytes, speedOf(seen, device, "int8").opsPerS, samples ?? SUSTAINED_SAMPLES);
			});
			return stage(seen, specs, {
				stopAfterMs: sustainMs,
				deadlineMs: sustainMs + SUSTAINED_SLACK_MS[kind],
				readEveryMs: readEveryMs(sustainMs, devices.length),
			});
		},
	};
}
