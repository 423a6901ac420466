// `assay chain send` and `assay chain endpoint`: tokens and gas to another account; and the address where
// this validator is reached.

import { callOf, read } from "../../../chain/contracts/contracts.ts";
import { readAccount, readAccountFor } from "../../../chain/contracts/registry.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { treasurerOf } from "../../../validator/settlement/home.ts";
import { withChain } from "../../chain/chain-connection.ts";
import { readKeyOption } from "../../chain/chain-key.ts";
import type { ChainActor } from "../../chain/provider-chain.ts";
import { GAS, requireFunds, requireGas } from "../../chain/require-funds.ts";
import { keptSender } from "../../chain/sent-book.ts";
import type { CliIo } from "../../command.ts";
import { usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { formatTokens, parseTokens } from "../../print/tokens.ts";
import type { ChainCommandValues } from "./options.ts";

/** `amount` is "0" where only coins are sent. */
export async function send(values: ChainCommandValues, io: CliIo, to: string, amount: string): Promise<number> {
	if (!/^0x[0-9a-fA-F]{40}$/.test(to)) throw usageError(`an account is 0x and 40 hex digits, not '${to}'`);
	const tokens = /^0+$/.test(amount) ? 0n : parseTokens(amount);
	const coins = values.coins === undefined ? 0n : parseTokens(values.coins);
	if (tokens === 0n && coins === 0n) throw usageError("there is nothing to send");
	const key = await readKeyOption(values, io);
	return withChain(values, io, async (home) => {
		const { contracts, url } = home;
		const { client } = contracts;
		// The owner of the embedded chain's folder owns its treasury.
		const account = key ?? (await treasurerOf(home)) ?? home.account;
		const actor: ChainActor = { contracts, account, url };
		await requireFunds(actor, { tokens, gas: GAS.small });
		const address = to.toLowerCase() as `0x${string}`;
		const pay = keptSender(client, account, io);
		if (coins > 0n) {
			if ((await client.viem.getBalance({ address: account.address })) <= coins)
				throw new AssayError(
					"CHAIN_FUNDS",
					`the account ${account.address} has less than ${formatTokens(coins)} coins`,
					{
						hint: "Send less, or from another account with --key-file.",
					},
				);
			await pay({ to: address, data: "0x", value: coins });
		}
		if (tokens > 0n) await pay(callOf(contracts, "token", "transfer", address, tokens));
		const has = await read(contracts, "token", "balanceOf", address);
		const wei = await client.viem.getBalance({ address });
		return printResult(
			values,
			io,
			{ account: address, tokens: has, wei },
			() => `${address}  ${formatTokens(has)} tokens, ${formatTokens(wei)} coins\n`,
		);
	});
}

export async function setEndpoint(values: ChainCommandValues, io: CliIo, endpoint: string): Promise<number> {
	if (!/^https?:\/\//.test(endpoint))
		throw usageError(`an endpoint is a URL with http:// or https://, not '${endpoint}'`);
	return withChain(values, io, async (home) => {
		const { contracts, account } = home;
		await requireGas(contracts.client, account, GAS.small);
		await sendCall(contracts.client, account, callOf(contracts, "registry", "setEndpoint", endpoint));
		const self = await readAccountFor(contracts, account.address);
		const now = (await readAccount(contracts, self)).endpoint;
		return printResult(values, io, { account: self, endpoint: now }, () => `endpoint  ${now}\n`);
	});
}
