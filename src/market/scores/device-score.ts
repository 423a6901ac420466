// What one proven GPU is worth: a fixed price for each unit of what it proved, whatever it calls itself. So k
// small cards are worth what they prove together, and nobody gains by posing as other cards, in pieces or
// joined. docs/scores.md says why each rule keeps that. Not here: which devices count (counted-gpus.ts).
import type { Params } from "../params.ts";
import type { Term, Unit } from "./explanation.ts";
import type { ProvenFigures } from "./proven-figures.ts";
import { given, term } from "./recompute.ts";

type Weight = keyof Params & `gpu${string}WeightPpm`;
type Full = keyof Params & (`gpu${string}PerS` | "gpuMemoryBytes");

/**
 * Figure, unit, its weight, and the figure that is worth all of the weight. fp8, bf16, tf32 and int32 are
 * answered by units that are in here already.
 */
const PRICES: readonly (readonly [name: string, unit: Unit, weight: Weight, full: Full])[] = [
	["gemm.int8", "op/s", "gpuInt8WeightPpm", "gpuInt8OpsPerS"],
	["gemm.fp16", "op/s", "gpuFp16WeightPpm", "gpuFp16OpsPerS"],
	["fma.fp32", "flop/s", "gpuFp32WeightPpm", "gpuFp32FlopPerS"],
	["fma.fp64", "flop/s", "gpuFp64WeightPpm", "gpuFp64FlopPerS"],
	["memory.bandwidth", "B/s", "gpuBandwidthWeightPpm", "gpuBytesPerS"],
	["memory.resident", "B", "gpuMemoryWeightPpm", "gpuMemoryBytes"],
];

export function deviceTerm(device: number, figures: ProvenFigures, params: Params): Term {
	const ratios = PRICES.map(([name, unit, , full]) =>
		term(name, "ppm", "ratio", [
			countedTerm(device, name, unit, figures, params),
			given(full, unit, params[full], `params:${full}`),
		]),
	);
	const weights = PRICES.map(([, , weight]) => params[weight]);
	return term(`gpu ${device}`, "ppm", "mean", ratios, weights);
}

/**
 * A figure, bounded by another where it would say too much. Of the whole, the lesser of two figures is never
 * below the sum of the lesser ones of its pieces: to cut a card still gains nothing.
 */
function countedTerm(device: number, name: string, unit: Unit, figures: ProvenFigures, params: Params): Term {
	const proven = figures.proven(device, name, unit);
	if (name === "memory.resident") {
		// ATTACK: a CPU shown as a GPU has a terabyte of RAM. Bytes count as far as they can be read in the time
		// in which cards read all of theirs.
		const read = term("read in one pass", unit, "product", [
			figures.proven(device, "memory.bandwidth", "B/s"),
			given("gpuPassPpm", "ppm", params.gpuPassPpm, "params:gpuPassPpm"),
		]);
		return term("memory in reach", unit, "min", [proven, read]);
	}
	// Where the validator asked for it. ATTACK: as a factor of the other figures it would spare a host that
	// gathers its int8 in one device and has the other figures in another.
	const sustained = figures.measured(device, `${name}.sustained`, unit);
	return sustained === null ? proven : term("kept up", unit, "min", [proven, sustained]);
}
