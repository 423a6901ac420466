// The reports of an epoch, computed again: leaves against the root on chain, scores against their terms, the
// terms' parameters, and, where whoever asks wants it, the evidence behind them.
import type { ScoreLeaf, Seat } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ReportReasons } from "../epochs/reasons-file.ts";
import { malformedAt, readScoreReport, type ScoreReport } from "../epochs/score-report.ts";
import { isInSet, isQuorum } from "../epochs/seat-set.ts";
import { createParams, DEFAULT_PARAMS, type Params } from "../params.ts";
import type { Explanation } from "../scores/explanation.ts";
import { type AuditLog, NOT_HAD, PPM, percent, short } from "./audit-log.ts";
import { auditTerms, difference } from "./audit-scores.ts";
import type { AuditSteps, AuditView, EpochFiles } from "./audit-view.ts";

export interface AuditedReports {
	/** By seat; null where the leaves are not here or not those that were revealed. Malformed ones are here. */
	readonly reports: readonly (ScoreReport | null)[];
	/** That any of them names. */
	readonly providers: ReadonlySet<Hex>;
	/** Scores that were worked out again from their terms. */
	readonly scores: number;
}

export async function auditReports(
	view: AuditView,
	files: EpochFiles,
	steps: AuditSteps,
	log: AuditLog,
): Promise<AuditedReports> {
	const { seats, totalStake, rules, posted } = view;
	const reports: (ScoreReport | null)[] = [];
	const providers = new Set<Hex>();
	let scores = 0;
	for (const [seat, one] of seats.entries()) {
		const { validator } = one;
		const title = `Report of ${short(validator)}`;
		await steps.onStep(title);
		const leaves = await files.report(validator);
		reports.push(reportOf(one, leaves, title, log, posted !== null && !isInSet(posted.weights.set, seat)));
		if (leaves === null || leaves === "unreadable") continue;
		for (const { provider } of leaves) providers.add(provider);
		await steps.onStep(`Scores of ${short(validator)}`);
		scores += await auditReasons(validator, leaves, { files, steps, log });
	}
	if (seats.length === 0) log.check("Reports", null, "nobody has revealed a report yet");
	else {
		const stake = seats.reduce((sum, one) => sum + one.stake, 0n);
		const needed = `reports with ${percent(stake, totalStake)} of all stake; ${percent(BigInt(rules.quorumPpm), PPM)} are needed`;
		log.check("Quorum", isQuorum(stake, totalStake, rules.quorumPpm) || null, needed);
	}
	log.notes.push(...leftOut(seats, reports));
	return { reports, providers, scores };
}

/** The report that was revealed; null when its leaves are not here. */
function reportOf(
	{ validator, root }: Seat,
	leaves: readonly ScoreLeaf[] | "unreadable" | null,
	title: string,
	log: AuditLog,
	isLeftOut: boolean,
): ScoreReport | null {
	if (leaves === null && isLeftOut) {
		log.notes.push(`the report of ${validator} cannot be had; it does not count`);
		return null;
	}
	if (leaves === null || leaves === "unreadable") {
		log.missing.push(difference("REPORT_MISSING", validator, root, NOT_HAD));
		log.check(title, leaves && false, leaves === null ? "its leaves are not here" : "no list of leaves");
		return null;
	}
	const report = readScoreReport(leaves);
	const { reportRoot } = report;
	const isRevealed = reportRoot === root;
	const wrong = [
		...(isRevealed ? [] : [difference("REPORT_WRONG", validator, root, `leaves give ${reportRoot}`)]),
		...(malformedAt(report) === null
			? []
			: [difference("REPORT_WRONG", validator, reportRoot, "not sorted, or a score above 10⁶")]),
	];
	log.compare(title, wrong, `${leaves.length} leaves: ${short(reportRoot)}, on chain: ${short(root)}`);
	return isRevealed ? report : null;
}

/** How many of its scores have terms. */
async function auditReasons(
	validator: Hex,
	leaves: readonly ScoreLeaf[],
	{
		files,
		steps: { evidence },
		log,
	}: { readonly files: EpochFiles; readonly steps: AuditSteps; readonly log: AuditLog },
): Promise<number> {
	const chosen = evidence?.choose(leaves) ?? [];
	const given = await files.reasons(validator);
	let reasons: ReadonlyMap<Hex, Explanation> = new Map();
	let scores = 0;
	if (given === null) log.notes.push(`the terms of ${validator}'s scores cannot be had: they were not computed again`);
	else {
		const terms = await auditTerms(validator, leaves, given, new Set(chosen));
		reasons = terms.reasons;
		scores = terms.scores;
		const wrong = `${terms.differences.length} of ${leaves.length} do not follow from their terms`;
		log.compare(`Scores of ${short(validator)}`, terms.differences, wrong);
	}
	const params = given && readParams(given, validator, log);
	log.differences.push(...((await evidence?.check({ validator, chosen, reasons, params })) ?? []));
	return scores;
}

/** Parameters are the validator's to choose, and everyone's to see. Null: none that can be used. */
function readParams(given: ReportReasons, validator: Hex, log: AuditLog): Params | null {
	try {
		const params = createParams(given.params ?? {});
		const said = (Object.keys(params) as (keyof Params)[])
			.filter((name) => JSON.stringify(params[name]) !== JSON.stringify(DEFAULT_PARAMS[name]))
			.map((name) => `${name} ${JSON.stringify(params[name]).slice(0, 80)}`);
		if (said.length > 0) log.notes.push(`${validator} scores with parameters of its own: ${said.join(", ")}`);
		return params;
	} catch {
		log.differences.push(difference("PARAMS_WRONG", validator, "its parameters", "none that can be used"));
		return null;
	}
}

/** Who leaves out what others score. No fault by itself: it may never have met that provider. */
function leftOut(seats: readonly Seat[], reports: readonly (ScoreReport | null)[]): string[] {
	const scored = new Set(
		reports.flatMap((report) =>
			(report?.leaves ?? []).filter(({ scorePpm }) => scorePpm > 0).map(({ provider }) => provider),
		),
	);
	return reports.flatMap((report, seat) => {
		if (report === null) return [];
		const missing = new Set(scored);
		for (const { provider } of report.leaves) missing.delete(provider);
		const [first] = missing;
		if (first === undefined) return [];
		return [
			`${seats[seat]!.validator} leaves out ${missing.size} of the providers that others score, ${first} among them`,
		];
	});
}
