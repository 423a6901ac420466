// `assay audit` of an epoch: what the chain says of it, from events and views, for the audit of
// market/epochs/audit-epoch.ts, and the evidence behind its scores. Nothing here needs an account or a word of
// trust. docs/epochs.md §4.
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { readClaims, readPot } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import {
	type AuditedEpoch,
	auditEpoch as auditView,
	type EpochFiles,
	type EpochView,
	type EvidenceSteps,
} from "../../market/epochs/audit-epoch.ts";
import type { AuditDifference } from "../../market/epochs/audit-scores.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { ReportArchive } from "../settlement/report-archive.ts";
import type { EvidenceAudit, ProofTime } from "./audit-evidence.ts";

export interface EpochAudit
	extends Pick<AuditedEpoch, "validators" | "scores" | "differences" | "notes" | "conflicts"> {
	readonly epoch: number;
	/** "none": nothing was proposed; "open": it may still be challenged; "final". */
	readonly proposal: "none" | "open" | "final";
	readonly providers: number;
	readonly evidenceFiles: number;
	readonly claims: number;
	/** When the proofs were made whose evidence was verified. */
	readonly made: readonly ProofTime[];
}

type OfEpoch<Read> = Read extends (who: Hex) => infer Found ? (epoch: number, who: Hex) => Found : never;

/** The public files of any epoch. */
export type AuditSource = { readonly [Kind in keyof EpochFiles]: OfEpoch<EpochFiles[Kind]> };

export interface AuditOptions {
	readonly contracts: Contracts;
	readonly epoch: number;
	readonly source: AuditSource;
	/** Null: evidence is not looked at. */
	readonly evidence: EvidenceAudit | null;
	/** Which leaves' evidence is looked at; all without it. */
	readonly choose?: (leaves: readonly ScoreLeaf[]) => readonly ScoreLeaf[];
}

export async function auditEpoch(o: AuditOptions): Promise<EpochAudit> {
	const { contracts, epoch, source } = o;
	const standing = await board.readProposal(contracts, epoch);
	const commits = await board.readCommits(contracts, epoch);
	const view = await readView(o, standing);
	const seen: Seen = { made: [], evidenceFiles: 0 };
	const files: EpochFiles = {
		report: (who) => source.report(epoch, who),
		weights: (who) => source.weights(epoch, who),
		reasons: (who) => source.reasons(epoch, who),
	};
	const evidence = evidenceSteps(o, commits, seen);
	const found = await auditView(view, files, { onStep() {}, evidence });
	const { validators, providers, scores, conflicts } = found;
	const now = Number((await contracts.client.viem.getBlock({ blockTag: "latest" })).timestamp);
	const { endsAt } = board.windowsOf(await board.readEpochParams(contracts), epoch);
	return {
		epoch,
		proposal: standing.digest === null ? "none" : now >= standing.finalAt ? "final" : "open",
		validators,
		providers: providers.size,
		scores,
		evidenceFiles: seen.evidenceFiles,
		claims: view.claims.length,
		differences: [...found.missing, ...found.differences],
		notes: view.reports.length === 0 ? [emptiness(epoch, endsAt, now, commits.size), ...found.notes] : found.notes,
		made: seen.made,
		conflicts,
	};
}

async function readView({ contracts, epoch }: AuditOptions, standing: board.StandingProposal): Promise<EpochView> {
	const { digest } = standing;
	const [, totalStake] = await read(contracts, "scoreboard", "stakesOf", BigInt(epoch));
	return {
		epoch,
		domain: contracts.addresses,
		reports: await board.readRevealed(contracts, epoch),
		totalStake,
		quorumPpm: (await board.readEpochParams(contracts)).quorumPpm,
		proposal:
			digest === null
				? null
				: {
						proposer: standing.proposer.toLowerCase() as Hex,
						digest,
						stated: await board.readProposed(contracts, epoch, digest),
					},
		pot: (await readPot(contracts, epoch)).pot,
		claims: digest === null ? [] : await readClaims(contracts, epoch),
		shares: [],
	};
}

/** Why there is nothing to audit. */
function emptiness(epoch: number, endsAt: number, now: number, commits: number): string {
	if (now < endsAt) return `epoch ${epoch} ends at ${new Date(endsAt * 1000).toISOString()}`;
	return commits === 0 ? "nobody committed to a report" : `${commits} committed to a report and nobody revealed one`;
}

interface Seen {
	readonly made: ProofTime[];
	evidenceFiles: number;
}

function evidenceSteps(o: AuditOptions, commits: ReadonlyMap<Hex, number>, seen: Seen): EvidenceSteps | null {
	const { contracts, evidence } = o;
	if (evidence === null) return null;
	return {
		choose: o.choose ?? ((leaves) => leaves),
		async check({ validator, chosen, reasons, params }) {
			const signingKey = (await readAccount(contracts, validator)).signingKey.slice(2);
			const block = commits.get(validator);
			const at = block === undefined ? null : await contracts.client.viem.getBlock({ blockNumber: BigInt(block) });
			const committed = at === null ? null : { block: block!, timeS: Number(at.timestamp) };
			const differences: AuditDifference[] = [];
			for (const leaf of chosen) {
				const reason = reasons.get(leaf.provider) ?? null;
				const checked = await evidence.check({ validator, signingKey, leaf, reason, params, committed });
				if (checked === null) continue;
				if (BigInt(leaf.evidenceSha256) !== 0n) seen.evidenceFiles++;
				differences.push(...checked.differences);
				if (checked.made !== null) seen.made.push(checked.made);
			}
			return differences;
		},
	};
}

/** Files of one's own data folder, own ones and those that were fetched when they counted. */
export const archiveSource = (archive: ReportArchive): AuditSource => ({
	report: archive.signedReport,
	weights: archive.weights,
	reasons: archive.reasonsOf,
});
