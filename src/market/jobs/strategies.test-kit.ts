// What each way to play a part brings whoever plays it, on average, in micro-units: from the market's own
// sums (economics.ts) and the methods' own chances. docs/jobs.md §9. Used by the test of those sums and by
// bench/jobs/economics.ts, which prints the whole table. Not here: what hosts are paid by the quote.
import type { JobMethod, JobTerms } from "../../protocol/network/job.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import type { Params } from "../params.ts";
import {
	auditChancePpm,
	auditMicros,
	bondMicros,
	chanceOfOne,
	chanceOfSkip,
	convictedShares,
	feeMicros,
	lossMicros,
	provingMicros,
} from "./economics.ts";
import * as rules from "./job-rules.ts";

export interface Situation {
	readonly method: JobMethod;
	/** Paid for the part. Its work costs as much: whoever it costs more is not drawn. */
	readonly rewardMicros: number;
	readonly gasMicros: number;
	readonly convictions: number;
	/** Parts of this provider that were checked in a row. */
	readonly checkedInARow: number;
	readonly segments: number;
	readonly perWindow: number;
}

/** One way to play, and what it brings. */
export interface Play {
	readonly name: string;
	readonly gain: number;
}

export interface Row {
	readonly who: "worker" | "auditor" | "customer" | "owner of several hosts";
	readonly situation: string;
	/** What no rule mends yet: the row is shown, and counts as no fault. */
	readonly limit?: string;
	readonly honest: Play;
	readonly dishonest: readonly Play[];
}

export const METHOD_ORDERS: readonly JobMethod[] = [
	{ name: "redundant", count: 2 },
	{ name: "redundant", count: 5 },
	{ name: "sampled", count: 1 },
	{ name: "sampled", count: 16 },
	{ name: "optimistic", count: 0 },
	{ name: "attested", count: 0 },
	{ name: "zk", count: 0 },
];

/** Of the work. */
const SKIPPED = [0.001, 0.01, 0.1, 0.5, 1];

export function moneyOf(of: Situation, params: Params) {
	const { method, rewardMicros, gasMicros, convictions, segments, perWindow } = of;
	const rules = methodOf(method);
	const most = rules.audited(method.count, segments, perWindow);
	const audits =
		rules.driver === "proofs"
			? provingMicros(Math.ceil(rewardMicros / segments), segments, gasMicros, params)
			: auditMicros(rewardMicros, most, segments, params);
	const bond = bondMicros(method, { rewardMicros, auditMicros: audits, gasMicros, convictions }, params);
	const chancePpm = auditChancePpm(of.checkedInARow, { rewardMicros, bondMicros: bond, gasMicros }, params);
	return { audits, bond, chancePpm, fee: feeMicros(rewardMicros, params) };
}

/** A lie that is found with this chance, and that saves so much of the work. */
function lies(of: Situation, params: Params, name: string, found: number, saved: number): Play[] {
	const { rewardMicros: reward, gasMicros } = of;
	const { bond } = moneyOf(of, params);
	const gain = (loss: number) => (1 - found) * reward - found * loss - (1 - saved) * reward;
	return [
		{ name, gain: gain(bond) },
		{ name: `${name}, a friend accuses first`, gain: gain(lossMicros(bond, gasMicros, params)) },
	];
}

/** Whoever says nothing afterwards is convicted by its silence, as often: docs/jobs.md §14. */
function workerRow(of: Situation, params: Params): Row {
	const { method, segments, perWindow } = of;
	const { chancePpm } = moneyOf(of, params);
	const skips = SKIPPED.flatMap((share) =>
		lies(of, params, `skips ${share} of the work`, chanceOfSkip(method, share, chancePpm), share),
	);
	const one = chanceOfOne(method, perWindow, segments, chancePpm);
	return {
		...{ who: "worker", situation: "strangers audit it" },
		honest: { name: "works", gain: 0 },
		dishonest: [
			...skips,
			...lies(of, params, "forges one segment", one, 1 / segments),
			...lies(of, params, "makes it all up, and says nothing", chanceOfSkip(method, 1, chancePpm), 1),
			{ name: "takes the part, and hands nothing in", gain: 0 },
		],
	};
}

/**
 * Whose hosts hold all draws of a redundant part, and know it. That one of them runs the part for all no rule
 * can see; a lie is worth nothing if it brings no more than that.
 */
function ownersRow(of: Situation, params: Params): Row | null {
	const { method, rewardMicros: reward, gasMicros } = of;
	const runners = methodOf(method).runners(method.count);
	if (runners < 2) return null;
	const { bond, chancePpm } = moneyOf(of, params);
	const one = auditMicros(reward, 1, 1, params);
	const paid = reward + (runners - 1) * one;
	const found = chancePpm / 1e6;
	const lie = (loss: number) => (1 - found) * paid - found * loss;
	return {
		...{ who: "owner of several hosts", situation: `holds all ${runners} draws` },
		honest: { name: "one runs it for all", gain: paid - reward },
		dishonest: [
			{ name: "all lie", gain: lie(bond) },
			{ name: "all lie, a friend accuses first", gain: lie(lossMicros(bond, gasMicros, params)) },
		],
	};
}

/** What an auditor of so many segments is paid whose answer ends so: by the rules of a part. */
function paidFor(of: Situation, params: Params, ends: "agrees" | "replaced"): number {
	const { method, rewardMicros, segments, perWindow } = of;
	const count = Math.max(1, methodOf(method).audited(method.count, segments, perWindow));
	const terms = { method, segments, parts: 1, startByMs: 1, workMs: 9, windowMs: 9 } as JobTerms;
	let job = rules.offer(rules.newJob("j", terms), 0, "claimant", 0, params);
	job = rules.claim(rules.accept(job, 0, 0), 0, "c", 1);
	const audit = { auditor: "auditor", first: 0, count, untilMs: 0, tried: [], answer: null, agrees: null };
	job = rules.answerAudit(rules.addAudits(job, 0, [audit]), 0, 0, "a", 2);
	job =
		ends === "agrees"
			? rules.compareAudit(job, 0, 0, true)
			: rules.replaceAudit(job, 0, 0, { auditor: null, untilMs: 0 });
	const own = job.parts[0]!.audits.filter(({ auditor, agrees }) => auditor === "auditor" && agrees === true);
	return own.reduce((sum, one) => sum + auditMicros(rewardMicros, one.count, segments, params), 0);
}

/** An answer that could have been copied counts only with a leaf that is on no chain: docs/jobs.md §9. */
function auditorRows(of: Situation, params: Params): Row[] {
	const { method, rewardMicros: reward, segments, perWindow, gasMicros } = of;
	const { audited, driver } = methodOf(method);
	if (driver === "proofs") return [];
	const { bond } = moneyOf(of, params);
	const work = (reward * Math.max(1, audited(method.count, segments, perWindow))) / segments;
	const quarter = convictedShares(bond, gasMicros, params).customer;
	const none = paidFor(of, params, "replaced");
	return [
		{
			...{ who: "auditor", situation: "the claim is right, or falls by the validator's proof" },
			// Of a claim that fell the accuser's quarter pays it.
			honest: { name: "works", gain: Math.min(paidFor(of, params, "agrees"), quarter) - work },
			dishonest: [
				{ name: "copies from the chain, and asks there itself", gain: none - gasMicros / ANSWERS_A_DISPUTE },
				{ name: "copies what others asked there", gain: none },
				{ name: "answers anything, or nothing", gain: none },
			],
		},
		{
			...{ who: "auditor", situation: "the claim falls by a proof of the liar's friend" },
			limit: "whoever audited what fell by another's proof is paid by nobody",
			honest: { name: "works", gain: none - work },
			dishonest: [],
		},
	];
}

/** The gas of a dispute is that of some ten answers. */
const ANSWERS_A_DISPUTE = 10;

function mostAudits(of: Situation, params: Params): number {
	const { driver, audited } = methodOf(of.method);
	if (driver === "proofs") return moneyOf(of, params).audits;
	const { rewardMicros, segments } = of;
	return auditMicros(rewardMicros, audited(of.method.count, segments, of.perWindow), segments, params);
}

/** What it was ready to pay is what the result is worth to it. */
function customerRow(of: Situation, params: Params): Row {
	const { bond, fee, audits } = moneyOf(of, params);
	const { burned } = convictedShares(bond, of.gasMicros, params);
	return {
		...{ who: "customer", situation: "pays for the result" },
		// All that may be spent was said before.
		honest: { name: "gets it for no more than was quoted", gain: audits - mostAudits(of, params) },
		dishonest: [
			{ name: "its own provider works, for a name", gain: -fee },
			{ name: "its own provider lies, and it accuses it itself", gain: -burned },
		],
	};
}

export const rowsOf = (of: Situation, params: Params): Row[] =>
	[workerRow(of, params), ownersRow(of, params), ...auditorRows(of, params), customerRow(of, params)].filter(
		(row) => row !== null,
	);

/**
 * What is wrong with a row: an honest cell below 0 or below another, a dishonest one above 0. What one
 * owner's hosts save among themselves is above 0 without any lie. `slack`: of rounding.
 */
export function faultsOf({ who, situation, honest, dishonest, limit }: Row, slack: number): string[] {
	if (limit !== undefined) return [];
	const at = `${who}, ${situation}`;
	const most = who === "owner of several hosts" ? honest.gain : Math.min(honest.gain, 0);
	return [
		...(honest.gain < -slack ? [`${at}: ${honest.name} brings ${honest.gain}`] : []),
		...dishonest
			.filter(({ gain }) => gain > most + slack)
			.map(({ name, gain }) => `${at}: ${name} brings ${gain}, ${honest.name} ${honest.gain}`),
	];
}
