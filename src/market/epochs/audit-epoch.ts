// An epoch computed again, for the command line and the browser alike: signatures and roots of reports, scores
// from their terms, medians, weights, shares, payments; each compared with what the chain has. Every difference
// is told, and what could not be checked as well. Pure: whoever asks brings the chain's word (EpochView) and the
// public files, which are hostile. docs/epochs.md §4.
import {
	keptRoot,
	type Proposal,
	type RevealedReport,
	type ScoreLeaf,
	type WeightLeaf,
} from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { SignedLeaves } from "../../protocol/chain/leaf-files.ts";
import type { ReceiptDomain } from "../../protocol/chain/probe-receipt.ts";
import { isReportSigned } from "../../protocol/chain/report-signature.ts";
import { createParams, DEFAULT_PARAMS, type Params } from "../params.ts";
import type { Explanation } from "../scores/explanation.ts";
import { type AuditDifference, auditTerms, auditWeights } from "./audit-scores.ts";
import type { ReportReasons } from "./reasons-file.ts";
import { malformedAt, readScoreReport } from "./score-report.ts";
import { type CountedReport, createWeightProposal, faultOf, proposalDigest, shareOf } from "./weight-proposal.ts";

interface Payment {
	readonly provider: Hex;
	readonly amount: bigint;
}

/** What the chain says of an epoch. Accounts in lower case. */
export interface EpochView {
	readonly epoch: number;
	/** What reports are signed for. */
	readonly domain: ReceiptDomain;
	readonly reports: readonly RevealedReport[];
	readonly totalStake: bigint;
	readonly quorumPpm: number;
	/** Null: nothing is proposed. `stated` null: no event tells what. */
	readonly proposal: { readonly proposer: Hex; readonly digest: Hex; readonly stated: Proposal | null } | null;
	readonly pot: bigint;
	readonly claims: readonly Payment[];
	/** What somebody shows as shares under the proposal; empty: nobody does. */
	readonly shares: readonly Payment[];
}

/** Where files come from: a data folder, the validators' servers. Hostile, all of it. Null: it cannot be had. */
export interface EpochFiles {
	report(validator: Hex): Promise<SignedLeaves | "unreadable" | null>;
	weights(proposer: Hex): Promise<readonly WeightLeaf[] | null>;
	reasons(validator: Hex): Promise<ReportReasons | null>;
}

export interface EvidenceSteps {
	/** Which leaves' evidence is looked at. */
	choose(leaves: readonly ScoreLeaf[]): readonly ScoreLeaf[];
	check(one: {
		readonly validator: Hex;
		readonly chosen: readonly ScoreLeaf[];
		readonly reasons: ReadonlyMap<Hex, Explanation>;
		/** The validator's own; null when it states none that can be used. */
		readonly params: Params | null;
	}): Promise<readonly AuditDifference[]>;
}

export interface AuditSteps {
	/** Before whatever may take a while. */
	readonly onStep: (title: string) => void | Promise<void>;
	/** Null: evidence is not looked at. */
	readonly evidence: EvidenceSteps | null;
}

export interface AuditCheck {
	readonly title: string;
	readonly state: "equal" | "differs" | "unknown";
	readonly found: string;
}

/** A signed report that is not what was revealed: proving it on chain earns the accuser's share (§5). */
export interface FoundConflict {
	readonly validator: Hex;
	readonly revealed: Hex;
	readonly root: Hex;
	readonly signature: Hex;
}

/** By provider. */
type Shares = ReadonlyMap<Hex, bigint>;

const PPM = 1_000_000n;
const NOT_HAD = "its leaves cannot be had";
const short = (value: string): string => `${value.slice(0, 10)}…${value.slice(-4)}`;
const percent = (part: bigint, whole: bigint): string =>
	whole === 0n ? "none" : `${(Number((part * 10_000n) / whole) / 100).toFixed(2)} %`;

export async function auditEpoch(view: EpochView, files: EpochFiles, steps: AuditSteps): Promise<AuditedEpoch> {
	const audit = new AuditedEpoch(view, files, steps);
	await audit.run();
	return audit;
}

export class AuditedEpoch {
	readonly checks: AuditCheck[] = [];
	readonly differences: AuditDifference[] = [];
	/** What cannot be had: nobody is accused for want of a file. */
	readonly missing: AuditDifference[] = [];
	/** What could not be checked, and what is unusual but no fault. */
	readonly notes: string[] = [];
	readonly conflicts: FoundConflict[] = [];
	/** Reports that are not void, and the providers in them. */
	validators = 0;
	readonly providers = new Set<Hex>();
	/** Scores that were worked out again from their terms. */
	scores = 0;
	private readonly counted: CountedReport[] = [];
	/** Of reports that count and whose leaves cannot be had. */
	private unknownStake = 0n;
	private readonly view: EpochView;
	private readonly files: EpochFiles;
	private readonly steps: AuditSteps;

	constructor(view: EpochView, files: EpochFiles, steps: AuditSteps) {
		this.view = view;
		this.files = files;
		this.steps = steps;
	}

	async run(): Promise<void> {
		const { reports, totalStake, quorumPpm } = this.view;
		let stake = 0n;
		for (const one of reports) {
			if (one.voided) {
				this.notes.push(`the report of ${one.validator} is void`);
				continue;
			}
			this.validators++;
			stake += one.stake;
			const leaves = await this.auditReport(one);
			for (const { provider } of leaves ?? []) this.providers.add(provider);
			if (leaves !== null) await this.auditReasons(one.validator, leaves);
		}
		if (this.validators === 0) this.check("Reports", null, "nobody has revealed a report yet");
		else {
			const needed = `reports with ${percent(stake, totalStake)} of all stake; ${percent(BigInt(quorumPpm), PPM)} are needed`;
			this.check("Quorum", stake * PPM >= totalStake * BigInt(quorumPpm) || null, needed);
		}
		this.notes.push(...leftOut(this.counted));
		await this.steps.onStep("Medians and shares");
		await this.auditProposal();
	}

	/** Null: it is not known. */
	private check(title: string, isEqual: boolean | null, found: string): void {
		this.checks.push({ title, state: isEqual === null ? "unknown" : isEqual ? "equal" : "differs", found });
	}

	/** Its leaves; null when they cannot be had. Only what was revealed and is well-formed counts. */
	private async auditReport({ validator, root, stake }: RevealedReport): Promise<readonly ScoreLeaf[] | null> {
		const { domain, epoch } = this.view;
		const title = `Report of ${short(validator)}`;
		await this.steps.onStep(title);
		const given = await this.files.report(validator);
		if (given === null || given === "unreadable") {
			this.unknownStake += stake;
			this.missing.push({ what: "report", who: validator, stated: root, right: NOT_HAD });
			this.check(title, given && false, given === null ? "its leaves are not here" : "no list of leaves");
			return null;
		}
		const { leaves, signature } = given;
		const report = readScoreReport(leaves);
		const { reportRoot } = report;
		const isRevealed = keptRoot(reportRoot) === keptRoot(root);
		const isSorted = malformedAt(report) === null;
		const wrong: AuditDifference[] = [];
		const differ = (what: string, stated: Hex, right: string) => wrong.push({ what, who: validator, stated, right });
		if (signature === null || !isReportSigned(domain, { validator, epoch: BigInt(epoch), root: reportRoot }, signature))
			differ("signature", reportRoot, "it did not sign these leaves");
		else if (!isRevealed) {
			differ("conflict", reportRoot, `it signed this and revealed ${root}`);
			this.conflicts.push({ validator, revealed: root, root: reportRoot, signature });
		}
		if (!isSorted) differ("report", root, "not sorted, or a score above 10⁶");
		if (!isRevealed) differ("report", root, `leaves give ${reportRoot}`);
		this.differences.push(...wrong);
		this.check(title, wrong.length === 0, `${leaves.length} leaves: ${short(reportRoot)}, on chain: ${short(root)}`);
		if (isRevealed && isSorted) this.counted.push({ validator, stake, report });
		else this.unknownStake += stake;
		return leaves;
	}

	private async auditReasons(validator: Hex, leaves: readonly ScoreLeaf[]): Promise<void> {
		const { onStep, evidence } = this.steps;
		const title = `Scores of ${short(validator)}`;
		await onStep(title);
		const chosen = evidence?.choose(leaves) ?? [];
		const given = await this.files.reasons(validator);
		let reasons: ReadonlyMap<Hex, Explanation> = new Map();
		if (given === null)
			this.notes.push(`the terms of ${validator}'s scores cannot be had: they were not computed again`);
		else {
			const terms = await auditTerms(validator, leaves, given, new Set(chosen));
			reasons = terms.reasons;
			this.scores += terms.scores;
			this.differences.push(...terms.differences);
			const wrong = terms.differences.length;
			this.check(title, wrong === 0, `${wrong} of ${leaves.length} do not follow from their terms`);
		}
		const params = given && this.readParams(given, validator);
		this.differences.push(...((await evidence?.check({ validator, chosen, reasons, params })) ?? []));
	}

	/** Parameters are the validator's to choose, and everyone's to see. Null: none that can be used. */
	private readParams(given: ReportReasons, validator: Hex): Params | null {
		try {
			const params = createParams(given.params ?? {});
			const said = (Object.keys(params) as (keyof Params)[])
				.filter((name) => JSON.stringify(params[name]) !== JSON.stringify(DEFAULT_PARAMS[name]))
				.map((name) => `${name} ${JSON.stringify(params[name]).slice(0, 80)}`);
			if (said.length > 0) this.notes.push(`${validator} scores with parameters of its own: ${said.join(", ")}`);
			return params;
		} catch {
			const right = "none that can be used";
			this.differences.push({ what: "params", who: validator, stated: "its parameters", right });
			return null;
		}
	}

	/** Against the reports; where some cannot be had, within what the others leave possible. Then every payment. */
	private async auditProposal(): Promise<void> {
		const { view, counted, unknownStake } = this;
		if (view.proposal === null) return this.check("Weights", null, "nothing is proposed yet");
		const { proposer: who, digest, stated } = view.proposal;
		const right = createWeightProposal(counted, view.pot);
		const isComplete = unknownStake === 0n;
		const due = sharesOf(right.proposal, right.leaves);
		if (stated === null) {
			this.differences.push({ what: "proposal", who, stated: digest, right: "no event tells it" });
			return this.comparePayments("claim", view.claims, isComplete ? due : null);
		}
		const [rightDigest, statedDigest] = [right.proposal, stated].map((one) => proposalDigest(view.epoch, one));
		const isRight = isComplete && rightDigest === digest;
		const leaves = await this.files.weights(who);
		const fault = leaves === null ? null : faultOf(stated, leaves, counted, unknownStake);
		const isPublished = leaves !== null && fault?.kind !== "withheld";
		const wrong = (what: string) => ({ what: "proposal", who, stated: stated.root, right: what });
		// A right proposal's leaves can be computed by anyone; a file that says otherwise is wrong all the same.
		if (leaves !== null)
			this.check("Published weights", isPublished, `${leaves.length} leaves for ${short(stated.root)}`);
		else if (!isRight) this.missing.push(wrong(NOT_HAD));
		if (fault?.kind === "withheld") this.differences.push(wrong("the leaves here give another root"));
		if (fault?.kind === "shape") this.differences.push(wrong("its sums or its order are wrong"));
		const weights = isComplete && leaves !== null ? auditWeights(leaves, counted) : [];
		if (weights.length === 0 && fault?.kind === "weight")
			weights.push({ what: "weight", who: fault.provider, stated: String(fault.stated), right: String(fault.right) });
		this.differences.push(...weights);
		const areMedians = weights.length > 0 ? false : (isComplete && leaves !== null) || isRight || null;
		const outside = `${weights.length} of ${right.leaves.length} weights are not the stake-weighted median`;
		this.check("Medians", areMedians, outside);
		const roots = `these reports give ${short(right.proposal.root)}, the chain has ${short(stated.root)}`;
		this.check("Proposal", isComplete ? rightDigest === statedDigest : null, roots);
		this.check("Digest", statedDigest === digest, `of root, sums and pot: ${short(statedDigest!)}`);
		if (!isComplete)
			this.notes.push(
				"reports are missing: weights were held to what the others leave possible, payments to the proposal",
			);
		// What is shown follows from whichever leaves give the root on chain: one wrong weight does not make
		// everybody's share look wrong.
		const proposed = isPublished ? leaves : right.proposal.root === stated.root ? right.leaves : null;
		const shares = proposed && sharesOf(stated, proposed);
		this.comparePayments("share", view.shares, shares);
		this.comparePayments("claim", view.claims, isComplete ? due : shares);
	}

	/** `right` null: no leaves here give the root on chain. */
	private comparePayments(what: "share" | "claim", stated: readonly Payment[], right: Shares | null): void {
		const title = what === "share" ? "Shares" : "Claims";
		const wrong = stated.filter(({ provider, amount }) => right !== null && amount !== (right.get(provider) ?? 0n));
		for (const { provider: who, amount } of wrong)
			this.differences.push({ what, who, stated: String(amount), right: String(right?.get(who) ?? 0n) });
		if (right === null) this.check(title, null, "no leaves here give the root on chain");
		else this.check(title, wrong.length === 0, `${wrong.length} of ${stated.length} are other amounts`);
	}
}

const sharesOf = (proposal: Proposal, leaves: readonly WeightLeaf[]): Shares =>
	new Map(leaves.map((leaf) => [leaf.provider, shareOf(proposal, leaf)]));

/** Who leaves out what others score. No fault by itself: it may never have met that provider. */
function leftOut(counted: readonly CountedReport[]): string[] {
	const scored = new Set(
		counted.flatMap(({ report }) =>
			report.leaves.filter(({ scorePpm }) => scorePpm > 0).map(({ provider }) => provider),
		),
	);
	return counted.flatMap(({ validator, report }) => {
		const missing = new Set(scored);
		for (const { provider } of report.leaves) missing.delete(provider);
		const [first] = missing;
		if (first === undefined) return [];
		return [`${validator} leaves out ${missing.size} of the providers that others score, ${first} among them`];
	});
}
