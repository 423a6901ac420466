// `assay chain deploy`: deploys a token and the contracts on the chain of a node's URL, paid from the user's
// key or from this data folder's account. An embedded chain needs none of this. Page: docs/chain.md.
import { read } from "../../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards } from "../../../chain/contracts/deploy.ts";
import { createChainClient } from "../../../chain/node/chain-client.ts";
import { accountOf } from "../../../chain/sending/sign.ts";
import { writeDurably } from "../../../platform/durable-file.ts";
import { realEnvironment } from "../../../platform/environment.ts";
import { chainFolder, contractsPath, loadChainKey } from "../../../validator/settlement/home.ts";
import { dataDirOf, reachNode, rpcUrlOf } from "../../chain/chain-connection.ts";
import { readKeyOption } from "../../chain/chain-key.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import type { CliIo } from "../../command.ts";
import { usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { formatTokens } from "../../print/tokens.ts";
import type { ChainCommandValues } from "./options.ts";

export async function deploy(values: ChainCommandValues, io: CliIo): Promise<number> {
	const rpcUrl = rpcUrlOf(values, io);
	if (rpcUrl === null) throw usageError("deploy needs --rpc: an embedded chain has its contracts from its first start");
	const epochSeconds = values["epoch-seconds"];
	const fund = BigInt(values.fund) * 10n ** 18n;
	const folder = chainFolder(dataDirOf(values, io));
	const secret = await loadChainKey(folder, "account", realEnvironment().randomBytes);
	const own = accountOf(`0x${Buffer.from(secret).toString("hex")}`);
	const account = (await readKeyOption(values, io)) ?? own;
	const client = await createChainClient(await reachNode(rpcUrl), { confirmations: 1 });
	await requireGas(client, account, GAS.deploy, "Or pay from a key that has some: --key-file FILE");
	io.err.write(`deploying from ${account.address} on chain ${client.chainId}\n`);
	const genesis = Number((await client.viem.getBlock({ blockTag: "pending" })).timestamp);
	// Rounds of drand come every 3 s: as many minutes between two calls as with blocks of 12 s.
	const rollCalls = values.drand ? { isDrand: true, every: 400 } : {};
	const params = { genesis, epochSeconds, rollCalls };
	const contracts = await deployContracts(client, account, params);
	const { addresses } = contracts;
	if (fund > 0n) await fundRewards(contracts, account, fund);
	const path = contractsPath(folder, true);
	await writeDurably(path, `${JSON.stringify(addresses)}\n`);
	const left = await read(contracts, "token", "balanceOf", account.address);
	return printResult(values, io, addresses, () => {
		const lines = Object.entries(addresses).map(([name, value]) => `${name.padEnd(16)} ${value}`);
		lines.push("", `written to ${path}`, `${formatTokens(left)} tokens are on ${account.address}`);
		if (account.address !== own.address)
			lines.push(`this data folder's validator uses ${own.address}: give it tokens and gas with assay chain send`);
		return `${lines.join("\n")}\n`;
	});
}
