// The speed of a sustained run over time, from the times its roots came. Work is taken to flow evenly between
// two roots. Whole numbers throughout (BigInt where they pass 2^53), so that every verifier gets the same
// curve.
import type { Evidence, GemmSpec } from "../../protocol/probe/evidence.ts";
import { decodeRoots, type RootRecord } from "../../protocol/probe/records.ts";

export interface CurvePoint {
	/** Since the challenge was sent. */
	readonly endUs: number;
	readonly opsPerS: number;
}

export function gemmRoundOps(spec: Pick<GemmSpec, "m" | "n" | "k">): bigint {
	return 2n * BigInt(spec.m) * BigInt(spec.n) * BigInt(spec.k);
}

/**
 * Work done at each of the rising times `atUs` (since sent), in operations, rounded down. Times may be
 * fractions of `scale`.
 */
function workAt(
	roots: readonly RootRecord[],
	sentAtUs: number,
	roundOps: bigint,
	times: readonly bigint[],
	scale: bigint,
): bigint[] {
	let round = 0;
	let beforeUs = 0n;
	return times.map((time) => {
		for (; round < roots.length; round++) {
			const rootUs = BigInt(roots[round]!.atUs - sentAtUs);
			if (rootUs * scale > time) {
				const part = (roundOps * (time - beforeUs * scale)) / ((rootUs - beforeUs) * scale);
				return BigInt(round) * roundOps + part;
			}
			beforeUs = rootUs;
		}
		return BigInt(roots.length) * roundOps;
	});
}

/** One point a second; the last, shorter one is left out unless it is the only one. */
export function throughputCurve(
	spec: Pick<GemmSpec, "m" | "n" | "k">,
	sentAtUs: number,
	roots: readonly RootRecord[],
): CurvePoint[] {
	const totalUs = (roots.at(-1)?.atUs ?? sentAtUs) - sentAtUs;
	if (totalUs <= 0) return [];
	const seconds = Math.floor(totalUs / 1_000_000);
	const ends = seconds === 0 ? [totalUs] : Array.from({ length: seconds }, (_, i) => (i + 1) * 1_000_000);
	const work = workAt(roots, sentAtUs, gemmRoundOps(spec), ends.map(BigInt), 1n);
	return ends.map((endUs, i) => {
		const spanUs = BigInt(endUs - (ends[i - 1] ?? 0));
		return { endUs, opsPerS: Number(((work[i]! - (work[i - 1] ?? 0n)) * 1_000_000n) / spanUs) };
	});
}

export interface SustainedRun {
	/** Its place in the list of challenges. */
	readonly challenge: number;
	readonly spec: GemmSpec;
	readonly fromUs: number;
	readonly toUs: number;
	readonly curve: readonly CurvePoint[];
}

/** The sustained runs of an evidence file that has any roots of them. */
export function sustainedRuns({ envelope, attachments }: Evidence): SustainedRun[] {
	return envelope.body.challenges.flatMap(({ spec, sentAtUs, roots }, challenge) => {
		if (spec.kind !== "gemm" || spec.rounds !== 0) return [];
		const decoded = decodeRoots(attachments[roots] ?? new Uint8Array(0));
		const curve = decoded.ok ? throughputCurve(spec, sentAtUs, decoded.records) : [];
		if (!decoded.ok || curve.length === 0) return [];
		return [{ challenge, spec, fromUs: sentAtUs, toUs: decoded.records.at(-1)!.atUs, curve }];
	});
}

/** Throttling: work of the last tenth of the time over that of the best tenth, parts per million. */
export function sustainedRatioPpm(
	spec: Pick<GemmSpec, "m" | "n" | "k">,
	sentAtUs: number,
	roots: readonly RootRecord[],
): number {
	const totalUs = BigInt((roots.at(-1)?.atUs ?? sentAtUs) - sentAtUs);
	const ends = Array.from({ length: 10 }, (_, i) => totalUs * BigInt(i + 1));
	const work = workAt(roots, sentAtUs, gemmRoundOps(spec), ends, 10n);
	const tenths = work.map((done, i) => done - (work[i - 1] ?? 0n));
	const best = tenths.reduce((a, b) => (b > a ? b : a), 1n);
	return Number((tenths.at(-1)! * 1_000_000n) / best);
}
