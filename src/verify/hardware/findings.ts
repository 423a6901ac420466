// What is worth telling beside a valid verdict, and is no proof either way. Thresholds are in policy.ts.
import { isOverKept } from "../../protocol/probe/challenge-shape.ts";
import type { EvidenceBody, Figure } from "../../protocol/probe/evidence.ts";
import type { Finding } from "../../protocol/probe/verdict.ts";
import { type Answered, isCommitted } from "./answers.ts";
import { fullSamplesOf, POLICY } from "./policy.ts";
import { readerOf } from "./reader-of.ts";
import { inOneInstant } from "./scaling.ts";

export function findingsOf(answers: readonly Answered[], body: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return [
		...lowSamples(body),
		...memoryPartial(body, figures),
		...memoryUnproven(body, figures),
		...diskUnproven(body, figures),
		...noGpuProven(body, figures),
		...distantEngine(body),
		...stageApart(answers, body),
	];
}

function readersOf({ challenges, claim }: EvidenceBody) {
	const specs = challenges.map(({ spec }) => spec);
	return specs.map((spec) => (isOverKept(spec) && spec.kind !== "chase" ? readerOf(spec, specs, claim.devices) : null));
}

function lowSamples(body: EvidenceBody): Finding[] {
	const { challenges } = body;
	const readers = readersOf(body);
	const low = challenges.flatMap(({ spec }, i) => (spec.samples < fullSamplesOf(spec, readers[i]) ? [i] : []));
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
function memoryUnproven(body: EvidenceBody, figures: readonly Figure[]): Finding[] {
	const readers = readersOf(body);
	return body.challenges.flatMap(({ spec }, challenge) => {
		if (readers[challenge] !== "own" || figures.some((f) => f.challenge === challenge)) return [];
		return [{ code: "MEMORY_UNPROVEN", detail: `device ${spec.device}: read too slowly to tell memory from a disk` }];
	});
}

/** A copy that was read back rightly but so slowly that the CPU could have made the bytes again, or one that was never read back. */
function diskUnproven({ challenges, claim }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return claim.devices.flatMap(({ kind }, device) => {
		const asked = challenges.some(({ spec }) => spec.device === device);
		if (kind !== "disk" || !asked || figures.some((f) => f.device === device)) return [];
		return [{ code: "DISK_UNPROVEN", detail: `device ${device}: read too slowly to tell a disk from the CPU` }];
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

/** One device that serves two claims in turn is caught by asking both at once; so say when they were not. */
function stageApart(answers: readonly Answered[], { claim }: EvidenceBody): Finding[] {
	const stages = new Map<string, Answered[]>();
	for (const answer of answers) {
		const kind = claim.devices[answer.record.spec.device]?.kind;
		const key = `${kind} ${answer.record.stage}`;
		stages.set(key, [...(stages.get(key) ?? []), answer]);
	}
	return [...stages.values()].flatMap((together) => {
		const { stage } = together[0]!.record;
		return together.every(isCommitted) && inOneInstant(together)
			? []
			: [{ code: "STAGE_APART", detail: `stage ${stage}: one device was done before another was asked` }];
	});
}
