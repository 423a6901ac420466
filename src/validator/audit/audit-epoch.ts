// An epoch computed again from what anyone can have: roots, stakes and payments from the chain, leaves, terms
// and evidence from files. Every difference is told; none is explained away, and what could not be checked is
// told as well. Nothing here needs an account or a word of trust. docs/epochs.md §4.
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { readClaims, readPot } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { isReportSigned } from "../../chain/contracts/slashing.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { type AuditDifference, auditScores, auditWeights } from "../../market/epochs/audit-scores.ts";
import { malformedAt, readScoreReport } from "../../market/epochs/score-report.ts";
import { type CountedReport, createWeightProposal, faultOf, shareOf } from "../../market/epochs/weight-proposal.ts";
import { createParams, DEFAULT_PARAMS, type Params } from "../../market/params.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import type { Proposal, ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ReportReasons } from "../settlement/reasons-file.ts";
import type { ReportArchive, SignedLeaves } from "../settlement/report-archive.ts";
import type { SignedRoot } from "../settlement/report-conflicts.ts";
import type { EvidenceAudit, Moment, ProofTime } from "./audit-evidence.ts";

export interface EpochAudit {
	readonly epoch: number;
	/** "none": nothing was proposed; "open": it may still be challenged; "final". */
	readonly proposal: "none" | "open" | "final";
	readonly validators: number;
	readonly providers: number;
	/** Scores that were worked out again from their terms. */
	readonly scores: number;
	readonly evidenceFiles: number;
	readonly claims: number;
	readonly differences: readonly AuditDifference[];
	/** What could not be checked, and what is unusual but no fault. */
	readonly notes: readonly string[];
	/** When the proofs were made whose evidence was verified. */
	readonly made: readonly ProofTime[];
	/** Signed reports that differ from what was revealed: proving one earns the accuser's share (§5). */
	readonly conflicts: readonly FoundConflict[];
}

interface FoundConflict extends SignedRoot {
	readonly validator: Hex;
	readonly revealed: Hex;
}

/** Where files come from: a data folder, the validators' servers. Hostile, all of it. */
export interface AuditSource {
	report(epoch: number, validator: Hex): Promise<SignedLeaves | null>;
	weights(epoch: number, proposer: Hex): Promise<readonly WeightLeaf[] | null>;
	reasons(epoch: number, validator: Hex): Promise<ReportReasons | null>;
}

export interface AuditOptions {
	readonly contracts: Contracts;
	readonly epoch: number;
	readonly source: AuditSource;
	/** Null: evidence is not looked at. */
	readonly evidence: EvidenceAudit | null;
	/** Which leaves' evidence is looked at; all without it. */
	readonly choose?: (leaves: readonly ScoreLeaf[]) => readonly ScoreLeaf[];
}

export async function auditEpoch(options: AuditOptions): Promise<EpochAudit> {
	const { contracts, epoch, source } = options;
	const differences: AuditDifference[] = [];
	const notes: string[] = [];
	const made: ProofTime[] = [];
	const conflicts: FoundConflict[] = [];
	const counted: CountedReport[] = [];
	let [evidenceFiles, scores, validators, unknownStake] = [0, 0, 0, 0n];
	const commits = await board.readCommits(contracts, epoch);
	const listed = new Set<Hex>();
	const revealed = await board.readRevealed(contracts, epoch);
	if (revealed.length === 0) notes.push(await emptiness(options, commits.size));
	for (const { validator, root, stake, voided } of revealed) {
		if (voided) {
			notes.push(`the report of ${validator} is void`);
			continue;
		}
		validators++;
		const found = await source.report(epoch, validator);
		if (found === null) {
			unknownStake += stake;
			differences.push({ what: "report", who: validator, stated: root, right: "its leaves cannot be had" });
			continue;
		}
		const { leaves } = found;
		for (const { provider } of leaves) listed.add(provider);
		const report = readScoreReport(leaves);
		const { signature } = found;
		const signed = await signatureDifferences(options, validator, report.reportRoot, root, signature);
		differences.push(...signed);
		if (signature !== null && signed.some(({ what }) => what === "conflict"))
			conflicts.push({ validator, revealed: root, root: report.reportRoot, signature });
		const isWellFormed = malformedAt(report) === null;
		if (!isWellFormed)
			differences.push({ what: "report", who: validator, stated: root, right: "not sorted, or a score above 10⁶" });
		if (board.keptRoot(report.reportRoot) !== board.keptRoot(root)) {
			unknownStake += stake;
			differences.push({ what: "report", who: validator, stated: root, right: `leaves give ${report.reportRoot}` });
		} else if (isWellFormed) counted.push({ validator, stake, report });
		else unknownStake += stake;

		const chosen = options.evidence === null ? [] : (options.choose?.(leaves) ?? leaves);
		const given = await source.reasons(epoch, validator);
		const reasons = new Map<Hex, Explanation>();
		if (given === null) notes.push(`the terms of ${validator}'s scores cannot be had: they were not computed again`);
		else scores += await auditTerms(validator, leaves, given, new Set(chosen), reasons, differences);
		const params = readParams(given, validator, notes, differences);
		if (options.evidence === null) continue;
		const signingKey = (await readAccount(contracts, validator)).signingKey.slice(2);
		const committed = await momentOf(contracts.client, commits.get(validator));
		for (const leaf of chosen) {
			const reason = reasons.get(leaf.provider) ?? null;
			const checked = await options.evidence.check({ validator, signingKey, leaf, reason, params, committed });
			if (checked === null) continue;
			if (BigInt(leaf.evidenceSha256) !== 0n) evidenceFiles++;
			differences.push(...checked.differences);
			if (checked.made !== null) made.push(checked.made);
		}
	}
	notes.push(...leftOut(counted));
	const base = {
		epoch,
		validators,
		providers: listed.size,
		scores,
		evidenceFiles,
		differences,
		notes,
		made,
		conflicts,
	};
	const standing = await board.readProposal(contracts, epoch);
	if (standing.digest === null) return { ...base, proposal: "none", claims: 0 };
	const { digest } = standing;
	const claims = await auditProposal(options, { ...standing, digest }, counted, unknownStake, differences, notes);
	const head = await contracts.client.viem.getBlock({ blockTag: "latest" });
	return { ...base, proposal: Number(head.timestamp) >= standing.finalAt ? "final" : "open", claims };
}

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

/** Every leaf against its terms, one at a time to save memory. How many there were; `wanted` are kept. */
async function auditTerms(
	validator: Hex,
	leaves: readonly ScoreLeaf[],
	given: ReportReasons,
	wanted: ReadonlySet<ScoreLeaf>,
	kept: Map<Hex, Explanation>,
	differences: AuditDifference[],
): Promise<number> {
	const left = new Map(leaves.map((leaf) => [leaf.provider, leaf]));
	const seen = new Set<Hex>();
	try {
		for await (const [account, reason] of given.entries()) {
			// Of two for one account either could be meant.
			if (seen.has(account)) differences.push({ what: "reason", who: account, stated: "two", right: "one" });
			if (seen.has(account)) continue;
			seen.add(account);
			const leaf = left.get(account);
			differences.push(...auditScores(leaf === undefined ? [] : [leaf], { [account]: reason }));
			if (leaf !== undefined && wanted.has(leaf)) kept.set(account, reason);
		}
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		differences.push({ what: "reason", who: validator, stated: "its terms", right: error.message });
		return seen.size;
	}
	const missing = leaves.filter(({ provider }) => !seen.has(provider));
	differences.push(...auditScores(missing, {}));
	return leaves.length - missing.length;
}

/** Why there is nothing to audit. */
async function emptiness({ contracts, epoch }: AuditOptions, commits: number): Promise<string> {
	const { endsAt } = board.windowsOf(await board.readEpochParams(contracts), epoch);
	const head = await contracts.client.viem.getBlock({ blockTag: "latest" });
	if (Number(head.timestamp) < endsAt) return `epoch ${epoch} ends at ${new Date(endsAt * 1000).toISOString()}`;
	return commits === 0 ? "nobody committed to a report" : `${commits} committed to a report and nobody revealed one`;
}

/** Weights and shares against the reports, or their bounds where some are missing; then every payment. */
async function auditProposal(
	{ contracts, epoch, source }: AuditOptions,
	standing: board.StandingProposal & { readonly digest: Hex },
	counted: readonly CountedReport[],
	unknownStake: bigint,
	differences: AuditDifference[],
	notes: string[],
): Promise<number> {
	const who = standing.proposer.toLowerCase() as Hex;
	const { pot } = await readPot(contracts, epoch);
	const right = createWeightProposal(counted, pot);
	const stated = await board.readProposed(contracts, epoch, standing.digest);
	const isRight =
		unknownStake === 0n &&
		(await read(contracts, "scoreboard", "proposalDigest", BigInt(epoch), right.proposal)) === standing.digest;
	let shares = new Map(right.leaves.map((leaf) => [leaf.provider, shareOf(right.proposal, leaf)]));
	if (stated === null) {
		differences.push({ what: "proposal", who, stated: standing.digest, right: "no event tells it" });
	} else {
		// A right proposal's leaves can be computed by anyone; a file that says otherwise is wrong all the same.
		const leaves = await source.weights(epoch, who);
		if (leaves !== null) differences.push(...proposalDifferences(stated, leaves, counted, unknownStake, who));
		else if (!isRight)
			differences.push({ what: "proposal", who, stated: stated.root, right: "its leaves cannot be had" });
		if (unknownStake > 0n) {
			notes.push("reports are missing: weights were held to what the others leave possible, payments to the proposal");
			if (leaves !== null) shares = new Map(leaves.map((leaf) => [leaf.provider, shareOf(stated, leaf)]));
		}
	}
	const claims = await readClaims(contracts, epoch);
	for (const { provider, amount } of claims) {
		const is = shares.get(provider) ?? 0n;
		if (is !== amount) differences.push({ what: "claim", who: provider, stated: String(amount), right: String(is) });
	}
	return claims.length;
}

function proposalDifferences(
	stated: Proposal,
	leaves: readonly WeightLeaf[],
	counted: readonly CountedReport[],
	unknownStake: bigint,
	who: Hex,
): readonly AuditDifference[] {
	const weights = unknownStake > 0n ? [] : auditWeights(leaves, counted);
	const fault = faultOf(stated, leaves, counted, unknownStake);
	if (fault?.kind === "withheld")
		return [{ what: "proposal", who, stated: stated.root, right: "the leaves here give another root" }, ...weights];
	if (fault?.kind === "shape")
		return [{ what: "proposal", who, stated: stated.root, right: "its sums or its order are wrong" }, ...weights];
	if (fault?.kind === "weight" && weights.length === 0)
		return [{ what: "weight", who: fault.provider, stated: String(fault.stated), right: String(fault.right) }];
	return weights;
}

/** A valid signature over other leaves than were revealed is more than a difference: a proof of fraud. */
async function signatureDifferences(
	{ contracts, epoch }: AuditOptions,
	validator: Hex,
	root: Hex,
	revealed: Hex,
	signature: Hex | null,
): Promise<readonly AuditDifference[]> {
	const isSigned =
		signature !== null &&
		(await isReportSigned(contracts.addresses, { validator, epoch: BigInt(epoch), root }, signature));
	if (!isSigned) return [{ what: "signature", who: validator, stated: root, right: "it did not sign these leaves" }];
	return board.keptRoot(root) === board.keptRoot(revealed)
		? []
		: [{ what: "conflict", who: validator, stated: root, right: `it signed this and revealed ${revealed}` }];
}

/** Parameters are the validator's to choose, and everyone's to see. Null: none that can be used. */
function readParams(
	given: ReportReasons | null,
	validator: Hex,
	notes: string[],
	differences: AuditDifference[],
): Params | null {
	if (given === null) return null;
	try {
		const params = createParams(given.params ?? {});
		const others = (Object.keys(params) as (keyof Params)[]).filter(
			(name) => JSON.stringify(params[name]) !== JSON.stringify(DEFAULT_PARAMS[name]),
		);
		if (others.length > 0) {
			const said = others.map((name) => `${name} ${JSON.stringify(params[name]).slice(0, 80)}`);
			notes.push(`${validator} scores with parameters of its own: ${said.join(", ")}`);
		}
		return params;
	} catch {
		differences.push({ what: "params", who: validator, stated: "its parameters", right: "none that can be used" });
		return null;
	}
}

async function momentOf({ viem }: ChainClient, block: number | undefined): Promise<Moment | null> {
	if (block === undefined) return null;
	return { block, timeS: Number((await viem.getBlock({ blockNumber: BigInt(block) })).timestamp) };
}

/** Files of one's own data folder, own ones and those that were fetched when they counted. */
export const archiveSource = (archive: ReportArchive): AuditSource => ({
	report: archive.signedReport,
	weights: archive.weights,
	reasons: archive.reasonsOf,
});
