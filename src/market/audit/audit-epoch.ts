// An epoch computed again, for the command line and the browser alike: reports against their roots, scores
// from their terms (audit-reports.ts), the posted weights in all their parts (audit-posted.ts), and whatever
// else validators have signed. Every difference is told, and what could not be checked as well. Pure: whoever
// asks brings the chain's word (AuditView) and the public files, which are hostile. docs/epochs.md §6.
import type { RewardLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { SignedWeights } from "../../protocol/chain/statements-file.ts";
import { isWeightsSigned, weightsId } from "../../protocol/chain/weights-statement.ts";
import { potOf } from "../epochs/reward-shares.ts";
import type { EpochFacts } from "../epochs/weights.ts";
import { faultOf, type ProvableFault } from "../epochs/weights-fault.ts";
import { AuditLog } from "./audit-log.ts";
import { auditBase, auditPosted } from "./audit-posted.ts";
import { type AuditedReports, auditReports } from "./audit-reports.ts";
import { difference } from "./audit-scores.ts";
import type { AuditSteps, AuditView, EpochFiles } from "./audit-view.ts";

/** Weights that a validator signed and that can be proven wrong on chain. */
export interface WrongWeights extends SignedWeights {
	readonly id: Hex;
	readonly fault: ProvableFault;
}

export interface AuditedEpoch
	extends Pick<AuditLog, "checks" | "differences" | "missing" | "notes">,
		Pick<AuditedReports, "providers" | "scores"> {
	/** What can be proven wrong on chain: its signers lose stake, whoever proves it gets a share. */
	readonly wrong: readonly WrongWeights[];
}

/** Validators give out 8 each, and 64 have a seat. */
const MAX_STATEMENTS = 512;
/** An honest one signs a set, and a larger one now and then. */
const MOST_OF_A_SIGNER = 16;

export async function auditEpoch(view: AuditView, files: EpochFiles, steps: AuditSteps): Promise<AuditedEpoch> {
	const log = new AuditLog();
	const { reports, providers, scores } = await auditReports(view, files, steps, log);
	await steps.onStep("Weights, rewards and totals");
	const base = await auditBase(view, files, log);
	const facts = factsOf(view, reports, base);
	const wrong: WrongWeights[] = [];
	const judge = (signed: SignedWeights, leaves: readonly RewardLeaf[] | null) => {
		const found = provableFault(signed.weights, leaves, facts, base !== null);
		if (found !== null) wrong.push({ ...signed, id: weightsId(view.domain, signed.weights), fault: found });
		return found;
	};
	const { posted } = view;
	if (posted === null) log.check("Weights", null, "none are posted yet");
	else {
		const { id, weights, signatures } = posted;
		const leaves = await auditPosted(view, posted, { facts, base, files, log });
		judge({ weights, signatures: (signatures ?? []).filter((one) => isWeightsSigned(id, one)) }, leaves);
	}
	await auditStatements(view, files, log, judge);
	const { checks, differences, missing, notes } = log;
	return { checks, differences, missing, notes, providers, scores, wrong };
}

/** All that weights follow from. Without the base's leaves totals are not known; the rest is. */
function factsOf(
	{ epoch, base, seats, totalStake, rules, funded }: AuditView,
	reports: EpochFacts["reports"],
	leaves: readonly RewardLeaf[] | null,
): EpochFacts {
	return {
		epoch: BigInt(epoch),
		base: base && { ...base, leaves: leaves ?? [] },
		seats,
		reports,
		pot: potOf({ ...rules, funded, totalStake, allocated: base?.total ?? 0n }),
		totalStake,
		rules,
	};
}

/** What validators signed besides: each statement that is wrong names its signers. */
async function auditStatements(
	{ domain, seats, epoch, posted }: AuditView,
	files: EpochFiles,
	log: AuditLog,
	judge: (signed: SignedWeights, leaves: readonly RewardLeaf[] | null) => ProvableFault | null,
): Promise<void> {
	const validators = new Map(seats.map(({ signer, validator }) => [signer, validator]));
	// ATTACK: who signs a thousand of them is worth a few looks, and one accusation.
	const looked = new Map<Hex, number>();
	const accused = new Set<Hex>();
	for (const { weights, signatures } of (await files.statements()).slice(0, MAX_STATEMENTS)) {
		const id = weightsId(domain, weights);
		if (weights.epoch !== BigInt(epoch) || id === posted?.id) continue;
		const right = signatures.filter((one) => validators.has(one.signer) && isWeightsSigned(id, one));
		if (!right.some(({ signer }) => !accused.has(signer) && (looked.get(signer) ?? 0) < MOST_OF_A_SIGNER)) continue;
		for (const { signer } of right) looked.set(signer, (looked.get(signer) ?? 0) + 1);
		const leaves = await files.rewards(epoch, id);
		const fault = judge({ weights, signatures: right }, leaves === "unreadable" ? null : leaves);
		if (fault === null) continue;
		for (const { signer } of right) accused.add(signer);
		for (const { signer } of right)
			log.differences.push(
				difference("STATEMENT_WRONG", validators.get(signer)!, id, `signed, and wrong: ${fault.kind}`),
			);
	}
}

/**
 * The first fault that a challenge can show. Without the base's leaves nobody knows the totals that it had.
 */
function provableFault(
	weights: Weights,
	leaves: readonly RewardLeaf[] | null,
	facts: EpochFacts,
	hasBase: boolean,
): ProvableFault | null {
	const found = faultOf(weights, leaves, facts);
	if (found === null || found.kind === "base" || found.kind === "withheld" || found.kind === "unheld") return null;
	return found.kind === "total" && !hasBase ? null : found;
}
