// What bonds of jobs are locked from: a provider's deposit with JobEscrow, docs/chain.md §11. In: at once.
// Out: after a delay.
import { callOf } from "../../chain/contracts/contracts.ts";
import { type JobDeposit, readJobDeposit } from "../../chain/contracts/job-escrow.ts";
import { sendApproved } from "../../chain/sending/send-approved.ts";
import type { ChainActor } from "./provider-chain.ts";
import { GAS, requireFunds } from "./require-funds.ts";

/** Throws CHAIN_FUNDS or CHAIN_REFUSED. */
export async function addJobDeposit(
	actor: ChainActor,
	amount: bigint,
	send?: Parameters<typeof sendApproved>[3],
): Promise<JobDeposit> {
	const { contracts, account } = actor;
	await requireFunds(actor, { tokens: amount, gas: GAS.stake });
	const call = callOf(contracts, "jobEscrow", "deposit", amount);
	await sendApproved(contracts, account, { spender: "jobEscrow", amount, call }, send);
	return readJobDeposit(contracts, account.address);
}

/** So that free and locked together are at least so much. */
export async function fillJobDeposit(actor: ChainActor, wanted: bigint): Promise<void> {
	const { free, locked } = await readJobDeposit(actor.contracts, actor.account.address);
	if (free + locked < wanted) await addJobDeposit(actor, wanted - free - locked);
}
