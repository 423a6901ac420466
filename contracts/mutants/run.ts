// Mutation testing of the contracts: puts one small fault at a time into contracts/src and runs the Solidity
// tests. A fault that no test notices is a survivor, and fails the run unless survivors.json says why it may
// live.
//   node contracts/mutants/run.ts                 a sample of each file, drawn by ASSAY_SEED
//   node contracts/mutants/run.ts --count 500     more of them
//   node contracts/mutants/run.ts --all stake/    every one, of the files whose path contains the word
//   node contracts/mutants/run.ts --rule write    of one rule of mutations.ts alone
//   node contracts/mutants/run.ts --all --minutes 9 --shard 2/4 …
//                                                 every fourth one, the second of them first; after so long
//                                                 no further one is begun
//   node contracts/mutants/run.ts --own …         with the tests of its own subject alone, and of src only
//     what they and it import: much quicker, and enough for a subject that no other uses
// A mutant that does not compile counts for nothing. First only the tests of its own subject run, then all of
// them. Each worker has a copy of the contracts under build/mutants/. Part of `npm run test:deep`; results in
// bench/results/.
import { spawn } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Mutation, mutate, mutationsOf } from "./mutations.ts";

interface Mutant extends Mutation {
	/** Below contracts/src. */
	readonly file: string;
}

type Fate = "killed" | "survived" | "stillborn";

interface Survivor extends Pick<Mutant, "file" | "rule" | "text"> {
	readonly reason: string;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = join(ROOT, "contracts/src");
/** A mutant may loop for ever. */
const LIMIT_MS = 600_000;

/** Not those of interfaces, which declare. */
export function allMutants(words: readonly string[] = []): Mutant[] {
	return globSync("**/*.sol", { cwd: SOURCES })
		.filter(
			(file) =>
				!/(^|\/)I[A-Z]\w+\.sol$/.test(file) && (words.length === 0 || words.some((word) => file.includes(word))),
		)
		.sort()
		.flatMap((file) => mutationsOf(readFileSync(join(SOURCES, file), "utf8")).map((one) => ({ ...one, file })));
}

/** The same for the same seed; a file with many mutants has more of them in it, every file has some. */
export function sampleOf(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
	const files = Map.groupBy(mutants, ({ file }) => file);
	let state = seed >>> 0;
	const draw = (below: number) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	return [...files.values()].flatMap((of) => {
		const left = [...of];
		const share = Math.min(left.length, Math.max(2, Math.round((count * left.length) / mutants.length)));
		return Array.from({ length: share }, () => left.splice(draw(left.length), 1)[0]!);
	});
}

/** The tests beside a file of src, as paths below contracts/. */
const ownTests = (file: string): string[] =>
	globSync(`test/${dirname(file)}/*.t.sol`, { cwd: join(ROOT, "contracts") }).sort();

/** Sources of the files' subjects and their tests, and all that these import; paths below contracts/. */
function reachedFrom(files: readonly string[]): string[] {
	const subjects = [...new Set(files.map((file) => dirname(file)))];
	const waiting = subjects.flatMap((subject) =>
		globSync(`{src,test}/${subject}/**/*.sol`, { cwd: join(ROOT, "contracts") }),
	);
	const reached = new Set<string>();
	for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
		if (reached.has(file)) continue;
		reached.add(file);
		const source = readFileSync(join(ROOT, "contracts", file), "utf8");
		for (const [, path] of source.matchAll(/^import [^"]*"(\.[^"]+)";/gm)) waiting.push(join(dirname(file), path!));
	}
	return [...reached];
}

function makeWorkshop(number: number, sources: readonly string[]): string {
	const folder = join(ROOT, "build/mutants", String(number));
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(join(folder, "tests"), { recursive: true });
	for (const part of [...sources, "vectors", "hardhat.config.ts", "soljson.cjs"])
		cpSync(join(ROOT, "contracts", part), join(folder, "contracts", part), { recursive: true });
	cpSync(join(ROOT, "tests/fuzz.test-kit.ts"), join(folder, "tests/fuzz.test-kit.ts"));
	cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
	symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
	return folder;
}

/** Null: it ended well. */
function test(folder: string, files: readonly string[]): Promise<string | null> {
	return new Promise((resolve) => {
		const args = ["--config", "contracts/hardhat.config.ts", "test", "solidity", ...files];
		const env = {
			...process.env,
			ASSAY_FUZZ: "0.4",
			ASSAY_SEED: "1",
			HARDHAT_DISABLE_TELEMETRY_PROMPT: "true",
			NO_COLOR: "1",
		};
		const child = spawn(join(ROOT, "node_modules/.bin/hardhat"), args, { cwd: folder, env });
		let output = "";
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding("utf8").on("data", (text) => {
				output += text;
			});
		const limit = setTimeout(() => {
			output += "\n1 failing: it did not end";
			child.kill("SIGKILL");
		}, LIMIT_MS);
		child.on("close", (code) => {
			clearTimeout(limit);
			resolve(code === 0 ? null : output);
		});
	});
}

async function tryOut(folder: string, mutant: Mutant, isOwn: boolean): Promise<Fate> {
	const path = join(folder, "contracts/src", mutant.file);
	const source = readFileSync(path, "utf8");
	const own = ownTests(mutant.file).map((file) => `contracts/${file}`);
	writeFileSync(path, mutate(source, mutant));
	try {
		for (const files of isOwn ? [own] : own.length > 0 ? [own, []] : [[]]) {
			const output = await test(folder, files);
			// A test that ran says so; what did not compile ran none.
			if (output !== null) return /\d+ (?:passing|failing)/.test(output) ? "killed" : "stillborn";
		}
		return "survived";
	} finally {
		writeFileSync(path, source);
	}
}

async function main(): Promise<void> {
	const { values, positionals } = parseArgs({
		options: {
			all: { type: "boolean" },
			count: { type: "string" },
			minutes: { type: "string" },
			shard: { type: "string", default: "1/1" },
			own: { type: "boolean", default: false },
			rule: { type: "string", multiple: true },
			workers: { type: "string" },
		},
		allowPositionals: true,
	});
	const seed = Number(process.env.ASSAY_SEED ?? Date.now() % 2 ** 31);
	console.log(`ASSAY_SEED=${seed}`);
	const all = allMutants(positionals).filter(({ rule }) => values.rule?.includes(rule) ?? true);
	const [shard = 1, shards = 1] = values.shard.split("/").map(Number);
	const drawn = values.all ? all : sampleOf(all, Number(values.count ?? 100), seed);
	const waiting = drawn.filter((_, i) => i % shards === shard - 1);
	const untilMs = Date.now() + 60_000 * Number(values.minutes ?? Number.POSITIVE_INFINITY);
	const reasons: readonly Survivor[] = JSON.parse(readFileSync(new URL("survivors.json", import.meta.url), "utf8"));
	const fates: (Mutant & { fate: Fate; reason: string | null })[] = [];
	const total = waiting.length;
	const sources = values.own ? reachedFrom(waiting.map(({ file }) => file)) : ["src", "test"];
	// What fails by itself would kill every mutant.
	const fault = values.own ? await test(makeWorkshop(0, sources), []) : null;
	if (fault !== null) throw new Error(`the tests fail without any mutant: ${fault.slice(-2000)}`);
	const work = async (number: number) => {
		const folder = makeWorkshop(number, sources);
		for (let mutant = waiting.shift(); mutant !== undefined && Date.now() < untilMs; mutant = waiting.shift()) {
			const { file, rule, text, line, from, to } = mutant;
			const fate = await tryOut(folder, mutant, values.own);
			const known = reasons.find((one) => one.file === file && one.rule === rule && one.text === text);
			const reason = fate === "survived" ? (known?.reason ?? null) : null;
			fates.push({ ...mutant, fate, reason });
			const shown = fate === "survived" ? (reason === null ? "SURVIVED" : `lives: ${reason}`) : fate;
			console.log(
				`${fates.length}/${total} ${file}:${line} ${rule}: ${from.replace(/\s+/g, " ").slice(0, 60)} → ${to}   ${shown}`,
			);
		}
	};
	await Promise.all(Array.from({ length: Number(values.workers ?? cpus().length) }, (_, i) => work(i)));
	const of = (fate: Fate) => fates.filter((one) => one.fate === fate).length;
	const survivors = fates.filter(({ fate, reason }) => fate === "survived" && reason === null);
	console.log(
		`${of("killed")} killed, ${of("survived")} survived (${survivors.length} without a reason), ${of("stillborn")} did not compile; ${total} were to be tried, ${all.length} are possible`,
	);
	const date = new Date().toISOString().slice(0, 10);
	const result = {
		date,
		seed,
		possible: all.length,
		killed: of("killed"),
		survived: of("survived"),
		stillborn: of("stillborn"),
		survivors,
	};
	writeFileSync(join(ROOT, `bench/results/mutants-${date}.json`), `${JSON.stringify(result, null, "\t")}\n`);
	process.exitCode = survivors.length > 0 ? 1 : 0;
}

if (import.meta.main) await main();
