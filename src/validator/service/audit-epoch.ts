// An epoch computed again from what anyone can have: roots, stakes and payments from the chain, leaves from files, scores from their terms, evidence by its hash.
// Every difference is told; none is explained away. Judging the evidence itself again is `assay verify`.
import type { ChainClient } from "../../chain/chain-client.ts";
import type { ContractAddresses } from "../../chain/deploy.ts";
import { readClaims, readPot } from "../../chain/rewards.ts";
import * as board from "../../chain/scoreboard.ts";
import { type AuditDifference, auditScores, auditWeights } from "../../market/audit-scores.ts";
import { malformedAt, readScoreReport } from "../../market/score-report.ts";
import type { Hex } from "../../market/sorted-openings.ts";
import {
	type CountedReport,
	createWeightProposal,
	faultOf,
	shareOf,
	type WeightLeaf,
} from "../../market/weight-proposal.ts";
import type { ReportArchive } from "./report-archive.ts";

export interface EpochAudit {
	readonly epoch: number;
	/** "none": nothing was proposed; "open": it may still be challenged; "final". */
	readonly proposal: "none" | "open" | "final";
	readonly validators: number;
	readonly providers: number;
	readonly evidenceFiles: number;
	readonly claims: number;
	readonly differences: readonly AuditDifference[];
}

export interface AuditOptions {
	readonly client: ChainClient;
	readonly at: ContractAddresses;
	readonly epoch: number;
	readonly archive: ReportArchive;
	/** Whose reasons the archive has. */
	readonly self: Hex | null;
	/** Whether the file of this hash (64 hex digits) is there and has it; null: evidence is not looked at. */
	readonly checkEvidence: ((sha256: string) => Promise<"right" | "wrong" | "missing">) | null;
}

export async function auditEpoch(o: AuditOptions): Promise<EpochAudit> {
	const { client, at, epoch, archive } = o;
	const differences: AuditDifference[] = [];
	const counted: CountedReport[] = [];
	let evidenceFiles = 0;
	const revealed = await board.readRevealed(client, at, epoch);
	let isComplete = true;
	for (const { validator, root, stake, voided } of revealed) {
		if (voided) continue;
		const leaves = await archive.report(epoch, validator);
		if (leaves === null) {
			isComplete = false;
			differences.push({ what: "report", who: validator, stated: root, right: "its leaves are not here" });
			continue;
		}
		const report = readScoreReport(leaves);
		if (board.keptRoot(report.reportRoot) !== board.keptRoot(root))
			differences.push({ what: "report", who: validator, stated: root, right: `leaves give ${report.reportRoot}` });
		if (malformedAt(report) !== null)
			differences.push({ what: "report", who: validator, stated: root, right: "not sorted, or a score above 10⁶" });
		counted.push({ validator, stake, report });
		if (validator !== o.self) continue;
		const reasons = await archive.reasons(epoch);
		if (reasons !== null) differences.push(...auditScores(leaves, reasons));
		for (const { provider, evidenceSha256 } of o.checkEvidence === null ? [] : leaves) {
			const sha256 = evidenceSha256.slice(2);
			if (BigInt(evidenceSha256) === 0n) continue;
			evidenceFiles++;
			const state = await o.checkEvidence!(sha256);
			if (state !== "right") differences.push({ what: "evidence", who: provider, stated: sha256, right: state });
		}
	}
	const standing = await board.readProposal(client, at, epoch);
	const head = await client.viem.getBlock({ blockTag: "latest" });
	const base = { epoch, validators: counted.length, evidenceFiles, differences };
	const providers = new Set(counted.flatMap(({ report }) => report.leaves.map(({ provider }) => provider))).size;
	if (standing.digest === null) return { ...base, providers, proposal: "none", claims: 0 };
	const { pot } = await readPot(client, at, epoch);
	const right = createWeightProposal(counted, pot);
	const stated = await board.readProposed(client, at, epoch, standing.digest);
	const claims = await readClaims(client, at, epoch);
	if (stated === null) {
		differences.push({ what: "proposal", who: standing.proposer, stated: standing.digest, right: "no event tells it" });
	} else if (isComplete && (await board.readProposalDigest(client, at, epoch, right.proposal)) !== standing.digest) {
		const proposer = standing.proposer.toLowerCase() as Hex;
		const leaves = await archive.weights(epoch, proposer);
		differences.push(...(await proposalDifferences(stated, leaves, counted, proposer)));
	}
	const shares = new Map<Hex, bigint>(right.leaves.map((leaf) => [leaf.provider, shareOf(right.proposal, leaf)]));
	for (const { provider, amount } of claims)
		if (shares.get(provider) !== amount)
			differences.push({
				what: "claim",
				who: provider,
				stated: String(amount),
				right: String(shares.get(provider) ?? 0n),
			});
	const isFinal = Number(head.timestamp) >= standing.finalAt;
	return { ...base, providers, proposal: isFinal ? "final" : "open", claims: claims.length };
}

async function proposalDifferences(
	stated: board.ChainProposal,
	leaves: readonly WeightLeaf[] | null,
	counted: readonly CountedReport[],
	who: Hex,
): Promise<readonly AuditDifference[]> {
	const weights = auditWeights(leaves ?? [], counted);
	if (leaves === null) return [{ what: "proposal", who, stated: stated.root, right: "its leaves are not here" }];
	const fault = faultOf(stated, leaves, counted);
	if (fault?.kind === "withheld")
		return [{ what: "proposal", who, stated: stated.root, right: "the leaves here give another root" }, ...weights];
	if (fault?.kind === "shape")
		return [{ what: "proposal", who, stated: stated.root, right: "its sums or its order are wrong" }, ...weights];
	return weights;
}
