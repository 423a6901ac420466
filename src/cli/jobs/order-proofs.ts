// What a customer does besides funding a job that is proven (docs/zk.md §12), or whose disputes are (§15):
// compiles the plan of its program, commits to its data and first weights on this machine's engine, and says
// on chain what is to be proven. Not here: the commitments themselves (src/provider/proofs/order.ts).
import { resolve } from "node:path";
import { read } from "../../chain/contracts/contracts.ts";
import { type JobTerms, jobIdOf } from "../../chain/contracts/job-escrow.ts";
import { orderDisputesCall } from "../../chain/contracts/segment-proofs.ts";
import { orderProofsCall, registerPlanCall, type ZkOrder } from "../../chain/contracts/zk-jobs.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { codes } from "../../protocol/codes.ts";
import { makeOrder } from "../../provider/proofs/order.ts";
import { powersOf } from "../../provider/proofs/powers.ts";
import { methodNumbered } from "../../verify/methods/methods.ts";
import { elementsToBytes } from "../../work/operators/tensor-type.ts";
import { planWords, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { provingPlan } from "../../work/plan/proving-plan.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import { GAS, requireGas } from "../chain/require-funds.ts";
import type { CliIo } from "../command.ts";
import { type engineOptions, startJobEngine } from "../job-engine.ts";
import type { Values } from "../options.ts";

export type OrderingValues = Values<typeof engineOptions> & { readonly powers: string | undefined };

/** Throws PROGRAM_UNPROVABLE: which kinds can be proven is in its hint. */
export function planOfJob({ program, segments }: Pick<Workload, "program" | "segments">): ZkPlan {
	const plan = provingPlan(program, 1 + segments);
	if ("code" in plan) throw new AssayError(plan.code, plan.message, { hint: codes.PROGRAM_UNPROVABLE.hint });
	return plan;
}

export interface JobToOrder {
	readonly plan: ZkPlan;
	readonly order: ZkOrder;
}

/** Before any money moves. Throws SRS_MISSING, PROGRAM_UNPROVABLE, and what an engine throws. */
export async function commitJob(
	{ program, segments, seed, given }: Workload,
	chainId: number,
	values: OrderingValues,
	io: CliIo,
): Promise<JobToOrder> {
	const plan = planOfJob({ program, segments });
	const file = values.powers ?? (io.env.ASSAY_POWERS || undefined);
	const powers = powersOf(chainId, file === undefined ? null : resolve(io.cwd, file))(plan.chunkBits);
	const engine = await startJobEngine(values, io, null);
	try {
		const work = {
			...{ program, plan, seed },
			given: async (tensor: number) => elementsToBytes(given[program.tensors[tensor]!.name]!),
		};
		return { plan, order: await makeOrder(work, engine, powers) };
	} finally {
		await engine.close();
	}
}

/**
 * By the account that funds it: of a zk job once it has, before anybody has a part; of an optimistic one
 * before that, for its disputes.
 */
export async function orderOnChain(
	{ contracts, account }: ChainActor,
	terms: JobTerms,
	{ plan, order }: JobToOrder,
): Promise<void> {
	const { client } = contracts;
	const isByProofs = methodNumbered(terms.method)?.driver === "proofs";
	const book = isByProofs ? "zkJobs" : "segmentProofs";
	// A command that was stopped may have.
	if (await read(contracts, book, "isOrdered", jobIdOf(terms))) return;
	await requireGas(client, account, GAS.plan);
	const isKnown = BigInt(await read(contracts, "zkPlans", "imageOf", order.plan)) !== 0n;
	if (!isKnown) await sendCall(client, account, registerPlanCall(contracts, toHex(planWords(plan))));
	const call = isByProofs ? orderProofsCall : orderDisputesCall;
	await sendCall(client, account, call(contracts, terms, order));
}
