// A dispute's next move, docs/disputes.md: from one's own run, the accused claim and every answer that it
// gave so far, what to ask next, or the file that convicts. It keeps nothing: whoever crashed, or was told an
// answer by somebody else, calls it again with what is known and goes on. The same for the referee, the
// watcher, `assay job diff` and tests. Who asks, by which road, and what silence costs is the caller's
// affair.
import { AssayError } from "../../protocol/assay-error.ts";
import { type JobQuestion, questionText } from "../../protocol/network/job-question.ts";
import { type Answers, noAnswer } from "./answers.ts";
import { type Ask, answerTo, RemoteAnswers } from "./questions.ts";
import { type JobAtHand, searchClaim, searchSegment } from "./search.ts";

/** One's own run of the job, or of the segment in question. */
export interface OwnSide {
	readonly job: JobAtHand;
	readonly answers: Answers;
	/** Where to look: one's own run begins it in the same state. Null: the first segment that differs. */
	readonly segment: number | null;
}

/** Who is accused, and what it said. */
export interface Accused extends Pick<Answers, "claim" | "states"> {
	/** Number of the audit that it answers for; null: the claim. */
	readonly audit: number | null;
	/** Whole answers, by the text of their question at page 0 (`questionKey`). */
	readonly said: ReadonlyMap<string, Uint8Array>;
}

export type Move =
	| { readonly move: "ask"; readonly question: JobQuestion }
	/** A fraud file, unsigned; judge-fraud.ts says whether it convicts. */
	| { readonly move: "prove"; readonly file: Uint8Array }
	/**
	 * An answer that is none: of another length, or it does not lead to what the accused committed to. Counts
	 * as silence.
	 */
	| { readonly move: "misfit"; readonly question: JobQuestion; readonly why: string }
	/** Nothing separates the two. */
	| { readonly move: "rest" };

/** The name of an answer among those that were given. */
export const questionKey = (question: JobQuestion): string => questionText({ ...question, page: 0 });

/** Ends the search where an answer is missing. */
class Unasked extends Error {
	readonly question: JobQuestion;

	constructor(question: JobQuestion) {
		super(`nobody has answered ${questionKey(question)}`);
		this.question = question;
	}
}

/** Throws what `own` throws; what the accused does is always a move. */
export async function nextQuestion(own: OwnSide, accused: Accused): Promise<Move> {
	const { job, answers, segment } = own;
	const asked: JobQuestion[] = [];
	const known = new RemoteAnswers(job.program, accused, async (question) => {
		asked.push(question);
		const found = accused.said.get(questionKey(question));
		if (found === undefined) throw new Unasked(question);
		return found;
	});
	try {
		const file =
			segment === null ? await searchClaim(job, answers, known) : await searchSegment(job, answers, known, segment);
		return file === null ? { move: "rest" } : { move: "prove", file };
	} catch (error) {
		if (error instanceof Unasked) return { move: "ask", question: error.question };
		const question = asked.at(-1);
		if (!isNoAnswer(error) || known.failed === null || question === undefined) throw error;
		return { move: "misfit", question, why: known.failed };
	}
}

const isNoAnswer = (error: unknown): error is AssayError => error instanceof AssayError && error.code === "NO_ANSWER";

/** Remembers what one's own run answered: the search begins anew with every question. */
function remembered(own: Answers): Answers {
	const known = new Map<string, Promise<unknown>>();
	const once = <T>(name: string, answer: () => Promise<T>): Promise<T> => {
		const found = (known.get(name) as Promise<T> | undefined) ?? answer();
		known.set(name, found);
		return found;
	};
	const at = ({ segment, step, op }: { segment: number; step: number; op: number }) => `${segment} ${step} ${op}`;
	return {
		...{ claim: own.claim, states: own.states },
		stateRoots: (segment) => once(`roots ${segment}`, () => own.stateRoots(segment)),
		traceRoot: (segment) => once(`trace ${segment}`, () => own.traceRoot(segment)),
		traceNodes: (...of) => once(`nodes ${of.join()}`, () => own.traceNodes(...of)),
		traceLeaf: (place) => once(`op ${at(place)}`, () => own.traceLeaf(place)),
		outputNodes: (place, ...of) => once(`tree ${at(place)} ${of.join()}`, () => own.outputNodes(place, ...of)),
		writer: (segment, tensor) => own.writer(segment, tensor),
		leaf: (place, of, leaf) => once(`leaf ${at(place)} ${of} ${leaf}`, () => own.leaf(place, of, leaf)),
		transcript: (place, element, path) =>
			once(`words ${at(place)} ${element} ${path.join()}`, () => own.transcript(place, element, path)),
	};
}

/** Asks until the accused is convicted, or nothing separates the two. Throws what `ask` and `own` throw. */
export async function interrogate(
	own: OwnSide,
	accused: Omit<Accused, "said">,
	ask: Ask,
): Promise<Exclude<Move, { move: "ask" }>> {
	const answers = remembered(own.answers);
	const said = new Map<string, Uint8Array>();
	for (;;) {
		const next = await nextQuestion({ ...own, answers }, { ...accused, said });
		if (next.move !== "ask") return next;
		said.set(questionKey(next.question), await ask(next.question, answers));
	}
}

/** The same against somebody whose answers are at hand. Null: nothing separates them. Throws NO_ANSWER. */
export async function narrow(
	job: JobAtHand,
	own: Answers,
	accused: Answers,
	segment: number | null = null,
): Promise<Uint8Array | null> {
	const { claim, states } = accused;
	const ask: Ask = (question) => answerTo(accused, question);
	const end = await interrogate({ job, answers: own, segment }, { claim, states, audit: null }, ask);
	if (end.move === "misfit") throw noAnswer(end.why);
	return end.move === "prove" ? end.file : null;
}
