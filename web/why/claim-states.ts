// A claim's list of states, read by whoever may, and held against the claim: nothing of it is taken on the
// validator's word.
import type { ClaimOfJob, Job } from "../../src/api/types.ts";
import { statesOfClaim } from "../../src/market/jobs/replay-claim.ts";
import type { Customer } from "../rent/rental-key.ts";

/** One read of a blob: lists of up to 32,767 segments. */
const MOST_LIST_BYTES = 1 << 20;

/** Null: somebody runs it again and must have nothing to copy, or it is longer than a page reads. */
export async function statesRead(
	{ id, offer: { terms, escrow } }: Pick<Job, "id" | "offer">,
	claim: ClaimOfJob,
	{ client }: Customer,
	signal: AbortSignal,
): Promise<Uint8Array[] | null> {
	if (claim.ends === null || claim.ends.states.size > MOST_LIST_BYTES) return null;
	const { root, size } = claim.ends.states;
	const query = { size, first: 0, length: size };
	const states = await client.getJobBlob({ params: { id, root }, query }, { signal });
	return statesOfClaim({ id, terms, escrow, part: claim.part, claim, states });
}
