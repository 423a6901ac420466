// What the segments of a part end with, docs/zk.md §12: the commitments to the weights after each. The worker
// lists them on chain and shows that they are bare, so that everybody can go on from them; a prover compares
// its own with the list, and is paid for a segment that ends as listed. Not here: sending it
// (proof-chain.ts).
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { type JobTerms, jobIdOf, readJobPart } from "../../chain/contracts/job-escrow.ts";
import { partOfSegment, provableSegments, readZkList, type ZkOrder } from "../../chain/contracts/zk-jobs.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { concatBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { fromHex, type Hex, toHex } from "../../protocol/chain/hex.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { createBare } from "../../verify/zk/hybrid/bare.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import { weightChunks, weightPlaces } from "../../verify/zk/weight-trees.ts";
import { bytesToElements, elementCount } from "../../work/operators/tensor-type.ts";
import { makeBare } from "./make-trees.ts";
import { committed, openGiven, type ProofEngine, stateOf, type WorkToProve } from "./order.ts";

interface PartSegments {
	readonly first: number;
	/** The part's last segment and one. */
	readonly end: number;
	/** Every state tensor before the first; null: it is the job's start. */
	readonly begin: readonly Uint8Array[] | null;
}

/** Every state tensor before each segment of a part, and at its end. */
async function* statesOf(of: WorkToProve, { first, end, begin }: PartSegments, engine: ProofEngine) {
	const session = await openGiven(of, engine);
	const states = of.program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [i] : []));
	try {
		for (const [i, bytes] of (begin ?? []).entries()) await session.write(states[i]!, bytes);
		for (let segment = first; segment <= end; segment++) {
			yield [segment, await stateOf(session, of.program)] as const;
			if (segment < end) await session.run({ first: segment, count: 1 });
		}
	} finally {
		await session.release().catch(() => {});
	}
}

/**
 * What a worker lists of its part: the commitments, 64 bytes each, then what shows that they are bare.
 * Segment 0 has no steps, and no end here. Run twice: what is shown depends on all commitments, and weights
 * of all segments are more than is kept.
 */
export async function segmentEnds(
	of: WorkToProve,
	part: PartSegments,
	engine: ProofEngine,
	powers: ProverPowers,
): Promise<{ readonly points: Uint8Array; readonly bare: Uint8Array }> {
	const found: (readonly string[])[] = [];
	let last: readonly string[] = [];
	for await (const [segment, weights] of statesOf(of, part, engine)) {
		if (segment === 0 || segment === part.end) continue;
		const { pointsBefore, pointsAfter } = await committed(of, segment, weights, engine, powers).catch(
			unprovable(segment),
		);
		// What a segment ends with is what was trained, as the next one begins with it.
		if (segment > Math.max(part.first, 1)) found.push(pointsBefore);
		last = pointsAfter;
	}
	const points = concatBytes(...[...found, last].flat().map((one) => hexToBytes(one, 64)!));
	if (points.length === 0) return { points, bare: points };
	const { plan, program } = of;
	const bare = createBare(points, { count: weightPlaces(plan), chunkBits: plan.chunkBits, powers });
	const tensors = program.tensors.filter(({ kind }) => kind === "state");
	for await (const [segment, weights] of statesOf(of, part, engine)) {
		if (segment <= Math.max(part.first, 1)) continue;
		bare.add(
			weightChunks(
				plan,
				weights.map((bytes, i) => bytesToElements(bytes, tensors[i]!.type, elementCount(tensors[i]!.dims))!),
			),
		);
	}
	return { points, bare: await makeBare(bare.sums()) };
}

/**
 * ATTACK: data that make a run leave its ranges, from a customer who wants its training for nothing. What
 * nobody can prove is not claimed.
 */
const unprovable = (segment: number) => (cause: unknown) => {
	if (!(cause instanceof AssayError) || cause.code !== "TENSOR_RANGE") throw cause;
	throw codedError("JOB_METHOD", `a value of segment ${segment} leaves its range: nobody can prove it`, {
		...{ cause },
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
