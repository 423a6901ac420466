// What binds the words of a fraud file to the accused, one by one, as the chain takes them: its signature, or
// nothing (0x) where the same word stands on chain.
import { readWord } from "../../../chain/contracts/dispute-games.ts";
import { readJobPart } from "../../../chain/contracts/job-escrow.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { answersOfFile } from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { type ClaimAtHand, type EvidenceMeans, wordsOf } from "./claim-at-hand.ts";

/** In the order of the file's answers; null: one of them is bound by nothing. */
export async function spokenWords(
	{ answers, chain }: Pick<EvidenceMeans, "answers" | "chain">,
	at: ClaimAtHand,
	file: Uint8Array,
): Promise<readonly Hex[] | null> {
	const said = answersOfFile(file);
	if (said === null || chain === null || at.account === null) return null;
	const { job } = at.claim;
	const { attempt, provider } = await readJobPart(chain.contracts, job, at.part);
	const sitting = { job, part: at.part, attempt, provider };
	const words: Hex[] = [];
	for (const { question, answerHash } of said) {
		const kept = await answers.of(wordsOf(at), question.slice(2));
		const signature = kept.find((one) => `0x${one.answerHash}` === answerHash)?.signature ?? null;
		if (signature !== null) words.push(`0x${signature}`);
		else if ((await readWord(chain.contracts, sitting, question)) === answerHash) words.push("0x");
		else return null;
	}
	return words;
}
