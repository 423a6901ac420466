// `assay chain repair`: an embedded chain whose journal is damaged, or whose newest blocks were made by a
// clock that ran ahead, goes back to its last good block. Stakes
// and registrations that are lost with the rest are made again by the next `assay up`, as at a first start;
// so are the contracts, if they were deployed in that rest.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { repairEmbeddedChain } from "../../../chain/node/embedded-chain.ts";
import { chainFolder, contractsPath, readContracts } from "../../../validator/settlement/home.ts";
import { dataDirOf } from "../../chain/chain-connection.ts";
import type { CliIo } from "../../command.ts";
import { printResult } from "../../print/print-result.ts";
import { plural } from "../../print/table.ts";
import { requireNode } from "../../require-node.ts";
import type { ChainCommandValues } from "./options.ts";

export async function repair(values: ChainCommandValues, io: CliIo): Promise<number> {
	requireNode();
	const folder = chainFolder(dataDirOf(values, io));
	const { kept, lost } = await repairEmbeddedChain(join(folder, "embedded"), Date.now());
	const found = { kept, lost, contractsLost: lost !== null && (await forgetContracts(folder, kept)) };
	return printResult(values, io, found, () => {
		if (lost === null) return `nothing to repair: ${kept} blocks, all whole\n`;
		const { why, blocks, unreadable, transactions, since, aside } = lost;
		return `${[
			`found  ${why}`,
			`kept   ${plural(kept, "block")}`,
			`lost   ${plural(blocks, "block")}${since === null ? "" : ` since ${new Date(since * 1000).toISOString()}`}: ${plural(transactions, "readable transaction")}, ${plural(unreadable, "unreadable line")}`,
			...(found.contractsLost ? ["       the contracts were among them: the next start deploys new ones"] : []),
			`       kept in ${aside}`,
		].join("\n")}\n`;
	});
}

/** Blocks from the first contract to the rewards' funding, and two more: half a set is of no use. */
const DEPLOYING_BLOCKS = 8;

/** True: the contracts are not all on the chain any more, and are not looked for any more. */
async function forgetContracts(folder: string, kept: number): Promise<boolean> {
	const path = contractsPath(folder, false);
	const addresses = await readContracts(path);
	if (addresses === null || kept >= addresses.deployedAtBlock + DEPLOYING_BLOCKS) return false;
	await rm(path);
	await rm(join(folder, "epochs"), { recursive: true, force: true });
	return true;
}
