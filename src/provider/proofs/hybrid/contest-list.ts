// What an accuser shows of a list that is not right, docs/zk.md §15: the first segment that ends elsewhere,
// with its proof; or, where the list is right, a weight of the claimed end that its commitment has not. One
// of the two is there whenever the claimed end is not the right one and all segments have a proof.
import type { ShownProof } from "../../../chain/contracts/segment-proofs.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { mod } from "../../../protocol/maths/bn254.ts";
import { proveBare } from "../../../verify/zk/hybrid/bare.ts";
import { openPlace } from "../../../verify/zk/hybrid/open-place.ts";
import { placedWeights, weightChunks, weightPlaces } from "../../../verify/zk/weight-trees.ts";
import type { Elements } from "../../../work/operators/tensor-type.ts";
import { numbered, rootsTree } from "../../../work/trace/commitments.ts";
import { tensorRoot } from "../../../work/trace/tensor-tree.ts";
import { shownOf } from "../shown-leaf.ts";
import { commitmentsOf, type DisputeEngine, listOf, proveDisputed, type RunInDispute } from "./run-in-dispute.ts";

export interface ContestedClaim {
	readonly chainId: bigint;
	/** The number of the job in statements. */
	readonly job: bigint;
	/** As it was said. */
	readonly list: readonly Hex[];
	/** S of every segment, and the end's, as they were claimed. */
	readonly states: readonly string[];
	/** Every state tensor of the end, in the program's order, as it was claimed: public. */
	readonly end: readonly Elements[];
}

export interface Contest {
	/** The segment that the proof is about. */
	readonly segment: number;
	readonly shown: ShownProof;
}

/** Null: the list and the end are right, or it was stopped. `of`: one's own run. Throws as commitmentsOf. */
export async function contestList(by: DisputeEngine, of: RunInDispute, claim: ContestedClaim): Promise<Contest | null> {
	const own = await commitmentsOf(by, of);
	const segment = listOf(own).findIndex((hash, i) => hash !== claim.list[i]);
	return segment === -1 ? contestEnd(by, of, claim, own.at(-1)!) : contestSegment(by, of, claim, segment);
}

/** It begins as the list says and ends elsewhere. */
async function contestSegment(
	by: DisputeEngine,
	of: RunInDispute,
	{ chainId, job, list, states }: ContestedClaim,
	segment: number,
): Promise<Contest | null> {
	const named = { chainId, job, states: [states[segment]!, states[segment + 1]!] } as const;
	const made = await proveDisputed(by, of, segment, named);
	if (made === null) return null;
	const { plan, order } = of;
	const chunks = weightChunks(plan, await of.weightsBefore(segment + 1));
	const bare = toHex(proveBare(chunks, weightPlaces(plan), plan.chunkBits, by.powers));
	return { segment, shown: { kind: "segment", ordered: order, list, ...made, bare } };
}

/** The commitments of the end are right, its bytes are not: the first weight that differs. */
async function contestEnd(
	by: DisputeEngine,
	of: RunInDispute,
	{ list, end }: ContestedClaim,
	points: readonly string[],
): Promise<Contest | null> {
	const { plan, program, order, segments } = of;
	const [right, said] = [placedWeights(plan, await of.weightsBefore(segments)), placedWeights(plan, end)];
	const place = right.findIndex((value, i) => value !== said[i]);
	if (place === -1) return null;
	const size = 2 ** plan.chunkBits;
	const chunk = right.slice(place - (place % size), place - (place % size) + size);
	const states = toHex(rootsTree(numbered(program, "state", end.map(tensorRoot))).root);
	return {
		segment: segments - 1,
		shown: {
			...{ kind: "weight", ordered: order, list, points: `0x${points.join("")}` },
			proof: toHex(openPlace(chunk, place % size, by.powers)),
			weight: {
				...{ place: BigInt(place), value: mod(right[place]!), states, results: `0x${"00".repeat(32)}` },
				shown: shownOf({ program, plan, weights: end }, place, 1),
			},
		},
	};
}
