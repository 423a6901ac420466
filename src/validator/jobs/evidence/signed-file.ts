// Fraud files with the accused's signatures in them, docs/jobs.md §7: what a judge needs and what binds it to
// its maker, in one file.
import type { FirstWord } from "../../../store/jobs/job-answers.ts";
import { signFraudFile } from "../../../verify/optimistic/fraud/fraud-file.ts";
import { answersOfFile, elementProof, twoWordsProof } from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { verifyFraud } from "../../../verify/optimistic/fraud/judge-fraud.ts";
import { ProgramParts } from "../../../verify/optimistic/fraud/show-parts.ts";
import { wireProof } from "../../../verify/optimistic/fraud/wire-proof.ts";
import type { JobAtHand } from "../../../verify/optimistic/search.ts";
import { type ClaimAtHand, type EvidenceMeans, wordsOf } from "./claim-at-hand.ts";

type Means = Pick<EvidenceMeans, "answers" | "chain">;

/** The chain convicts by it, as far as its judge goes today. */
export const isProvable = (file: Uint8Array): boolean => {
	const verdict = verifyFraud(file);
	return (
		verdict.status === "valid" &&
		verdict.signer !== null &&
		(elementProof(file) ?? wireProof(file) ?? twoWordsProof(file)) !== null
	);
};

/**
 * The file with the signatures that its claimant gave with its answers; as it is where there is no chain, or
 * nothing to sign.
 */
export async function signedFile({ answers, chain }: Means, at: ClaimAtHand, file: Uint8Array): Promise<Uint8Array> {
	const said = answersOfFile(file) ?? [];
	if (chain === null || at.account === null || said.length === 0) return file;
	const signatures: string[] = [];
	for (const { question, answerHash } of said) {
		const kept = await answers.of(wordsOf(at), question.slice(2));
		const found = kept.find((one) => `0x${one.answerHash}` === answerHash);
		if (found === undefined || found.signature === null) return file;
		signatures.push(found.signature);
	}
	const disputes = chain.contracts.addresses.disputes.slice(2).toLowerCase();
	return signFraudFile(file, { disputes, account: at.account.slice(2).toLowerCase(), signatures }) ?? file;
}

/** Two answers to one question; null without a chain: nobody else knows whose they are. */
export function twoWordsFile(
	{ chain }: Means,
	at: ClaimAtHand,
	{ program }: JobAtHand,
	words: readonly [FirstWord, FirstWord],
): Uint8Array | null {
	const signatures = words.flatMap(({ signature }) => (signature === null ? [] : [signature]));
	if (chain === null || at.account === null || signatures.length !== 2) return null;
	const answers = words.map(({ answerHash }) => answerHash);
	const fault = { kind: "words", question: words[0].question, answers } as const;
	const file = new ProgramParts(program).file(at.claim, at.claim.first, null, fault, []);
	const disputes = chain.contracts.addresses.disputes.slice(2).toLowerCase();
	return signFraudFile(file, { disputes, account: at.account.slice(2).toLowerCase(), signatures });
}
