// Runs one tier of the tests. Small files share processes; those that take long, and all of a deep run, have
// one of their own.
//   node scripts/run-tests.ts check      types, lint, unused exports, and the layers without I/O, whole
//                                        workloads left out: about a minute
//   node scripts/run-tests.ts test       everything, the engine's tests too: what CI runs
//   node scripts/run-tests.ts deep       what is random, with 25 times as many cases; every attack of an
//                                        audit; loads and faults with their figures; results in
//                                        bench/results/
//   node scripts/run-tests.ts PART…      the test files whose path contains one of the parts
// Node's own runner waits for ever for a file whose process does not end, and sorts the files itself; hence
// this one. Not here: what is tested; set-up (scripts/setup.sh).
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, getPriority, setPriority } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildOfOther, engineTasks, OTHER_BUILD, TESTS_BUILD } from "./engine-tests.ts";
import { packPackages } from "./pack-packages.ts";

export interface Task {
	readonly name: string;
	readonly command: readonly [string, ...string[]];
	/** A file of tests: how many it ran is read from its report, and none is a failure. */
	readonly isTestFile?: boolean;
	/**
	 * Several, one after the other (files-together.mjs): each is a test of its own there, which is not counted.
	 */
	readonly files?: readonly string[];
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
	/** What failed in them and by which error, a line each: the last lines may be of something else. */
	readonly errors: readonly string[];
	readonly counts: Readonly<Record<(typeof COUNTS)[number], number>>;
	readonly seconds: Readonly<Record<string, number>>;
	/** Of a core, the processes that it waited for too: what a task costs, however busy the machine was. */
	readonly coreSeconds: Readonly<Record<string, number>>;
}

const COUNTS = ["tests", "pass", "fail", "cancelled", "skipped", "todo"] as const;
const SUMMARY = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;
/** A test that failed, an error, or one that belongs to no test. */
const ERRORS = /^ *(✖ .*\(\d[\d.]*ms\)|(ℹ )?(\w*Error|Error \[\w+\])\b.*)$/gm;
const MOST_ERRORS = 12;
/** Where in Node itself an error passed by. */
const OF_NODE = /^ +at .*\bnode:internal\/.*\n/gm;
/**
 * Far above what it takes, also on a busy machine: it only ends what hangs. Of a file of tests: by its usual
 * time.
 */
const LIMIT_MS = 2_400_000;
const LEAST_LIMIT_S = 1800;
/** Of what computes, behind all others in the queue. */
const PURE_LIMIT_MS = 3_600_000;
const TIMES_USUAL = 12;
/** How long a file that hangs may take to say what in it still runs. */
const LAST_WORDS_MS = 10_000;
const RUNNING_TESTS = fileURLToPath(new URL("running-tests.mjs", import.meta.url));
const LIGHT_TESTS = new URL("light-tests.mjs", import.meta.url).href;
const FILES_TOGETHER = fileURLToPath(new URL("files-together.mjs", import.meta.url));
/**
 * Three times as many as two cores: most of these wait for more than half of their time. With eight a host is
 * too slow for its own roll calls at times.
 */
const AT_ONCE = 6;
/** Beside them, for the cores that are idle meanwhile: what only computes, one for a core. */
const PURE_AT_ONCE = Math.min(8, Math.max(2, availableParallelism()));
const PURE_NICENESS = 4;
/**
 * Files of tests in one process, where they share one: those that only compute, and those that wait or are of
 * contracts.
 */
const PURE_TOGETHER = 24;
const TOGETHER = 8;
/** How many of the tasks that took most of a core's time are named at the end. */
const DEAREST = 20;
/** Of each task that failed, told once more at the end. */
const LAST_LINES = 25;
const DEEP_SCALE = 25;
const DEEP_LIMIT_MS = 3_600_000;
/**
 * Whole workloads, all sample files, proofs over curves, games, all pairs of cards, every change of a file,
 * days of a schedule: pure, and no matter of a minute.
 */
const NOT_IN_A_MINUTE =
	/^(src\/work\/(imports|inference|models|render|simulate|workloads)\/|vectors\/|src\/verify\/(zk|receipts|optimistic)\/|src\/verify\/hardware\/(identify\/(rules|identify)|tamper|checks\/check-(limits|train))\.|src\/market\/schedule\/turns\.)/;
const PURE = /^src\/(protocol|market|verify|work)\/|^vectors\/|^contracts\/|^scripts\/(floors|house|readme)\./;

/** `print` gets the whole output of one task at a time. */
export async function runTasks(
	tasks: readonly Task[],
	options: { readonly cwd: string; readonly print: (text: string) => void },
): Promise<Outcome> {
	const waiting = [...tasks];
	const running = new Map<Task, Promise<void>>();
	const failed: string[] = [];
	const lastWords: string[] = [];
	const errors: string[] = [];
	const counts = { tests: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
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
		const { output, ending, coreS } = await outputOf(task, options.cwd, niceness);
		const took = Math.round((performance.now() - startedAtMs) / 100) / 10;
		let wrong = ending;
		if (task.isTestFile) {
			for (const count of COUNTS)
				counts[count] += Number(new RegExp(`^ℹ ${count} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
			if (wrong === null && !/^ℹ tests [1-9]/m.test(output)) wrong = "no test in it";
			// Node ends with 0 where only a hook of the file itself failed.
			if (wrong === null && /^✖ failing tests:$/m.test(output)) wrong = "exit 0, a hook failed";
		}
		const files = readFiles(task.files ?? [], output);
		for (const { file, ending, coreS } of files) {
			if (ending !== "pass") wrong = `${wrong ?? "exit 0"}; ${file}: ${ending}`;
			if (ending === "not run to its end") continue;
			// It is a test by itself only here.
			counts.tests--;
			counts[ending === "fail" ? "fail" : "pass"]--;
			coreSeconds[file] = coreS;
		}
		if (wrong === null && task.says?.test(output) === false) wrong = `it does not say ${task.says}`;
		if (wrong !== null) {
			failed.push(`${task.name} (${wrong})`);
			errors.push(
				...new Set((output.match(ERRORS) ?? []).slice(0, MOST_ERRORS).map((line) => line.trim().slice(0, 200))),
			);
			const lines = output.replace(SUMMARY, "").replace(OF_NODE, "").trimEnd().split("\n").slice(-LAST_LINES);
			lastWords.push(`${task.name} (${wrong})\n${lines.map((line) => `  ${line.slice(0, 300)}\n`).join("")}`);
		}
		seconds[task.name] = took;
		const ofFiles = files.reduce((sum, file) => sum + file.coreS, 0);
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

const children = new Set<ChildProcess>();

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

/** `ending`: null, or how else than well it ended. */
function outputOf(
	{ command: [program, ...rest], limitMs = LIMIT_MS, isTestFile, isPure }: Task,
	cwd: string,
	niceness: number,
): Promise<{ output: string; ending: string | null; coreS: number }> {
	return new Promise((resolve) => {
		// Under Node's own runner the report would be meant for it.
		const { NODE_TEST_CONTEXT: _, ...env } = process.env;
		const child = spawn(program, rest, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
		children.add(child);
		if (isPure && child.pid !== undefined) setPriority(child.pid, niceness);
		let output = "";
		let coreS = 0;
		let isAsked = false;
		let isLate = false;
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding("utf8").on("data", (text) => {
				output += text;
				if (isAsked && /^alive by: .*\n/m.test(output)) kill();
			});
		const end = (ending: string | null) => {
			clearTimeout(limit);
			children.delete(child);
			// Also where it ended by our question, which it had no ears for yet.
			resolve({ output, ending: isLate ? `not done after ${limitMs / 1000} s` : ending, coreS });
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

type FileEnding = "pass" | "fail" | "without a test" | "not run to its end";

/** What is said of each file of several in a process. */
function readFiles(files: readonly string[], output: string): { file: string; ending: FileEnding; coreS: number }[] {
	const lines = output.split("\n");
	return files.map((file) => {
		// One with tests in it is named when they begin.
		const hasTests = lines.includes(`▶ ${file}`);
		const says = (sign: string) => lines.some((line) => line.startsWith(`${sign} ${file} (`));
		const core = lines.find((line) => line.trimStart().startsWith(`ℹ ${file}: `));
		const ending = says("✖") ? "fail" : !says("✔") ? "not run to its end" : hasTests ? "pass" : "without a test";
		return { file, ending, coreS: Number(core?.split(`${file}: `)[1]?.split(" ")[0] ?? 0) };
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

const TESTING = [
	`--import=${LIGHT_TESTS}`,
	...["--test-reporter=spec", "--test-reporter-destination=stdout"],
	...[`--test-reporter=${RUNNING_TESTS}`, "--test-reporter-destination=stderr"],
];

/** One file of tests in a process of its own. */
export function fileOfTests(name: string): Task {
	return {
		name,
		command: [process.execPath, ...TESTING, name],
		isTestFile: true,
		limitMs: 1000 * Math.max(LEAST_LIMIT_S, TIMES_USUAL * (USUAL_S[name] ?? 0)),
	};
}

/**
 * So many files in one process; what only computes apart from what waits, and apart from contracts, which
 * take longest. Of what only computes the last files come first: the first ones are quick, and leave no core
 * idle at the end.
 */
export function filesTogether(files: readonly Task[]): Task[] {
	const kindOf = ({ name, isPure }: Task) => (!isPure ? "waits" : name.startsWith("contracts/") ? "contracts" : "pure");
	return (["waits", "contracts", "pure"] as const).flatMap((kind) => {
		const alike = files.filter((file) => kindOf(file) === kind);
		const isPure = kind !== "waits";
		const many = kind === "pure" ? PURE_TOGETHER : TOGETHER;
		const tasks = Array.from({ length: Math.ceil(alike.length / many) }, (_, i) => {
			const names = alike.slice(i * many, (i + 1) * many).map(({ name }) => name);
			return {
				name: names.length === 1 ? names[0]! : `${names.length} files from ${names[0]} on`,
				command: [process.execPath, ...TESTING, FILES_TOGETHER, ...names],
				isTestFile: true,
				files: names,
				isPure,
				limitMs: isPure ? PURE_LIMIT_MS : 1000 * LEAST_LIMIT_S * Math.min(2, names.length),
			} satisfies Task;
		});
		return kind === "pure" ? tasks.reverse() : tasks;
	});
}

/** One small fault at a time in the contracts: an hour on two cores. */
const MUTANTS: Task = {
	name: "mutants of the contracts",
	command: [process.execPath, "contracts/mutants/run.ts"],
	limitMs: 4 * 3_600_000,
};
const tool = (name: string, ...command: [string, ...string[]]): Task => ({
	...{ name, command },
	...{ isPure: true, limitMs: PURE_LIMIT_MS },
});
/** Loads and faults, with figures: docs/network.md §6. */
const LOADS: readonly Task[] = ["floods", "faults"].map((name) => ({
	name: `bench/${name}.ts`,
	command: [process.execPath, `bench/${name}.ts`],
	isAlone: true,
}));
const STATIC: readonly Task[] = [
	// Two threads would each find out what the other knows: twice the work, with the other core busy anyway.
	// What has not changed since the last run is not checked again.
	tool("types", "tsc", "-p", ".", "--singleThreaded", "--incremental", "--tsBuildInfoFile", "build/types.json"),
	tool("lint and format", "biome", "check", "--error-on-warnings"),
	tool("unused files, exports and packages", "knip"),
];

/**
 * Seconds on two cores, beside the others. The longest come first, so that none is left alone at the end;
 * browsers one by one.
 */
const USUAL_S: Readonly<Record<string, number>> = {
	"tests/validator/roll-calls.test.ts": 200,
	"contracts/test/solidity.test.ts": 180,
	"tests/cli/network-cli.test.ts": 155,
	"tests/web/dashboard.test.ts": 150,
	"tests/validator/shared-openings.test.ts": 115,
	"scripts/release.test.ts": 150,
	"tests/web/job-pages.test.ts": 145,
	"tests/jobs/jobs.test.ts": 105,
	"tests/walks/owner.test.ts": 105,
	"tests/web/verify-page.test.ts": 130,
	"tests/network/simulation.test.ts": 95,
	"tests/jobs/job-roads.test.ts": 90,
	"tests/web/chain-pages.test.ts": 85,
	"tests/network/crash.test.ts": 85,
	"tests/provider/user-rentals.test.ts": 80,
	"tests/web/dispute-pages.test.ts": 85,
	"src/validator/settlement/keeper.test.ts": 65,
	"tests/web/real-pages.test.ts": 75,
	"tests/cli/cli.test.ts": 65,
	"tests/zk/whole-program.test.ts": 65,
	"src/validator/settlement/epoch-attacks.test.ts": 55,
	"tests/store/processes.test.ts": 55,
	"tests/jobs/real-provider.test.ts": 50,
	"tests/jobs/zk-jobs.test.ts": 50,
	"tests/cli/external-chain.test.ts": 45,
	// How much memory its process takes is measured in it: nobody else may be in there.
	"tests/cheaters.test.ts": 30,
};
export const LONGEST: readonly string[] = Object.keys(USUAL_S);
/**
 * One packs the engines of both platforms, one asks a program of the engine's tests, which it would else
 * build itself.
 */
const AFTER: Readonly<Record<string, string>> = {
	"scripts/release.test.ts": OTHER_BUILD,
	"tests/work/both-checkers.test.ts": TESTS_BUILD,
};

/** Then scenarios, which wait, before what only computes. */
export function testFiles(cwd: string): Task[] {
	const rank = (file: string) =>
		LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length + (file.startsWith("tests/") ? 0 : 1);
	return globSync("{src,vectors,scripts,tests,web,contracts}/**/*.test.ts", { cwd })
		.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
		.map((name) => ({
			...fileOfTests(name),
			...(PURE.test(name) ? { isPure: true, limitMs: PURE_LIMIT_MS } : {}),
			...(AFTER[name] === undefined ? {} : { after: AFTER[name] }),
		}));
}

/** A random test names the setting that scales it (tests/fuzz.test-kit.ts, or ASSAY_FUZZ itself). */
const isRandom = (cwd: string, file: string): boolean =>
	/fuzz\.test-kit|ASSAY_FUZZ/.test(readFileSync(join(cwd, file), "utf8"));

/** A test of an attack that was found by an audit is named by its number. */
const isAttack = (cwd: string, file: string): boolean =>
	/\btest\(\s*["'`][A-Z]\d+\b/.test(readFileSync(join(cwd, file), "utf8"));

export function tasksOf(cwd: string, words: readonly string[]): { tasks: Task[]; scale: number } {
	const files = testFiles(cwd);
	const [tier] = words;
	if (tier === "check") {
		const quick = files.filter(
			({ name, isPure }) => isPure && !name.startsWith("contracts/") && !NOT_IN_A_MINUTE.test(name),
		);
		return { tasks: [...STATIC, ...filesTogether(quick)], scale: 0.1 };
	}
	const scale = tier === "deep" ? DEEP_SCALE : 1;
	const engine = [
		buildOfOther,
		...engineTasks(cwd, Number(process.env.ASSAY_FUZZ ?? scale), tier === "deep" ? DEEP_LIMIT_MS : undefined),
	];
	if (tier === "test") {
		const isAlone = ({ name, after }: Task): boolean => LONGEST.includes(name) || after !== undefined;
		const together = filesTogether(files.filter((file) => !isAlone(file)));
		return { tasks: [...engine, ...STATIC, ...files.filter(isAlone), ...together], scale };
	}
	if (tier === "deep") {
		const chosen = files
			.filter(({ name }) => isRandom(cwd, name) || isAttack(cwd, name))
			.map((task) => ({ ...task, limitMs: DEEP_LIMIT_MS }));
		return { tasks: [...engine, MUTANTS, ...chosen, ...LOADS], scale };
	}
	const all: Task[] = [...engine, ...files];
	const chosen = all.filter(({ name }) => words.some((part) => name.includes(part)));
	return {
		// Who asks a program of the engine's tests builds that one; nobody else builds the other platform's
		// engine.
		tasks: all.filter(
			(task) => chosen.includes(task) || (task === buildOfOther && chosen.some(({ after }) => after === task.name)),
		),
		scale,
	};
}

/** What a deep run found, beside the other measurements. */
function keepResult(cwd: string, outcome: Outcome, scale: number): string {
	const date = new Date().toISOString().slice(0, 10);
	const file = `bench/results/deep-${process.arch}-${date}.json`;
	const commit = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd, encoding: "utf8" }).trim();
	const machine = `${cpus().length} × ${cpus()[0]?.model ?? process.arch}`;
	writeFileSync(join(cwd, file), `${JSON.stringify({ date, commit, machine, scale, ...outcome }, null, "\t")}\n`);
	return file;
}

if (import.meta.main) {
	const cwd = fileURLToPath(new URL("..", import.meta.url));
	const words = process.argv.slice(2);
	const { tasks, scale } = tasksOf(cwd, words);
	process.env.ASSAY_FUZZ ??= String(scale);
	// As scripts/setup.sh built it: else GPU code is compiled again, for all targets.
	if (words[0] !== "deep") process.env.ASSAY_CUDA_ARCHS ??= "tests";
	// Programs that tests start by name get the Node that runs this, which may not be the machine's own.
	const folders = [dirname(process.execPath), join(cwd, "node_modules/.bin")];
	process.env.PATH = [...folders, process.env.PATH].join(delimiter);
	// Hundreds of processes read the same sources: what Node made of them is kept, where bin/assay.mjs keeps it
	// too.
	process.env.NODE_COMPILE_CACHE ??= join(cwd, "build/node-compile-cache");
	const hook = pathToFileURL(await packPackages(cwd)).href;
	process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --import=${hook}`;
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
		process.once(signal, () => {
			for (const child of children) child.kill(signal);
			process.exit(130);
		});
	const startedAtMs = performance.now();
	const outcome = await runTasks(tasks, { cwd, print: (text) => process.stdout.write(text) });
	for (const count of COUNTS) console.log(`ℹ ${count} ${outcome.counts[count]}`);
	const dearest = Object.entries(outcome.coreSeconds).sort(([, a], [, b]) => b - a);
	for (const [name, coreS] of dearest.slice(0, DEAREST)) console.log(`ℹ ${coreS} s of a core: ${name}`);
	console.log(`ℹ ${Math.round(dearest.reduce((sum, [, coreS]) => sum + coreS, 0))} s of a core in all`);
	console.log(`ℹ duration ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s`);
	if (words[0] === "deep") console.log(`ℹ results in ${keepResult(cwd, outcome, scale)}`);
	if (tasks.length === 0) console.log("FAILED: no test has such a name");
	for (const one of outcome.lastWords) console.log(`LAST LINES of ${one}`);
	for (const one of outcome.failed) console.log(`FAILED ${one}`);
	for (const one of outcome.errors) console.log(`  ${one}`);
	process.exitCode = outcome.failed.length > 0 || tasks.length === 0 ? 1 : 0;
}
