// How the contracts are compiled, once for the tests and once for what is deployed: hardhat.config.ts and scripts/generate-chain-abi.ts.
// Not through the intermediate representation: that takes solc five times as long, and saves 12 % of a fraud proof and less of the rest.
export const solcSettings = {
	optimizer: { enabled: true, runs: 1000 },
	evmVersion: "prague",
	// Comments may change without changing the code.
	metadata: { appendCBOR: false, bytecodeHash: "none" },
} as const;
