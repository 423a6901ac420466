// Are the stated figures those that the facts give, and did every stream run fast enough to prove that its
// bytes were there?
import type { EvidenceBody, Figure } from "../../../protocol/probe/evidence.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { figuresOf, residencyOf } from "../derive-figures.ts";
import { type Fault, fault } from "../fault.ts";
import { POLICY } from "../policy.ts";
import { readerOf } from "../reader-of.ts";

export function checkFigures(
	answers: readonly Answered[],
	body: Pick<EvidenceBody, "claim" | "figures">,
): Fault | null {
	const derived = figuresOf(answers, body.claim);
	for (const [i, figure] of derived.entries()) {
		const stated = body.figures[i];
		const field = stated === undefined ? "" : differing(stated, figure);
		if (field !== null)
			return fault(
				"FIGURES_MISMATCH",
				`figures[${i}]${field && `.${field}`}`,
				`the facts give ${figure.name} ${figure.value} ${figure.unit}`,
			);
	}
	if (body.figures.length > derived.length)
		return fault("FIGURES_MISMATCH", `figures[${derived.length}]`, "the facts give no such figure");
	return null;
}

function differing(stated: Figure, derived: Figure): string | null {
	for (const field of ["device", "name", "value", "unit", "challenge"] as const)
		if (stated[field] !== derived[field]) return field;
	return null;
}

/**
 * A GPU whose reads take this long is not one memory: other machines, or the host's, hold a part of it.
 * Version 3 asks for it.
 */
export function checkOneMemory(
	answers: readonly Answered[],
	{ claim, figures, version }: Pick<EvidenceBody, "claim" | "figures" | "version">,
): Fault | null {
	if (version < 3) return null;
	const isGpu = (device: number) => claim.devices[device]?.kind === "gpu";
	for (const { name, value, device, challenge } of figures)
		if (name === "memory.latency" && isGpu(device) && value > POLICY.maxHopPs)
			return fault("MEMORY_APART", `challenges[${challenge}]`, `${value} ps a hop on device ${device}`);
	const specs = answers.map(({ record }) => record.spec);
	for (const { record, roots, ownUs, where } of answers) {
		const { spec } = record;
		if (spec.kind !== "stream" || !isGpu(spec.device) || readerOf(spec, specs, claim.devices) !== "own") continue;
		if (ownUs > POLICY.maxPassUs * roots.length)
			return fault("MEMORY_APART", where, `${Math.round(ownUs / roots.length)} µs a pass on device ${spec.device}`);
	}
	return null;
}

/**
 * A GPU that reads this slowly does not hold the bytes: nothing else runs on it while it is probed. A CPU
 * shares its memory with all that runs on the host, and honest busy ones were seen below the margin: there
 * the figure is missing, a finding says so, and nobody is accused.
 */
export function checkResidency(answers: readonly Answered[], claim: EvidenceBody["claim"]): Fault | null {
	const figures = figuresOf(answers, claim);
	const specs = answers.map(({ record }) => record.spec);
	for (const answer of answers) {
		const { spec } = answer.record;
		if (spec.kind !== "stream" || !isCommitted(answer) || claim.devices[spec.device]?.kind !== "gpu") continue;
		if (readerOf(spec, specs, claim.devices) !== "own") continue;
		const residency = residencyOf(answer, spec, answers, claim, figures);
		if (residency?.late)
			return fault(
				"STREAM_LATE",
				answer.where,
				`read at ${residency.bytesPerS} B/s, too slow to tell from recomputing or fetching`,
			);
	}
	return null;
}
