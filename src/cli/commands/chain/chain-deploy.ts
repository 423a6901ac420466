// `assay chain deploy`: puts a token and the contracts on a chain that a node's URL names, paid by a key that its user has or by this data folder's account.
// An embedded chain needs none of this. Page: docs/chain.md.
import { randomBytes } from "node:crypto";
import { dataDirOf, formatTokens, reachNode, rpcUrlOf, toJson } from "../../chain/chain-connection.ts";
import { readKeyOption } from "../../chain/chain-key.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import type { CliIo } from "../../command.ts";
import { numberOption, usageError } from "../../parse-options.ts";

export interface DeployValues {
	readonly rpc?: string | undefined;
	readonly data?: string | undefined;
	readonly "epoch-seconds": string;
	readonly fund: string;
	readonly "key-file"?: string | undefined;
	readonly json: boolean;
}

export async function deploy(values: DeployValues, io: CliIo): Promise<number> {
	const rpcUrl = rpcUrlOf(values, io);
	if (rpcUrl === null)
		throw usageError("deploy needs --rpc: an embedded chain has its contracts from its first start", "chain");
	const epochSeconds = Math.floor(numberOption("chain", "epoch-seconds", values["epoch-seconds"], 40, 31_536_000));
	const fund = BigInt(Math.floor(numberOption("chain", "fund", values.fund, 0, 1e9))) * 10n ** 18n;
	const [{ accountOf }, { createChainClient }, deploying, files, home, { readBalance }] = await Promise.all([
		import("../../../chain/sending/sign.ts"),
		import("../../../chain/node/chain-client.ts"),
		import("../../../chain/contracts/deploy.ts"),
		import("../../../platform/durable-file.ts"),
		import("../../../validator/settlement/chain-home.ts"),
		import("../../../chain/contracts/registry.ts"),
	]);
	const folder = home.chainFolder(dataDirOf(values, io));
	const secret = await home.loadChainKey(folder, "account", (size) => new Uint8Array(randomBytes(size)));
	const own = accountOf(`0x${Buffer.from(secret).toString("hex")}`);
	const account = (await readKeyOption("chain", values, io)) ?? own;
	const client = await createChainClient(await reachNode(rpcUrl), { confirmations: 1 });
	await requireGas({ client, account }, GAS.deploy, "Or pay from a key that has some: --key-file FILE");
	io.err.write(`deploying from ${account.address} on chain ${client.chainId}\n`);
	const genesis = Number((await client.viem.getBlock({ blockTag: "pending" })).timestamp);
	const at = await deploying.deployContracts(client, account, deploying.deployDefaults({ genesis, epochSeconds }));
	if (fund > 0n) await deploying.fundRewards(client, account, at, fund);
	const path = home.contractsPath(folder, true);
	await files.writeDurably(path, `${JSON.stringify(at)}\n`);
	if (values.json) io.out.write(toJson(at));
	else {
		const lines = Object.entries(at).map(([name, value]) => `${name.padEnd(16)} ${value}`);
		const left = await readBalance(client, at, account.address);
		lines.push("", `written to ${path}`);
		lines.push(`${formatTokens(left)} tokens are on ${account.address}`);
		if (account.address !== own.address)
			lines.push(`this data folder's validator will act as ${own.address}: assay chain send gives it tokens and gas`);
		io.out.write(`${lines.join("\n")}\n`);
	}
	return 0;
}
