// Whether an account can pay for what it is about to do, before anything is sent: tokens, and the chain's own
// coin for gas. If not: what to send, and where to.
import { read } from "../../chain/contracts/contracts.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatTokens } from "../print/tokens.ts";
import type { ChainActor } from "./provider-chain.ts";

/** Gas of all that a command sends, with room to spare; contracts/gas.json has single transactions. */
export const GAS = {
	register: 600_000n,
	stake: 200_000n,
	small: 150_000n,
	deploy: 24_000_000n,
	/** A plan of many layers, and an order. */
	plan: 5_000_000n,
	/** An announcement, a challenge, and a punishment of a few signers. */
	accuse: 3_000_000n,
} as const;

/** Throws CHAIN_FUNDS. */
export async function requireFunds(
	{ contracts, account }: ChainActor,
	options: { readonly tokens: bigint; readonly gas: bigint },
): Promise<void> {
	const [tokens] = await Promise.all([
		read(contracts, "token", "balanceOf", account.address),
		requireGas(contracts.client, account, options.gas),
	]);
	const { token, chainId } = contracts.addresses;
	if (tokens >= options.tokens) return;
	throw new AssayError(
		"CHAIN_FUNDS",
		`the account ${account.address} has ${formatTokens(tokens)} tokens, and ${formatTokens(options.tokens)} are needed`,
		{
			hint: `Send ${formatTokens(options.tokens - tokens)} tokens (contract ${token} on chain ${chainId}) to ${account.address}. From an account that has some: assay chain send ${account.address} ${formatTokens(options.tokens - tokens)}`,
		},
	);
}

export async function requireGas(
	client: ChainClient,
	account: ChainAccount,
	gas: bigint,
	/** How else to get it. */
	otherwise?: string,
): Promise<void> {
	const [coins, { maxFeePerGas }] = await Promise.all([
		client.viem.getBalance({ address: account.address }),
		client.viem.estimateFeesPerGas(),
	]);
	const needed = gas * maxFeePerGas;
	if (coins >= needed) return;
	throw new AssayError(
		"CHAIN_FUNDS",
		`the account ${account.address} has ${formatTokens(coins)} of chain ${client.chainId}'s own coin, and gas may cost ${formatTokens(needed)}`,
		{
			hint: `Send ${formatTokens(needed - coins + 1n)} or more of it to ${account.address}. ${otherwise ?? `From an account that has some: assay chain send ${account.address} 0 --coins ${formatTokens(2n * needed)}`}`,
		},
	);
}
