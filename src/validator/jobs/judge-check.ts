// What a check of a run comes to: from what was run again, from the end of the run and from its files, one
// verdict and its code.
import type { CheckedFile, RunOutcome } from "./check-files.ts";
import type { CheckedGeneration } from "./check-generation.ts";
import type { CheckedRun } from "./check-run.ts";

export type Rerun =
	| { readonly kind: "none"; readonly why: string }
	| { readonly kind: "windows"; readonly found: CheckedRun }
	| { readonly kind: "prefill"; readonly found: CheckedGeneration };

export interface CheckedJob {
	readonly rerun: Rerun;
	readonly wrongEnd: RunOutcome["wrong"];
	/** Empty where the claim is false, or the check was stopped. */
	readonly files: readonly CheckedFile[];
}

export type CheckVerdict =
	| { readonly verdict: "agrees" | "stopped"; readonly code: null }
	| { readonly verdict: "false"; readonly code: "RUN_FALSE" | "RUN_FILE_FALSE" }
	| {
			readonly verdict: "inconclusive";
			readonly code: "RUN_FILE_UNCOMPARED" | "RUN_FILE_MISSING" | "RUN_NOT_RERUN";
	  };

/** Whether what was run again is false. */
export const isRerunFalse = (rerun: Rerun): boolean =>
	rerun.kind !== "none" &&
	(rerun.found.wrong !== null || (rerun.kind === "prefill" && rerun.found.wrongSegment !== null));

/** Whether something that was drawn was not run again. */
export const isStopped = (rerun: Rerun): boolean => rerun.kind !== "none" && !rerun.found.isWhole;

/** A lie that was found stands, also where the check was stopped after it. */
export function judgeCheck({ rerun, wrongEnd, files }: CheckedJob): CheckVerdict {
	const has = (status: CheckedFile["status"]) => files.some((file) => file.status === status);
	if (isRerunFalse(rerun) || wrongEnd !== null) return { verdict: "false", code: "RUN_FALSE" };
	if (isStopped(rerun)) return { verdict: "stopped", code: null };
	if (has("different")) return { verdict: "false", code: "RUN_FILE_FALSE" };
	if (has("uncompared")) return { verdict: "inconclusive", code: "RUN_FILE_UNCOMPARED" };
	if (has("missing")) return { verdict: "inconclusive", code: "RUN_FILE_MISSING" };
	if (rerun.kind === "none") return { verdict: "inconclusive", code: "RUN_NOT_RERUN" };
	return { verdict: "agrees", code: null };
}
