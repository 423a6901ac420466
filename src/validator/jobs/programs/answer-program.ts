// What is asked of a stranger's program before anything is promised about it: what it is and costs, and what
// its proofs cost. Whatever may take a second is here; it runs on a thread of its own (program-desk.ts).
import { AssayError } from "../../../protocol/assay-error.ts";
import { codes } from "../../../protocol/codes.ts";
import { proofOps, provingPlan } from "../../../work/plan/proving-plan.ts";
import { orThrow } from "../../../work/program/fault.ts";
import { openProgramWork, type ProgramWork } from "../../../work/program/job-work.ts";
import { openProgram } from "../../../work/program/open-program.ts";

export interface ProgramQuestion {
	readonly bytes: Uint8Array;
	/** Of a job that is proven: what its proofs cost is asked. Null: what the program is. */
	readonly segments: number | null;
}

export type ProgramAnswer =
	| { readonly kind: "work"; readonly work: ProgramWork }
	/** Int8 operations that the proof of a segment is worth. */
	| { readonly kind: "proving"; readonly ops: number };

/** Throws the program's own fault, or PROGRAM_UNPROVABLE. */
export function answerProgram({ bytes, segments }: ProgramQuestion): ProgramAnswer {
	if (segments === null) return { kind: "work", work: openProgramWork(bytes) };
	const plan = provingPlan(orThrow(openProgram(bytes)).program, segments);
	if ("code" in plan) throw new AssayError(plan.code, plan.message, { hint: codes.PROGRAM_UNPROVABLE.hint });
	return { kind: "proving", ops: proofOps(plan) };
}

/** What a thread says: an error's class does not travel. */
export type ProgramReply =
	| { readonly answer: ProgramAnswer }
	| { readonly refused: { readonly code: string; readonly message: string; readonly hint: string } };
