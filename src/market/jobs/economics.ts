// What a lie in a job costs and what it brings, docs/jobs.md §9. Pure, in exact integers: micro-units and
// ppm. Letters as there: C what the work costs, R reward, B bond, f share skipped, p chance of a re-run.
import type { JobMethod } from "../../protocol/network/job.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import type { Params } from "../params.ts";

const PPM = 1_000_000;
/** A count of integers below 2^53, product and quotient in between exact. */
const share = (value: number, ppm: number): number => Number((BigInt(value) * BigInt(ppm)) / BigInt(PPM));
const shareUp = (value: number, ppm: number): number =>
	Number((BigInt(value) * BigInt(ppm) + BigInt(PPM - 1)) / BigInt(PPM));

/** Chance, from 0 to 1, that a provider is found which skips this share of the work. */
export const chanceOfSkip = (method: JobMethod, skipped: number, auditPpm: number): number =>
	skipped <= 0 ? 0 : methodOf(method).chanceOfSkip(method.count, skipped, auditPpm / PPM);

/**
 * Chance that one false segment in the middle is found. `perWindow`: segments of a window; `segments`: of the
 * part.
 */
export const chanceOfOne = (method: JobMethod, perWindow: number, segments: number, auditPpm: number): number =>
	methodOf(method).chanceOfOne(method.count, perWindow, segments, auditPpm / PPM);

/**
 * What becomes of a convicted bond: the accuser's costs and a fifth first, then a quarter each to accuser and
 * customer; the rest is burned.
 */
export function convictedShares(bond: number, accuserCosts: number, params: Pick<Params, "jobGasMarginPpm">) {
	const costs = Math.min(bond, shareUp(accuserCosts, params.jobGasMarginPpm));
	const quarter = Math.floor((bond - costs) / ACCUSER_PARTS);
	return { accuser: costs + quarter, customer: quarter, burned: bond - costs - 2 * quarter };
}

/** The accuser has one part in so many of what is left of a convicted bond. */
const ACCUSER_PARTS = 4;

/**
 * What a conviction takes from its provider for good.
 *
 * ATTACK: an audit can be seen before anything is proven. So a friend of the liar accuses it first, and
 * brings back the accuser's share; on a cheap chain its costs too, since gas may be far less than what the
 * escrow gives for it.
 */
export const lossMicros = (bond: number, gasMicros: number, params: Pick<Params, "jobGasMarginPpm">): number =>
	bond - convictedShares(bond, gasMicros, params).accuser;

/**
 * How often parts are run again by chance, in ppm: at first `jobAuditPpm`; after v ≥ 10 checked parts in a
 * row as 10/v of it (BOINC's rule), never below the chance at which a lie brings nothing: p·(R + loss) ≥ C.
 * What the work costs a host nobody knows; none works for less than its cost, so C is R at most, and that is
 * what counts here. So audits become rarer only where the bond is larger than audits need it: where gas, or
 * the pay of several auditors, is most of it.
 */
export function auditChancePpm(
	checkedInARow: number,
	{
		rewardMicros,
		bondMicros,
		gasMicros,
	}: Pick<BondInput, "rewardMicros" | "gasMicros"> & { readonly bondMicros: number },
	params: Pick<Params, "jobAuditPpm" | "jobTrustAfter" | "jobGasMarginPpm">,
): number {
	const { jobAuditPpm, jobTrustAfter } = params;
	const atStake = rewardMicros + lossMicros(bondMicros, gasMicros, params);
	const least = Math.ceil((rewardMicros * PPM) / Math.max(1, atStake));
	const earned = checkedInARow < jobTrustAfter ? jobAuditPpm : Math.ceil((jobAuditPpm * jobTrustAfter) / checkedInARow);
	return Math.min(PPM, Math.max(least, earned));
}

/**
 * What a provider locks for a part. Where a skipped share is found by its size (sampled) the reward alone
 * makes honesty best, and the bond pays for harm: half of the reward; or a dispute's gas and a fifth and four
 * times the audits, so that the accuser's quarter pays those who audited what fell, since the escrow pays
 * them for what was checked only. Where only audits find a lie: p·(R + loss) ≥ R, and the loss is three
 * quarters of what is left after the accuser's costs (lossMicros), so B ≥ (R/p − R) / 0.75 + costs. What is
 * paid by proof (zk) is found for sure, and provers are paid whatever becomes of the claim. One that was
 * convicted before locks double.
 */
export function bondMicros(
	method: JobMethod,
	{ rewardMicros, auditMicros, gasMicros, convictions }: BondInput,
	{ jobAuditPpm, jobGasMarginPpm }: Pick<Params, "jobAuditPpm" | "jobGasMarginPpm">,
): number {
	const { driver, isFoundBySize } = methodOf(method);
	const costs = shareUp(gasMicros, jobGasMarginPpm);
	const audits = driver === "proofs" ? 0 : ACCUSER_PARTS * auditMicros;
	const harm = Math.max(Math.ceil(rewardMicros / 2), audits + costs, 1);
	const wanted = Math.ceil((rewardMicros * PPM) / jobAuditPpm) - rewardMicros;
	const deterrent = isFoundBySize ? 0 : costs + Math.ceil((wanted * ACCUSER_PARTS) / (ACCUSER_PARTS - 1));
	return Math.max(harm, deterrent) * 2 ** Math.min(convictions, 8);
}

export interface BondInput {
	readonly rewardMicros: number;
	/** One audit. */
	readonly auditMicros: number;
	/** The worst dispute. */
	readonly gasMicros: number;
	readonly convictions: number;
}

/**
 * A claim that came faster than its provider's proven speed allows, with the grace of `jobFastPpm`, is run
 * again for sure.
 */
export function isTooFast(tookMs: number, leastMs: number, { jobFastPpm }: Pick<Params, "jobFastPpm">): boolean {
	return tookMs < share(leastMs, PPM - jobFastPpm);
}

/**
 * What is set aside for running so many of a part's segments again: the work's price and a fifth, rounded up.
 */
export function auditMicros(
	priceMicros: number,
	audited: number,
	segments: number,
	{ jobAuditPricePpm }: Pick<Params, "jobAuditPricePpm">,
): number {
	const part = (BigInt(priceMicros) * BigInt(audited) + BigInt(segments - 1)) / BigInt(segments);
	return shareUp(Number(part), jobAuditPricePpm);
}

/**
 * What one auditor is paid of it, in the token's smallest unit. Rounded down, so that all of them together
 * never need more than what is set aside: the last one gets as much for a segment as the first.
 */
export const auditPay = (
	price: bigint,
	audited: number,
	segments: number,
	{ jobAuditPricePpm }: Pick<Params, "jobAuditPricePpm">,
): bigint => (price * BigInt(audited) * BigInt(jobAuditPricePpm)) / (BigInt(segments) * BigInt(PPM));

/** Gas of a proven segment, of what a conviction takes: docs/zk.md §12, contracts/gas.json. */
const PROOF_GAS_SHARE = 2;

/**
 * What provers are paid for a part at most: each segment as the work that it takes, a fifth more, and its
 * gas. `proofMicros`: the work of one.
 */
export function provingMicros(
	proofMicros: number,
	segments: number,
	gasMicros: number,
	{ jobAuditPricePpm, jobGasMarginPpm }: Pick<Params, "jobAuditPricePpm" | "jobGasMarginPpm">,
): number {
	const gas = Math.ceil(shareUp(gasMicros, jobGasMarginPpm) / PROOF_GAS_SHARE);
	return segments * (shareUp(proofMicros, jobAuditPricePpm) + gas);
}

/** The validators' part. */
export const feeMicros = (priceMicros: number, { jobFeePpm }: Pick<Params, "jobFeePpm">): number =>
	share(priceMicros, jobFeePpm);
