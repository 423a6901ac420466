// What one probe has recorded so far, in the order it came. Not here: how it becomes evidence (run-probe.ts).
import { coveredBytes } from "../../protocol/probe/challenge-shape.ts";
import type { DroppedTry, Reading } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";

export interface Recorded {
	/** Challenges of the stages before; a stage appends its own. */
	readonly answered: AnsweredChallenge[];
	/** What devices said of themselves while stages ran. */
	readonly readings: Reading[];
	/** Tries of stages that were asked again. */
	readonly dropped: DroppedTry[];
}

/** Bytes of one pass over the newest kept products of a recorded gemm. */
export function bytesOfPass(
	answered: readonly AnsweredChallenge[],
	{ of: index, newest }: { readonly of: number; readonly newest: number },
): number {
	const of = answered[index];
	return of?.spec.kind === "gemm" ? coveredBytes(of.spec, of.roots.length, newest) : 0;
}
