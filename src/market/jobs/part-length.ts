// Into how many parts a job is cut, and how long one takes: docs/jobs.md §9. The end of a part is the
// checkpoint that the next host begins with, so a part is what is lost when a host dies. Pure.
import type { Params } from "../params.ts";

/** What handing over takes. */
export interface PartCosts {
	/** State and results at the end of a part: brought to the validator, and from there to the next host. */
	readonly stateBytes: number;
	/** Constants and inputs: brought to each host that begins. */
	readonly givenBytes: number;
	/**
	 * What the init phase takes longer than another segment. All parts are paid and timed as if they had it.
	 */
	readonly initMs: number;
	/** The part takes the slowest host so many times as long as the middle one, 1 at least. */
	readonly spread: number;
}

/** A slow line that many homes have: 80 Mbit/s. */
const MOVED_BYTES_A_MS = 10_000;
/** Of a part's time, what handing over may take: one part of so many. */
const HANDING_SHARE = 10;
/**
 * The record of a job is written whole at each sign of life, and holds all parts with their audits: some 3 KB
 * a part. So many parts are a day of five minutes each; longer jobs have longer parts.
 */
export const MAX_PARTS = 288;

/**
 * How long a part should take the slowest host that may be drawn: five minutes; longer where bringing the
 * state or the init phase would be more than a tenth of that, or where a fast host would be done before the
 * least time that is paid. Never more than 20 minutes for such reasons.
 */
export function partLengthMs(
	{ stateBytes, givenBytes, initMs, spread }: PartCosts,
	{ jobPartMs, jobLongPartMs, jobLeastPaidMs }: Pick<Params, "jobPartMs" | "jobLongPartMs" | "jobLeastPaidMs">,
): number {
	const moveMs = Math.ceil((2 * stateBytes + givenBytes) / MOVED_BYTES_A_MS);
	const wanted = Math.max(HANDING_SHARE * Math.max(moveMs, initMs), Math.ceil(spread * jobLeastPaidMs));
	return Math.max(jobPartMs, Math.min(jobLongPartMs, wanted));
}

/** Parts of a job that takes so long, at most one a segment. */
export const partCount = (segments: number, wholeMs: number, lengthMs: number): number =>
	Math.max(1, Math.min(segments, MAX_PARTS, Math.ceil(wholeMs / lengthMs)));
