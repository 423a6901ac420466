// One contract of contracts/src compiled in this process, for tests that change a source first. What solc
// made of the same texts is kept in build/: compiling takes most of such a test's time.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const KEPT = new URL("../../build/contracts/compiled/", import.meta.url);

interface Compiled {
	readonly bytecode: { readonly object: string };
	readonly deployedBytecode: { readonly object: string; readonly sourceMap: string };
	/** The number of `main` in source maps. */
	readonly id: number;
}

/** A source and all that it imports, by path. */
function sourcesOf(main: string, read: (path: string) => string): Record<string, { readonly content: string }> {
	const sources: Record<string, { readonly content: string }> = {};
	const take = (path: string): void => {
		if (path in sources) return;
		const content = read(path);
		sources[path] = { content };
		for (const [, name] of content.matchAll(/^import [^"]*"([^"]+)";/gm))
			take(new URL(name!, `file:///${path}`).pathname.slice(1));
	};
	take(main);
	return sources;
}

interface Input {
	readonly main: string;
	readonly name: string;
	/** For solc. */
	readonly text: string;
}

function inputOf(main: string, wanted: readonly string[], read: (path: string) => string): Input {
	const name = main.replace(/^.*\/|\.sol$/g, "");
	const settings = {
		...{ optimizer: { enabled: true, runs: 1000 }, evmVersion: "prague" },
		outputSelection: { [main]: { [name]: wanted } },
	};
	return { main, name, text: JSON.stringify({ language: "Solidity", sources: sourcesOf(main, read), settings }) };
}

function compiled({ main, name, text }: Input): Compiled {
	const solc = require("solc/wrapper")(require("../soljson.cjs"));
	const output = JSON.parse(solc.compile(text));
	assert.deepEqual(
		(output.errors ?? []).filter(({ severity }: { severity: string }) => severity === "error"),
		[],
	);
	return { ...output.contracts[main][name].evm, id: output.sources[main].id };
}

/** What solc puts out of `main`, a path below contracts/src. `read` gives the text of such a path. */
export function compileOne(main: string, wanted: readonly string[], read: (path: string) => string): Compiled {
	const input = inputOf(main, wanted, read);
	const { version } = require("solc/package.json") as { readonly version: string };
	const file = new URL(`${createHash("sha256").update(version).update(input.text).digest("hex")}.json`, KEPT);
	try {
		return JSON.parse(readFileSync(file, "utf8")) as Compiled;
	} catch {
		// Nobody has compiled these texts here yet.
	}
	const found = compiled(input);
	mkdirSync(KEPT, { recursive: true });
	const draft = new URL(randomBytes(6).toString("hex"), KEPT);
	writeFileSync(draft, JSON.stringify(found));
	renameSync(draft, file);
	return found;
}

/** The same, and solc is asked whatever is kept. */
export const compileAnew = (...asked: Parameters<typeof compileOne>): Compiled => compiled(inputOf(...asked));
