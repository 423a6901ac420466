// A proof of a segment as a file, docs/zk.md §7: the container of evidence files with the statement, the
// program and the proof. `verifyProofFile` believes nothing in it: the program is checked and compiled again.

import { int, list, object, oneOf, type Typed } from "../../protocol/bytes/shape.ts";
import {
	attachmentShape,
	type Container,
	decodeContainer,
	encodeContainer,
	entriesOf,
} from "../../protocol/probe/container.ts";
import { compilePlan, type ZkPlan } from "../../work/plan/compile-plan.ts";
import type { CheckedProgram } from "../../work/program/check-program.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { openProgram } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { type ByteFault, bindBytes, type HeldBytes } from "./bind-bytes.ts";
import { invalid, type Refused } from "./refused.ts";
import { DEV_ID, powersName } from "./srs.ts";
import { type SegmentStatement, statementShape } from "./statement.ts";
import { type ByteClaims, verifySegment } from "./verify-segment.ts";

const PROOF_FORMAT = "assay-zk";

const shape = object({
	/** The program, then the proof. */
	attachments: list(attachmentShape, 2),
	body: object({
		format: oneOf(PROOF_FORMAT),
		version: oneOf(1),
		/** 2^chunkBits values a commitment; the plan's hash has it too. */
		chunkBits: int(2, 24),
		statement: statementShape,
	}),
});

export function encodeProofFile(
	program: Program,
	chunkBits: number,
	{ statement, proof }: { readonly statement: SegmentStatement; readonly proof: Uint8Array },
): Uint8Array {
	const attachments = [encodeProgram(program), proof];
	const envelope: Typed<typeof shape> = {
		attachments: entriesOf(attachments),
		body: { format: PROOF_FORMAT, version: 1, chunkBits, statement },
	};
	return encodeContainer(envelope, attachments);
}

const BOUND_NAMES = ["data", "before", "after"] as const;
type BoundName = (typeof BOUND_NAMES)[number];

export type ProofVerdict =
	| {
			readonly status: "valid";
			readonly statement: SegmentStatement;
			readonly plan: ZkPlan;
			/**
			 * Which bytes were compared: without all three, nobody knows whose weights and data the commitments are
			 * of.
			 */
			readonly bound: readonly BoundName[];
			/** Whether the first weights are those that the program makes of the seed; null: nobody looked. */
			readonly isStartRight: true | null;
			/** Over test parameters: proves nothing to anybody. */
			readonly isDev: boolean;
			/** Powers in words. */
			readonly powers: string;
	  }
	| Refused;

type File = Container<Typed<typeof shape>>;

/** Segments with steps that the order of a plan's rows has room for. */
export const maxSegments = ({ epochs, rowBits, batch, steps }: ZkPlan): number =>
	(epochs * 2 ** rowBits) / (batch * steps);

/** A valid proof, about commitments; whose they are shows who compares bytes. */
export interface OpenedProof {
	readonly status: "valid";
	readonly checked: CheckedProgram;
	readonly program: Program;
	readonly plan: ZkPlan;
	readonly statement: SegmentStatement;
	readonly claims: ByteClaims;
}

/** Never throws for what a file says. */
export function openProofFile(file: Uint8Array, settings: { readonly isDevAllowed: boolean }): OpenedProof | Refused {
	const decoded = decodeContainer(file, shape);
	if (!decoded.ok) return invalid(decoded.code, `${decoded.where}: ${decoded.detail}`);
	const { envelope, attachments }: File = decoded.evidence;
	const [bytes, proof] = attachments;
	if (bytes === undefined || proof === undefined) return invalid("PROOF_FORM", "program or proof is missing");
	const opened = openProgram(bytes);
	if (!opened.ok) return invalid("PROOF_STATEMENT", "its program is none that may run");
	const { chunkBits, statement } = envelope.body;
	if (chunkBits % 2 !== 0) return invalid("PROOF_FORM", "chunks of an odd power of two");
	const checked = opened.value;
	const { program } = checked;
	const plan = compilePlan(program, chunkBits);
	if ("code" in plan) return invalid("PROOF_STATEMENT", plan.message);
	const verdict = verifySegment(plan, statement, proof, settings);
	if (verdict.status !== "valid") return verdict;
	return { status: "valid", checked, program, plan, statement, claims: verdict.bytes };
}

/**
 * With the bytes that were compared, and what was found in them. `isStartOwn`: those before are what
 * firstWeights made.
 */
export function proofVerdict(
	{ statement, plan }: Pick<OpenedProof, "statement" | "plan">,
	fault: ByteFault | null,
	held: { readonly [name in BoundName]?: unknown },
	isStartOwn = false,
): ProofVerdict {
	if (fault !== null) return invalid(fault.code, fault.detail);
	const bound = BOUND_NAMES.filter((name) => held[name] !== undefined);
	const powers = powersName(statement.srs);
	const [isStartRight, isDev] = [isStartOwn || null, statement.srs === DEV_ID] as const;
	return { status: "valid", statement, plan, bound, isStartRight, isDev, powers };
}

/** `held`: what of the bytes is at hand, once it is known which program they belong to. */
export function verifyProofFile(
	file: Uint8Array,
	settings: { readonly isDevAllowed: boolean },
	held: (program: Program) => HeldBytes = () => ({}),
): ProofVerdict {
	const opened = openProofFile(file, settings);
	if (opened.status !== "valid") return opened;
	const { program, plan, statement, claims } = opened;
	const bytes = held(program);
	return proofVerdict(opened, bindBytes(program, plan, statement, claims, bytes), bytes);
}
