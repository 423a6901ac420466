// Hardhat for contracts/: compiles src/, runs the Solidity tests. Not for deploying: src/chain does that
// through viem. The compiler is solc's own WebAssembly build from the lockfile (soljson.cjs), so that nothing
// is downloaded.
import { fileURLToPath } from "node:url";
import { defineConfig } from "hardhat/config";
import type { HardhatPlugin } from "hardhat/types/plugins";
import { isDeep, scaled, seed } from "../tests/fuzz.test-kit.ts";

const isTest = (source: string): boolean => source.startsWith("project/contracts/test/");

/**
 * What is compiled: of a build of tests the tests alone, for src has a build of its own (Cheats.deployCode).
 * They are run once, so that optimizing them takes longer than it saves, except in a deep run. No syntax
 * trees, opcodes and maps to the sources: they are for stack traces, which the runner does not give of tests
 * that ask for code, and two thirds of all output; a test's error bears what it found.
 */
const onlyWhatIsUsed: HardhatPlugin = {
	id: "assay-only-what-is-used",
	hookHandlers: {
		solidity: async () => ({
			default: async () => ({
				preprocessSolcInputBeforeBuilding: (context, input, next) => {
					const sources = Object.keys(input.sources);
					const tests = sources.filter(isTest);
					const asked = input.settings.outputSelection["*"]?.["*"] ?? [];
					const outputs = { "*": asked.filter((name) => !/\.(opcodes|sourceMap)$/.test(name)) };
					const settings = {
						...input.settings,
						outputSelection: Object.fromEntries((tests.length > 0 ? tests : sources).map((name) => [name, outputs])),
						...(tests.length > 0 && !isDeep ? { optimizer: { enabled: false } } : {}),
					};
					return next(context, { ...input, settings });
				},
			}),
		}),
	},
};

export default defineConfig({
	plugins: [onlyWhatIsUsed],
	solidity: {
		version: "0.8.37",
		path: fileURLToPath(new URL("soljson.cjs", import.meta.url)),
		// Not through the intermediate representation: that takes solc five times as long, and saves 12 % of
		// a fraud proof and less of the rest.
		settings: {
			optimizer: { enabled: true, runs: 1000 },
			evmVersion: "prague",
			// Comments may change without changing the code.
			metadata: { appendCBOR: false, bytecodeHash: "none" },
		},
		splitTestsCompilation: true,
	},
	paths: {
		sources: "contracts/src",
		tests: { solidity: "contracts/test" },
		cache: "build/contracts/cache",
		artifacts: "build/contracts/artifacts",
	},
	test: {
		solidity: {
			fsPermissions: {
				readFile: ["attestations", "chain", "judge", "readers", "receipts", "zk"].map(
					(name) => `contracts/vectors/${name}.json`,
				),
			},
			// A sixteenth and an eighth of it where a change is tested; a deep run has 6,400 and 525.
			fuzz: { runs: scaled(isDeep ? 256 : 16), seed: `0x${seed.toString(16)}` },
			invariant: { runs: scaled(isDeep ? 21 : 3), depth: 250, failOnRevert: false },
		},
	},
});
