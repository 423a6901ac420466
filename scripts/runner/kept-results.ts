// Results that are kept by content, in build/kept-results.json: what a task depends on was the same when it
// last ended well, so it would again. What counts: the files of its closure; where it has to do with the
// engine its sources and its program; the packages, Node, how tests run, the settings, whether it is root.
// Random tests draw no new cases then; a deep run keeps nothing. Not here: what a file depends on
// (source-graph.ts).
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasNvcc } from "../../src/engine/builds.ts";
import { type Checkout, HOW_TESTS_RUN } from "./near.ts";
import type { Task } from "./run-tasks.ts";

/** Branches that one goes back and forth between. */
const KEPT_OF_EACH = 8;

interface Kept {
	readonly key: string;
	readonly seconds: number;
}
type Store = Readonly<Record<string, readonly Kept[]>>;

export interface KeptResults {
	/** It ended well with this content, at this or a larger scale of the random tests. */
	isKept(task: Task): boolean;
	/** Nothing is kept of what somebody changed while it ran. */
	keep(task: Task, seconds: number): void;
	/** The last time that it ended well, with whatever content. */
	secondsOf(name: string): number | undefined;
}

export function openKeptResults(cwd: string, { files, graph }: Checkout, scales: readonly number[]): KeptResults {
	const path = join(cwd, "build/kept-results.json");
	const hashOf = hasher(cwd);
	const surroundings = surroundingsOf(cwd);
	const alike = files.filter((file) => HOW_TESTS_RUN.test(file));
	const engine = [`build/engine/linux-${process.arch}/assay-engine`];
	const dependencies = (task: Task): readonly string[] => {
		if (task.reads) return files.filter((file) => task.reads!.some((start) => file.startsWith(start)));
		const all = graph.closureOf(task.name).all;
		return [...all, ...(all.has("engine/build.sh") ? engine : [])].sort();
	};
	const keyOf = (task: Task, scale: number): string => {
		const key = createHash("sha256").update(JSON.stringify([surroundings, scale, task.name]));
		if (!task.isTestFile) key.update(task.command.slice(1).join(" ").replaceAll(cwd, ""));
		for (const file of [...alike, ...dependencies(task)]) key.update(`${file} ${hashOf(file)}\n`);
		return key.digest("hex").slice(0, 32);
	};
	const store = readStore(path);
	const keys = new Map<string, readonly string[]>();
	const keysOf = (task: Task): readonly string[] => {
		if (!task.isTestFile && !task.reads) return [];
		const found = keys.get(task.name) ?? scales.map((scale) => keyOf(task, scale));
		keys.set(task.name, found);
		return found;
	};
	return {
		isKept: (task) => keysOf(task).some((key) => store[task.name]?.some((one) => one.key === key) === true),
		keep: (task, seconds) => {
			const [key] = keysOf(task);
			if (key === undefined || keyOf(task, scales[0]!) !== key) return;
			// Another run may have kept something meanwhile.
			const now = readStore(path);
			const others = (now[task.name] ?? []).filter((one) => one.key !== key);
			const next: Store = { ...now, [task.name]: [{ key, seconds }, ...others].slice(0, KEPT_OF_EACH) };
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(`${path}.${process.pid}`, JSON.stringify(next));
			renameSync(`${path}.${process.pid}`, path);
		},
		secondsOf: (name) => store[name]?.[0]?.seconds,
	};
}

function readStore(path: string): Store {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as Store;
	} catch {
		return {};
	}
}

/** The hash of a file as it is now; a file that was not touched is not read twice. */
function hasher(cwd: string): (file: string) => string {
	const known = new Map<string, { readonly stamp: string; readonly hash: string }>();
	return (file) => {
		const stat = statSync(join(cwd, file), { throwIfNoEntry: false });
		if (stat === undefined || !stat.isFile()) return "none";
		const stamp = `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size}`;
		const before = known.get(file);
		if (before?.stamp === stamp) return before.hash;
		const hash = createHash("sha256")
			.update(readFileSync(join(cwd, file)))
			.digest("hex");
		known.set(file, { stamp, hash });
		return hash;
	};
}

/** What is not in files of the checkout, as far as tests ask. The scale of random tests is told apart. */
function surroundingsOf(cwd: string): readonly unknown[] {
	const settings = Object.entries(process.env)
		.filter(([name]) => name.startsWith("ASSAY_") && name !== "ASSAY_FUZZ")
		.sort(([a], [b]) => (a < b ? -1 : 1));
	const shared = process.env.ASSAY_SHARED ?? join(cwd, "../shared");
	return [
		...[process.version, process.platform, process.arch, process.getuid?.() === 0],
		...[hasNvcc(), existsSync("/dev/nvidiactl"), existsSync(shared), settings],
	];
}
