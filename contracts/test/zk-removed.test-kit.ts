// A contract of contracts/src/zk with one of its checks removed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Hex } from "viem";
import { compileOne } from "./solc.test-kit.ts";

export interface RemovedCheck {
	/** Below contracts/src/zk. */
	readonly file: string;
	/** What stands there, and what stands there without the check. */
	readonly changes: readonly (readonly [from: string, to: string])[];
}

const SOURCES = new URL("../src/", import.meta.url);

/** Creation code of `main`, a path below contracts/src, with one file that is another. */
export function codeWithout(main: string, { file, changes }: RemovedCheck): Hex {
	const read = (path: string): string => {
		let source = readFileSync(new URL(path, SOURCES), "utf8");
		if (path !== `zk/${file}.sol`) return source;
		for (const [from, to] of changes) {
			assert.ok(source.includes(from), `${from} stands in ${file}`);
			source = source.replaceAll(from, to);
		}
		return source;
	};
	return `0x${compileOne(main, ["evm.bytecode.object"], read).bytecode.object}`;
}
