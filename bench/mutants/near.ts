// Whether `npm run test:near` leaves nothing out: draws source files, breaks each of them alone, and asks the
// tests that it would run until one fails. A file of TypeScript is broken by a throw at the head of every
// function, others by turning every equality around. Needs a checkout that is set up and has no changes;
// seconds are those of the last whole run (build/kept-results.json).
//   node bench/mutants/near.ts [--count 20] [--seed 1] [--write]
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ENGINE_READS } from "../../scripts/engine-tests.ts";
import { openKeptResults } from "../../scripts/runner/kept-results.ts";
import { filesOf, nearTests } from "../../scripts/runner/near.ts";
import { SCENARIOS } from "../../scripts/runner/scenarios.ts";
import { createSourceGraph } from "../../scripts/runner/source-graph.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const IS_SOURCE = /^(src|web|engine\/src|contracts\/src)\/.*\.(tsx?|cpp|hpp|sol)$/;
const IS_OF_TESTS = /\.test\.|test-kit|_test\./;
/** One line, or the last of several, that opens the body of a function of the file itself. */
const HEADS = /^(?:(?:export )?(?:default )?(?:async )?function\*? .*|\)(?:: [^=]*)?|(?:export )?const .*=>) \{$/gm;
const LIMIT_MS = 600_000;
/** These of the engine's tests say quickest that something is wrong. */
const QUICK_OF_ENGINE = ["work_test", "maths_test", "map_ptx_test", "fuse_test", "frames_test", "cpu_device_test"];

function broken(file: string, text: string): string {
	if (/\.tsx?$/.test(file)) return text.replaceAll(HEADS, (head) => `${head}\n\tthrow new Error("broken");`);
	return text.replaceAll(" == ", " != ");
}

/** Mulberry32: the same files on every machine. */
function drawer(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let x = Math.imul(state ^ (state >>> 15), state | 1);
		x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
		return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
	};
}

function fails(command: readonly [string, ...string[]]): boolean {
	const [program, ...words] = command;
	return (
		spawnSync(program, words, { cwd: root, stdio: "ignore", timeout: LIMIT_MS, killSignal: "SIGKILL" }).status !== 0
	);
}

/** The first test that fails, and how many were asked; null where none does. */
function firstFailing(file: string, tests: readonly string[]): { readonly by: string; readonly asked: number } | null {
	if (file.startsWith("engine/")) {
		const built = `build/engine/linux-${process.arch}`;
		const build = fails(["bash", "engine/build.sh", ...QUICK_OF_ENGINE.flatMap((name) => ["--test", name])]);
		if (build) return { by: "the engine's build", asked: 1 };
		const folder = join(root, "build/engine/disk");
		for (const [i, name] of QUICK_OF_ENGINE.entries()) {
			const words: Readonly<Record<string, readonly string[]>> = {
				frames_test: [`${built}/assay-engine`, "vectors"],
				cpu_device_test: ["vectors", folder],
			};
			if (fails([`${built}/${name}`, ...(words[name] ?? (/^(map_ptx|fuse)/.test(name) ? [] : ["vectors"]))]))
				return { by: `engine: ${name}`, asked: i + 1 };
		}
	}
	for (const [i, test] of tests.entries())
		if (fails([process.execPath, "scripts/run-tests.ts", test])) return { by: test, asked: i + 1 };
	return null;
}

const { values } = parseArgs({
	options: {
		count: { type: "string", default: "20" },
		seed: { type: "string", default: "1" },
		write: { type: "boolean", default: false },
	},
});
if (execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" }) !== "")
	throw new Error("this checkout has changes: commit them first, since files are broken and put back here");
const files = filesOf(root);
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const graph = createSourceGraph(files, read);
const kept = openKeptResults(root, { files, graph }, [1]);
const left = files.filter((file) => {
	if (!IS_SOURCE.test(file) || IS_OF_TESTS.test(file)) return false;
	const text = read(file);
	return broken(file, text) !== text;
});
/** By how many imports a test comes to a file. */
function stepsTo(test: string, file: string): number {
	const seen = new Set([test]);
	for (let [steps, last] = [0, [test]]; last.length > 0; steps++) {
		if (last.includes(file)) return steps;
		last = last.flatMap((one) => [...graph.edgesOf(one).runs]).filter((one) => !seen.has(one) && seen.add(one));
	}
	return Infinity;
}
const draw = drawer(Number(values.seed));
const drawn = Array.from({ length: Number(values.count) }, () => left.splice(Math.floor(draw() * left.length), 1)[0]!);
const all = files.filter((file) => file.endsWith(".test.ts")).length;
const rows = drawn.map((file) => {
	const near = [...nearTests({ files, graph }, [file], SCENARIOS).keys()];
	const seconds = Math.round(near.reduce((sum, name) => sum + (kept.secondsOf(name) ?? 0), 0));
	const steps = new Map(near.map((name) => [name, stepsTo(name, file)]));
	// Those that run it most directly would see it first.
	const byLikelihood = [...near].sort(
		(a, b) => steps.get(a)! - steps.get(b)! || (kept.secondsOf(a) ?? 0) - (kept.secondsOf(b) ?? 0),
	);
	const text = read(file);
	writeFileSync(join(root, file), broken(file, text));
	try {
		const found = firstFailing(file, byLikelihood);
		const row = {
			...{ file, tests: near.length, wallSecondsOfThem: seconds },
			...{ engineToo: ENGINE_READS.some((start) => file.startsWith(start)), failed: found?.by ?? null },
			...{ asked: found?.asked ?? near.length, near },
		};
		console.log(
			`${file}: ${near.length} of ${all} test files, ${seconds} s; ${found ? `fails: ${found.by}` : "NOTHING FAILS"}`,
		);
		return row;
	} finally {
		writeFileSync(join(root, file), text);
	}
});
const sorted = rows.map(({ tests }) => tests).sort((a, b) => a - b);
const unseen = rows.filter(({ failed }) => failed === null).map(({ file }) => file);
console.log(
	`${rows.length - unseen.length} of ${rows.length} broken files are seen; median ${sorted[sorted.length >> 1]} of ${all} test files`,
);
if (values.write) {
	const date = new Date().toISOString().slice(0, 10);
	const commit = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
	const result = {
		machine: `${cpus().length} × ${cpus()[0]?.model ?? process.arch}`,
		date,
		commit,
		seed: Number(values.seed),
	};
	const path = join(root, `bench/results/near-${date}.json`);
	writeFileSync(path, `${JSON.stringify({ ...result, testFiles: all, unseen, rows }, null, "\t")}\n`);
}
process.exitCode = unseen.length === 0 ? 0 : 1;
