// Makes contracts/abi/*.ts (interface and bytecode of each contract, typed for viem) from what hardhat built. Not a compiler:
// `hardhat build` first. src/chain reads these files, so that running a network needs no compiler; a test keeps them in step.
import { readFileSync, writeFileSync } from "node:fs";

export const CONTRACTS = ["AssayToken", "Registry", "Scoreboard", "Rewards", "Slashing"] as const;

/** registry for Registry, assay-token for AssayToken. */
export function abiFileName(contract: string): string {
	return contract.replace(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}

export function abiFile(contract: string): string {
	const built = new URL(
		`../build/contracts/artifacts/contracts/src/${contract}.sol/${contract}.json`,
		import.meta.url,
	);
	const { abi, bytecode } = JSON.parse(readFileSync(built, "utf8")) as { abi: unknown[]; bytecode: string };
	const name = contract[0]!.toLowerCase() + contract.slice(1);
	const entries = abi.map((entry) => `\t${JSON.stringify(entry)},`).join("\n");
	return [
		`// Made by contracts/abi.ts from contracts/src/${contract}.sol; not edited by hand.`,
		`export const ${name}Abi = [\n${entries}\n] as const;`,
		"",
		`export const ${name}Bytecode =\n\t"${bytecode}";`,
		"",
	].join("\n");
}

if (import.meta.main)
	for (const contract of CONTRACTS)
		writeFileSync(new URL(`abi/${abiFileName(contract)}.ts`, import.meta.url), abiFile(contract));
