// Has a false claim convicted whose claimant clears segments by proofs, docs/zk.md §15: its list is compared
// with one's own run, and what is false of it is announced and shown. Where a segment has no proof, its
// claimant is asked for one, and falls by silence.
import type { Contracts } from "../../../chain/contracts/contracts.ts";
import { bookOf, type Sitting } from "../../../chain/contracts/dispute-games.ts";
import { announcementOf, announceProofCall, isProofAnnounced } from "../../../chain/contracts/disputes.ts";
import type { JobTerms } from "../../../chain/contracts/job-escrow.ts";
import {
	demandProofCall,
	proveSegmentCall,
	readDemanded,
	readDisputeOrder,
	readProofJob,
	readSaidList,
	type ShownProof,
} from "../../../chain/contracts/segment-proofs.ts";
import type { ZkOrder } from "../../../chain/contracts/zk-jobs.ts";
import { announcementSalt } from "../../../chain/sending/announce.ts";
import type { Call } from "../../../chain/sending/sign.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { Elements } from "../../../work/operators/tensor-type.ts";
import { planByHash } from "../../../work/plan/proving-plan.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { inputOf, makeOrder, orderFault, type ProofEngine } from "../order.ts";
import type { PowersFor } from "../powers.ts";
import { rerunStates } from "../rerun-states.ts";
import { contestList } from "./contest-list.ts";
import { Unprovable } from "./run-in-dispute.ts";
import { segmentCase } from "./segment-case.ts";

/** A claim that stands, with a list. */
export interface ContestedPart {
	readonly sitting: Sitting;
	readonly terms: JobTerms;
	readonly resultRoot: Uint8Array;
	readonly states: readonly Uint8Array[];
	readonly program: Program;
	readonly seed: Uint8Array;
	given(tensor: number): Promise<Uint8Array>;
	end(): Promise<readonly Elements[]>;
}

export interface ContestMeans {
	readonly contracts: Contracts;
	/** Who accuses. */
	readonly account: Hex;
	/** Keeps salts of announcements from whoever reads the pool. */
	readonly secret: Uint8Array;
	readonly send: (call: Call) => Promise<Hex>;
	readonly startEngine: () => Promise<ProofEngine & { close(): Promise<void> }>;
	readonly powersFor: PowersFor;
	/** For states that are run again. */
	readonly folder: string;
	readonly sleep: (ms: number) => Promise<void>;
}

const LOOK_EVERY_MS = 5000;

type Contested = { readonly transaction: Hex } | { readonly why: string };

/** Announced in a block before it. */
async function show(means: ContestMeans, claim: ContestedPart, segment: number, shown: ShownProof): Promise<Contested> {
	const { contracts, account, secret, send } = means;
	const { accused, listed } = segmentCase(claim, segment);
	const salt = announcementSalt(secret, bookOf(claim.sitting));
	const call = proveSegmentCall(contracts, salt, accused, listed, shown);
	const hash = announcementOf(account, call, salt);
	if (!(await isProofAnnounced(contracts, hash))) await send(announceProofCall(contracts, hash));
	return { transaction: await send(call) };
}

/** A segment of its list has no proof: it is asked for one, until its time is over. */
async function askForProof(means: ContestMeans, claim: ContestedPart, order: ZkOrder, segment: number) {
	const { contracts, send, sleep } = means;
	const { job } = claim.sitting;
	const book = bookOf(claim.sitting);
	const demanded = async () =>
		(await readDemanded(contracts, job, book)).find((one) => one.segment === segment)?.deadlineS ?? null;
	if ((await demanded()) === null) await send(await demandProofCall(contracts, job, segment));
	for (;;) {
		const deadlineS = await demanded();
		if (deadlineS === null) return { why: `segment ${segment} is proven, which has no proof here` };
		if (Number((await contracts.client.viem.getBlock()).timestamp) > deadlineS)
			return show(means, claim, segment, { kind: "silence", ordered: order });
		await sleep(LOOK_EVERY_MS);
	}
}

/** Throws CHAIN_…, SRS_…, and what an engine says. */
export async function contestClaim(means: ContestMeans, claim: ContestedPart): Promise<Contested> {
	const { contracts, powersFor } = means;
	const { sitting, program, seed, states, given } = claim;
	const { job } = sitting;
	const order = await readDisputeOrder(contracts, job);
	const list = await readSaidList(contracts, job, bookOf(sitting));
	const plan = order && planByHash(program, hexToBytes(order.plan.slice(2), 32)!);
	if (order === null || list === null || plan === null) return { why: "its customer ordered no plan of its program" };
	const engine = await means.startEngine();
	const powers = powersFor(plan.chunkBits);
	const work = { program, plan, seed, given };
	const rerun = rerunStates(work, engine, means.folder, null);
	try {
		const fault = orderFault(order, await makeOrder(work, engine, powers));
		if (fault !== null) return { why: `its customer ordered something else, and has only itself to blame: ${fault}` };
		const run = {
			...{ program, plan, seed, order, segments: states.length - 1, weightsBefore: rerun.weightsBefore },
			...{ features: await inputOf(work, "features"), labels: await inputOf(work, "labels") },
		};
		const about = {
			...{ chainId: BigInt(contracts.addresses.chainId), job: await readProofJob(contracts, job), list },
			...{ states: states.map(bytesToHex), end: await claim.end() },
		};
		const by = { open: engine.openProof, device: engine.device, powers };
		const found = await contestList(by, run, about);
		if (found === null) return { why: "its end is right, and proven so" };
		return await show(means, claim, found.segment, found.shown);
	} catch (error) {
		if (error instanceof Unprovable) return await askForProof(means, claim, order, error.segment);
		throw error;
	} finally {
		await rerun.close();
		await engine.close();
	}
}
