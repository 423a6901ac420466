// Proves one segment of a training run, docs/zk.md: the engine commits and proves, the statement is made
// here, and nothing is handed out that the verifier does not accept together with the bytes it is about.
import { GIVEN, type OpenProveSession } from "../../engine/client/open-prove-session.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { encodeProofFile, openProofFile } from "../../verify/zk/proof-file.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import { type SegmentStatement, statementHash } from "../../verify/zk/statement.ts";
import { type Elements, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { planHash, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { encodePlan } from "../../work/plan/encode-plan.ts";
import { enteringOf } from "../../work/plan/entering.ts";
import type { Program } from "../../work/program/shapes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import { bindByEngine } from "./bind-by-engine.ts";

export interface SegmentToProve {
	readonly program: Program;
	/** compilePlan of the program. */
	readonly plan: ZkPlan;
	/** Of the order of rows. */
	readonly seed: Uint8Array;
	/** 1 is the first with steps. */
	readonly segment: number;
	readonly chainId: bigint;
	readonly job: bigint;
	readonly features: Elements;
	readonly labels: Elements;
	/** Every state tensor, in the program's order, as the program's own run has them. */
	readonly before: readonly Elements[];
	readonly after: readonly Elements[];
}

export interface ProveWith {
	readonly open: OpenProveSession;
	/** Of the same engine: compares the bytes. */
	readonly openWork: OpenWorkSession;
	readonly device: number;
	readonly powers: ProverPowers;
	readonly signal?: AbortSignal;
	readonly onProgress?: (done: number, total: number) => void;
	/** Asked when the commitments are there: false ends it before the proof. */
	readonly mayProve?: (statement: SegmentStatement) => Promise<boolean>;
}

export interface ProvenSegment {
	readonly statement: SegmentStatement;
	readonly proof: Uint8Array;
	/** With the program, for whoever verifies. */
	readonly file: Uint8Array;
}

const POINT_BYTES = 64;

/** Points by group, as the engine gave them. Throws REPLY_WRONG. */
function pointLists({ groups }: ZkPlan, bytes: Uint8Array): readonly (readonly string[])[] {
	const counts = groups.slice(0, 4).map(({ chunks }) => chunks);
	if (bytes.length !== POINT_BYTES * counts.reduce((sum, one) => sum + one, 0))
		throw codedError("REPLY_WRONG", "the engine gave another number of points");
	let at = 0;
	return counts.map((count) =>
		Array.from({ length: count }, () => {
			at += POINT_BYTES;
			return bytesToHex(bytes.subarray(at - POINT_BYTES, at));
		}),
	);
}

/** What a proof is made of, where roots and states are known already. */
export interface StatedSegment extends Pick<SegmentToProve, "plan" | "seed" | "segment" | "chainId" | "job"> {
	/** Of the statement, hexadecimal. */
	readonly roots: Pick<SegmentStatement, "features" | "labels" | "stateBefore" | "stateAfter">;
	/** What GIVE takes: enteringOf the features, labels (i32), weights at the start. */
	readonly given: {
		readonly entering: Uint8Array;
		readonly labels: Uint8Array;
		readonly weights: readonly Uint8Array[];
	};
}

/** What a proof of the segment is of, with the points that the engine gave. */
export function statementOf(of: Omit<StatedSegment, "given">, srs: string, points: Uint8Array): SegmentStatement {
	const { plan, seed, segment, chainId, job, roots } = of;
	const [featurePoints, labelPoints, pointsBefore, pointsAfter] = pointLists(plan, points);
	return {
		...{
			version: 1,
			chainId: `${chainId}`,
			job: `${job}`,
			program: plan.programRoot,
			plan: bytesToHex(planHash(plan)),
		},
		...{ srs, seed: bytesToHex(seed), firstStep: (segment - 1) * plan.steps, steps: plan.steps },
		...{ features: roots.features, labels: roots.labels },
		...{ featurePoints: featurePoints!, labelPoints: labelPoints! },
		...{ stateBefore: roots.stateBefore, stateAfter: roots.stateAfter },
		...{ pointsBefore: pointsBefore!, pointsAfter: pointsAfter! },
	};
}

/**
 * Without a look at what comes out: whoever hands it out verifies it first. Null: it was stopped. Throws as
 * proveSegment does.
 */
export async function proveStated(
	of: StatedSegment,
	by: Omit<ProveWith, "openWork">,
): Promise<Pick<ProvenSegment, "statement" | "proof"> | null> {
	const { plan, seed, segment, given } = of;
	const { powers, signal, onProgress } = by;
	const session = await by.open({ device: by.device, plan: encodePlan(plan, powers.points === null) });
	try {
		await session.give(GIVEN.features, given.entering);
		await session.give(GIVEN.labels, given.labels);
		for (const [l, weights] of given.weights.entries()) await session.give(GIVEN.weights + l, weights);
		if (powers.points !== null) await session.give(GIVEN.powers, powers.points);
		const points = await session.commit({ seed, firstStep: (segment - 1) * plan.steps, signal, onProgress });
		if (points === null) return null;
		const statement = statementOf(of, powers.id, points);
		if (by.mayProve !== undefined && !(await by.mayProve(statement))) return null;
		const proof = await session.prove({ statement: statementHash(statement), signal, onProgress });
		return proof === null ? null : { statement, proof };
	} finally {
		await session.release().catch(() => {});
	}
}

/**
 * Null: it was stopped. Throws AssayError; TENSOR_RANGE where a value of the run left its range, so that it
 * has no proof.
 */
export async function proveSegment(of: SegmentToProve, by: ProveWith): Promise<ProvenSegment | null> {
	const { plan, program, segment, features, labels, before, after } = of;
	const isDev = by.powers.points === null;
	const state = (number: number, weights: readonly Elements[]) =>
		bytesToHex(stateHashOf(program, number, weights.map(tensorRoot), []));
	const held = {
		data: [elementsToBytes(features), elementsToBytes(labels)] as const,
		before: before.map(elementsToBytes),
		after: after.map(elementsToBytes),
	};
	const roots = {
		...{ features: bytesToHex(tensorRoot(features)), labels: bytesToHex(tensorRoot(labels)) },
		...{ stateBefore: state(segment, before), stateAfter: state(segment + 1, after) },
	};
	const given = {
		entering: elementsToBytes(enteringOf(plan, features)),
		labels: elementsToBytes(Int32Array.from(labels, Number)),
		weights: held.before,
	};
	const made = await proveStated({ ...of, roots, given }, by);
	if (made === null) return null;
	const file = encodeProofFile(program, plan.chunkBits, made);
	const opened = openProofFile(file, { isDevAllowed: isDev });
	const fault =
		opened.status !== "valid" ? opened : await bindByEngine(opened, held, { open: by.openWork, device: by.device });
	if (fault !== null) throw codedError(fault.code, `the engine's own proof is refused: ${fault.detail}`);
	return { ...made, file };
}
