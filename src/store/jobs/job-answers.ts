// First words of claimants, docs/jobs.md §14: the answer of each to each question about a claim, with the
// signature that binds it. Kept for ever: a second, different answer to the same question is a fraud of its
// own.
// ATTACK: two that claim the same, one after the other, have claims of one hash. What the first said must
// neither stand in for the second's words, which nobody could then prove, nor be held against them.
import { hex, integer } from "../check-input.ts";
import type { StoreContext } from "../context.ts";

/** Hashes are 64 hex digits. */
export interface FirstWord {
	readonly claim: string;
	/** Whose claim it is. */
	readonly provider: string;
	readonly question: string;
	readonly answerHash: string;
	readonly answer: Uint8Array;
	/** 130 hex digits; null where there is no chain. */
	readonly signature: string | null;
}

/** Who answers one question in many ways is convicted by two of them. */
const MOST_WORDS = 2;
const COLUMNS = "claim, provider, question, answer_hash, answer, signature";

export function createJobAnswers({ database }: StoreContext) {
	const of = ({ claim, provider }: Pick<FirstWord, "claim" | "provider">, question: string) =>
		database.read<FirstWord>(
			`SELECT ${COLUMNS} FROM job_answers WHERE claim = $1 AND provider = $2 AND question = $3 ORDER BY at_ms, answer_hash LIMIT ${MOST_WORDS}`,
			[hex("a claim's hash", claim, 64), hex("a provider's id", provider, 64), hex("a question", question, 64)],
		);
	return {
		/** Durable when it resolves, with all that was ever said to this question, at most two. */
		async keep(word: FirstWord, { nowMs }: { readonly nowMs: number }): Promise<readonly FirstWord[]> {
			await database.write(
				`INSERT INTO job_answers (${COLUMNS}, at_ms) SELECT $1, $2, $3, $4, $5::bytea, $6, $7::bigint
				WHERE (SELECT count(*) FROM job_answers WHERE claim = $1 AND provider = $2 AND question = $3) < ${MOST_WORDS} ON CONFLICT DO NOTHING`,
				[
					...[hex("a claim's hash", word.claim, 64), hex("a provider's id", word.provider, 64)],
					hex("a question", word.question, 64),
					...[hex("an answer's hash", word.answerHash, 64), Buffer.from(word.answer)],
					...[word.signature === null ? null : hex("a signature", word.signature, 130), integer("nowMs", nowMs)],
				],
			);
			return of(word, word.question);
		},
		of,
	};
}
