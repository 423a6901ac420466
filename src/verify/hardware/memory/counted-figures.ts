// Which figures of a file count. All that it states follow from the facts (check-figures.ts); but the bytes
// of a GPU count only as far as the facts show that they were in its own memory. A card that reads slowly
// is asked for more, one that is slower than any memory of one card has no such figure: a finding says so,
// and nobody is accused. docs/hardware-proof.md §9.
import type { EvidenceBody, Figure, StreamSpec } from "../../../protocol/probe/evidence.ts";
import type { Finding } from "../../../protocol/probe/verdict.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { figure, figuresOf, type Residency, residencyOf } from "../derive-figures.ts";
import { POLICY } from "../policy.ts";
import { readerOf } from "../reader-of.ts";
import { hopsOver } from "./check-memory.ts";

export interface Counted {
	readonly figures: readonly Figure[];
	/** Why the bytes of a GPU do not count. */
	readonly findings: readonly Finding[];
}

/** Below this a link of a host may be too near to it: the fastest that there is, is assumed. */
const SLOW_BYTES_PER_S = BigInt(POLICY.streamMargin * POLICY.fetchBytesPerS.gpu);

export function countedFigures(answers: readonly Answered[], body: Pick<EvidenceBody, "claim" | "figures">): Counted {
	const { claim } = body;
	const specs = answers.map(({ record }) => record.spec);
	const streamsOf = (device: number) =>
		answers.flatMap((answer) => {
			const { spec } = answer.record;
			const isOwn = spec.kind === "stream" && spec.device === device && readerOf(spec, specs, claim.devices) === "own";
			return isOwn && isCommitted(answer) ? [{ answer, spec }] : [];
		});
	const stated = figuresOf(answers, claim);
	let figures = [...body.figures];
	const findings: Finding[] = [];
	for (const [device, { kind }] of claim.devices.entries()) {
		const streams = kind === "gpu" ? streamsOf(device) : [];
		if (streams.length === 0) continue;
		const read = streams.map(({ answer, spec }) => judgeStream(answer, spec, answers, claim, stated));
		// Each is a proof of its own; a device has one memory.
		const best = read.reduce((a, b) =>
			(b.residency?.residentBytes ?? -1n) > (a.residency?.residentBytes ?? -1n) ? b : a,
		);
		figures = figures.filter(({ challenge }) => !streams.some(({ answer }) => answer.index === challenge));
		if (best.residency === null) findings.push({ code: best.code, detail: `device ${device}: ${best.detail}` });
		else figures.push(...memoryFigures(best.answer, best.residency));
	}
	return { figures: figures.sort((a, b) => a.challenge - b.challenge), findings };
}

interface Judged {
	readonly answer: Answered;
	/** Null: nothing counts, as `code` and `detail` say. */
	readonly residency: Residency | null;
	readonly code: "MEMORY_FAR" | "MEMORY_SLOW";
	readonly detail: string;
}

function judgeStream(
	answer: Answered,
	spec: StreamSpec,
	answers: readonly Answered[],
	claim: EvidenceBody["claim"],
	stated: readonly Figure[],
): Judged {
	const far = whyFar(answer, spec, answers);
	if (far !== null) return { answer, residency: null, code: "MEMORY_FAR", detail: far };
	const residency = residencyOf(answer, spec, answers, claim, stated);
	const counted = residency && countedResidency(answer, spec, answers, claim, stated, residency);
	const detail = `read at ${residency?.bytesPerS ?? 0} B/s, too slow to tell from making or fetching the bytes`;
	return { answer, residency: counted, code: "MEMORY_SLOW", detail };
}

/**
 * Slower than the memory of one card, unless that is shared in time; null: it is not. The fastest run over
 * all bytes counts: a network can stand still during one.
 */
function whyFar({ ownUs, roots }: Answered, { of }: StreamSpec, answers: readonly Answered[]): string | null {
	const chased = answers.find((answer) => answer.record.spec.kind === "chase" && answer.record.spec.of === of);
	const spec = chased?.record.spec;
	const hops = chased && spec?.kind === "chase" ? hopsOver(chased, spec, answers).wholes : [];
	const hop = hops.length === 0 ? 0 : Math.min(...hops);
	if (hop > POLICY.maxHopPs) return `${hop} ps a hop`;
	const passUs = Math.round(ownUs / roots.length);
	return ownUs > POLICY.maxPassUs * roots.length ? `${passUs} µs a pass` : null;
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

function memoryFigures(answer: Answered, { residentBytes, bytesPerS }: Residency): Figure[] {
	return [figure(answer, "memory.resident", residentBytes, "B"), figure(answer, "memory.bandwidth", bytesPerS, "B/s")];
}
