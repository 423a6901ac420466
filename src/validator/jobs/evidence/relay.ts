// A stranger's question to whoever made a claim, docs/jobs.md §14. First words come from what was said
// before, where it was: the claimant is asked once. Who answers one question in two ways is convicted on the
// spot.
import { isCheckpoint } from "../../../market/jobs/proof-checkpoints.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import {
	ANSWER_PAGE_BYTES,
	questionBad,
	readQuestion,
	type SaidAnswer,
} from "../../../protocol/network/job-question.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { methodNumbered } from "../../../verify/methods/methods.ts";
import { answerLength, rootsAnswer } from "../../../verify/optimistic/questions.ts";
import type { JobAtHand } from "../../../verify/optimistic/search.ts";
import { askParty, firstWordQuestion, TwoWords } from "./ask-party.ts";
import { type ClaimAtHand, type EvidenceMeans, holderOfJob, jobAtHand, stateBlobs, wordsOf } from "./claim-at-hand.ts";
import { proveFraud } from "./prove-fraud.ts";
import { claimantOf, stateOf } from "./rerun.ts";
import { twoWordsFile } from "./signed-file.ts";

/**
 * Bytes of states are for auditors, who are drawn: nobody else makes a provider upload. But of zk jobs
 * provers may have some, docs/zk.md §12, each of which is uploaded once; its worker wants them to have it,
 * since it is paid when they are done.
 */
async function shownState(means: EvidenceMeans, at: ClaimAtHand, job: JobAtHand, segment: number): Promise<Uint8Array> {
	if (methodNumbered(at.escrow?.method ?? 0)?.driver !== "proofs" || !isCheckpoint(job.program, at.claim, segment))
		throw questionBad("it is not for strangers");
	const now = { ...means, patienceMs: 0 };
	const roots = await claimantOf(now, at, job).stateRoots(segment);
	const { state, results } = stateBlobs(job.program, roots);
	const isHeld = (blob: BlobName) =>
		means.blobs.read(holderOfJob(at.job), blob, 0, 1).then(
			() => true,
			() => false,
		);
	const held = await Promise.all([...state, ...results].map(isHeld));
	if (!held.every(Boolean)) await stateOf(now, at, job, segment);
	return rootsAnswer(roots);
}

/** Throws JOB_QUESTION, NO_ANSWER; CHAIN_… where two words were to be proven. */
export async function relay(means: EvidenceMeans, at: ClaimAtHand, text: string): Promise<SaidAnswer> {
	const question = readQuestion(text);
	if (question.audit !== null) throw questionBad("it is not for strangers");
	const job = await jobAtHand(means, at);
	const { first, segments } = at.claim;
	const length = answerLength({ program: job.program, first, segments }, question);
	const from = question.page * ANSWER_PAGE_BYTES;
	if (length === null || (from > 0 && from >= length)) throw questionBad("the part has no such place");
	const told = (answer: Uint8Array, signature: string | null): SaidAnswer => ({
		...{ answer: bytesToHex(answer.subarray(from, from + ANSWER_PAGE_BYTES)), signature },
	});
	if (question.kind === "state") return told(await shownState(means, at, job, question.segment), null);
	const name = firstWordQuestion(question);
	const said = async () => (name === null ? undefined : (await means.answers.of(wordsOf(at), name))[0]);
	const before = await said();
	if (before !== undefined) return told(before.answer, before.signature);
	// A stranger waits for nobody.
	const ask = askParty({ ...means, patienceMs: 0 }, at, job.program, {
		...{ provider: at.provider, audit: null, first, segments },
	});
	try {
		const answer = await ask({ ...question, page: 0 });
		return told(answer, (await said())?.signature ?? null);
	} catch (error) {
		if (!(error instanceof TwoWords)) throw error;
		const file = twoWordsFile(means, at, job, error.words);
		if (file !== null) await proveFraud(means.chain, at, file);
		return told(error.words[0].answer, error.words[0].signature);
	}
}
