// The receipts of a probe as the API gives them: the file beside the evidence
// (src/protocol/chain/probe-receipt.ts), field for field.
import * as z from "zod/mini";
import { GEMM_PRECISIONS } from "../../protocol/maths/precision.ts";
import { note } from "./base.ts";
import { chainHex, count, probeId, sha256 } from "./primitives.ts";

export const receiptFile = z.object({
	format: z.literal("assay-receipts"),
	version: z.literal(2),
	evidence: sha256,
	probeId,
	chainId: count,
	slashing: chainHex(20, "The contract that they are signed for"),
	provider: chainHex(20, "The provider's account"),
	receipts: z.array(
		z.object({
			challenge: count,
			precision: note(count, GEMM_PRECISIONS.map((name, number) => `${number} ${name}`).join(", ")),
			m: count,
			n: count,
			k: count,
			rounds: count,
			tree: chainHex(32, "Root of a tree over every round's seed and root"),
			signature: chainHex(65, "EIP-712, by the account's signer"),
		}),
	),
	missing: note(
		z.array(z.object({ challenge: count, why: z.enum(["silent", "refused", "wrong"]) })),
		"Committed challenges without a receipt: a score of 0 on chain",
	),
});
