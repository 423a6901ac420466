// What is worth telling beside a valid verdict, and is no proof either way. Thresholds are in policy.ts.
import type { EvidenceBody, Figure } from "../../protocol/evidence.ts";
import type { Finding } from "../../protocol/verdict.ts";
import type { Answered } from "./answers.ts";
import { fullSamplesOf, POLICY } from "./policy.ts";

export function findingsOf(answers: readonly Answered[], body: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return [
		...lowSamples(body),
		...memoryPartial(body, figures),
		...memoryUnproven(body, figures),
		...noGpuProven(body, figures),
		...distantEngine(body),
		...stageApart(answers, body),
	];
}

function lowSamples({ challenges }: EvidenceBody): Finding[] {
	const low = challenges.flatMap(({ spec }, i) => (spec.samples < fullSamplesOf(spec) ? [i] : []));
	return low.length === 0
		? []
		: [
				{
					code: "LOW_SAMPLES",
					detail: `${low.length} of ${challenges.length} challenges ask for fewer places than a full probe`,
				},
			];
}

function memoryPartial({ claim }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return claim.devices.flatMap(({ kind, memoryBytes }, device) => {
		if (kind !== "gpu") return [];
		const values = figures.filter((f) => f.device === device && f.name === "memory.resident").map((f) => f.value);
		const proven = Math.max(0, ...values);
		if (proven >= POLICY.memoryShare * memoryBytes) return [];
		return [{ code: "MEMORY_PARTIAL", detail: `device ${device}: ${proven} of ${memoryBytes} bytes proven resident` }];
	});
}

/** A stream that was answered rightly but too slowly to tell memory from a disk (CPU devices only; a GPU's is a fault). */
function memoryUnproven({ challenges }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return challenges.flatMap(({ spec }, challenge) => {
		if (spec.kind !== "stream" || figures.some((f) => f.challenge === challenge)) return [];
		return [{ code: "MEMORY_UNPROVEN", detail: `device ${spec.device}: read too slowly to tell memory from a disk` }];
	});
}

function noGpuProven({ claim }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	if (figures.some(({ device }) => claim.devices[device]?.kind === "gpu")) return [];
	return [{ code: "NO_GPU_PROVEN", detail: "no figure belongs to a GPU" }];
}

function distantEngine({ link: { handshakeUs, rttUs } }: EvidenceBody): Finding[] {
	if (handshakeUs === null || rttUs.length === 0) return [];
	const median = [...rttUs].sort((a, b) => a - b)[rttUs.length >> 1]!;
	if (median <= POLICY.distantFactor * handshakeUs + POLICY.distantSlackUs) return [];
	return [{ code: "DISTANT_ENGINE", detail: `echo ${median} µs, handshake ${handshakeUs} µs` }];
}

/** One card that serves two claims in turn is caught by asking both at once; so say when they were not. */
function stageApart(answers: readonly Answered[], { claim }: EvidenceBody): Finding[] {
	const stages = new Map<number, Answered[]>();
	for (const answer of answers) {
		if (claim.devices[answer.record.spec.device]?.kind !== "gpu") continue;
		const { stage } = answer.record;
		stages.set(stage, [...(stages.get(stage) ?? []), answer]);
	}
	return [...stages].flatMap(([stage, together]) => {
		const lastSent = Math.max(...together.map(({ record }) => record.sentAtUs));
		const firstDone = Math.min(...together.map(({ roots }) => roots.at(-1)!.atUs));
		return lastSent < firstDone
			? []
			: [{ code: "STAGE_APART", detail: `stage ${stage}: one GPU was done before another was asked` }];
	});
}
