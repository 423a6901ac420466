// What a provider does on chain to end a game by a proof, docs/zk.md §15: reads the order, clears segments of
// its claim, sees whose proof is demanded. An act that was done is looked up before it is sent.
import { type Contracts, callOf, read } from "../../../chain/contracts/contracts.ts";
import { bookOf, readIsCleared } from "../../../chain/contracts/dispute-games.ts";
import type { AccusedCase } from "../../../chain/contracts/disputes.ts";
import {
	type ListedStates,
	proveSegmentCall,
	readDemanded,
	readDisputeOrder,
	readProofJob,
	type ShownProof,
} from "../../../chain/contracts/segment-proofs.ts";
import { sendGuarded } from "../../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../../chain/sending/sign.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";

export type DisputeChain = ReturnType<typeof openDisputeChain>;

const NO_SALT: Hex = `0x${"00".repeat(32)}`;

export function openDisputeChain(contracts: Contracts, account: ChainAccount) {
	const { client, addresses } = contracts;
	const bookFor = (job: bigint, attempt: number): Hex => bookOf({ job, part: 0, attempt, provider: account.address });
	return {
		chainId: BigInt(addresses.chainId),
		/** Null: the job's disputes are not settled by proofs. */
		order: (job: bigint) => readDisputeOrder(contracts, job),
		proofJob: (job: bigint) => readProofJob(contracts, job),
		isCleared: (job: bigint, attempt: number, segment: number): Promise<boolean> =>
			readIsCleared(contracts, { job, part: 0, attempt, provider: account.address }, segment),
		/** Segments whose proof somebody waits for. */
		async demanded(job: bigint, attempt: number): Promise<readonly number[]> {
			return (await readDemanded(contracts, job, bookFor(job, attempt))).map(({ segment }) => segment);
		},
		/** The gas that it took. */
		async clear(accused: AccusedCase, listed: ListedStates, shown: ShownProof): Promise<number> {
			const call = proveSegmentCall(contracts, NO_SALT, accused, listed, shown);
			return Number((await sendGuarded(client, account, call)).gasUsed);
		},
		/** Deposits of demands that were met. */
		async collect(): Promise<void> {
			if ((await read(contracts, "segmentProofs", "owedTo", account.address)) > 0n)
				await sendGuarded(client, account, callOf(contracts, "segmentProofs", "collect", account.address));
		},
	};
}
