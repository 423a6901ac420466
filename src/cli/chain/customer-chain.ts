// The chain that a customer pays on: the validator's, unless another node is named, with the customer's own
// account.
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { type ContractAddresses, type Contracts, contractsOn } from "../../chain/contracts/contracts.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { readIfPresent } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { chainFolder } from "../../validator/settlement/home.ts";
import type { CliIo } from "../command.ts";
import { confirmationsOf, dataDirOf, openContracts, reachNode, rpcUrlOf } from "./chain-connection.ts";
import type { ChainValues } from "./chain-options.ts";
import type { ChainActor } from "./provider-chain.ts";

/** Throws CHAIN_MISSING where the validator has no chain, or where the node is of another. */
export async function openCustomerChain(
	account: ChainAccount,
	values: ChainValues,
	io: CliIo,
	api: Pick<ApiClient, "getChain">,
): Promise<ChainActor> {
	const { chain } = await api.getChain();
	const url = rpcUrlOf(values, io) ?? (chain?.isEmbedded ? await ownersDoor(values, io) : null);
	const confirmations = (url === null ? null : confirmationsOf(values, url)) ?? 1;
	if (url !== null && values.contracts !== undefined)
		return { account, url, contracts: await openContracts(url, values, io, [], confirmations) };
	if (chain === null || url === null)
		throw new AssayError("CHAIN_MISSING", `this validator ${chain === null ? "has no chain" : "names no node"}`, {
			hint:
				chain === null
					? "Leave the key out: nothing is paid on chain."
					: chain.isEmbedded
						? "Its chain is embedded: only who can read its data folder may send there (--data)."
						: `Name a node of chain ${chain.chainId} with --rpc.`,
		});
	const client = await createChainClient(await reachNode(url), { confirmations });
	const addresses = { ...chain.contracts, chainId: chain.chainId } as ContractAddresses;
	return { account, url, contracts: await contractsOn(client, addresses) };
}

/** The contracts, to be read; null where the validator has no chain or names no node that may be asked. */
export async function customerContracts(
	values: ChainValues,
	io: CliIo,
	api: Pick<ApiClient, "getChain">,
): Promise<Contracts | null> {
	const { chain } = await api.getChain();
	const url = rpcUrlOf(values, io) ?? (chain?.isEmbedded ? await ownersDoor(values, io) : null);
	if (chain === null || url === null) return null;
	const client = await createChainClient(await reachNode(url), { confirmations: 1 });
	return contractsOn(client, { ...chain.contracts, chainId: chain.chainId } as ContractAddresses);
}

/** The embedded chain's address with its secret, which only its owner can read. */
export async function ownersDoor(values: ChainValues, io: CliIo): Promise<string | null> {
	const text = await readIfPresent(join(chainFolder(dataDirOf(values, io)), "rpc.json"));
	return text === null ? null : (JSON.parse(String(text)) as { readonly url: string }).url;
}
