// Runs one tier of the tests. Small files share processes; those that take long, and all of a deep run, have
// one of their own.
//   node scripts/run-tests.ts check      types, lint, unused exports, and the layers without I/O, whole
//                                        workloads left out: about a minute
//   node scripts/run-tests.ts test       everything, the engine's tests too: what CI runs
//   node scripts/run-tests.ts deep       what is random, with 25 times as many cases; every attack of an
//                                        audit; loads and faults with their figures; results in
//                                        bench/results/
//   node scripts/run-tests.ts PART…      the test files whose path contains one of the parts
// Not here: running them (runner/), what is tested, set-up (scripts/setup.sh).
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildOfOther, engineTasks, OTHER_BUILD, TESTS_BUILD } from "./engine-tests.ts";
import { packPackages } from "./pack-packages.ts";
import { children, type Outcome, runTasks, type Task } from "./runner/run-tasks.ts";
import { COUNTS } from "./runner/test-report.ts";

/** What hangs is ended, far above what a file takes also on a busy machine: by its usual time. */
const LEAST_LIMIT_S = 1800;
/** Of what computes, behind all others in the queue. */
const PURE_LIMIT_MS = 3_600_000;
const TIMES_USUAL = 12;
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
