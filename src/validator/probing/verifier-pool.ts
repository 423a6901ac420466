// verifyEvidence, verifyRollCall and judgeJobRounds on threads of their own, so that the thread with the
// sockets and the API never computes for longer than a frame takes. The judgement itself is verify/hardware;
// here are only threads, a queue and what happens when a thread dies.
import type { Worker } from "node:worker_threads";
import { startThread, threadFile } from "../../platform/thread-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import type { RollVerdict } from "../../protocol/roll-call/roll-verdict.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import type { ChainFacts, RollExpectations } from "../../verify/roll-call/chain-facts.ts";
import { verifyRollCall } from "../../verify/roll-call/verify-roll-call.ts";
import { type JudgedRounds, judgeJobRounds, type RoundsOfClaim } from "./judge-job-rounds.ts";

type AnyVerdict = Verdict | RollVerdict | JudgedRounds;
type Judged =
	| {
			readonly kind: "probe";
			readonly evidence: Uint8Array;
			readonly expect: Expectations;
			/** Whether openings are told as they are checked. */
			readonly isWatched: boolean;
	  }
	| {
			readonly kind: "roll-call";
			readonly file: Uint8Array;
			readonly facts: ChainFacts;
			readonly expect: RollExpectations;
	  }
	| { readonly kind: "job-rounds"; readonly question: RoundsOfClaim };
export type VerifyRequest = { readonly id: number } & Judged;
export type VerifyReply =
	| { readonly id: number; readonly verdict: AnyVerdict }
	| { readonly id: number; readonly checked: readonly CheckedOpenings[] };

/** Openings of one challenge found right so far. */
export interface CheckedOpenings {
	readonly challenge: number;
	readonly done: number;
	readonly of: number;
}
export type OnChecked = (checked: readonly CheckedOpenings[]) => void;

interface Task {
	readonly request: VerifyRequest;
	readonly resolve: (verdict: AnyVerdict) => void;
	readonly reject: (error: unknown) => void;
	readonly onChecked: OnChecked | undefined;
	/** A file that ended a thread gets one more: threads also die for want of memory. */
	lives: number;
}

interface Thread {
	readonly worker: Worker;
	task: Task | null;
}

export interface VerifierPoolOptions {
	/** 0: on the caller's thread, which blocks it for 0.1 to 0.5 s a file. */
	readonly threads: number;
	readonly onVerified?: (seconds: number) => void;
	readonly clockUs: () => number;
	/** Another program for the threads; for tests. */
	readonly file?: URL;
}

export class VerifierPool {
	private readonly options: VerifierPoolOptions;
	private readonly file: URL | null;
	private readonly waiting: Task[] = [];
	private readonly threads: Thread[] = [];
	private nextId = 1;
	private isClosed = false;

	constructor(options: VerifierPoolOptions) {
		this.options = options;
		this.file = options.file ?? threadFile("verifier-thread", import.meta.url);
	}

	/** Files that wait or are being judged. */
	get pending(): number {
		return this.waiting.length + this.threads.filter(({ task }) => task !== null).length;
	}

	/** `onChecked` is told some ten times a second how far the openings are checked. It decides nothing. */
	async verify(evidence: Uint8Array, expect: Expectations, onChecked?: OnChecked): Promise<Verdict> {
		const isWatched = onChecked !== undefined;
		return (await this.judge({ kind: "probe", evidence, expect, isWatched }, onChecked)) as Verdict;
	}

	async verifyRollCall(file: Uint8Array, facts: ChainFacts, expect: RollExpectations): Promise<RollVerdict> {
		return (await this.judge({ kind: "roll-call", file, facts, expect })) as RollVerdict;
	}

	async judgeJobRounds(question: RoundsOfClaim): Promise<JudgedRounds> {
		return (await this.judge({ kind: "job-rounds", question })) as JudgedRounds;
	}

	private async judge(judged: Judged, onChecked?: OnChecked): Promise<AnyVerdict> {
		const { threads, clockUs, onVerified } = this.options;
		const beganUs = clockUs();
		try {
			if (threads === 0 || this.file === null) return judgeHere(judged);
			if (this.isClosed) throw died("the validator is stopping");
			return await new Promise<AnyVerdict>((resolve, reject) => {
				const request = { id: this.nextId++, ...judged };
				this.waiting.push({ request, onChecked, resolve, reject, lives: 2 });
				this.feed();
			});
		} finally {
			onVerified?.((clockUs() - beganUs) / 1e6);
		}
	}

	async close(): Promise<void> {
		this.isClosed = true;
		for (const task of this.waiting.splice(0)) task.reject(died("the validator is stopping"));
		await Promise.all(this.threads.map(({ worker }) => worker.terminate()));
	}

	private feed(): void {
		if (this.isClosed) return;
		while (this.waiting.length > 0) {
			let idle = this.threads.find(({ task }) => task === null);
			if (!idle && this.threads.length >= this.options.threads) return;
			idle ??= this.start();
			const task = this.waiting.shift()!;
			idle.task = task;
			idle.worker.postMessage(task.request);
		}
	}

	private start(): Thread {
		const worker = startThread(this.file!);
		const thread: Thread = { worker, task: null };
		worker.on("message", (reply: VerifyReply) => {
			const task = thread.task;
			if (task?.request.id !== reply.id) return;
			if ("checked" in reply) return task.onChecked?.(reply.checked);
			thread.task = null;
			task.resolve(reply.verdict);
			this.feed();
		});
		// An `error` is followed by `exit`, where it is dealt with.
		worker.on("error", () => {});
		worker.on("exit", () => this.onExit(thread));
		worker.unref();
		this.threads.push(thread);
		return thread;
	}

	private onExit(thread: Thread): void {
		this.threads.splice(this.threads.indexOf(thread), 1);
		const { task } = thread;
		thread.task = null;
		if (task) {
			task.lives -= 1;
			if (task.lives > 0 && !this.isClosed) this.waiting.unshift(task);
			else task.reject(died("the thread that judged a file ended before its verdict"));
		}
		this.feed();
	}
}

function judgeHere(judged: Judged): AnyVerdict {
	if (judged.kind === "job-rounds") return judgeJobRounds(judged.question);
	return judged.kind === "probe"
		? verifyEvidence(judged.evidence, judged.expect)
		: verifyRollCall(judged.file, judged.facts, judged.expect);
}

function died(message: string): AssayError {
	return new AssayError("VERIFIER_DIED", message);
}
