// Answers about a part that was claimed or audited, from its folder and an engine of its own. The engine
// stays for a while after the last question, since questions come one after the other; then it goes, and so
// does the hold on the host's engine. What is said, once and for ever, is answer-questions.ts.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isInTime } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { ChainQuestion } from "../../protocol/network/chain-question.ts";
import { readRunFolder } from "../../store/runs/run-folder.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram } from "../../work/program/open-program.ts";
import { readJournal, rootBytes, rootsBefore } from "../../work/runs/journal.ts";
import { type Answerer, createAnswerer } from "./answer-questions.ts";
import { uploadStored } from "./claim-part.ts";
import type { JobDesk } from "./job-desk.ts";
import type { JobEngine } from "./job-engine.ts";
import type { PartEntry } from "./part-book.ts";
import type { PartMeans } from "./work-part.ts";

export interface AnswerMeans extends Pick<PartMeans, "chain" | "startEngine" | "hold" | "after" | "onTrouble"> {
	/** The device that answers. */
	readonly device: number;
	/** An engine without a question goes after that. */
	readonly idleMs?: number;
	/** A question that takes longer is told PROVIDER_BUSY: its work goes on, and it may be asked again. */
	readonly answerMs?: number;
}

const IDLE_MS = 20_000;
/** Less than the asker's patience, docs/agent-link.md §6. */
const ANSWER_MS = 150_000;
const MINUTES = 60;

type Said = Awaited<ReturnType<Answerer["answer"]>>;

export class PartAnswers {
	private readonly means: AnswerMeans;
	private readonly entry: PartEntry;
	private readonly desk: JobDesk;
	private readonly closing = new AbortController();
	private answerer: Promise<Answerer> | null = null;
	private engine: Promise<JobEngine> | null = null;
	private letGo = () => {};
	private cancelIdle = () => {};
	private asking = 0;

	constructor(means: AnswerMeans, desk: JobDesk, entry: PartEntry) {
		this.means = means;
		this.desk = desk;
		this.entry = entry;
	}

	/** Throws JOB_QUESTION, RUN_UNSTEADY, PROVIDER_BUSY, and what an engine says. */
	async answer(question: string): Promise<Said> {
		this.cancelIdle();
		this.asking += 1;
		const said = this.withAnswerer((answerer) => answerer.answer(question)).finally(() => {
			this.asking -= 1;
			if (this.asking === 0) this.cancelIdle = this.means.after(this.means.idleMs ?? IDLE_MS, () => void this.rest());
		});
		// It goes on when nobody waits any more, and then nobody hears how it ends.
		said.catch(() => {});
		if (await isInTime(said, this.means.answerMs ?? ANSWER_MS)) return said;
		throw codedError("PROVIDER_BUSY", "the answer takes longer; ask again");
	}

	/**
	 * However long it takes: whoever waits is a clock on chain. Null: nobody need answer it. Throws the same.
	 */
	async answerOnChain(question: ChainQuestion): Promise<Uint8Array | null> {
		this.cancelIdle();
		this.asking += 1;
		try {
			return await this.withAnswerer((answerer) => answerer.answerOnChain(question));
		} finally {
			this.asking -= 1;
			if (this.asking === 0) this.cancelIdle = this.means.after(this.means.idleMs ?? IDLE_MS, () => void this.rest());
		}
	}

	private async withAnswerer<T>(act: (answerer: Answerer) => Promise<T>): Promise<T> {
		this.answerer ??= this.open();
		try {
			return await act(await this.answerer);
		} catch (error) {
			// An engine that died or never came is no reason to fail the next question.
			if (!(error instanceof AssayError && KEEPS_ENGINE.has(error.code))) await this.rest();
			throw error;
		}
	}

	private async open(): Promise<Answerer> {
		const { means, entry, desk } = this;
		const { offer, claim } = entry.page;
		const folder = readRunFolder(entry.path);
		const file = async (name: string) => readFile(join(entry.path, name));
		const { program } = orThrow(openProgram(await file("program.bin")));
		const journal = readJournal(bytesToUtf8(await file("journal.jsonl")) ?? "")!;
		const bytes = await file("states.bin");
		const states = Array.from(
			{ length: bytes.length / 32 },
			(_, i) => new Uint8Array(bytes.subarray(32 * i, 32 * i + 32)),
		);
		const { first, inputRoots } = journal.head;
		const blobs = await folder.blobs();
		const kept = [...(first > 0 ? [first] : []), ...journal.checkpoints].filter((before) => {
			const roots = rootsBefore(journal, before);
			return roots !== null && [...roots.state, ...roots.results].every((root) => blobs.has(root));
		});
		const { chain } = means;
		return createAnswerer({
			run: {
				...{
					program,
					seed: hexToBytes(offer.spec.seed, 32)!,
					inputRoots: rootBytes(inputRoots),
					kept,
					readBlob: folder.blob,
				},
				rootsBefore(segment) {
					const roots = rootsBefore(journal, segment);
					return { state: rootBytes(roots?.state ?? []), results: rootBytes(roots?.results ?? []) };
				},
			},
			// What lies on disk is told without an engine, also while the host works at something else.
			open: async (work) => {
				this.engine ??= this.start(folder.storePath);
				const { open, device } = await this.engine;
				return open({ ...work, device });
			},
			...{ device: 0, first, states },
			bookPath: join(entry.path, "answers.jsonl"),
			sign:
				chain === null || claim === null ? null : (answer) => chain.signAnswer(toHex(hexToBytes(claim, 32)!), answer),
			upload: (blobs) => uploadStored(desk, entry.path, blobs, this.closing.signal),
		});
	}

	private async start(storePath: string): Promise<JobEngine> {
		const { device, hold, startEngine, onTrouble } = this.means;
		this.letGo = await hold();
		return startEngine({
			...{ device, storePath, minutes: MINUTES },
			onKilled: (why) => onTrouble(new AssayError("LINK_CLOSED", `an engine that answered was killed: ${why}`)),
		});
	}

	/** Without its engine; the next question starts another. */
	async rest(): Promise<void> {
		this.cancelIdle();
		const [answerer, engine] = [this.answerer, this.engine];
		this.answerer = null;
		this.engine = null;
		await (await answerer?.catch(() => null))?.close().catch(() => {});
		await (await engine?.catch(() => null))?.close().catch(() => {});
		this.letGo();
		this.letGo = () => {};
	}

	async close(): Promise<void> {
		this.closing.abort();
		await this.rest();
	}
}

/** Not the engine's fault. */
const KEEPS_ENGINE: ReadonlySet<string> = new Set(["JOB_QUESTION", "NO_ANSWER", "API_UNREACHABLE"]);
