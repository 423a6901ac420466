// An act by which a contract takes tokens that were approved to it before. Another program may use the
// account at the same time, on this machine or another one: what it approves replaces what we did, and its
// transaction may have the nonce of ours. Both are told before any token moves, and so tried again.
import { AssayError } from "../../protocol/assay-error.ts";
import { type Contracts, callOf, read } from "../contracts/contracts.ts";
import { refusedBecause } from "./refusal.ts";
import { sendCall } from "./send-call.ts";
import type { Call, ChainAccount } from "./sign.ts";

const MAX_ATTEMPTS = 8;

/**
 * `spender`: the contract that `call` is for. `send`: how the call is sent, once tokens are approved. Throws
 * CHAIN_REFUSED, CHAIN_TAKEN or CHAIN_UNKNOWN.
 */
export async function sendApproved(
	contracts: Contracts,
	account: ChainAccount,
	{ spender, amount, call }: { readonly spender: Spender; readonly amount: bigint; readonly call: Call },
	send: (call: Call) => Promise<unknown> = (one) => sendCall(contracts.client, account, one),
): Promise<void> {
	const { client, addresses } = contracts;
	for (let attempt = 1; ; attempt++)
		try {
			if ((await read(contracts, "token", "allowance", account.address, addresses[spender])) < amount)
				await sendCall(client, account, callOf(contracts, "token", "approve", addresses[spender], amount));
			await send(call);
			return;
		} catch (error) {
			if (attempt === MAX_ATTEMPTS || !isCrowded(error)) throw error;
			// Not in step with the other one.
			for (let polls = Math.ceil(Math.random() * 2 * attempt); polls > 0; polls--) await client.sleep(client.pollMs);
		}
}

type Spender = "registry" | "jobEscrow" | "rentalEscrow";

/** Nothing was done, and it need not be so the next time. */
function isCrowded(error: unknown): boolean {
	if (!(error instanceof AssayError)) return false;
	// Mined and reverted: no estimate said why. The next one does.
	if (error.code === "CHAIN_REFUSED" && error.cause === undefined) return true;
	return error.code === "CHAIN_TAKEN" || refusedBecause(error) === "ERC20InsufficientAllowance";
}
