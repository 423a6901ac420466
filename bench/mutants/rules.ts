// Mutation testing of the market's rules for jobs: one small fault at a time in src/market/jobs or the
// methods, then their tests. A fault that no test notices is a survivor, and fails the run unless
// rule-survivors.json says why it may live.
//   node bench/mutants/rules.ts                     all of them, some minutes on one core
//   node bench/mutants/rules.ts economics quote     of the files whose name contains a word
//   node bench/mutants/rules.ts --workers 2
// Results: bench/results/rule-mutants-….json where all were tried.
import { fork } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type RuleMutation, ruleMutationsOf } from "./rule-mutations.ts";
import type { Trial } from "./try-mutants.ts";

interface Mutant extends RuleMutation {
	readonly file: string;
}
interface Survivor extends Pick<Mutant, "file" | "rule" | "text"> {
	readonly reason: string;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A mutant may loop for ever; all tests take a second. */
const LIMIT_MS = 300_000;
/** Mutants that one process tries: modules are never unloaded. */
const AT_ONCE = 50;
const SOURCES = ["src/market/jobs/*.ts", "src/verify/methods/*.ts"];
const TESTS = globSync(
	SOURCES.map((one) => one.replace(/\.ts$/, ".test.ts")),
	{ cwd: ROOT },
).sort();

const allMutants = (words: readonly string[]): Mutant[] =>
	globSync(SOURCES, { cwd: ROOT })
		.filter((file) => !file.includes(".test") && (words.length === 0 || words.some((word) => file.includes(word))))
		.sort()
		.flatMap((file) => ruleMutationsOf(file, readFileSync(join(ROOT, file), "utf8")).map((one) => ({ ...one, file })));

const urlOf = (file: string): string => pathToFileURL(join(ROOT, file)).href;

/** The tests beside a file first: they notice most. */
function trialOf(mutant: Mutant | null): Trial {
	const own = mutant?.file.replace(/\.ts$/, ".test.ts");
	const tests = [...TESTS].sort((a, b) => Number(b === own) - Number(a === own));
	return { url: mutant && urlOf(mutant.file), mutation: mutant, tests: tests.map(urlOf) };
}

/**
 * In a process of their own; how many of them have a fate, and whether a test noticed. A mutant that does not
 * end is noticed too.
 */
function tryOut(mutants: readonly (Mutant | null)[]): Promise<readonly (string | null)[]> {
	return new Promise((resolve, reject) => {
		const child = fork(join(ROOT, "bench/mutants/try-mutants.ts"), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
		const fates: (string | null)[] = [];
		let limit: NodeJS.Timeout;
		const wait = () => {
			clearTimeout(limit);
			limit = setTimeout(() => {
				fates.push("it did not end");
				child.kill("SIGKILL");
			}, LIMIT_MS);
		};
		child.on("message", (fate: string | null) => {
			fates.push(fate);
			wait();
		});
		child.on("error", reject);
		child.on("exit", () => {
			clearTimeout(limit);
			resolve(fates.length === 0 ? ["its process ended"] : fates);
		});
		wait();
		child.send(mutants.map(trialOf));
	});
}

async function main(): Promise<void> {
	const { values, positionals } = parseArgs({
		options: { workers: { type: "string", default: "1" } },
		allowPositionals: true,
	});
	const [fault] = await tryOut([null]);
	if (fault !== null) throw new Error(`the tests fail without any mutant: ${fault}`);
	const reasons: readonly Survivor[] = JSON.parse(
		readFileSync(new URL("rule-survivors.json", import.meta.url), "utf8"),
	);
	const waiting = allMutants(positionals);
	const total = waiting.length;
	const survivors: (Mutant & { reason: string | null })[] = [];
	let done = 0;
	const told = (mutant: Mutant) => {
		const { file, rule, text, line, from, to } = mutant;
		const known = reasons.find((one) => one.file === file && one.rule === rule && one.text === text);
		survivors.push({ ...mutant, reason: known?.reason ?? null });
		const shown = known === undefined ? "SURVIVED" : `lives: ${known.reason}`;
		console.log(`${done}/${total} ${file}:${line} ${rule}: ${from.replace(/\s+/g, " ")} → ${to}   ${shown}\n\t${text}`);
	};
	const work = async () => {
		for (let batch = waiting.splice(0, AT_ONCE); batch.length > 0; batch = waiting.splice(0, AT_ONCE)) {
			const fates = await tryOut(batch);
			done += fates.length;
			for (const [i, fate] of fates.entries()) if (fate === null) told(batch[i]!);
			waiting.unshift(...batch.slice(fates.length));
		}
	};
	await Promise.all(Array.from({ length: Number(values.workers) }, work));
	const unknown = survivors.filter(({ reason }) => reason === null);
	console.log(
		`${total - survivors.length} of ${total} killed, ${survivors.length} live, ${unknown.length} of them without a reason`,
	);
	if (positionals.length === 0) {
		const date = new Date().toISOString().slice(0, 10);
		const listed = survivors.map(({ file, line, rule, from, to, text, reason }) => ({
			file,
			line,
			rule,
			from,
			to,
			text,
			reason,
		}));
		const result = { date, possible: total, killed: total - survivors.length, survivors: listed };
		writeFileSync(join(ROOT, `bench/results/rule-mutants-${date}.json`), `${JSON.stringify(result, null, "\t")}\n`);
	}
	process.exitCode = unknown.length > 0 ? 1 : 0;
}

await main();
