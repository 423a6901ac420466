// `assay deposit`: what this machine's provider locks bonds of jobs from (docs/chain.md §11), and how it gets
// it back, with what it earned.
import { callOf, read } from "../../../chain/contracts/contracts.ts";
import { readJobDeposit } from "../../../chain/contracts/job-escrow.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { chainOptions, providerOptions } from "../../chain/chain-options.ts";
import { addJobDeposit } from "../../chain/job-deposit.ts";
import { type ChainActor, withProviderChain } from "../../chain/provider-chain.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import { keptSender } from "../../chain/sent-book.ts";
import { command } from "../../command.ts";
import { account, flag, text, usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { formatTokens, parseTokens } from "../../print/tokens.ts";

const { network } = providerOptions;

export const depositCommand = command({
	name: "deposit",
	about: `Deposits tokens from the account of this machine's provider, so that it can take jobs: for each part of a job a bond is locked, and freed when
the part is paid. A provider that is convicted of a wrong result loses the bond. Without an amount it shows what is free and what is locked. --withdraw takes
a deposit back; after the delay, --collect pays it out, with everything that jobs have earned.`,
	takes: "[TOKENS]",
	options: {
		withdraw: flag("take so many tokens back; --collect pays them out after the delay"),
		collect: flag("pay out what jobs earned and what was withdrawn"),
		to: text("ACCOUNT", "with --collect: pay to this account (default: the provider's own)", { shape: account }),
		network,
		...chainOptions,
	},
	exits: { 69: "no chain, no answer, too few tokens or refused by the contract" },

	async run(values, io, tokens) {
		if (values.collect && tokens !== undefined) throw usageError("--collect takes no amount: it pays out everything");
		if (values.withdraw && tokens === undefined) throw usageError("--withdraw needs an amount of tokens");
		if (values.withdraw && values.collect) throw usageError("--withdraw and --collect are two steps");
		const amount = tokens === undefined ? null : parseTokens(tokens);
		return withProviderChain(values, io, async (actor) => {
			const { contracts, account: own } = actor;
			if (values.collect) await sendOwn(actor, callOf(contracts, "jobEscrow", "collect", toOf(values.to, own.address)));
			else if (values.withdraw) await sendOwn(actor, callOf(contracts, "jobEscrow", "withdrawDeposit", amount!));
			else if (amount !== null) await addJobDeposit(actor, amount, keptSender(contracts.client, own, io));
			const { free, locked, leaving, readyAt } = await readJobDeposit(contracts, own.address);
			const owed = await read(contracts, "jobEscrow", "owedTo", own.address);
			const when = leaving > 0n ? `, can be collected from ${new Date(1000 * Number(readyAt)).toISOString()}` : "";
			const lines = [
				`account   ${own.address}`,
				`free      ${formatTokens(free)}`,
				`locked    ${formatTokens(locked)}`,
				`leaving   ${formatTokens(leaving)}${when}`,
				`earned    ${formatTokens(owed)}${owed > 0n ? ", assay deposit --collect pays it out" : ""}`,
			];
			const found = { account: own.address, free, locked, leaving, readyAt: Number(readyAt), owed };
			return printResult(values, io, found, () => `${lines.join("\n")}\n`);
		});
	},
});

const toOf = (named: string | undefined, own: `0x${string}`) => (named ?? own) as `0x${string}`;

async function sendOwn({ contracts, account: own }: ChainActor, call: Parameters<typeof sendCall>[2]): Promise<void> {
	await requireGas(contracts.client, own, GAS.small);
	await sendCall(contracts.client, own, call);
}
