// Hands in a transaction that somebody else signed, if it goes where it may and asks for little gas, and
// waits until it is in a block. Signing is its owner's affair.
import { type Hex, isAddressEqual, parseTransaction } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { refusal } from "./refusal.ts";

/** Throws REQUEST_BAD, or CHAIN_REFUSED with the chain's words. False: it is in a block and failed. */
export async function forwardSigned(
	client: ChainClient,
	raw: Hex,
	{ targets, maxGas }: { readonly targets: readonly Hex[]; readonly maxGas: bigint },
): Promise<{ readonly hash: Hex; readonly isDone: boolean }> {
	const { to, gas = 0n } = parsed(raw);
	if (to == null || !targets.some((one) => isAddressEqual(one, to)) || gas > maxGas)
		throw new AssayError("REQUEST_BAD", "the transaction goes elsewhere, or asks for too much gas", {
			hint: "Hand it in at a node of the chain.",
		});
	const hash = (await client.rpc("eth_sendRawTransaction", [raw]).catch((error: unknown) => {
		throw refusal(error);
	})) as Hex;
	const { status } = await client.viem.waitForTransactionReceipt({ hash, pollingInterval: client.pollMs });
	return { hash, isDone: status === "success" };
}

function parsed(raw: Hex): { readonly to?: Hex | null | undefined; readonly gas?: bigint | undefined } {
	try {
		return parseTransaction(raw);
	} catch {
		throw new AssayError("REQUEST_BAD", "the bytes are not a transaction");
	}
}
