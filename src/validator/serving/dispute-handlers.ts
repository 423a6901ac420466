// Routes of disputes: one claim with everything that is held against it, and fraud files that others publish.
// docs/disputes.md. A file is kept only against a claim that has fallen, and only where its answers are the
// claimant's own: signed, or said on the chain. ATTACK: else anybody could put a made-up lie beside a name.

import type { Handlers } from "../../api/routes.ts";
import { readWord } from "../../chain/contracts/dispute-games.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import type { JobClaimRow } from "../../store/jobs/job-rows.ts";
import { answersOfFile } from "../../verify/optimistic/fraud/fraud-proof.ts";
import { verifyFraud } from "../../verify/optimistic/fraud/judge-fraud.ts";
import { asJson, type JobContext } from "../jobs/keeper/job-context.ts";
import { escrowTermsOf } from "../jobs/keeper/job-offers.ts";
import { mustFindJob } from "../jobs/keeper/part-calls.ts";
import { isReleased, shownClaim, unknownClaim } from "./claim-handlers.ts";
import { createDisputeViews, sittingOf } from "./dispute-view.ts";

/** Of one claim. Two contradictions say no more than one. */
const MOST_FILES = 4;

const refused = (why: string): AssayError => codedError("FRAUD_REFUSED", why);

export function disputeHandlers(context: JobContext) {
	const { store, jobChain, asked, env } = context;
	const views = jobChain === null ? null : createDisputeViews(jobChain);

	const mustClaim = async (hash: string): Promise<JobClaimRow> => {
		const row = await store.jobs.claim(hash);
		if (row === null) throw unknownClaim(hash);
		return row;
	};

	/**
	 * Every answer that the file rests on is this claimant's: under its signature, kept with its signature, or
	 * on the chain.
	 */
	async function mustBeSaid(row: JobClaimRow, file: Uint8Array, signer: string | null): Promise<void> {
		const sitting = jobChain === null ? null : await sittingOf(jobChain, row);
		if (jobChain === null || sitting === null) throw refused("nobody signs answers without a chain");
		if (signer !== null && `0x${signer}` === sitting.provider.toLowerCase()) return;
		const answers = answersOfFile(file) ?? [];
		for (const { question, answerHash } of answers) {
			const kept = await store.jobAnswers.of({ claim: row.hash, provider: row.provider }, question.slice(2));
			const isSigned = kept.some((one) => `0x${one.answerHash}` === answerHash && one.signature !== null);
			if (!isSigned && (await readWord(jobChain.contracts, sitting, question)) !== answerHash)
				throw refused("an answer in it is neither signed by the claimant nor on the chain");
		}
	}

	return {
		async getDispute({ params }) {
			const row = await mustClaim(params.hash);
			const job = await mustFindJob(context, row.job);
			const terms = escrowTermsOf(job.offer);
			const { rows } = await store.jobs.frauds({ claim: row.hash, limit: MOST_FILES });
			// ATTACK: where somebody runs it again, even which places were asked about would tell an auditor
			// something.
			const isOpen = row.state === "fallen" || (await isReleased(context, row));
			return {
				claim: await shownClaim(context, row),
				relayed: isOpen ? [...asked.of(row.hash)] : [],
				chain: views === null || terms === null ? null : await views.view(row, terms),
				frauds: [...rows],
			};
		},
		async handInFraud({ body }) {
			const verdict = verifyFraud(body);
			if (verdict.status !== "valid") throw refused(`${verdict.code}: ${verdict.detail}`);
			const row = await mustClaim(verdict.accused);
			if (row.state !== "fallen")
				throw new AssayError("JOB_STATE", "this claim has not fallen", {
					hint: "Prove it on the chain first: `assay dispute prove FILE`.",
				});
			await mustBeSaid(row, body, verdict.signer);
			const { hash: claim, job, part, attempt, provider: accused } = row;
			const fraud = {
				...{ hash: bytesToHex(sha256Of(body)), claim, job, part, attempt, accused, atMs: env.nowMs() },
				body: asJson({ why: "the file by which it fell, as its accuser published it", isProvable: true, liars: [] }),
			};
			if (!(await store.jobs.addFraud({ ...fraud, file: body }, { most: MOST_FILES })))
				throw refused(`${MOST_FILES} files about this claim are kept already`);
			const { file: _, ...kept } = (await store.jobs.fraud(fraud.hash))!;
			return kept;
		},
	} satisfies Partial<Handlers>;
}
