// What is to be proven of a job, docs/zk.md §12: the plan, and commitments to the data and to the weights
// that segment 1 begins with. The customer makes it and puts it on chain; a worker makes it too, and takes no
// job whose order is another. An engine computes both. Not here: sending it.
import type { ZkOrder } from "../../chain/contracts/zk-jobs.ts";
import type { OpenProveSession } from "../../engine/client/open-prove-session.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import type { SegmentStatement } from "../../verify/zk/statement.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
} from "../../work/operators/tensor-type.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { enteringOf } from "../../work/plan/entering.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import type { Program } from "../../work/program/shapes.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import { numbersOf } from "../jobs/run-part.ts";
import { orderOf } from "./chain-forms.ts";
import { proveStated } from "./prove-segment.ts";

/** An engine that runs and proves. */
export interface ProofEngine {
	readonly open: OpenWorkSession;
	readonly openProof: OpenProveSession;
	readonly device: number;
}

export interface WorkToProve {
	readonly program: Program;
	readonly plan: ZkPlan;
	readonly seed: Uint8Array;
	/** Bytes of a constant or an input, by its number in the program. */
	given(tensor: number): Promise<Uint8Array>;
}

/** A session with everything that the program is given, before segment 0. */
export async function openGiven({ program, seed, given }: WorkToProve, { open, device }: ProofEngine) {
	const session = await open({ device, program: encodeProgram(program), seed });
	for (const i of numbersOf(program, "constant", "input")) await session.write(i, await given(i));
	return session;
}

type Session = Awaited<ReturnType<typeof openGiven>>;

/** Every state tensor as it is now, in the program's order. */
export async function stateOf(session: Session, program: Program): Promise<Uint8Array[]> {
	const state: Uint8Array[] = [];
	for (const i of numbersOf(program, "state")) {
		const { type, dims } = program.tensors[i]!;
		state.push(await session.fetch(i, 0, elementCount(dims) * bytesOf(type)));
	}
	return state;
}

/** The input of this name. */
export async function inputOf({ program, given }: WorkToProve, name: "features" | "labels"): Promise<Elements> {
	const i = program.tensors.findIndex((one) => one.name === name && one.kind === "input");
	const { type, dims } = program.tensors[i]!;
	return bytesToElements(await given(i), type, elementCount(dims))!;
}

const NOTHING = "00".repeat(32);

/**
 * Commitments to data and weights of a segment that begins with these weights: its statement, without states.
 * Throws AssayError for what is the engine's.
 */
export async function committed(
	of: WorkToProve,
	segment: number,
	weights: readonly Uint8Array[],
	engine: ProofEngine,
	powers: ProverPowers,
): Promise<SegmentStatement> {
	const { plan, seed } = of;
	const [features, labels] = [await inputOf(of, "features"), await inputOf(of, "labels")];
	let found: SegmentStatement | null = null;
	await proveStated(
		{
			...{ plan, seed, segment, chainId: 0n, job: 0n },
			roots: {
				...{ features: bytesToHex(tensorRoot(features)), labels: bytesToHex(tensorRoot(labels)) },
				...{ stateBefore: NOTHING, stateAfter: NOTHING },
			},
			given: {
				entering: elementsToBytes(enteringOf(plan, features)),
				labels: elementsToBytes(Int32Array.from(labels, Number)),
				weights,
			},
		},
		{
			...{ open: engine.openProof, device: engine.device, powers },
			// Nothing is proven.
			mayProve: async (statement) => {
				found = statement;
				return false;
			},
		},
	);
	if (found === null) throw new AssayError("REPLY_WRONG", "the engine gave no commitments");
	return found;
}

/** Throws AssayError for what is the engine's. */
export async function makeOrder(of: WorkToProve, engine: ProofEngine, powers: ProverPowers): Promise<ZkOrder> {
	const session = await openGiven(of, engine);
	let weights: readonly Uint8Array[];
	try {
		await session.run({ first: 0, count: 1 });
		weights = await stateOf(session, of.program);
	} finally {
		await session.release().catch(() => {});
	}
	return orderOf(await committed(of, 1, weights, engine, powers));
}

/** What of an order is not what was computed here; null: all of it is. */
export function orderFault(ordered: ZkOrder, own: ZkOrder): string | null {
	const wrong = (Object.keys(own) as (keyof ZkOrder)[]).find((name) => ordered[name] !== own[name]);
	return wrong ?? null;
}
