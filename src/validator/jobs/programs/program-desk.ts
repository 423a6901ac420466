// The thread that opens strangers' programs, and the line before it. ATTACK: any key may name a program of a
// MiB that takes seconds to open, check and quote, and the validator's own thread has everybody's sockets,
// the agents' links and the clock of probes. So it happens elsewhere, one program at a time, names in
// rotation, within a budget. A program beyond the budget is not called false: this validator does not take
// it.
import type { Worker } from "node:worker_threads";
import { createFairQueue } from "../../../platform/fair-queue.ts";
import { startThread, threadFile } from "../../../platform/thread-file.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { codes } from "../../../protocol/codes.ts";
import { answerProgram, type ProgramAnswer, type ProgramQuestion, type ProgramReply } from "./answer-program.ts";

/**
 * The most expensive MiB found takes 1.6 s and 150 MiB (2 shared cores, load 9): so nothing that limits allow
 * is refused on a machine ten times as slow.
 */
const BUDGET = {
	maxMs: 30_000,
	maxMiB: 512,
	/** With the wait at the API's door and the budget it is less than a connection may stand still. */
	maxWaitMs: 12_000,
};
const MAX_WAITING = 256;
const MAX_WAITING_OF_A_NAME = 64;
/** Whoever asks by this name comes before everybody: jobs that are paid for, not strangers' questions. */
export const OURSELVES = "";
/** Without work for so long it ends, and gives its memory back. */
const IDLE_MS = 60_000;

export type ProgramDesk = ReturnType<typeof createProgramDesk>;

const beyond = (what: string): AssayError =>
	new AssayError("PROGRAM_BUDGET", `opening the program took more than ${what}`, {
		hint: codes.PROGRAM_BUDGET.hint,
	});

export function createProgramDesk(o: Partial<typeof BUDGET> = {}) {
	const { maxMs, maxMiB, maxWaitMs } = { ...BUDGET, ...o };
	const file = threadFile("program-thread", import.meta.url);
	let worker: Worker | null = null;
	let idle: NodeJS.Timeout | undefined;
	let isClosed = false;
	const line = createFairQueue({
		...{ atOnce: 1, perName: MAX_WAITING_OF_A_NAME, inAll: MAX_WAITING, first: OURSELVES },
		withinMs: maxWaitMs,
		refused: () =>
			isClosed
				? new AssayError("NOT_READY", "the validator is stopping")
				: new AssayError("RATE_LIMITED", "too many programs wait to be opened"),
	});

	function end(): void {
		void worker?.terminate();
		worker = null;
	}

	function askThread(thread: Worker, question: ProgramQuestion): Promise<ProgramAnswer> {
		return new Promise((resolve, reject) => {
			const settle = (act: () => void) => {
				clearTimeout(timer);
				thread.off("message", onReply).off("error", onError).off("exit", onExit).unref();
				idle = setTimeout(end, IDLE_MS).unref();
				act();
			};
			const fail = (error: Error) => {
				end();
				settle(() => reject(error));
			};
			const onReply = (reply: ProgramReply) =>
				settle(() => {
					if ("answer" in reply) return resolve(reply.answer);
					const { code, message, hint } = reply.refused;
					reject(new AssayError(code, message, { hint }));
				});
			const onError = (error: Error & { code?: string }) =>
				fail(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? beyond(`${maxMiB} MiB of memory`) : error);
			const onExit = () => fail(new AssayError("NOT_READY", "the thread that opens programs ended"));
			const timer = setTimeout(() => fail(beyond(`${maxMs / 1000} s`)), maxMs);
			thread.on("message", onReply).on("error", onError).on("exit", onExit).ref();
			thread.postMessage(question);
		});
	}

	async function askNow(question: ProgramQuestion): Promise<ProgramAnswer> {
		if (file === null) return answerProgram(question);
		clearTimeout(idle);
		if (worker === null) {
			worker = startThread(file, { resourceLimits: { maxOldGenerationSizeMb: maxMiB } });
			// An error that comes while nobody asks is followed by `exit`.
			worker.on("error", () => {});
			const started = worker;
			worker.on("exit", () => {
				if (worker === started) worker = null;
			});
		}
		return await askThread(worker, question);
	}

	return {
		/**
		 * Of `name`, which has a line of its own; the program's `size` bytes are fetched when its turn has come.
		 */
		ask: <T>(name: string, size: number, inTurn: (ask: typeof askNow) => Promise<T>): Promise<T> =>
			line.run(name, () => inTurn(askNow), size),
		close(): void {
			isClosed = true;
			line.close();
			clearTimeout(idle);
			end();
		},
	};
}
