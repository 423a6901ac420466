// Runs tasks beside each other: six that wait, and for the cores that are idle meanwhile what only computes.
// Node's own runner waits for ever for a file whose process does not end, and sorts the files itself; hence
// this one. Not here: which tasks there are (run-tests.ts), what a file of tests reports (test-report.ts).
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, getPriority, setPriority } from "node:os";
import type { Readable } from "node:stream";
import { COUNTS, type Counts, NO_COUNTS, readTestReport } from "./test-report.ts";

export interface Task {
	readonly name: string;
	readonly command: readonly [string, ...string[]];
	/**
	 * A file of tests: it reports what it ran as lines of JSON (running-tests.mjs), and no test is a failure.
	 */
	readonly isTestFile?: boolean;
	/**
	 * Several, one after the other (files-together.mjs): each is a test of its own there, which is not counted.
	 */
	readonly files?: readonly string[];
	/** Of what is no file of tests: how the paths begin that it depends on. Else its result is not kept. */
	readonly reads?: readonly string[];
	/** Its outcome cannot depend on how busy the machine is: it computes where the others wait. */
	readonly isPure?: boolean;
	/** Not before the task of this name has ended. */
	readonly after?: string;
	/** It measures: nothing else runs beside it, and all others come first. */
	readonly isAlone?: boolean;
	/** What it must say besides its exit code. */
	readonly says?: RegExp;
	/** After so long it hangs, and is killed. */
	readonly limitMs?: number;
}

export interface Outcome {
	readonly failed: readonly string[];
	/** The last words of each that failed, again: the end of a long log is what people see first. */
	readonly lastWords: readonly string[];
	/** Each test that failed and by which error: the last lines may be of something else. */
	readonly errors: readonly string[];
	readonly counts: Readonly<Counts>;
	readonly seconds: Readonly<Record<string, number>>;
	/** Of a core, the processes that it waited for too: what a task costs, however busy the machine was. */
	readonly coreSeconds: Readonly<Record<string, number>>;
}

/** Of the report for people: the counts are told once, of the whole run. */
const SUMMARY = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;
/** Where in Node itself an error passed by. */
const OF_NODE = /^ +at .*\bnode:internal\/.*\n/gm;
const MOST_ERRORS = 12;
/** Of each task that failed, told once more at the end. */
const LAST_LINES = 25;
/** Far above what it takes, also on a busy machine: it only ends what hangs. */
const LIMIT_MS = 2_400_000;
/** How long a file that hangs may take to say what in it still runs. */
const LAST_WORDS_MS = 10_000;
/**
 * Three times as many as two cores: most of these wait for more than half of their time. With eight a host is
 * too slow for its own roll calls at times.
 */
const AT_ONCE = 6;
/** Beside them, for the cores that are idle meanwhile: what only computes, one for a core. */
const PURE_AT_ONCE = Math.min(8, Math.max(2, availableParallelism()));
const PURE_NICENESS = 4;

export interface RunOptions {
	readonly cwd: string;
	/** Gets the whole output of one task at a time. */
	readonly print: (text: string) => void;
	/** Told what ended well, a file that shared a process by itself, with the seconds that it took. */
	readonly onPassed?: (task: Task, seconds: number) => void;
}

export async function runTasks(tasks: readonly Task[], options: RunOptions): Promise<Outcome> {
	const waiting = [...tasks];
	const running = new Map<Task, Promise<void>>();
	const failed: string[] = [];
	const lastWords: string[] = [];
	const errors: string[] = [];
	const counts: Counts = { ...NO_COUNTS };
	const seconds: Record<string, number> = {};
	const coreSeconds: Record<string, number> = {};
	/** Behind the others in the queue, where there are others. */
	const niceness = Math.min(19, getPriority() + (tasks.every(({ isPure }) => isPure) ? 0 : PURE_NICENESS));
	const mayStart = (task: Task): boolean => {
		if ([...running.keys()].some(({ isAlone }) => isAlone)) return false;
		if (task.isAlone) return running.size === 0 && waiting.every(({ isAlone }) => isAlone);
		if ([...running.keys(), ...waiting].some(({ name }) => name === task.after)) return false;
		const alike = [...running.keys()].filter(({ isPure }) => (isPure === true) === (task.isPure === true)).length;
		return alike < (task.isPure ? PURE_AT_ONCE : AT_ONCE);
	};
	const start = async (task: Task): Promise<void> => {
		const startedAtMs = performance.now();
		const { output, written, ending, coreS } = await outputOf(task, options.cwd, niceness);
		const took = Math.round((performance.now() - startedAtMs) / 100) / 10;
		let wrong = ending;
		const { errors: tests, ...report } = readTestReport(written, task.files ?? []);
		if (task.isTestFile) {
			for (const count of COUNTS) counts[count] += report.counts?.[count] ?? 0;
			if (wrong === null && !report.counts?.tests) wrong = "no test in it";
			// Node ends with 0 where only a hook of the file itself failed.
			if (wrong === null && report.hasFailed) wrong = "exit 0, a hook failed";
		}
		for (const { file, ending, seconds, coreS } of report.files) {
			if (ending !== "pass") wrong = `${wrong ?? "exit 0"}; ${file}: ${ending}`;
			if (ending === "not run to its end") continue;
			// It is a test by itself only here.
			counts.tests--;
			counts[ending === "fail" ? "fail" : "pass"]--;
			coreSeconds[file] = coreS;
			if (ending === "pass" && report.counts !== null)
				options.onPassed?.({ name: file, command: task.command, isTestFile: true }, seconds);
		}
		if (wrong === null && task.says?.test(output) === false) wrong = `it does not say ${task.says}`;
		if (wrong !== null) {
			failed.push(`${task.name} (${wrong})`);
			errors.push(...new Set(tests.slice(0, MOST_ERRORS).map((line) => line.slice(0, 200))));
			const lines = output.replace(SUMMARY, "").replace(OF_NODE, "").trimEnd().split("\n").slice(-LAST_LINES);
			lastWords.push(`${task.name} (${wrong})\n${lines.map((line) => `  ${line.slice(0, 300)}\n`).join("")}`);
		}
		seconds[task.name] = took;
		if (wrong === null && task.files === undefined) options.onPassed?.(task, took);
		const ofFiles = report.files.reduce((sum, file) => sum + file.coreS, 0);
		coreSeconds[task.name] = Math.round(10 * Math.max(0, coreS - ofFiles)) / 10;
		// Of a file that passed, the counts are in the last lines of the whole run.
		const shown = wrong === null && task.isTestFile ? output.replace(SUMMARY, "") : output;
		options.print(
			`== ${task.name}, ${took} s, ${coreS} s of a core${wrong === null ? "" : `: FAILED, ${wrong}`}\n${shown}`,
		);
	};
	for (;;) {
		for (let next = waiting.find(mayStart); next !== undefined; next = waiting.find(mayStart)) {
			const task = next;
			waiting.splice(waiting.indexOf(task), 1);
			running.set(
				task,
				start(task).finally(() => running.delete(task)),
			);
		}
		if (running.size === 0) break;
		await Promise.race(running.values());
	}
	return { failed, lastWords, errors, counts, seconds, coreSeconds };
}

export const children = new Set<ChildProcess>();

let countedS = 0;
/** Seconds of a core of the children that ended since the last call. 0 where there is no such file. */
function endedCoreS(): number {
	try {
		const [, , , , , , , , , , , , , user, system] = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ");
		const before = countedS;
		countedS = (Number(user) + Number(system)) / 100;
		return Math.round(10 * (countedS - before)) / 10;
	} catch {
		return 0;
	}
}

/** `written`: its report. `ending`: null, or how else than well it ended. */
function outputOf(
	{ command: [program, ...rest], limitMs = LIMIT_MS, isTestFile, isPure }: Task,
	cwd: string,
	niceness: number,
): Promise<{ output: string; written: string; ending: string | null; coreS: number }> {
	return new Promise((resolve) => {
		// Under Node's own runner the report would be meant for it.
		const { NODE_TEST_CONTEXT: _, ...env } = process.env;
		const child = spawn(program, rest, { cwd, env, stdio: ["ignore", "pipe", "pipe", "pipe"] });
		children.add(child);
		if (isPure && child.pid !== undefined) setPriority(child.pid, niceness);
		let output = "";
		let written = "";
		(child.stdio[3] as Readable).setEncoding("utf8").on("data", (text) => {
			written += text;
		});
		let coreS = 0;
		let isAsked = false;
		let isLate = false;
		for (const stream of [child.stdout, child.stderr] as Readable[])
			stream.setEncoding("utf8").on("data", (text) => {
				output += text;
				if (isAsked && /^alive by: .*\n/m.test(output)) kill();
			});
		const end = (ending: string | null) => {
			clearTimeout(limit);
			children.delete(child);
			// Also where it ended by our question, which it had no ears for yet.
			resolve({ output, written, ending: isLate ? `not done after ${limitMs / 1000} s` : ending, coreS });
		};
		const kill = () => {
			child.kill("SIGKILL");
			end(null);
		};
		let limit = setTimeout(() => {
			isLate = true;
			output += `\nnot done after ${limitMs / 1000} s; its processes:\n${processesBelow(child.pid)}`;
			isAsked = isTestFile === true && child.kill("SIGUSR2");
			limit = setTimeout(kill, isAsked ? LAST_WORDS_MS : 0);
		}, limitMs);
		child.on("exit", () => {
			coreS = endedCoreS();
		});
		child.on("error", (error) => end(error.message));
		child.on("close", (code, signal) => end(code === 0 ? null : (signal ?? `exit ${code}`)));
	});
}

/** What a process started, with the seconds since and those that it computed: does it wait, and for whom? */
function processesBelow(pid: number | undefined): string {
	const { stdout } = spawnSync("ps", ["-eo", "pid,ppid,etimes,times,stat,args"], { encoding: "utf8" });
	if (!stdout || pid === undefined) return "unknown: no ps here\n";
	const [head = "", ...lines] = stdout.split("\n");
	const family = new Set([String(pid)]);
	// Parents come first: ps sorts by number, and a later pass finds those whose number began anew.
	for (let before = 0; before < family.size; ) {
		before = family.size;
		for (const line of lines) {
			const [own = "", parent = ""] = line.trim().split(/\s+/);
			if (family.has(parent)) family.add(own);
		}
	}
	return [head, ...lines.filter((line) => family.has(line.trim().split(/\s+/)[0]!))]
		.map((line) => `${line.slice(0, 200)}\n`)
		.join("");
}
