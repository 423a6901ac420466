// A provider's answers about a part that it ran or audited, docs/jobs.md §14: from the run's folder and its
// own engine. First words (trace roots, transcripts) bind it for ever, so each is given once: it stands in a
// book before anybody hears it. Whoever finds its own machine at odds with what it claimed or said before
// signs nothing and stops (RUN_UNSTEADY): an honest owner loses no bond to broken hardware by talking.
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { RunReplay, type RunToReplay } from "../../engine/client/replay-run.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { hex, object, orNull, pattern, type Typed } from "../../protocol/bytes/shape.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { ChainQuestion } from "../../protocol/network/chain-question.ts";
import {
	ANSWER_PAGE_BYTES,
	type JobQuestion,
	questionBad,
	readQuestion,
	type SaidAnswer,
} from "../../protocol/network/job-question.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import type { StateRoots } from "../../verify/optimistic/answers.ts";
import { chainAnswer } from "../../verify/optimistic/chain-road.ts";
import { traceQuestion, transcriptQuestion, writerQuestion } from "../../verify/optimistic/fraud/fraud-proof.ts";
import { answerLength, answerTo, rootsAnswer } from "../../verify/optimistic/questions.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";

export interface Answering {
	/**
	 * `kept` has the part's first segment, unless that is 0; `rootsBefore` is the journal's, of every segment.
	 */
	readonly run: RunToReplay;
	/** Sessions with the folder's store. */
	readonly open: OpenWorkSession;
	readonly device: number;
	/** The part's first segment, and S_first … as they were claimed, or told as an audit. */
	readonly first: number;
	readonly states: readonly Uint8Array[];
	/** A file of the run's folder: what was said. */
	readonly bookPath: string;
	/** Null without a chain, and of audits. */
	readonly sign: ((answer: { readonly question: Hex; readonly answerHash: Hex }) => Promise<Hex>) | null;
	/**
	 * Brings what lies in the folder's store under its root to the validator, cut or filled with zeros to its
	 * size.
	 */
	readonly upload: (blobs: readonly BlobName[]) => Promise<void>;
}

export interface Answerer {
	/** Throws JOB_QUESTION, RUN_UNSTEADY, and what an engine says. */
	answer(question: string): Promise<SaidAnswer>;
	/**
	 * What is answered on chain; null: the question is none about this claim, and nobody need answer it. Throws
	 * the same.
	 */
	answerOnChain(question: ChainQuestion): Promise<Uint8Array | null>;
	/** Gives the engine's session back; the next question opens another. */
	close(): Promise<void>;
}

const line = object({
	question: hex(32),
	answer: pattern(/^([0-9a-f]{2})*$/, "must be hex"),
	signature: orNull(hex(65)),
});
type Word = Typed<typeof line>;

/** What was said, one line each, on disk before it is told. A last line without its end was never told. */
class Book {
	private readonly path: string;
	private readonly words = new Map<string, Word>();

	constructor(path: string) {
		this.path = path;
		let bytes: Uint8Array = new Uint8Array();
		try {
			bytes = readFileSync(path);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		}
		const text = bytesToUtf8(bytes) ?? "";
		const whole = text.slice(0, text.lastIndexOf("\n") + 1);
		for (const one of whole.split("\n").slice(0, -1)) {
			const word = parsed(one);
			if (word === null) throw codedError("RUN_DAMAGED", `${path} has a line that nobody wrote`);
			this.words.set(word.question, word);
		}
		if (whole.length < bytes.length) this.write((file) => ftruncateSync(file, whole.length));
	}

	said(question: string): Word | undefined {
		return this.words.get(question);
	}

	keep(word: Word): void {
		const bytes = Buffer.from(`${JSON.stringify(word)}\n`);
		this.write((file) => {
			if (writeSync(file, bytes) !== bytes.length) throw new Error("no space left on device");
		});
		this.words.set(word.question, word);
	}

	private write(act: (file: number) => void): void {
		let file: number | null = null;
		try {
			file = openSync(this.path, "a", 0o600);
			act(file);
			fsyncSync(file);
		} catch (cause) {
			throw new AssayError("FILE_UNWRITABLE", `${this.path} cannot be written: ${(cause as Error).message}`, {
				hint: "Check that its disk is not full.",
				cause,
			});
		} finally {
			if (file !== null) closeSync(file);
		}
	}
}

function parsed(text: string): Word | null {
	try {
		const value: unknown = JSON.parse(text);
		return line(value, "") === null ? (value as Word) : null;
	} catch {
		return null;
	}
}

const unsteady = (what: string): AssayError => codedError("RUN_UNSTEADY", what);

type Of<K extends JobQuestion["kind"]> = Extract<JobQuestion, { kind: K }>;

class Answers {
	private readonly of: Answering;
	private readonly replay: RunReplay;
	private readonly book: Book;
	/** One after the other: they share a session. */
	private turn: Promise<unknown> = Promise.resolve();

	constructor(of: Answering) {
		this.of = of;
		this.replay = new RunReplay(of.run, of.open, of.device);
		this.book = new Book(of.bookPath);
	}

	inTurn<T>(act: () => Promise<T>): Promise<T> {
		const mine = this.turn.then(act);
		this.turn = mine.catch(() => {});
		return mine;
	}

	async answer(text: string): Promise<SaidAnswer> {
		const question = readQuestion(text);
		const { first, states, run } = this.of;
		const length = answerLength({ program: run.program, first, segments: states.length - 1 }, question);
		const from = question.page * ANSWER_PAGE_BYTES;
		if (length === null || (from > 0 && from >= length)) throw questionBad("the part has no such place");
		const { bytes, signature } = await this.inTurn(() => this.whole(question));
		if (bytes.length !== length) throw unsteady(`an answer has ${bytes.length} bytes, not ${length}`);
		return { answer: bytesToHex(bytes.subarray(from, from + ANSWER_PAGE_BYTES)), signature };
	}

	answerOnChain(question: ChainQuestion): Promise<Uint8Array | null> {
		const { first, states, run } = this.of;
		const ask = async (asked: JobQuestion) => (await this.whole(asked)).bytes;
		return this.inTurn(() => chainAnswer({ program: run.program, first, states }, ask, question));
	}

	private async whole(
		question: JobQuestion,
	): Promise<{ readonly bytes: Uint8Array; readonly signature: string | null }> {
		if (question.kind === "trace") {
			const { segment } = question;
			return this.firstWord(traceQuestion(segment), () => this.trace(segment));
		}
		if (question.kind === "transcript") {
			const { segment, step, op, element, path } = question;
			const name = transcriptQuestion(segment, { step, op }, element, path);
			return this.firstWord(name, async () => {
				await this.mustStand(segment);
				return answerTo(this.replay, question);
			});
		}
		if (question.kind === "writer") {
			const name = writerQuestion(question.segment === 0 ? "init" : "step", question.tensor);
			return this.firstWord(name, () => answerTo(this.replay, question));
		}
		return { bytes: await this.plain(question), signature: null };
	}

	private async plain(question: Exclude<JobQuestion, Of<"trace" | "transcript" | "writer">>): Promise<Uint8Array> {
		const { segment } = question;
		if (question.kind === "roots") return rootsAnswer(this.rootsBefore(segment));
		if (question.kind === "state") return rootsAnswer(await this.upload(segment));
		await this.mustStand(segment);
		return answerTo(this.replay, question);
	}

	private async firstWord(question: Hex, compute: () => Promise<Uint8Array>) {
		const name = question.slice(2);
		const said = this.book.said(name);
		if (said !== undefined) return { bytes: hexToBytes(said.answer)!, signature: said.signature };
		const bytes = await compute();
		const signature = (await this.of.sign?.({ question, answerHash: toHex(keccak(bytes)) }))?.slice(2) ?? null;
		this.book.keep({ question: name, answer: bytesToHex(bytes), signature });
		return { bytes, signature };
	}

	/** Roots before a segment by the run's own word, which its claim holds. */
	private rootsBefore(segment: number): StateRoots {
		const { run, first, states } = this.of;
		const roots = segment === 0 ? this.replay.zeros() : run.rootsBefore(segment);
		if (!equalBytes(stateHashOf(run.program, segment, roots.state, roots.results), states[segment - first]!))
			throw unsteady(`the roots kept for S_${segment} are not those of the claim`);
		return roots;
	}

	private async upload(segment: number): Promise<StateRoots> {
		const { run, upload } = this.of;
		const roots = this.rootsBefore(segment);
		// Everyone knows what zeros are.
		if (segment === 0) return roots;
		if (!run.kept.includes(segment)) {
			const now = await this.replay.save(segment);
			if (!equalBytes(rootsAnswer(now), rootsAnswer(roots)))
				throw unsteady(`the state before segment ${segment} is another now than when it was claimed`);
		}
		const named = (kind: "state" | "result", all: readonly Uint8Array[]): BlobName[] =>
			run.program.tensors
				.filter((one) => one.kind === kind)
				.map(({ type, dims }, i) => ({ root: bytesToHex(all[i]!), size: elementCount(dims) * bytesOf(type) }));
		await upload([...named("state", roots.state), ...named("result", roots.results)]);
		return roots;
	}

	/** The trace of a segment, if this machine still computes what was claimed. */
	private async trace(segment: number): Promise<Uint8Array> {
		const { run, first, states } = this.of;
		const root = await this.replay.traceRoot(segment);
		const { state, results } = await this.replay.stateRoots(segment + 1);
		const folded = stateHashOf(run.program, segment + 1, state, results);
		if (!equalBytes(folded, states[segment + 1 - first]!))
			throw unsteady(`segment ${segment} ends in ${bytesToHex(folded)} now, not as claimed`);
		return root;
	}

	/** What is told of a segment's inside belongs to the trace that was told of it, or will be. */
	private async mustStand(segment: number): Promise<void> {
		const root = await this.trace(segment);
		const said = this.book.said(traceQuestion(segment).slice(2));
		if (said !== undefined && said.answer !== bytesToHex(root))
			throw unsteady(`the trace of segment ${segment} is another now than when it was told`);
	}

	close(): Promise<void> {
		return this.inTurn(() => this.replay.close());
	}
}

/** Throws RUN_DAMAGED for a book that nobody wrote so. */
export function createAnswerer(of: Answering): Answerer {
	const answers = new Answers(of);
	return {
		answer: (question) => answers.answer(question),
		answerOnChain: (question) => answers.answerOnChain(question),
		close: () => answers.close(),
	};
}
