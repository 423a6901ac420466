// A claim whose segments its claimant proves on chain, docs/zk.md §15, as whoever contests that needs it.
// What is shown then is not made here: whoever starts a watcher brings that along.
import type { Sitting } from "../../../chain/contracts/dispute-games.ts";
import type { JobTerms } from "../../../chain/contracts/job-escrow.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { bytesToElements, type Elements, elementCount } from "../../../work/operators/tensor-type.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { type ClaimAtHand, type EvidenceMeans, holderOfJob, jobAtHand } from "../evidence/claim-at-hand.ts";

/** Thrown: the claimant has proven the segment that it was asked about, as far as its list goes. */
export class SegmentCleared extends Error {
	readonly sitting: Sitting;

	constructor(sitting: Sitting, segment: number) {
		super(`segment ${segment} is proven on chain, from the commitments that it says`);
		this.sitting = sitting;
	}
}

export interface ClearedClaim {
	readonly sitting: Sitting;
	readonly terms: JobTerms;
	readonly resultRoot: Uint8Array;
	/** S of every segment, and that of the end. */
	readonly states: readonly Uint8Array[];
	readonly program: Program;
	readonly seed: Uint8Array;
	/** Bytes of a constant or an input, by its number in the program. */
	given(tensor: number): Promise<Uint8Array>;
	/** Every state tensor that it ends with, as it was claimed. */
	end(): Promise<readonly Elements[]>;
}

/** The transaction that convicted it; or why there was none. */
export type Contested = { readonly transaction: Hex } | { readonly why: string };

export async function clearedClaim(
	means: Pick<EvidenceMeans, "blobs">,
	at: ClaimAtHand,
	sitting: Sitting,
	ends: readonly { readonly root: string; readonly size: number }[],
): Promise<ClearedClaim> {
	const { program, seed } = await jobAtHand(means, at);
	const read = (blob: { readonly root: string; readonly size: number }) =>
		means.blobs.read(holderOfJob(at.job), blob, 0, blob.size);
	const states = program.tensors.filter(({ kind }) => kind === "state");
	return {
		...{ sitting, terms: at.escrow!, resultRoot: at.claim.resultRoot, states: at.states, program, seed },
		given: (tensor) => read(at.spec.given.find((one) => one.tensor === tensor)!),
		end: () =>
			Promise.all(
				states.map(async ({ type, dims }, i) => bytesToElements(await read(ends[i]!), type, elementCount(dims))!),
			),
	};
}
