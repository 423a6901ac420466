// What a process of tests reported as lines of JSON (running-tests.mjs): its counts, what failed and by which
// error, and how each of several files ended that shared it. Not here: running it (run-tasks.ts).

export const COUNTS = ["tests", "pass", "fail", "cancelled", "skipped", "todo"] as const;
export type Counts = Record<(typeof COUNTS)[number], number>;
export const NO_COUNTS: Readonly<Counts> = { tests: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };

interface TestEnd {
	readonly type: "test:pass" | "test:fail";
	readonly name: string;
	readonly nesting: number;
	readonly ms: number;
	/** Tests began below it. */
	readonly isParent: boolean;
	/** It was skipped, or is still to be done: its failure counts for nothing. */
	readonly isExcused: boolean;
	readonly error?: string;
	readonly isOfSubtests?: boolean;
}
type Line =
	| TestEnd
	| { readonly type: "test:diagnostic"; readonly message: string }
	| { readonly type: "test:summary"; readonly counts: Readonly<Record<string, number>> };

type FileEnding = "pass" | "fail" | "without a test" | "not run to its end";

interface FileReport {
	readonly file: string;
	readonly ending: FileEnding;
	readonly seconds: number;
	/** Of a core, the processes that it waited for too. */
	readonly coreS: number;
}

export interface TestReport {
	/** Null where the process ended before its last word. */
	readonly counts: Readonly<Counts> | null;
	/** Each test that failed by itself, not by one below it, with the first line of its error. */
	readonly errors: readonly string[];
	/** Something failed that is not in the counts: a hook of the file itself. Node then ends with 0. */
	readonly hasFailed: boolean;
	readonly files: readonly FileReport[];
}

export function readTestReport(text: string, files: readonly string[]): TestReport {
	// A process that was killed may have written half of its last line.
	const lines = text
		.slice(0, text.lastIndexOf("\n") + 1)
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Line);
	const ends = lines.filter((line): line is TestEnd => line.type === "test:pass" || line.type === "test:fail");
	const failed = ends.filter(({ type, isExcused }) => type === "test:fail" && !isExcused);
	const summary = lines.find((line) => line.type === "test:summary")?.counts;
	return {
		counts: summary
			? {
					...{ tests: summary.tests!, pass: summary.passed!, fail: summary.failed! },
					...{ cancelled: summary.cancelled!, skipped: summary.skipped!, todo: summary.todo! },
				}
			: null,
		errors: failed
			.filter(({ isOfSubtests }) => isOfSubtests !== true)
			.map(({ name, error }) => `✖ ${name}: ${error ?? "no error"}`),
		hasFailed: failed.length > 0,
		files: files.map((file) => {
			const end = ends.find(({ nesting, name }) => nesting === 0 && name === file);
			const core = lines.find((line) => line.type === "test:diagnostic" && line.message.startsWith(`${file}: `));
			return {
				file,
				ending: endingOf(end),
				seconds: Math.round((end?.ms ?? 0) / 100) / 10,
				coreS: core?.type === "test:diagnostic" ? Number.parseFloat(core.message.slice(file.length + 2)) : 0,
			};
		}),
	};
}

function endingOf(end: TestEnd | undefined): FileEnding {
	if (end === undefined) return "not run to its end";
	if (end.type === "test:fail") return "fail";
	return end.isParent ? "pass" : "without a test";
}
