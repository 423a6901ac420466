// Of an evidence file and its receipts: the first wrong element that its provider signed for. For the
// validator and for anyone else (`assay accuse`). Lets other work in between challenges: the thread with
// sockets and API must not stand still for as long as a verdict takes.
import type { ReceiptFile, SignedFacts } from "../../protocol/chain/probe-receipt.ts";
import { gemmsToCheck, type WrongElement } from "../../verify/hardware/gemm-fraud.ts";

export interface SignedFraud {
	readonly wrong: WrongElement;
	readonly signed: SignedFacts;
}

/**
 * Null: nothing is wrong, or nobody signed for what is; with `onUnsigned`, which is told of the latter,
 * challenges without a receipt are looked at too. Signatures are not checked here.
 */
export async function signedFraud(
	evidence: Uint8Array,
	{ receipts }: Pick<ReceiptFile, "receipts">,
	onUnsigned?: (wrong: WrongElement) => void,
): Promise<SignedFraud | null> {
	for (const { challenge, find } of gemmsToCheck(evidence)) {
		if (onUnsigned === undefined && !receipts.some((one) => one.challenge === challenge)) continue;
		await new Promise((resolve) => setImmediate(resolve));
		const wrong = find();
		if (wrong === null) continue;
		const signed = receipts.find((receipt) => saysOf(receipt, wrong));
		if (signed !== undefined) return { wrong, signed };
		onUnsigned?.(wrong);
	}
	return null;
}

/** Every field, or the receipt is about something else. */
function saysOf(receipt: SignedFacts, { facts }: WrongElement): boolean {
	return (Object.keys(facts) as (keyof typeof facts)[]).every((name) => receipt[name] === facts[name]);
}
