// One contract of contracts/src compiled in this process, for tests that change a source first.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** What solc puts out of `main`, a path below contracts/src. `read` gives the text of such a path. */
export function compileOne(main: string, wanted: readonly string[], read: (path: string) => string) {
	const solc = require("solc/wrapper")(require("../soljson.cjs"));
	const name = main.replace(/^.*\/|\.sol$/g, "");
	const settings = {
		...{ optimizer: { enabled: true, runs: 1000 }, evmVersion: "prague" },
		outputSelection: { [main]: { [name]: wanted } },
	};
	const input = { language: "Solidity", sources: { [main]: { content: read(main) } }, settings };
	const output = JSON.parse(
		solc.compile(JSON.stringify(input), { import: (path: string) => ({ contents: read(path) }) }),
	);
	assert.deepEqual(
		(output.errors ?? []).filter(({ severity }: { severity: string }) => severity === "error"),
		[],
	);
	return { ...output.contracts[main][name].evm, id: output.sources[main].id };
}
