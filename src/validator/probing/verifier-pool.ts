// verifyEvidence on threads of their own, so that the thread with the sockets and the API never computes for longer than a frame takes.
// The judgement itself is verify/hardware; here are only threads, a queue and what happens when a thread dies.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";

export type VerifyRequest = {
	readonly id: number;
	readonly evidence: Uint8Array;
	readonly expect: Expectations;
	/** Whether openings are told as they are checked. */
	readonly isWatched: boolean;
};
export type VerifyReply =
	| { readonly id: number; readonly verdict: Verdict }
	| { readonly id: number; readonly checked: readonly CheckedOpenings[] };

/** Openings of one challenge found right so far. */
export interface CheckedOpenings {
	readonly challenge: number;
	readonly done: number;
	readonly of: number;
}
export type OnChecked = (checked: readonly CheckedOpenings[]) => void;

export interface VerifierPool {
	/** `onChecked`: some ten times a second, and last with what all challenges have come to. It decides nothing. */
	verify(evidence: Uint8Array, expect: Expectations, onChecked?: OnChecked): Promise<Verdict>;
	/** Files that wait or are being judged. */
	readonly pending: () => number;
	close(): Promise<void>;
}

interface Task extends VerifyRequest {
	readonly resolve: (verdict: Verdict) => void;
	readonly reject: (error: unknown) => void;
	readonly onChecked: OnChecked | undefined;
	/** A file that ended a thread gets one more: threads also die for want of memory. */
	lives: number;
}

interface Thread {
	readonly worker: Worker;
	task: Task | null;
}

/** Beside this file: as TypeScript in a checkout, packed in the released package. Null: nowhere, then everything runs on this thread. */
function threadFile(): URL | null {
	const found = ["./verifier-thread.ts", "./verifier-thread.mjs"].map((name) => new URL(name, import.meta.url));
	return found.find((url) => existsSync(fileURLToPath(url))) ?? null;
}

/** `threads` 0: on the caller's thread, which blocks it for 0.1 to 0.5 s a file. */
export function createVerifierPool(o: {
	readonly threads: number;
	readonly onVerified?: (seconds: number) => void;
	readonly clockUs: () => number;
	/** Another program for the threads; for tests. */
	readonly file?: URL;
}): VerifierPool {
	const file = o.file ?? threadFile();
	const waiting: Task[] = [];
	const threads: Thread[] = [];
	let nextId = 1;
	let closed = false;

	function start(): void {
		const worker = new Worker(file!, { env: {}, stdout: false });
		const thread: Thread = { worker, task: null };
		worker.on("message", (reply: VerifyReply) => {
			const task = thread.task;
			if (task?.id !== reply.id) return;
			if ("checked" in reply) return task.onChecked?.(reply.checked);
			thread.task = null;
			task.resolve(reply.verdict);
			feed();
		});
		// An `error` is followed by `exit`, where it is dealt with.
		worker.on("error", () => {});
		worker.on("exit", () => {
			threads.splice(threads.indexOf(thread), 1);
			const task = thread.task;
			thread.task = null;
			if (task) {
				task.lives -= 1;
				if (task.lives > 0 && !closed) waiting.unshift(task);
				else task.reject(new AssayError("VERIFIER_DIED", "the thread that judged a file ended before its verdict"));
			}
			feed();
		});
		worker.unref();
		threads.push(thread);
	}

	function feed(): void {
		if (closed) return;
		while (waiting.length > 0) {
			let idle = threads.find(({ task }) => task === null);
			if (!idle) {
				if (threads.length >= o.threads) return;
				start();
				idle = threads.at(-1)!;
			}
			const task = waiting.shift()!;
			idle.task = task;
			const { id, evidence, expect, isWatched } = task;
			idle.worker.postMessage({ id, evidence, expect, isWatched } satisfies VerifyRequest);
		}
	}

	return {
		pending: () => waiting.length + threads.filter(({ task }) => task !== null).length,
		async verify(evidence, expect, onChecked) {
			const beganUs = o.clockUs();
			try {
				if (o.threads === 0 || file === null) return verifyEvidence(evidence, expect);
				if (closed) throw new AssayError("VERIFIER_DIED", "the validator is stopping");
				return await new Promise<Verdict>((resolve, reject) => {
					const isWatched = onChecked !== undefined;
					waiting.push({ id: nextId++, evidence, expect, isWatched, onChecked, resolve, reject, lives: 2 });
					feed();
				});
			} finally {
				o.onVerified?.((o.clockUs() - beganUs) / 1e6);
			}
		},
		async close() {
			closed = true;
			const error = new AssayError("VERIFIER_DIED", "the validator is stopping");
			for (const task of waiting.splice(0)) task.reject(error);
			await Promise.all(threads.map(({ worker }) => worker.terminate()));
		},
	};
}
