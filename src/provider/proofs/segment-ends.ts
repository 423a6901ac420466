// What the segments of a part end with, docs/zk.md §12: keccak256 of the commitments to the weights after each. The worker lists them on chain; a prover compares its own with the list, and is paid for a
// segment that ends as listed. Not here: sending it (proof-chain.ts).
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { type JobTerms, jobIdOf, readJobPart } from "../../chain/contracts/job-escrow.ts";
import { partOfSegment, provableSegments, readZkList, type ZkOrder } from "../../chain/contracts/zk-jobs.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { fromHex, type Hex, toHex } from "../../protocol/chain/hex.ts";
import { codes } from "../../protocol/codes.ts";
import { keccakTree } from "../../protocol/hash/keccak-tree.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import { pointsHash } from "./chain-forms.ts";
import { committed, openGiven, type ProofEngine, stateOf, type WorkToProve } from "./order.ts";

/** Of segments `first` to before `end`, run from the state before the first; null: from the job's start. Segment 0 has no steps, and no end here. */
export async function segmentEnds(
	of: WorkToProve,
	{ first, end, begin }: { readonly first: number; readonly end: number; readonly begin: readonly Uint8Array[] | null },
	engine: ProofEngine,
	powers: ProverPowers,
): Promise<Hex[]> {
	const session = await openGiven(of, engine);
	const ends: Hex[] = [];
	const states = of.program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [i] : []));
	try {
		for (const [i, bytes] of (begin ?? []).entries()) await session.write(states[i]!, bytes);
		for (let segment = first; segment < end; segment++) {
			if (segment > 0) {
				const weights = await stateOf(session, of.program);
				const { pointsAfter } = await committed(of, segment, weights, engine, powers).catch(unprovable(segment));
				ends.push(pointsHash(pointsAfter));
			}
			if (segment + 1 < end) await session.run({ first: segment, count: 1 });
		}
	} finally {
		await session.release().catch(() => {});
	}
	return ends;
}

/** ATTACK: data that make a run leave its ranges, from a customer who wants its training for nothing. What nobody can prove is not claimed. */
const unprovable = (segment: number) => (cause: unknown) => {
	if (!(cause instanceof AssayError) || cause.code !== "TENSOR_RANGE") throw cause;
	throw new AssayError("JOB_METHOD", `a value of segment ${segment} leaves its range: nobody can prove it`, {
		...{ hint: codes.JOB_METHOD.hint, cause },
	});
};

export type Lists = Awaited<ReturnType<typeof readLists>>;

/** The lists of a job's parts, as their present workers have made them. */
export async function readLists(contracts: Contracts, terms: JobTerms, order: ZkOrder) {
	const job = jobIdOf(terms);
	const lists = new Map<number, readonly Hex[]>();
	// ATTACK: terms may have billions of parts, for nothing; one that somebody had costs a transaction.
	const { touched } = await read(contracts, "jobEscrow", "jobOf", job);
	for (let part = 0; part < touched; part++) {
		const { attempt } = await readJobPart(contracts, job, part);
		const found = await readZkList(contracts, job, part, attempt);
		if (found !== null) lists.set(part, found);
	}
	return {
		/** Null: its part has no list. Before segment 1 stands what was ordered. */
		after(segment: number): Hex | null {
			if (segment === 0) return order.startPoints;
			const part = partOfSegment(terms, segment);
			return lists.get(part)?.[segment - provableSegments(terms, part).first] ?? null;
		},
		/** From what a segment ends with to the root of its list, which there must be. */
		path(segment: number): Hex[] {
			const part = partOfSegment(terms, segment);
			const leaves = lists.get(part)!.map((one) => fromHex(one, 32));
			return keccakTree(leaves)
				.path(segment - provableSegments(terms, part).first)
				.map(toHex);
		},
	};
}
