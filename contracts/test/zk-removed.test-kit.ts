// A contract of contracts/src/zk with one of its checks removed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Hex } from "viem";

export interface RemovedCheck {
	/** Below contracts/src/zk. */
	readonly file: string;
	/** What stands there, and what stands there without the check. */
	readonly changes: readonly (readonly [from: string, to: string])[];
}

const SOURCES = new URL("../src/", import.meta.url);

/** Creation code of `main`, a path below contracts/src, with one file that is another. */
export function codeWithout(main: string, { file, changes }: RemovedCheck): Hex {
	const solc = createRequire(import.meta.url)("solc");
	const name = main.replace(/^.*\/|\.sol$/g, "");
	const read = (path: string): string => {
		let source = readFileSync(new URL(path, SOURCES), "utf8");
		if (path !== `zk/${file}.sol`) return source;
		for (const [from, to] of changes) {
			assert.ok(source.includes(from), `${from} stands in ${file}`);
			source = source.replaceAll(from, to);
		}
		return source;
	};
	const settings = {
		...{ optimizer: { enabled: true, runs: 1000 }, evmVersion: "prague" },
		outputSelection: { [main]: { [name]: ["evm.bytecode.object"] } },
	};
	const input = { language: "Solidity", sources: { [main]: { content: read(main) } }, settings };
	const output = JSON.parse(
		solc.compile(JSON.stringify(input), { import: (path: string) => ({ contents: read(path) }) }),
	);
	assert.deepEqual(
		(output.errors ?? []).filter(({ severity }: { severity: string }) => severity === "error"),
		[],
	);
	return `0x${output.contracts[main][name].evm.bytecode.object}`;
}
