// What `npm run test:near` runs: the test files that depend on a changed file, whole scenarios only where
// their own rooms changed. A change that nobody depends on has the tests of its room run, and those that look
// at all files. Not here: who depends on what (source-graph.ts), which files are scenarios (scenarios.ts).
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SourceGraph } from "./source-graph.ts";

/** How tests run: after a change here all of them do. */
export const HOW_TESTS_RUN =
	/^(package-lock\.json$|scripts\/(toolchain\/|(light-tests|running-tests|files-together)\.mjs|pack-packages\.ts|node\.sh|runner\/(run-tasks|test-report)\.ts))/;
/** What a scenario has in its rooms or not; all else it runs for as other tests do. */
const IN_ROOMS = /^(src|web|engine|contracts\/src|samples|vectors)\/(?!.*\.test(-kit)?\.ts$)/;

export interface Checkout {
	/** All that Git knows or would take, as far as it is there. */
	readonly files: readonly string[];
	readonly graph: SourceGraph;
}

const git = (cwd: string, ...args: string[]): string[] =>
	execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "ignore"] })
		.split("\0")
		.filter((line) => line !== "");

export const filesOf = (cwd: string): string[] =>
	[...new Set(git(cwd, "ls-files", "-z", "--cached", "--others", "--exclude-standard"))]
		.filter((file) => existsSync(join(cwd, file)))
		.sort();

/** Against the commit where this branch left `main`: committed since, not committed, new or deleted. */
export function changedFiles(cwd: string): string[] {
	const bases = ["main", "origin/main"].flatMap((branch) => {
		try {
			return git(cwd, "merge-base", "HEAD", branch).map((line) => line.trim());
		} catch {
			return [];
		}
	});
	const changed = git(cwd, "diff", "-z", "--name-only", "--no-renames", bases[0] ?? "HEAD");
	return [...new Set([...changed, ...git(cwd, "ls-files", "-z", "--others", "--exclude-standard")])].sort();
}

/** Test file → a changed file that it is run for. `scenarios`: with the rooms of each. */
export function nearTests(
	{ files, graph }: Checkout,
	changed: readonly string[],
	scenarios: Readonly<Record<string, readonly string[]>>,
): Map<string, string> {
	const tests = files.filter((file) => file.endsWith(".test.ts"));
	const near = new Map<string, string>();
	const add = (names: readonly string[], file: string) => {
		for (const name of names) if (!near.has(name)) near.set(name, file);
	};
	for (const file of changed) {
		if (HOW_TESTS_RUN.test(file)) add(tests, file);
		const general = tests.filter((test) => graph.edgesOf(test).reads.size >= files.length);
		const own = tests.filter((test) => !general.includes(test) && graph.closureOf(test).all.has(file));
		const isSmall = (test: string) => scenarios[test] === undefined;
		const inRoom = (test: string) =>
			!IN_ROOMS.test(file) ||
			graph.edgesOf(test).reads.has(file) ||
			scenarios[test]!.some((room) => file.startsWith(room));
		// To read its text among others says little about what it does.
		const isKnown = own.some(
			(test) => isSmall(test) && (graph.closureOf(test).runs.has(file) || !/\.tsx?$/.test(file)),
		);
		add(general, file);
		add(
			own.filter((test) => isSmall(test) || inRoom(test) || !isKnown),
			file,
		);
		const room = file.split("/").slice(0, -1).slice(0, 2).join("/");
		if (!isKnown && room !== "")
			add(
				tests.filter((test) => isSmall(test) && test.startsWith(`${room}/`)),
				file,
			);
	}
	return near;
}
