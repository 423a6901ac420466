// Proofs of a zk job for whoever wants to look: who proved which segment, and each proof as a file that
// `assay verify` and browsers judge. All of it stands on chain, in the transactions that brought the proofs;
// the program makes files of them. docs/zk.md §7, §12.
import { readProverJob, readSubmitted } from "../../../chain/contracts/zk-jobs.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { isEmbeddedChainId } from "../../../protocol/chain/embedded-chain-id.ts";
import { fromHex } from "../../../protocol/chain/hex.ts";
import { codes } from "../../../protocol/codes.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { encodeProofFile } from "../../../verify/zk/proof-file.ts";
import { DEV_ID, ignitionId } from "../../../verify/zk/srs.ts";
import type { SegmentStatement } from "../../../verify/zk/statement.ts";
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import { planByHash } from "../../../work/plan/proving-plan.ts";
import type { Job, JobContext } from "../keeper/job-context.ts";
import type { PaidProof } from "./zk-chain.ts";

const POINT_DIGITS = 128;
const GROUPS = 4;

const unknown = (why: string): AssayError => new AssayError("PROOF_UNKNOWN", why, { hint: codes.PROOF_UNKNOWN.hint });

/** Points by group: features, labels, weights before and after. */
function pointLists({ groups }: ZkPlan, points: string): readonly (readonly string[])[] {
	let at = 2;
	return groups.slice(0, GROUPS).map(({ chunks }) =>
		Array.from({ length: chunks }, () => {
			at += POINT_DIGITS;
			return points.slice(at - POINT_DIGITS, at);
		}),
	);
}

export function createJobProofs({ jobChain, works }: Pick<JobContext, "jobChain" | "works">) {
	/** Of jobs that somebody looks at; more are asked for once there are more. */
	const known = new BoundedMap<string, readonly PaidProof[]>(1000);

	async function list({ id, offer }: Pick<Job, "id" | "offer">): Promise<readonly PaidProof[]> {
		if (jobChain === null || methodOf(offer.terms.method).driver !== "proofs") return [];
		const job = BigInt(`0x${id}`);
		const next = await jobChain.zk.next(job);
		const found = known.get(id) ?? [];
		if (found.length >= next - 1) return found;
		const more = await jobChain.zk.paid(job, (segment) => !found.some((one) => one.segment === segment));
		const all = [...found, ...more].sort((a, b) => a.segment - b.segment);
		known.set(id, all);
		return all;
	}

	return {
		list,
		/** Throws PROOF_UNKNOWN. */
		async file(job: Job, segment: number): Promise<Uint8Array> {
			const paid = (await list(job)).find((one) => one.segment === segment);
			if (paid === undefined || jobChain === null) throw unknown(`segment ${segment} of this job is not proven yet`);
			const { contracts } = jobChain;
			const submitted = await readSubmitted(contracts, paid.transaction);
			if (submitted === null) throw unknown("it was proven through another contract");
			const { terms, order, segment: proven } = submitted;
			const program = await works.programOfJob(job);
			const plan = planByHash(program, fromHex(order.plan, 32));
			if (plan === null) throw unknown("its plan is none of the job's program");
			const [featurePoints, labelPoints, pointsBefore, pointsAfter] = pointLists(plan, proven.points);
			const { chainId } = contracts.addresses;
			const statement: SegmentStatement = {
				...{ version: 1, chainId: `${chainId}`, program: plan.programRoot, plan: order.plan.slice(2) },
				job: `${await readProverJob(contracts, BigInt(`0x${job.id}`), paid.prover as `0x${string}`)}`,
				srs: isEmbeddedChainId(chainId) ? DEV_ID : ignitionId(2 ** plan.chunkBits)!,
				...{ seed: terms.seed.slice(2), firstStep: (segment - 1) * plan.steps, steps: plan.steps },
				...{ features: order.features.slice(2), labels: order.labels.slice(2) },
				...{ featurePoints: featurePoints!, labelPoints: labelPoints! },
				...{ stateBefore: proven.stateBefore.slice(2), stateAfter: proven.stateAfter.slice(2) },
				...{ pointsBefore: pointsBefore!, pointsAfter: pointsAfter! },
			};
			return encodeProofFile(program, plan.chunkBits, { statement, proof: hexToBytes(proven.proof.slice(2))! });
		},
	};
}
