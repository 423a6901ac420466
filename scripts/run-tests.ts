// Runs the engine's tests and every test file, each in a process of its own, so that two cores stay busy and deadlines do not depend on luck:
// two at a time, and beside them one of those that mostly wait. While the engine is being compiled only tests without deadlines run.
// Node's own runner takes files by their names and knows one number of places. Not here: what is tested; set-up (scripts/setup.sh).
//   node scripts/run-tests.ts [part of a file's name]…   without names: everything, the engine too
import { type ChildProcess, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Task {
	readonly name: string;
	readonly command: readonly [string, ...string[]];
	/** It compiles with all cores; tests with deadlines wait for its end. */
	readonly isBuild?: boolean;
	/** Its outcome cannot depend on how busy the machine is. */
	readonly hasNoDeadlines?: boolean;
	/** It has a place beside the two, because it hardly computes. */
	readonly isWaiting?: boolean;
	/** A file of Node's tests: how many it ran is read from its report, and none is a failure. */
	readonly isTestFile?: boolean;
	/** After so long it hangs, and is killed. */
	readonly limitMs?: number;
}

export interface Outcome {
	readonly failed: readonly string[];
	/** Over all test files. */
	readonly counts: Readonly<Record<(typeof COUNTS)[number], number>>;
}

const COUNTS = ["tests", "pass", "fail", "cancelled", "skipped", "todo"] as const;
const SUMMARY = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;
const PLACES = 2;
/** Far above the longest (two minutes) also on a busy machine: it only tells a file that never ends. */
const LIMIT_MS = 900_000;

/** `print` gets the whole output of one task at a time. */
export async function runTasks(
	tasks: readonly Task[],
	o: { readonly cwd: string; readonly print: (text: string) => void },
): Promise<Outcome> {
	const left = [...tasks];
	const running = new Map<Task, Promise<void>>();
	const failed: string[] = [];
	const counts = { tests: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
	const mayStart = (task: Task): boolean => {
		const beside = [...running.keys()].filter(
			({ isWaiting = false }) => isWaiting === (task.isWaiting ?? false),
		).length;
		const isBuilding = [...running.keys(), ...left].some(({ isBuild }) => isBuild);
		return (
			beside < (task.isWaiting ? 1 : PLACES) && (!isBuilding || task.isBuild === true || task.hasNoDeadlines === true)
		);
	};
	const start = async (task: Task): Promise<void> => {
		const startedAtMs = performance.now();
		const { output, ending } = await outputOf(task, o.cwd);
		const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
		let wrong = ending;
		if (task.isTestFile) {
			for (const count of COUNTS)
				counts[count] += Number(new RegExp(`^ℹ ${count} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
			if (wrong === null && !/^ℹ tests [1-9]/m.test(output)) wrong = "no test in it";
		}
		if (wrong !== null) failed.push(`${task.name} (${wrong})`);
		// Of a file that passed, the counts are in the last lines of the whole run.
		const shown = wrong === null && task.isTestFile ? output.replace(SUMMARY, "") : output;
		o.print(`== ${task.name}, ${seconds} s${wrong === null ? "" : `: FAILED, ${wrong}`}\n${shown}`);
	};
	for (;;) {
		for (let next = left.find(mayStart); next !== undefined; next = left.find(mayStart)) {
			const task = next;
			left.splice(left.indexOf(task), 1);
			running.set(
				task,
				start(task).finally(() => running.delete(task)),
			);
		}
		if (running.size === 0) break;
		await Promise.race(running.values());
	}
	return { failed, counts };
}

const children = new Set<ChildProcess>();

/** `ending`: null, or how else than well it ended. */
function outputOf(
	{ command: [program, ...rest], limitMs = LIMIT_MS }: Task,
	cwd: string,
): Promise<{ output: string; ending: string | null }> {
	return new Promise((resolve) => {
		// Under Node's own runner the report would be meant for it.
		const { NODE_TEST_CONTEXT: _, ...env } = process.env;
		const child = spawn(program, rest, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
		children.add(child);
		let output = "";
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding("utf8").on("data", (text) => {
				output += text;
			});
		const limit = setTimeout(() => {
			child.kill("SIGKILL");
			end(`not done after ${limitMs / 1000} s`);
		}, limitMs);
		const end = (ending: string | null) => {
			clearTimeout(limit);
			children.delete(child);
			resolve({ output, ending });
		};
		child.on("error", (error) => end(error.message));
		child.on("close", (code, signal) => end(code === 0 ? null : (signal ?? `exit ${code}`)));
	});
}

/** Rooms that know no clock (src/protocol/purity.test.ts), and the contracts, whose clock is the chain's. */
const HAS_NO_DEADLINES =
	/^(src\/(protocol|market|verify)|vectors|contracts)\/|^src\/chain\/abi\.|^scripts\/(floors|readme)\./;

/** Less than half of their time is computing (measured on two cores with one other file beside them). */
export const IS_WAITING = [
	"tests/network/simulation.test.ts",
	"src/engine/links/create-ssh-link.test.ts",
	"src/provider/rental/user-environment.test.ts",
	"src/engine/agent/hostile-provider.test.ts",
	"src/engine/links/create-local-link.test.ts",
];

/** The longest first, so that none is left alone at the end; seconds of computing on two cores of an arm64 machine, where more than ten. */
export const LONG: Readonly<Record<string, number>> = {
	"contracts/test/contracts.test.ts": 110,
	"tests/web/dashboard.test.ts": 53,
	"src/verify/hardware/mutation.test.ts": 46,
	"scripts/release.test.ts": 36,
	"tests/network/crash.test.ts": 34,
	"tests/cheaters.test.ts": 34,
	"tests/store/processes.test.ts": 31,
	"tests/cli/network-cli.test.ts": 24,
	"tests/web/verify-page.test.ts": 18,
	"tests/api/hostile.test.ts": 16,
	"src/verify/hardware/identify/rules.test.ts": 13,
	"src/validator/audit/audit-epoch.test.ts": 13,
	"tests/validator/restart.test.ts": 13,
	"tests/honest.test.ts": 12,
	"src/chain/abi.test.ts": 11,
};
/** Of the others those that start a browser, a database or processes come before those that only compute. */
const STARTS_THINGS = /^(web|tests|src\/(validator|cli|store|provider))\//;

export function everything(cwd: string): Task[] {
	const rooms = ["src", "vectors", "scripts", "tests", "web", "contracts"];
	const files = globSync(
		rooms.map((room) => `${room}/**/*.test.ts`),
		{ cwd },
	);
	const place = (file: string) =>
		IS_WAITING.includes(file) ? 1000 - IS_WAITING.indexOf(file) : (LONG[file] ?? (STARTS_THINGS.test(file) ? 1 : 0));
	files.sort((a, b) => place(b) - place(a) || (a < b ? -1 : 1));
	return [
		{ name: "engine", command: ["bash", "engine/test/run.sh"], isBuild: true },
		...files.map((name) => ({
			name,
			command: [process.execPath, "--test-reporter=spec", name] as const,
			isTestFile: true,
			hasNoDeadlines: HAS_NO_DEADLINES.test(name),
			isWaiting: IS_WAITING.includes(name),
		})),
	];
}

if (import.meta.main) {
	const cwd = fileURLToPath(new URL("..", import.meta.url));
	const names = process.argv.slice(2);
	const tasks = everything(cwd).filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)));
	const startedAtMs = performance.now();
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
		process.once(signal, () => {
			for (const child of children) child.kill(signal);
			process.exit(130);
		});
	const { failed, counts } = await runTasks(tasks, { cwd, print: (text) => process.stdout.write(text) });
	for (const count of COUNTS) console.log(`ℹ ${count} ${counts[count]}`);
	console.log(`ℹ duration ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s`);
	if (tasks.length === 0) console.log("FAILED: no test has such a name");
	for (const one of failed) console.log(`FAILED ${one}`);
	process.exitCode = failed.length > 0 || tasks.length === 0 ? 1 : 0;
}
