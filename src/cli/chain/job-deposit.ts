// What bonds of jobs are locked from: a provider's deposit with JobEscrow, docs/chain.md §11. In: at once.
// Out: after a delay.
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { approveJobsCall, type JobDeposit, readJobDeposit } from "../../chain/contracts/job-escrow.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { ChainActor } from "./provider-chain.ts";
import { GAS, requireFunds } from "./require-funds.ts";

/** Throws CHAIN_FUNDS or CHAIN_REFUSED. */
export async function addJobDeposit(actor: ChainActor, amount: bigint): Promise<JobDeposit> {
	const { contracts, account } = actor;
	const { client, addresses } = contracts;
	await requireFunds(actor, { tokens: amount, gas: GAS.stake });
	if ((await read(contracts, "token", "allowance", account.address, addresses.jobEscrow)) < amount)
		await sendCall(client, account, approveJobsCall(contracts, amount));
	await sendCall(client, account, callOf(contracts, "jobEscrow", "deposit", amount));
	return readJobDeposit(contracts, account.address);
}

/** So that free and locked together are at least so much. */
export async function fillJobDeposit(actor: ChainActor, wanted: bigint): Promise<void> {
	const { free, locked } = await readJobDeposit(actor.contracts, actor.account.address);
	if (free + locked < wanted) await addJobDeposit(actor, wanted - free - locked);
}
