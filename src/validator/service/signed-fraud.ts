// Of an evidence file and its receipts: the first wrong element that its provider signed for. For the validator and for anyone else (`assay accuse`).
import type { ReceiptFile, SignedFacts } from "../../protocol/probe-receipt.ts";
import { findWrongElements, type WrongElement } from "../../verify/hardware/gemm-fraud.ts";

export interface SignedFraud {
	readonly wrong: WrongElement;
	readonly signed: SignedFacts;
}

/** Null: nothing is wrong, or nobody signed for what is; `onUnsigned` is told of the latter. Signatures are not checked here. */
export function signedFraud(
	evidence: Uint8Array,
	{ receipts }: Pick<ReceiptFile, "receipts">,
	onUnsigned: (wrong: WrongElement) => void = () => {},
): SignedFraud | null {
	for (const wrong of findWrongElements(evidence)) {
		const signed = receipts.find((receipt) => saysOf(receipt, wrong));
		if (signed !== undefined) return { wrong, signed };
		onUnsigned(wrong);
	}
	return null;
}

/** Every field, or the receipt is about something else. */
function saysOf(receipt: SignedFacts, { facts }: WrongElement): boolean {
	return (Object.keys(facts) as (keyof typeof facts)[]).every((name) => receipt[name] === facts[name]);
}
