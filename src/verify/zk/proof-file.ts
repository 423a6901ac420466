// A proof of a segment as a file, docs/zk.md §7: the container of evidence files with the statement, the program and the proof. `verifyProofFile` believes nothing in it:
// the program is checked and compiled again.

import { int, list, object, oneOf, type Typed } from "../../protocol/bytes/shape.ts";
import type { Code } from "../../protocol/codes.ts";
import {
	attachmentShape,
	type Container,
	decodeContainer,
	encodeContainer,
	entriesOf,
} from "../../protocol/probe/container.ts";
import { compilePlan, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { openProgram } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { bindBytes, type HeldBytes } from "./bind-bytes.ts";
import { type SegmentStatement, statementShape } from "./statement.ts";
import { verifySegment } from "./verify-segment.ts";

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

export type ProofVerdict =
	| {
			readonly status: "valid";
			readonly statement: SegmentStatement;
			readonly plan: ZkPlan;
			/** Which bytes were compared: without all three, nobody knows whose weights and data the commitments are of. */
			readonly bound: readonly ("data" | "before" | "after")[];
			/** Over powers of a known τ: proves nothing to anybody. */
			readonly isDev: boolean;
	  }
	| { readonly status: "invalid"; readonly code: Code; readonly detail: string };

const invalid = (code: Code, detail: string): ProofVerdict => ({ status: "invalid", code, detail });

type File = Container<Typed<typeof shape>>;

/** `held`: what of the bytes is at hand, once it is known which program they belong to. Never throws for what a file says. */
export function verifyProofFile(
	file: Uint8Array,
	settings: { readonly isDevAllowed: boolean },
	held: (program: Program, statement: SegmentStatement) => HeldBytes = () => ({}),
): ProofVerdict {
	const decoded = decodeContainer(file, shape);
	if (!decoded.ok) return invalid(decoded.code, `${decoded.where}: ${decoded.detail}`);
	const { envelope, attachments }: File = decoded.evidence;
	const [bytes, proof] = attachments;
	if (bytes === undefined || proof === undefined) return invalid("PROOF_FORM", "program or proof is missing");
	const opened = openProgram(bytes);
	if (!opened.ok) return invalid("PROOF_STATEMENT", "its program is none that may run");
	const { chunkBits, statement } = envelope.body;
	if (chunkBits % 2 !== 0) return invalid("PROOF_FORM", "chunks of an odd power of two");
	const { program } = opened.value;
	const plan = compilePlan(program, chunkBits);
	if ("code" in plan) return invalid("PROOF_STATEMENT", plan.message);
	const verdict = verifySegment(plan, statement, proof, settings);
	if (verdict.status === "invalid") return verdict;
	const bytesHeld = held(program, statement);
	const fault = bindBytes(program, plan, statement, verdict.bytes, bytesHeld);
	if (fault !== null) return invalid(fault.code, fault.detail);
	const bound = (["data", "before", "after"] as const).filter((name) => bytesHeld[name] !== undefined);
	return { status: "valid", statement, plan, bound, isDev: statement.srs === "dev" };
}
