// Programs of a simulated network as processes of their own: started with fork, asked by messages, killed by
// their id. One question, one answer.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

export interface Usage {
	readonly cpuS: number;
	readonly rssBytes: number;
}

export function usageOfThis(): Usage {
	const { user, system } = process.cpuUsage();
	return { cpuS: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() };
}

type Question = { readonly id: number; readonly ask: string; readonly value: unknown };
type Answer = { readonly id: number; readonly value?: unknown; readonly error?: string };

export interface ChildProgram {
	readonly pid: number;
	/** Rejects when the program says so, or ends before it answered. */
	ask<Value>(what: string, value?: unknown): Promise<Value>;
	/** Settles when the process is gone. */
	readonly ended: Promise<void>;
	kill(signal: NodeJS.Signals): void;
}

/**
 * `file` beside this one; `preload`: what Node loads before it. What it prints goes to our standard error.
 */
export function startChild(file: string, more: { env?: NodeJS.ProcessEnv; preload?: string } = {}): ChildProgram {
	const path = fileURLToPath(new URL(file, import.meta.url));
	const child: ChildProcess = fork(path, [], {
		...{ stdio: ["ignore", 2, 2, "ipc"], env: { ...process.env, ...more.env } },
		execArgv: [...process.execArgv, ...(more.preload === undefined ? [] : ["--import", more.preload])],
	});
	const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
	let count = 0;
	child.on("message", (answer: Answer) => {
		const question = waiting.get(answer.id);
		waiting.delete(answer.id);
		if (answer.error === undefined) question?.resolve(answer.value);
		else question?.reject(new Error(`${file}: ${answer.error}`));
	});
	const fail = () => {
		for (const question of waiting.values()) question.reject(new Error(`${file} ended before it answered`));
		waiting.clear();
	};
	const ended = once(child, "exit").then(fail);
	return {
		pid: child.pid!,
		ask: (what, value) =>
			new Promise<never>((resolve, reject) => {
				const id = ++count;
				waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
				if (!child.connected) return fail();
				child.send({ id, ask: what, value } satisfies Question, (error) => error && fail());
			}),
		ended,
		kill: (signal) => void child.kill(signal),
	};
}

/** The other side: what this process answers. It ends with its parent. */
export function answerParent(answers: Readonly<Record<string, (value: never) => unknown>>): void {
	process.on("message", async ({ id, ask, value }: Question) => {
		try {
			const answer = await answers[ask]!(value as never);
			// Most of these are killed: what Node made of their sources is kept now, also of those that are loaded
			// when they are wanted, or the next one would begin anew.
			if (id === 1) flushCompileCache();
			process.send?.({ id, value: answer } satisfies Answer);
		} catch (error) {
			process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
		}
	});
	process.on("disconnect", () => process.exit(0));
}
