// Evidence about claims, docs/jobs.md §14, behind one door for the keeper of jobs: states to begin at,
// re-runs, the referee, proofs on the chain. What follows from evidence (who is paid, who is drawn next) is
// the keeper's.
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { SaidAnswer } from "../../../protocol/network/job-question.ts";
import type { AuditAtHand } from "./auditor-of.ts";
import { type ClaimAtHand, jobAtHand, type StateBlobs } from "./claim-at-hand.ts";
import { type AskedOnChain, type Confirmed, type ConfirmMeans, confirmAudit } from "./confirm-audit.ts";
import type { PartWindow } from "./own-run.ts";
import { proveFraud } from "./prove-fraud.ts";
import { type Ruling, referee } from "./referee.ts";
import { relay } from "./relay.ts";
import { type Rerun, rerun, stateOf } from "./rerun.ts";

export interface Evidence {
	/**
	 * The state before a segment (its number in the whole job, not 0), as its claimant gave it: the job holds
	 * it then. Null: the claimant is silent, or what it gave does not fold to its own S.
	 */
	stateBefore(claim: ClaimAtHand, segment: number): Promise<StateBlobs | null>;
	/** On the validator's own engine. */
	rerun(of: { readonly claim: ClaimAtHand; readonly window: PartWindow }): Promise<Rerun>;
	/** Claim and audit differ: who lied. Throws what is nobody's fault: ask again. */
	referee(of: { readonly claim: ClaimAtHand; readonly audit: AuditAtHand }): Promise<Ruling>;
	/** Whether a drawn auditor that says what the claim says has run its window. Throws the same. */
	confirm(of: {
		readonly claim: ClaimAtHand;
		readonly audit: AuditAtHand;
		readonly askedOnChain: AskedOnChain;
	}): Promise<Confirmed>;
	/** A stranger's question about a claim that nobody audits any more. Throws JOB_QUESTION, NO_ANSWER. */
	ask(of: { readonly claim: ClaimAtHand; readonly question: string }): Promise<SaidAnswer>;
	/**
	 * Before the chain. Null: nothing was sent, since it does not judge such a file, or the claim stands no
	 * more.
	 */
	prove(of: { readonly claim: ClaimAtHand; readonly file: Uint8Array }): Promise<{ readonly transaction: Hex } | null>;
}

export function createEvidence(means: ConfirmMeans): Evidence {
	return {
		async stateBefore(claim, segment) {
			try {
				return await stateOf(means, claim, await jobAtHand(means, claim), segment);
			} catch (error) {
				if (error instanceof AssayError && error.code === "NO_ANSWER") return null;
				throw error;
			}
		},
		rerun: ({ claim, window }) => rerun(means, claim, window),
		referee: ({ claim, audit }) => referee(means, claim, audit),
		confirm: ({ claim, audit, askedOnChain }) => confirmAudit(means, claim, audit, askedOnChain),
		ask: ({ claim, question }) => relay(means, claim, question),
		prove: ({ claim, file }) => proveFraud(means.chain, claim, file),
	};
}
