// What is offered for gas. Twice what the node asks at first, an eighth more for a replacement, and never
// more than the client's cap: a node that names absurd fees must not empty an account. docs/epochs.md §4.
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";

export interface Fees {
	readonly maxFeePerGas: bigint;
	readonly maxPriorityFeePerGas: bigint;
}

/** A tip is paid whole, unlike a base fee that is only a bound: so little of the cap at most. */
const TIP_SHARE = 10n;

/** CHAIN_FEES while the chain asks for more than the cap. */
export async function feesNow(client: ChainClient): Promise<Fees> {
	const asked = await client.viem.estimateFeesPerGas();
	if (asked.maxFeePerGas > client.mostFeePerGas)
		throw new AssayError("CHAIN_FEES", `the chain asks ${gwei(asked.maxFeePerGas)} gwei for a unit of gas`, {
			hint: `No more than ${gwei(client.mostFeePerGas)} is offered; it is tried again with the next round.`,
		});
	// Twice the base fee outlives half a dozen full blocks.
	return capped(client, { maxFeePerGas: asked.maxFeePerGas * 2n, maxPriorityFeePerGas: asked.maxPriorityFeePerGas });
}

/** An eighth more of both, as nodes want it for a replacement. Null: the cap does not allow it. */
export async function replacementFees(client: ChainClient, before: Fees): Promise<Fees | null> {
	const now = await client.viem.estimateFeesPerGas();
	const asked = capped(client, {
		maxFeePerGas: now.maxFeePerGas * 2n,
		maxPriorityFeePerGas: now.maxPriorityFeePerGas,
	});
	const maxFeePerGas = larger(raised(before.maxFeePerGas), asked.maxFeePerGas);
	// A tip that was capped may still be raised, step by step: nodes count both.
	const maxPriorityFeePerGas = larger(raised(before.maxPriorityFeePerGas), asked.maxPriorityFeePerGas);
	if (maxFeePerGas > client.mostFeePerGas || maxPriorityFeePerGas > maxFeePerGas) return null;
	return { maxFeePerGas, maxPriorityFeePerGas };
}

/** Rounded up, and by one more where an eighth is nothing. */
const raised = (fee: bigint): bigint => fee + fee / 8n + 1n;
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const gwei = (wei: bigint): string => String(wei / 1_000_000_000n);

function capped({ mostFeePerGas }: ChainClient, fees: Fees): Fees {
	const maxFeePerGas = smaller(fees.maxFeePerGas, mostFeePerGas);
	const tip = smaller(fees.maxPriorityFeePerGas, mostFeePerGas / TIP_SHARE);
	return { maxFeePerGas, maxPriorityFeePerGas: smaller(tip, maxFeePerGas) };
}
