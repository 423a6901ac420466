// The receipts of a probe as the API gives them: the file beside the evidence
// (src/protocol/chain/probe-receipt.ts), field for field.
import * as z from "zod";
import { count, probeId, sha256 } from "./primitives.ts";

const bytes = (size: number, what: string) =>
	z
		.string()
		.regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`))
		.describe(`${what}, 0x and ${2 * size} lower-case hex digits`);

export const receiptFile = z.object({
	format: z.literal("assay-receipts"),
	version: z.literal(1),
	evidence: sha256,
	probeId,
	chainId: count,
	slashing: bytes(20, "The contract that they are signed for"),
	provider: bytes(20, "The provider's account"),
	receipts: z.array(
		z.object({
			challenge: count,
			precision: count.describe("0 int8, 1 fp8, 2 fp16, 3 bf16, 4 tf32"),
			m: count,
			n: count,
			k: count,
			rounds: count,
			seed: bytes(32, "The first round's seed"),
			end: bytes(32, "The seed that would follow the last round"),
			signature: bytes(65, "EIP-712, by the provider's account"),
		}),
	),
	missing: z
		.array(z.object({ challenge: count, why: z.enum(["silent", "refused", "wrong"]) }))
		.describe("Committed challenges without a receipt: a score of 0 on chain"),
});
