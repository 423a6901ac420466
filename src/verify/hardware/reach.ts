// How far away is the memory that answers? By chases, not by echoes: a machine in between answers an echo
// itself, but it does not hold the bytes that a chase goes through. Decided by the records: a chase over
// bytes that another one before it went through on the same device is about distance, and gives no latency.
// No flag says it. docs/hardware-proof.md §9.
import type { ChallengeSpec } from "../../protocol/probe/evidence.ts";
import { type Answered, isCommitted } from "./answers.ts";

export function isReach(index: number, specs: readonly ChallengeSpec[]): boolean {
	const spec = specs[index];
	return (
		spec?.kind === "chase" && specs.slice(0, index).some((other) => other.kind === "chase" && other.of === spec.of)
	);
}

/** The shortest time in which the memory answered, microseconds; null when it was not asked. */
export function reachUs(answers: readonly Answered[]): number | null {
	const specs = answers.map(({ record }) => record.spec);
	const times = answers.flatMap((answer, i) => (isCommitted(answer) && isReach(i, specs) ? [answer.ownUs] : []));
	return times.length === 0 ? null : Math.min(...times);
}
