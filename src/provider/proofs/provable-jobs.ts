// The jobs of a chain that are paid by proof, as a prover takes them up: orders and terms from the chain,
// program and data from a validator, and nothing on a validator's word. What is not what was ordered cannot
// be proven, and is left alone.
import { fetchBlob } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import { type Contracts, read, readEvents } from "../../chain/contracts/contracts.ts";
import { type JobTerms, readJobPart } from "../../chain/contracts/job-escrow.ts";
import { partOfSegment, provableSegments, readZkHead, type ZkOrder } from "../../chain/contracts/zk-jobs.ts";
import { readChainTime } from "../../chain/node/chain-clock.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, bytesToElements, elementCount } from "../../work/operators/tensor-type.ts";
import { planByHash } from "../../work/plan/proving-plan.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram } from "../../work/program/open-program.ts";
import { LIMITS, type Tensor } from "../../work/program/shapes.ts";
import { specFault } from "../../work/workloads/spec-fault.ts";
import type { WorkToProve } from "./order.ts";
import type { WatchedEnd } from "./watch-trees.ts";

export type ProverApi = Pick<ApiClient, "listClaims" | "getClaimCase" | "askClaim" | "getBlob" | "getJobBlob">;

export interface OrderedJob {
	readonly job: bigint;
	readonly order: ZkOrder;
	readonly terms: JobTerms;
}

/** Every job that was ordered, oldest first. Each look reads only what came since the last one. */
export function orderedJobs(contracts: Contracts): () => Promise<readonly OrderedJob[]> {
	const known = new Map<bigint, OrderedJob>();
	let since = contracts.addresses.deployedAtBlock;
	return async () => {
		// A block that is thrown away may be seen twice: jobs have one order each.
		for (const { args, blockNumber } of await readEvents(contracts, "zkJobs", "Ordered", undefined, since)) {
			const { job, order } = args;
			const [funded] = await readEvents(contracts, "jobEscrow", "Funded", { job });
			if (funded !== undefined) known.set(job, { job, order, terms: funded.args.terms });
			since = Math.max(since, Number(blockNumber));
		}
		return [...known.values()];
	};
}

/** Whose worker has claimed it and listed what its segments end with; null: not yet. */
async function listedAttempt(contracts: Contracts, job: bigint, part: number): Promise<number | null> {
	const { state, attempt } = await readJobPart(contracts, job, part);
	const root = state === "claimed" ? await read(contracts, "zkJobs", "listOf", job, part, attempt) : "0x0";
	return BigInt(root) === 0n ? null : attempt;
}

/**
 * Segments from `next` to before `end` can be proven and paid now; both the same: none. `lists`: whose they
 * are, one name for all of them.
 */
export async function provableNow(contracts: Contracts, { job, terms }: OrderedJob) {
	const { next } = await readZkHead(contracts, job);
	const attempts: string[] = [];
	let end = next;
	while (end < Number(terms.segments)) {
		const part = partOfSegment(terms, end);
		const attempt = await listedAttempt(contracts, job, part);
		if (attempt === null) break;
		attempts.push(`${part}/${attempt}`);
		end = provableSegments(terms, part).end;
	}
	return { next, end, lists: `${job} ${attempts.join(" ")}` };
}

/**
 * Parts whose claims stand, and whether there will never be one again: nobody is assigned after `startBy`,
 * and nobody claims later than its work may take. ATTACK: terms may have billions of parts, for nothing; one
 * that somebody had costs a transaction.
 */
export async function claimsNow(contracts: Contracts, { job, terms }: OrderedJob, ownS: number) {
	const { touched, end } = await read(contracts, "jobEscrow", "jobOf", job);
	const states = [];
	for (let part = 0; part < touched; part++) states.push((await readJobPart(contracts, job, part)).state);
	const claimed = states.flatMap((state, part) => (state === "claimed" ? [part] : []));
	const isEnded = touched === end && states.every((state) => state === "settled" || state === "refunded");
	const isLate = async () => (await readChainTime(contracts.client, ownS)) > Number(terms.startBy) + terms.workSeconds;
	return { claimed, isOver: claimed.length === 0 && (isEnded || (await isLate())) };
}

/**
 * The end that was claimed of a part, with its bytes; null: its validator does not show it, or shows tensors
 * of other sizes. Whether they are those of a posted tree is seen by their roots.
 */
export async function claimedEnd(
	api: ProverApi,
	of: OrderedJob,
	{ program, plan }: WorkToProve,
	part: number,
): Promise<WatchedEnd | null> {
	const { job, order, terms } = of;
	const id = job.toString(16).padStart(64, "0");
	const { rows } = await api.listClaims({ query: { job: id, limit: 100 } });
	const claim = rows.find(
		(one) => one.part === part && one.ends !== null && ["claimed", "checked"].includes(one.state),
	);
	if (claim === undefined) return null;
	const states = program.tensors.filter(({ kind }) => kind === "state");
	const named = claim.ends!.state;
	const sizeOf = ({ type, dims }: Pick<Tensor, "type" | "dims">) => elementCount(dims) * bytesOf(type);
	if (named.length !== states.length || named.some(({ size }, i) => size !== sizeOf(states[i]!))) return null;
	const weights = await Promise.all(
		states.map(async ({ type, dims }, i) => {
			const bytes = await fetchBlob(api, named[i]!, { job: id });
			return bytesToElements(bytes, type, elementCount(dims))!;
		}),
	);
	const segment = provableSegments(terms, part).end;
	return { job, segment, program, plan, planHash: order.plan, weights };
}

const cannot = (why: string): AssayError => new AssayError("JOB_METHOD", `it cannot be proven: ${why}`);

/**
 * Null: its validator does not show it yet. Throws JOB_METHOD where program or data are not those that were
 * ordered.
 */
export async function openWork(api: ProverApi, { job, order, terms }: OrderedJob): Promise<WorkToProve | null> {
	const id = job.toString(16).padStart(64, "0");
	const { rows } = await api.listClaims({ query: { job: id, limit: 100 } });
	const claim = rows.find(({ state, ends }) => ends !== null && ["claimed", "checked", "paid"].includes(state));
	if (claim === undefined) return null;
	const { spec } = await api.getClaimCase({ params: { hash: claim.hash } });
	if (spec.program.size > LIMITS.bytes) throw cannot("no program has so many bytes");
	const { program } = orThrow(openProgram(await fetchBlob(api, spec.program, { job: id })));
	const fault = specFault(program, spec, { program: terms.program.slice(2), inputs: terms.inputs.slice(2) });
	if (fault !== null || `0x${spec.seed}` !== terms.seed) throw cannot(fault ?? "its seed is not that of the terms");
	const plan = planByHash(program, hexToBytes(order.plan.slice(2), 32)!);
	if (plan === null) throw cannot("the plan that was ordered is none of its program");
	const named = (name: string) => program.tensors.findIndex((one) => one.name === name && one.kind === "input");
	for (const name of ["features", "labels"] as const)
		if (spec.given.find(({ tensor }) => tensor === named(name))?.root !== order[name].slice(2))
			throw cannot(`${name} are not those that were ordered`);
	const fetched = new Map<number, Promise<Uint8Array>>();
	return {
		...{ program, plan, seed: hexToBytes(spec.seed, 32)! },
		given(tensor) {
			const blob = spec.given.find((one) => one.tensor === tensor)!;
			const bytes = fetched.get(tensor) ?? fetchBlob(api, { root: blob.root, size: blob.size }, { job: id });
			fetched.set(tensor, bytes);
			return bytes;
		},
	};
}
