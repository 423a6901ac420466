// How far the segments of a claimed part of a zk job are proven, as the chain says it and the record does not
// say yet. docs/zk.md §12.
import { partRange } from "../../../market/jobs/job-rules.ts";
import * as transitions from "../../../market/jobs/transitions.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import type { Job } from "../keeper/job-context.ts";
import type { createZkChain } from "./zk-chain.ts";

/** Null: the record is up to date. */
export async function provenNews(
	zk: ReturnType<typeof createZkChain>,
	{ id, offer, record }: Job,
	{ part, proven: known = 0 }: JobPart,
): Promise<transitions.Transition | null> {
	const job = BigInt(`0x${id}`);
	const { first, count } = partRange(offer.terms, part);
	// Segment 0 has no steps: nobody proves it.
	const begin = Math.max(1, first);
	const of = first + count - begin;
	const proven = Math.min(of, Math.max(0, (await zk.next(job)) - begin));
	if (proven <= known) return null;
	const paid = await zk.paid(job, (segment) => segment >= begin + known && segment < begin + proven);
	const by = paid.map(({ segment, prover, transaction, gas }) => ({ segment, prover, transaction, gas }));
	return transitions.proven(record, part, { proven, of, by });
}
