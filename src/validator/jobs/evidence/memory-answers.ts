// First words of claimants without a database, for whoever asks about a claim and then goes: the validator's
// relay and the claimant itself keep them too.
import type { FirstWord } from "../../../store/jobs/job-answers.ts";
import type { EvidenceMeans } from "./claim-at-hand.ts";

export function memoryAnswers(): EvidenceMeans["answers"] {
	const words: FirstWord[] = [];
	const of = async ({ claim, provider }: Pick<FirstWord, "claim" | "provider">, question: string) =>
		words.filter((one) => one.claim === claim && one.provider === provider && one.question === question).slice(0, 2);
	return {
		of,
		async keep(word) {
			const known = await of(word, word.question);
			if (!known.some(({ answerHash }) => answerHash === word.answerHash)) words.push(word);
			return of(word, word.question);
		},
	};
}
