// How long and how often a full and a quick probe ask: seconds, places, passes. The order of phases is in
// plan-probe.ts.
import {
	FLOAT_GEMM_PRECISIONS,
	FMA_PRECISIONS,
	type FmaPrecision,
	type GemmPrecision,
} from "../../../protocol/maths/precision.ts";
import { CPU_KEEP, CPU_KEEP_QUICK } from "./cpu-sizes.ts";

// CPU budgets: three probes of an idle machine shall agree within 10 % in every figure (bench/results). GPU
// budgets: three probes of an H200 shall agree within 2 %, and a probe of it shall take less than 5 s, of
// which the fill is 1.9.
export const FULL = {
	samples: 128,
	fillS: null as number | null,
	leastPasses: 4,
	/** The fill has measured int8. */
	precisions: FLOAT_GEMM_PRECISIONS,
	/**
	 * A card that comes from rest runs for some 70 ms above what its power allows for long, and fp8 is first
	 * and furthest above it.
	 */
	precisionS: { int8: 0.2, fp8: 0.26, fp16: 0.2, bf16: 0.2, tf32: 0.2 } as Readonly<Record<GemmPrecision, number>>,
	fma: FMA_PRECISIONS as readonly FmaPrecision[],
	gpuFmaS: 0.075,
	/** For a run alone, of which there is one a device. */
	aloneS: 0.3,
	chaseIntervals: { gpu: 4096, cpu: 512 },
	peerS: 0.1,
	peerSamples: 16,
	disk: { fillS: 0.2, copyS: 0.15, readS: 0.15, samples: 64 },
	cpuKeepS: 2.5,
	cpuKeepBytes: CPU_KEEP,
	cpuStreamS: 0.25,
	cpuFmaS: 0.3,
};

export type Budgets = Readonly<typeof FULL>;

export const QUICK: Budgets = {
	samples: 32,
	fillS: 0.6,
	leastPasses: 8,
	precisions: ["fp16", "bf16"],
	precisionS: FULL.precisionS,
	fma: ["fp32"],
	gpuFmaS: 0.1,
	aloneS: 0.1,
	chaseIntervals: { gpu: 1024, cpu: 64 },
	peerS: 0.03,
	peerSamples: 8,
	disk: { fillS: 0.1, copyS: 0.05, readS: 0.05, samples: 16 },
	cpuKeepS: 0.3,
	cpuKeepBytes: CPU_KEEP_QUICK,
	cpuStreamS: 0.2,
	cpuFmaS: 0.2,
};
