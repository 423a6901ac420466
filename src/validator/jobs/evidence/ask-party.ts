// Questions to whoever claimed a part or audited some of it: page by page over the agent's link, asked again
// while that one is away or busy. First words of a claimant must be signed where there is a chain, and are
// kept: a second, different answer to the same question ends the search, since two words convict by
// themselves.
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { toHex } from "../../../protocol/chain/hex.ts";
import { isSignedBy, typedDigest } from "../../../protocol/chain/typed-data.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { ANSWER_PAGE_BYTES, type JobQuestion, questionText } from "../../../protocol/network/job-question.ts";
import type { FirstWord } from "../../../store/jobs/job-answers.ts";
import { noAnswer } from "../../../verify/optimistic/answers.ts";
import {
	ANSWER_TYPE,
	traceQuestion,
	transcriptQuestion,
	writerQuestion,
} from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { type Ask, answerLength } from "../../../verify/optimistic/questions.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { type ClaimAtHand, type EvidenceMeans, hashOfClaim, wordsOf } from "./claim-at-hand.ts";

/** Thrown by `ask`: the claimant said two things to one question. */
export class TwoWords extends Error {
	readonly words: readonly [FirstWord, FirstWord];

	constructor(words: readonly [FirstWord, FirstWord]) {
		super("it gave two different answers to one question");
		this.words = words;
	}
}

/** Of those that bind for ever; null for others. */
export function firstWordQuestion(question: JobQuestion): string | null {
	if (question.kind === "trace") return traceQuestion(question.segment).slice(2);
	if (question.kind === "writer")
		return writerQuestion(question.segment === 0 ? "init" : "step", question.tensor).slice(2);
	if (question.kind !== "transcript") return null;
	const { segment, step, op, element, path } = question;
	return transcriptQuestion(segment, { step, op }, element, path).slice(2);
}

/**
 * Its machine is at odds with its claim, or will never know: asking again changes nothing. Whatever else it
 * says may pass.
 */
const FINAL: ReadonlySet<string> = new Set(["JOB_QUESTION", "RUN_UNSTEADY", "RUN_DAMAGED", "CHECKPOINT_OTHER"]);

export interface Party {
	readonly provider: string;
	/** Null: the claimant. */
	readonly audit: number | null;
	/** Which segments it answers for. */
	readonly first: number;
	readonly segments: number;
}

type AskMeans = Pick<
	EvidenceMeans,
	"ask" | "answers" | "chain" | "patienceMs" | "askEveryMs" | "nowMs" | "sleep" | "onAsked"
>;

/** Throws NO_ANSWER, TwoWords. */
export function askParty(means: AskMeans, claim: ClaimAtHand, program: Program, party: Party): Ask {
	const { job, part, attempt } = claim;
	const to = { provider: party.provider, job, part, attempt };
	const ask = async (question: JobQuestion) => {
		const untilMs = means.nowMs() + means.patienceMs;
		for (;;)
			try {
				return await means.ask(to, questionText(question));
			} catch (error) {
				const code = error instanceof AssayError ? error.code : null;
				if (code === null) throw error;
				if (FINAL.has(code) || means.nowMs() >= untilMs)
					throw noAnswer(`no answer to ${question.kind}: ${(error as AssayError).message}`);
				await means.sleep(means.askEveryMs);
			}
	};
	const whole = async (question: JobQuestion): Promise<Uint8Array> => {
		const { first, segments } = party;
		const length = answerLength({ program, first, segments }, question) ?? 0;
		const pages: Uint8Array[] = [];
		let signature: string | null = null;
		for (let page = 0; page * ANSWER_PAGE_BYTES < Math.max(1, length); page++) {
			const said = await ask({ ...question, page, audit: party.audit });
			const bytes = hexToBytes(said.answer);
			if (bytes === null) throw noAnswer("an answer is hex");
			pages.push(bytes);
			signature = said.signature;
		}
		const answer = concatBytes(...pages);
		const name = firstWordQuestion(question);
		// A first word of another length is none: it is not kept.
		if (name !== null && party.audit === null && answer.length === length)
			await keepWord(means, claim, name, answer, signature);
		return answer;
	};
	return async (question) => {
		const told = (bytes: number | null) =>
			party.audit === null && means.onAsked?.(hashOfClaim(claim), { ...question, audit: null, page: 0 }, bytes);
		try {
			const answer = await whole(question);
			told(answer.length);
			return answer;
		} catch (error) {
			told(null);
			throw error;
		}
	};
}

async function keepWord(
	{ answers, chain, nowMs }: AskMeans,
	at: ClaimAtHand,
	question: string,
	answer: Uint8Array,
	signature: string | null,
): Promise<void> {
	const claim = hashOfClaim(at);
	const answerHash = bytesToHex(keccak(answer));
	if (chain !== null && at.account !== null) {
		const { chainId, disputes } = chain.contracts.addresses;
		const fields = [toHex(hexToBytes(claim)!), toHex(hexToBytes(question)!), toHex(hexToBytes(answerHash)!)];
		const digest = typedDigest(chainId, disputes, ANSWER_TYPE, fields);
		if (signature === null || !isSignedBy(at.account, digest, `0x${signature}`))
			throw noAnswer("a first word came without its claimant's signature");
	}
	const kept = await answers.keep({ ...wordsOf(at), question, answerHash, answer, signature }, { nowMs: nowMs() });
	if (kept.length > 1) throw new TwoWords([kept[0]!, kept[1]!]);
}
