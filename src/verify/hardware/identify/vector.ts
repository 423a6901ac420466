// The vector of proven figures of one device, as identification reads it: the best figure of each kind, nothing from the claim but
// the total memory, which says whether the fill was full. Missing figures (a quick probe) are null and carry no information.
import type { DeviceClaim, Figure, Precision } from "../../../protocol/evidence.ts";
import { PRECISIONS } from "../../../protocol/precision.ts";
import { POLICY } from "../policy.ts";

export interface ProvenVector {
	/** Proven op/s by precision. tf32 is there, but only as a bound: fp16 units can answer it at twice the rate. */
	readonly rates: Readonly<Partial<Record<Precision, number>>>;
	readonly bytesPerS: number | null;
	/** Bytes that were certainly there. */
	readonly residentBytes: number | null;
	/** Bytes that answered: resident, plus the share that residency subtracts because it could have been fetched meanwhile. */
	readonly keptBytes: number | null;
	/** The fill took what the host says is its whole memory: then nothing else of size runs there, and the total is bounded above. */
	readonly full: boolean;
}

/** 95 % is asked for; 85 % allows for a driver's reserve and for the recomputable share, which cannot be added back here. */
export const FULL_FILL = 0.85;

export function vectorOf(figures: readonly Figure[], claim: DeviceClaim): ProvenVector {
	const rates: Partial<Record<Precision, number>> = {};
	for (const precision of PRECISIONS) {
		const rate = best(figures, `gemm.${precision}`, `gemm.${precision}.sustained`, `fma.${precision}`);
		if (rate !== null) rates[precision] = rate;
	}
	const bytesPerS = best(figures, "memory.bandwidth");
	const residentBytes = best(figures, "memory.resident");
	const keptBytes = residentBytes === null ? null : keptOf(residentBytes, bytesPerS);
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

/** derive-figures.ts subtracts t·(R + F) from what was kept, t = kept ÷ bandwidth. F is known here and put back; R is not. */
function keptOf(residentBytes: number, bytesPerS: number | null): number {
	if (bytesPerS === null) return residentBytes;
	const fetched = POLICY.fetchBytesPerS.gpu / bytesPerS;
	// A stream is judged late from a third on, so more than that is not to be explained this way.
	return residentBytes / (1 - Math.min(fetched, 1 / POLICY.streamMargin));
}
