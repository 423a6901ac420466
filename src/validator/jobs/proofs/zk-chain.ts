// What the chain says of jobs that are paid by proof, docs/zk.md §12: whether one is ordered, how far its
// segments are proven and by whom, whether a claim is. Reads only: provers prove, and the worker or anybody
// else concludes.
import { type Contracts, read, readEvents } from "../../../chain/contracts/contracts.ts";
import { readZkHead } from "../../../chain/contracts/zk-jobs.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";

/** A segment that is proven and paid. */
export interface PaidProof {
	readonly segment: number;
	/** 0x and lower case. */
	readonly prover: string;
	/** Of the token's smallest unit. */
	readonly amount: bigint;
	/** Its proof's. */
	readonly transaction: Hex;
	readonly gas: number;
}

export function createZkChain(contracts: Contracts) {
	/** Of the contract's making, and so asked for once. */
	let longest: Promise<number> | null = null;
	return {
		/** The shortest window that a job may have, so that every false tree can be brought down in it. */
		async leastWindowMs(): Promise<number> {
			longest ??= read(contracts, "twinPosts", "longest").then((seconds) => 1000 * Number(seconds));
			return longest.catch((error: unknown) => {
				longest = null;
				throw error;
			});
		},
		isOrdered: (job: bigint): Promise<boolean> => read(contracts, "zkJobs", "isOrdered", job),
		/** Segments before it are proven and paid. */
		next: async (job: bigint): Promise<number> => (await readZkHead(contracts, job)).next,
		isProven: (job: bigint, part: number, attempt: number): Promise<boolean> =>
			read(contracts, "zkJobs", "isProven", job, part, attempt),
		/** Of these segments, those that are paid. */
		async paid(job: bigint, isWanted: (segment: number) => boolean): Promise<readonly PaidProof[]> {
			const paid = await readEvents(contracts, "zkJobs", "Advanced", { job });
			const wanted = paid.filter(({ args }) => isWanted(Number(args.segment)));
			if (wanted.length === 0) return [];
			const proven = await readEvents(contracts, "zkJobs", "Proven", { job });
			return Promise.all(
				wanted.map(async ({ args: { segment, prover, points, pay } }) => {
					// Somebody may also have proven the segment from other weights, which is never paid.
					const own = proven.find(
						({ args }) => args.segment === segment && args.prover === prover && args.after_ === points,
					);
					const transaction = own!.transactionHash!;
					const { gasUsed } = await contracts.client.viem.getTransactionReceipt({ hash: transaction });
					const of = { segment: Number(segment), prover: prover.toLowerCase(), amount: pay };
					return { ...of, transaction, gas: Number(gasUsed) };
				}),
			);
		},
	};
}
