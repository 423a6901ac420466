// Hardhat for contracts/: compiles src/, runs the Solidity tests. Not for deploying: src/chain does that
// through viem. The compiler is solc's own WebAssembly build from the lockfile, so that nothing is
// downloaded.
import { fileURLToPath } from "node:url";
import { defineConfig } from "hardhat/config";
import { scaled, seed } from "../tests/fuzz.test-kit.ts";

export default defineConfig({
	solidity: {
		version: "0.8.37",
		path: fileURLToPath(import.meta.resolve("solc/soljson.js")),
		// Not through the intermediate representation: that takes solc five times as long, and saves 12 % of
		// a fraud proof and less of the rest.
		settings: {
			optimizer: { enabled: true, runs: 1000 },
			evmVersion: "prague",
			// Comments may change without changing the code.
			metadata: { appendCBOR: false, bytecodeHash: "none" },
		},
	},
	paths: {
		sources: "contracts/src",
		tests: { solidity: "contracts/test" },
		cache: "build/contracts/cache",
		artifacts: "build/contracts/artifacts",
	},
	test: {
		solidity: {
			fsPermissions: { readFile: ["contracts/vectors/chain.json"] },
			fuzz: { runs: scaled(256), seed: `0x${seed.toString(16)}` },
			invariant: { runs: scaled(21), depth: 250, failOnRevert: false },
		},
	},
});
