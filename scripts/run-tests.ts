// Runs one tier of the tests. Small files share processes; those that take long, and all of a deep run, have
// one of their own.
//   node scripts/run-tests.ts check      types, lint, unused exports, and the layers without I/O, whole
//                                        workloads left out: about a minute
//   node scripts/run-tests.ts test       everything, the engine's tests too: what CI runs
//   node scripts/run-tests.ts deep       what is random, with 25 times as many cases; every attack of an
//                                        audit; loads and faults with their figures; results in
//                                        bench/results/
//   node scripts/run-tests.ts near       the test files that depend on what changed since the branch left
//                                        main; the engine's where that changed
//   node scripts/run-tests.ts PART…      the test files whose path contains one of the parts
// What ended well before with the same content is not run again, but with --all, or by PART.
// Not here: running them (runner/), what is tested, set-up (scripts/setup.sh).
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildOfOther, engineTasks, OTHER_BUILD, TESTS_BUILD } from "./engine-tests.ts";
import { packPackages } from "./pack-packages.ts";
import { type KeptResults, openKeptResults } from "./runner/kept-results.ts";
import { changedFiles, filesOf, nearTests } from "./runner/near.ts";
import { children, type Outcome, runTasks, type Task } from "./runner/run-tasks.ts";
import { SCENARIOS } from "./runner/scenarios.ts";
import { createSourceGraph } from "./runner/source-graph.ts";
import { COUNTS } from "./runner/test-report.ts";

/** Far above what any takes, also on a busy machine: it only ends what hangs. */
const LIMIT_MS = 2_400_000;
/** Of what computes, behind all others in the queue. */
const PURE_LIMIT_MS = 3_600_000;
const RUNNING_TESTS = fileURLToPath(new URL("running-tests.mjs", import.meta.url));
const LIGHT_TESTS = new URL("light-tests.mjs", import.meta.url).href;
const FILES_TOGETHER = fileURLToPath(new URL("files-together.mjs", import.meta.url));
/**
 * Files of tests in one process, where they share one: those that only compute, and those that wait or are of
 * contracts.
 */
const PURE_TOGETHER = 24;
const TOGETHER = 8;
/** How many of the tasks that took most of a core's time are named at the end. */
const DEAREST = 20;
const DEEP_SCALE = 25;
const CHECK_SCALE = 0.1;
const TIERS: readonly string[] = ["check", "near", "test", "deep"];
/** Also what is kept. */
const ALL = "--all";
const DEEP_LIMIT_MS = 3_600_000;
/**
 * Whole workloads, all sample files, proofs over curves, games, all pairs of cards, every change of a file,
 * days of a schedule: pure, and no matter of a minute.
 */
const NOT_IN_A_MINUTE =
	/^(src\/work\/(imports|inference|models|render|simulate|workloads)\/|vectors\/|src\/verify\/(zk|receipts|optimistic)\/|src\/verify\/hardware\/(identify\/(rules|identify)|tamper|checks\/check-(limits|train))\.|src\/market\/schedule\/turns\.)/;
const PURE = /^src\/(protocol|market|verify|work)\/|^vectors\/|^contracts\/|^scripts\/(floors|house|readme)\./;

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
		limitMs: LIMIT_MS,
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
				limitMs: isPure ? PURE_LIMIT_MS : LIMIT_MS * Math.min(2, names.length),
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
	...{ isPure: true, limitMs: PURE_LIMIT_MS, reads: [""] },
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

export const LONGEST: readonly string[] = Object.keys(SCENARIOS);
/**
 * One packs the engines of both platforms, one asks a program of the engine's tests, which it would else
 * build itself.
 */
const AFTER: Readonly<Record<string, string>> = {
	"scripts/release.test.ts": OTHER_BUILD,
	"tests/work/both-checkers.test.ts": TESTS_BUILD,
};

/** Scenarios come first, those that took longest before the others; what only computes comes last. */
export function testFiles(cwd: string, secondsOf: KeptResults["secondsOf"] = () => undefined): Task[] {
	const rank = (file: string) => {
		const at = LONGEST.indexOf(file);
		return at >= 0 ? at - LONGEST.length : file.startsWith("tests/") ? 0 : 1;
	};
	return globSync("{src,vectors,scripts,tests,web,contracts}/**/*.test.ts", { cwd })
		.sort((a, b) => {
			const [ofA, ofB] = [rank(a), rank(b)];
			if (ofA < 0 && ofB < 0) return (secondsOf(b) ?? Infinity) - (secondsOf(a) ?? Infinity) || ofA - ofB;
			return ofA - ofB || (a < b ? -1 : 1);
		})
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

/** What of a tier is run. By default, as in a fresh clone, all of it. */
export interface Choice {
	/** It ended well before, with the same content. */
	readonly isKept?: (task: Task) => boolean;
	readonly secondsOf?: KeptResults["secondsOf"];
	/** For `near`: what changed, and the test files that depend on it. */
	readonly near?: { readonly changed: readonly string[]; readonly tests: ReadonlyMap<string, string> };
}

const NOTHING_CHANGED = { changed: [], tests: new Map<string, string>() };

export function tasksOf(
	cwd: string,
	words: readonly string[],
	{ isKept = () => false, secondsOf = () => undefined, near = NOTHING_CHANGED }: Choice = {},
): { tasks: Task[]; scale: number } {
	const files = testFiles(cwd, secondsOf);
	const [tier] = words;
	const isDue = (task: Task): boolean => !isKept(task);
	if (tier === "check") {
		const quick = files.filter(
			({ name, isPure }) => isPure && !name.startsWith("contracts/") && !NOT_IN_A_MINUTE.test(name),
		);
		return { tasks: [...STATIC.filter(isDue), ...filesTogether(quick.filter(isDue))], scale: CHECK_SCALE };
	}
	const scale = tier === "deep" ? DEEP_SCALE : 1;
	const engine = [
		buildOfOther,
		...engineTasks(cwd, Number(process.env.ASSAY_FUZZ ?? scale), tier === "deep" ? DEEP_LIMIT_MS : undefined),
	];
	if (tier === "test" || tier === "near") {
		const isNear = ({ name, reads }: Task): boolean =>
			reads === undefined
				? near.tests.has(name)
				: near.changed.some((file) => reads.some((start) => file.startsWith(start)));
		const all: Task[] = [...engine, ...(tier === "test" ? STATIC : []), ...files];
		return { tasks: grouped(withBuilds(all, tier === "test" ? isDue : (task) => isNear(task) && isDue(task))), scale };
	}
	if (tier === "deep") {
		const chosen = files
			.filter(({ name }) => isRandom(cwd, name) || isAttack(cwd, name))
			.map((task) => ({ ...task, limitMs: DEEP_LIMIT_MS }));
		return { tasks: [...engine, MUTANTS, ...chosen, ...LOADS], scale };
	}
	const isNamed = ({ name }: Task) => words.some((part) => name.includes(part));
	return { tasks: withBuilds([...engine, ...files], isNamed), scale };
}

/**
 * Those that are chosen, and the builds that they need: the other platform's engine is for the release, the
 * engine's tests for their programs. A test file that asks such a program builds that one itself.
 */
function withBuilds(all: readonly Task[], isChosen: (task: Task) => boolean): Task[] {
	const chosen = all.filter(isChosen);
	const needs = (task: Task): boolean =>
		chosen.some(({ after, isTestFile }) => after === task.name && (isTestFile === true) === (task === buildOfOther));
	return all.filter((task) => chosen.includes(task) || needs(task));
}

/** Scenarios, and what waits for a build, have a process each; the others share. */
function grouped(tasks: readonly Task[]): Task[] {
	const isAlone = ({ name, after, isTestFile }: Task): boolean =>
		!isTestFile || LONGEST.includes(name) || after !== undefined;
	return [...tasks.filter(isAlone), ...filesTogether(tasks.filter((task) => !isAlone(task)))];
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

/** Without what ended well before with the same content, or near what changed; says what is left out. */
function dueTasks(cwd: string, words: readonly string[]) {
	const files = filesOf(cwd);
	const graph = createSourceGraph(files, (file) => readFileSync(join(cwd, file), "utf8"));
	const [tier = ""] = words;
	const { ASSAY_FUZZ } = process.env;
	// What held with more random cases holds with fewer.
	const scales = ASSAY_FUZZ !== undefined ? [Number(ASSAY_FUZZ)] : tier === "check" ? [CHECK_SCALE, 1] : [1];
	const kept = openKeptResults(cwd, { files, graph }, scales);
	const changed = tier === "near" ? changedFiles(cwd) : [];
	const tests = nearTests({ files, graph }, changed, SCENARIOS);
	const left: string[] = [];
	const isKept = (task: Task): boolean => {
		const is = TIERS.includes(tier) && !words.includes(ALL) && kept.isKept(task);
		if (is) left.push(task.name);
		return is;
	};
	const { tasks, scale } = tasksOf(cwd, words, { isKept, secondsOf: kept.secondsOf, near: { changed, tests } });
	const names = tasks.flatMap(({ name, files }) => files ?? [name]);
	const seconds = names.reduce((sum, name) => sum + (kept.secondsOf(name) ?? 0), 0);
	if (tier === "near") {
		console.log(`ℹ changed: ${changed.join(", ") || "nothing"}`);
		for (const name of names) console.log(`ℹ near: ${name}${tests.has(name) ? `, by ${tests.get(name)}` : ""}`);
		console.log(`ℹ they took ${Math.round(seconds)} s last time, beside the others`);
	}
	if (left.length > 0)
		console.log(`ℹ ${left.length} are not run: they ended well with the same content; \`${ALL}\` runs them too`);
	return { tasks, scale, onPassed: kept.keep };
}

if (import.meta.main) {
	const cwd = fileURLToPath(new URL("..", import.meta.url));
	const words = process.argv.slice(2);
	const isTier = TIERS.includes(words[0] ?? "");
	const isDeep = words[0] === "deep";
	// As scripts/setup.sh built it: else GPU code is compiled again, for all targets.
	if (!isDeep) process.env.ASSAY_CUDA_ARCHS ??= "tests";
	const { tasks, scale, onPassed } = isDeep ? { ...tasksOf(cwd, words), onPassed: () => {} } : dueTasks(cwd, words);
	process.env.ASSAY_FUZZ ??= String(scale);
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
	const outcome = await runTasks(tasks, { cwd, print: (text) => process.stdout.write(text), onPassed });
	for (const count of COUNTS) console.log(`ℹ ${count} ${outcome.counts[count]}`);
	const dearest = Object.entries(outcome.coreSeconds).sort(([, a], [, b]) => b - a);
	for (const [name, coreS] of dearest.slice(0, DEAREST)) console.log(`ℹ ${coreS} s of a core: ${name}`);
	console.log(`ℹ ${Math.round(dearest.reduce((sum, [, coreS]) => sum + coreS, 0))} s of a core in all`);
	console.log(`ℹ duration ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s`);
	if (isDeep) console.log(`ℹ results in ${keepResult(cwd, outcome, scale)}`);
	if (tasks.length === 0) console.log(isTier ? "ℹ nothing to run" : "FAILED: no test has such a name");
	for (const one of outcome.lastWords) console.log(`LAST LINES of ${one}`);
	for (const one of outcome.failed) console.log(`FAILED ${one}`);
	for (const one of outcome.errors) console.log(`  ${one}`);
	process.exitCode = outcome.failed.length > 0 || (tasks.length === 0 && !isTier) ? 1 : 0;
}
