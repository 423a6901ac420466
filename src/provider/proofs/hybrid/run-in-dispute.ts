// A run of an optimistic job whose disputes are settled by proof, docs/zk.md §15: the list of its
// commitments, and the proof of one of its segments. Both sides make these of their own run. Not here:
// sending them (src/chain/contracts/segment-proofs.ts).
import type { ZkOrder } from "../../../chain/contracts/zk-jobs.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import type { SegmentStatement } from "../../../verify/zk/statement.ts";
import { type Elements, elementsToBytes } from "../../../work/operators/tensor-type.ts";
import { enteringOf } from "../../../work/plan/entering.ts";
import { pointsHash } from "../chain-forms.ts";
import { type ProveWith, proveStated, type SegmentToProve, type StatedSegment } from "../prove-segment.ts";

export interface RunInDispute extends Pick<SegmentToProve, "program" | "plan" | "seed" | "features" | "labels"> {
	readonly order: ZkOrder;
	/** Of the job, segment 0 counted. */
	readonly segments: number;
	/** Every state tensor before a segment, in the program's order; before `segments`: at the end. */
	weightsBefore(segment: number): Promise<readonly Elements[]>;
}

export type DisputeEngine = Pick<ProveWith, "open" | "device" | "powers" | "signal">;

const NOTHING = "00".repeat(32);
const WITHOUT = { chainId: 0n, job: 0n, states: [NOTHING, NOTHING] } as const;

interface Named {
	readonly chainId: bigint;
	/** The number of the job in its statement. */
	readonly job: bigint;
	/** S before and after, as they were claimed: 64 hex digits each. */
	readonly states: readonly [string, string];
}

async function stated(of: RunInDispute, segment: number, { chainId, job, states }: Named): Promise<StatedSegment> {
	const { plan, seed, order } = of;
	return {
		...{ plan, seed, segment, chainId, job },
		roots: {
			...{ features: order.features.slice(2), labels: order.labels.slice(2) },
			...{ stateBefore: states[0], stateAfter: states[1] },
		},
		given: {
			entering: elementsToBytes(enteringOf(plan, of.features)),
			labels: elementsToBytes(Int32Array.from(of.labels, Number)),
			weights: (await of.weightsBefore(segment)).map(elementsToBytes),
		},
	};
}

/** A value of the segment leaves its range, so that it has no proof. */
export class Unprovable extends AssayError {
	readonly segment: number;

	constructor(segment: number, cause: AssayError) {
		super("TENSOR_RANGE", `segment ${segment}: ${cause.message}`, { cause });
		this.segment = segment;
	}
}

/** For each state from the first weights on: its commitments. Throws Unprovable: such a run says no list. */
export async function commitmentsOf(by: DisputeEngine, of: RunInDispute): Promise<readonly (readonly string[])[]> {
	const found: (readonly string[])[] = [];
	for (let segment = 1; segment < of.segments; segment++) {
		let made: SegmentStatement | null = null;
		const mayProve = async (statement: SegmentStatement) => {
			made = statement;
			return false;
		};
		await proveStated(await stated(of, segment, WITHOUT), { ...by, mayProve }).catch((error: unknown) => {
			const hasNone = error instanceof AssayError && error.code === "TENSOR_RANGE";
			throw hasNone ? new Unprovable(segment, error) : error;
		});
		const statement = made as SegmentStatement | null;
		if (statement === null) throw new AssayError("REPLY_WRONG", "the engine gave no commitments");
		found[segment - 1] = statement.pointsBefore;
		found[segment] = statement.pointsAfter;
	}
	return found;
}

/** As the chain keeps it. */
export const listOf = (commitments: readonly (readonly string[])[]): readonly Hex[] => commitments.map(pointsHash);

export interface ProvenDispute {
	/** Of features, labels, weights before and after. */
	readonly points: Hex;
	readonly proof: Hex;
}

/** Null: it was stopped. */
export async function proveDisputed(
	by: DisputeEngine,
	of: RunInDispute,
	segment: number,
	named: Named,
): Promise<ProvenDispute | null> {
	const made = await proveStated(await stated(of, segment, named), by);
	if (made === null) return null;
	const { featurePoints, labelPoints, pointsBefore, pointsAfter } = made.statement;
	return {
		points: `0x${[featurePoints, labelPoints, pointsBefore, pointsAfter].flat().join("")}`,
		proof: toHex(made.proof),
	};
}
