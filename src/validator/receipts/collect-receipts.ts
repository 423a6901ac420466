// The receipts of one probe: asked for after a stage's roots and before its openings, checked against what
// this validator recorded itself, and put together for the file beside the evidence. Whatever the provider
// does here, the probe goes on; what is missing is written down. Page: docs/slashing.md.
import { receiptSigner } from "../../chain/contracts/slashing.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import {
	factsOfGemm,
	type MissingWhy,
	type ReceiptDomain,
	type ReceiptFile,
	receiptOf,
	type SignedFacts,
} from "../../protocol/chain/probe-receipt.ts";
import type { OnCommitted, StageReceipts } from "../probe/provider-word.ts";

export type ReceiptCollector = ReturnType<typeof createReceiptCollector>;

export function createReceiptCollector(options: {
	readonly domain: ReceiptDomain;
	/** The provider's account, as the Registry has it. */
	readonly provider: Hex;
	/** The key that speaks for it. */
	readonly signer: Hex;
	readonly probeId: string;
}) {
	const { chainId } = options.domain;
	const domain: ReceiptDomain = { chainId, slashing: options.domain.slashing.toLowerCase() as Hex };
	const provider = options.provider.toLowerCase() as Hex;
	const signer = options.signer.toLowerCase();
	const receipts: SignedFacts[] = [];
	const missing: { challenge: number; why: MissingWhy }[] = [];

	return {
		/** For `open`. */
		wanted: { chainId, slashing: domain.slashing.slice(2) },
		onCommitted(...[committed, answer]: Parameters<OnCommitted>): void {
			const facts = committed.map(({ challenge, spec, seed, roots }) => factsOfGemm(challenge, spec, seed, roots));
			for (const fact of facts) {
				const { challenge } = fact;
				const signature: Hex | null = signatureIn(answer, challenge);
				// The tree is built from the roots that came here: over any other the signature is wrong.
				const isRight =
					signature !== null && receiptSigner(domain, receiptOf(provider, options.probeId, fact), signature) === signer;
				if (isRight) receipts.push({ ...fact, signature: signature! });
				else missing.push({ challenge, why: answer === null ? "silent" : signature === null ? "refused" : "wrong" });
			}
		},
		/** Everything that was asked for, with the evidence's hash. */
		file: (evidence: string): ReceiptFile => ({
			format: "assay-receipts",
			version: 2,
			evidence,
			probeId: options.probeId,
			chainId,
			slashing: domain.slashing,
			provider,
			receipts,
			missing,
		}),
	};
}

/** The first one counts; what was not asked for is not looked at. */
function signatureIn(answer: StageReceipts | null, challenge: number): Hex | null {
	const found = answer?.find((one) => one.challenge === challenge);
	return found === undefined ? null : `0x${found.signature}`;
}
