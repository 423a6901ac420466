// Hardhat for contracts/: compiles src/, runs the Solidity tests. Not for deploying: src/chain does that through viem.
// The compiler is solc's own WebAssembly build from the lockfile, so that nothing is downloaded.
import { fileURLToPath } from "node:url";
import { defineConfig } from "hardhat/config";
import { solcSettings } from "./solc-settings.ts";

export default defineConfig({
	solidity: {
		version: "0.8.37",
		path: fileURLToPath(import.meta.resolve("solc/soljson.js")),
		settings: solcSettings,
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
			fuzz: { runs: 256, seed: "0x6173736179" },
			// 13 invariants × 40 × 250 = 130,000 calls.
			invariant: { runs: 40, depth: 250, failOnRevert: false },
		},
	},
});
