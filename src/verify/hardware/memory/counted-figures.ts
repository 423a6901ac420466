// Which figures of a file count. All that it states follow from the facts (check-figures.ts); but the bytes of a
// GPU count only as far as the facts show that they were in its own memory. A card that reads slowly is asked
// for more, one that is slower than any memory of one card has no such figure: a finding says so, and nobody is
// accused. Files of all versions state their figures alike; this is the judgement on them.
// docs/hardware-proof.md §9.
import type { EvidenceBody, Figure, StreamSpec } from "../../../protocol/probe/evidence.ts";
import type { Finding } from "../../../protocol/probe/verdict.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { figuresOf, type Residency, residencyOf } from "../derive-figures.ts";
import { POLICY } from "../policy.ts";
import { readerOf } from "../reader-of.ts";

export interface Counted {
	readonly figures: readonly Figure[];
	/** Why the bytes of a GPU do not count. */
	readonly findings: readonly Finding[];
}

/** Below this a link of a host may be too near to it: the fastest that there is, is assumed. */
const SLOW_BYTES_PER_S = BigInt(POLICY.streamMargin * POLICY.fetchBytesPerS.gpu);

export function countedFigures(
	answers: readonly Answered[],
	body: Pick<EvidenceBody, "claim" | "figures" | "version">,
): Counted {
	const { claim } = body;
	const specs = answers.map(({ record }) => record.spec);
	const stated = figuresOf(answers, claim);
	let figures = [...body.figures];
	const findings: Finding[] = [];
	for (const answer of answers) {
		const { spec } = answer.record;
		if (spec.kind !== "stream" || !isCommitted(answer) || claim.devices[spec.device]?.kind !== "gpu") continue;
		if (readerOf(spec, specs, claim.devices) !== "own") continue;
		const residency = residencyOf(answer, spec, answers, claim, stated);
		if (residency === null) continue;
		const far = whyFar(answer, spec, body);
		const counted = far === null ? countedResidency(answer, spec, answers, claim, stated, residency) : null;
		if (far !== null) findings.push({ code: "MEMORY_FAR", detail: `device ${spec.device}: ${far}` });
		else if (counted === null) findings.push(slow(spec, residency));
		if (counted === residency) continue;
		figures = [
			...figures.filter(({ challenge }) => challenge !== answer.index),
			...(counted === null ? [] : memoryFigures(answer, counted)),
		];
	}
	return { figures: figures.sort((a, b) => a.challenge - b.challenge), findings };
}

/** Slower than the memory of one card, unless that is shared in time; null: it is not. Files of before were not asked. */
function whyFar(
	{ ownUs, roots }: Answered,
	{ device }: StreamSpec,
	{ figures, version }: Pick<EvidenceBody, "figures" | "version">,
): string | null {
	if (version < 3) return null;
	const hop = Math.max(
		0,
		...figures.filter((one) => one.device === device && one.name === "memory.latency").map(({ value }) => value),
	);
	if (hop > POLICY.maxHopPs) return `${hop} ps a hop`;
	const passUs = Math.round(ownUs / roots.length);
	return ownUs > POLICY.maxPassUs * roots.length ? `${passUs} µs a pass` : null;
}

function slow({ device }: StreamSpec, { bytesPerS }: Residency): Finding {
	const detail = `device ${device}: read at ${bytesPerS} B/s, too slow to tell from making or fetching the bytes`;
	return { code: "MEMORY_SLOW", detail };
}

/** The file's own where the card is fast enough for it; null: nothing counts. */
function countedResidency(
	answer: Answered,
	spec: StreamSpec,
	answers: readonly Answered[],
	claim: EvidenceBody["claim"],
	stated: readonly Figure[],
	residency: Residency,
): Residency | null {
	if (residency.bytesPerS >= SLOW_BYTES_PER_S) return residency.late ? null : residency;
	const careful = residencyOf(answer, spec, answers, claim, stated, POLICY.fetchBytesPerSSlow);
	return careful === null || careful.lateToMake || careful.residentBytes === 0n ? null : careful;
}

function memoryFigures({ index, record }: Answered, { residentBytes, bytesPerS }: Residency): Figure[] {
	const of = { device: record.spec.device, challenge: index };
	return [
		{ ...of, name: "memory.resident", value: Number(residentBytes), unit: "B" },
		{ ...of, name: "memory.bandwidth", value: Number(bytesPerS), unit: "B/s" },
	];
}
