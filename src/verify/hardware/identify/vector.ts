// The vector of proven figures of one device, as identification reads it: the best figure of each kind,
// nothing from the claim but the total memory, which says whether the fill was full. Missing figures (a quick
// probe) are null and carry no information.

import { GEMM_PRECISIONS, PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import type { DeviceClaim, Figure } from "../../../protocol/probe/evidence.ts";
import { POLICY } from "../policy.ts";

export interface ProvenVector {
	/**
	 * Proven op/s by precision. tf32 is there, but only as a bound: fp16 units can answer it at twice the rate.
	 */
	readonly rates: Readonly<Partial<Record<Precision, number>>>;
	readonly bytesPerS: number | null;
	/** Bytes that were certainly there. */
	readonly residentBytes: number | null;
	/**
	 * Bytes that answered: resident, plus the share that residency subtracts because it could have been fetched
	 * meanwhile.
	 */
	readonly keptBytes: number | null;
	/**
	 * The fill took what the host says is its whole memory: then nothing else of size runs there, and the total
	 * is bounded above.
	 */
	readonly full: boolean;
}

/** 95 % of what is free is asked for; 85 % allows for a driver's reserve and a display. */
const FULL_FILL = 0.85;
const MAX_ELSEWHERE = 0.95;
/** What the probe fills memory with; src/verify/hardware/plan/gpu-sizes.ts takes less on small cards. */
const MAX_K = 16384;

export function vectorOf(figures: readonly Figure[], claim: DeviceClaim): ProvenVector {
	const rates: Partial<Record<Precision, number>> = {};
	for (const precision of PRECISIONS) {
		const rate = best(figures, `gemm.${precision}`, `gemm.${precision}.sustained`, `fma.${precision}`);
		if (rate !== null) rates[precision] = rate;
	}
	const bytesPerS = best(figures, "memory.bandwidth");
	const residentBytes = best(figures, "memory.resident");
	const keptBytes = residentBytes === null ? null : keptOf(residentBytes, bytesPerS, rates);
	const full = keptBytes !== null && claim.memoryBytes > 0 && keptBytes >= FULL_FILL * claim.memoryBytes;
	return { rates, bytesPerS, residentBytes, keptBytes, full };
}

/** Every figure is a lower bound of what the device can do, so the largest of a kind stands. */
function best(figures: readonly Figure[], ...names: readonly string[]): number | null {
	let most: number | null = null;
	for (const { name, value } of figures)
		if (names.includes(name) && Number.isFinite(value) && value > 0 && value > (most ?? 0)) most = value;
	return most;
}

/**
 * t·(R + F) was subtracted from what was kept, t = kept ÷ bandwidth (../memory/); this puts it back. R is the
 * fastest product's rate ÷ k: k is not in the figures, so the probe's own is taken. A smaller k would leave
 * the fill looking less full, never fuller.
 */
function keptOf(residentBytes: number, bytesPerS: number | null, rates: ProvenVector["rates"]): number {
	if (bytesPerS === null) return residentBytes;
	const fastest = Math.max(0, ...GEMM_PRECISIONS.map((precision) => rates[precision] ?? 0));
	const isSlow = bytesPerS < POLICY.streamMargin * POLICY.fetchBytesPerS.gpu;
	const fetch = isSlow ? POLICY.fetchBytesPerSSlow : POLICY.fetchBytesPerS.gpu;
	const elsewhere = (fetch + fastest / MAX_K) / bytesPerS;
	// So little is left of a slower one that it says nothing of the whole.
	return residentBytes / (1 - Math.min(elsewhere, MAX_ELSEWHERE));
}
