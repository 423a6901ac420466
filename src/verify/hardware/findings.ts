// What is worth telling beside a valid verdict, and is no proof either way. Thresholds are in policy.ts.
import { isOverKept } from "../../protocol/probe/challenge-shape.ts";
import type { EvidenceBody, Figure } from "../../protocol/probe/evidence.ts";
import type { Finding } from "../../protocol/probe/verdict.ts";
import { type Answered, isCommitted } from "./answers.ts";
import { isBeside } from "./common-time.ts";
import { unsupportedText } from "./identify/other-vendors.ts";
import { fullSamplesOf, POLICY } from "./policy.ts";
import { isReach, reachUs } from "./reach.ts";
import { readerOf } from "./reader-of.ts";
import { inOneInstant, togetherRunOf } from "./scaling.ts";

export function findingsOf(answers: readonly Answered[], body: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return [
		...lowSamples(body),
		...memoryPartial(body, figures),
		...memoryUnproven(body, figures),
		...latencyUnproven(body, figures),
		...diskUnproven(body, figures),
		...deviceRefused(answers, body),
		...noGpuProven(body, figures),
		...gpuUnsupported(body),
		...hostHidden(body),
		...distantEngine(answers, body),
		...stageApart(answers, body),
		...kindsApart(answers, body),
	];
}

function readersOf({ challenges, claim }: EvidenceBody) {
	const specs = challenges.map(({ spec }) => spec);
	return specs.map((spec) => (isOverKept(spec) && spec.kind !== "chase" ? readerOf(spec, specs, claim.devices) : null));
}

function lowSamples(body: EvidenceBody): Finding[] {
	const { challenges } = body;
	const readers = readersOf(body);
	const specs = challenges.map(({ spec }) => spec);
	// How soon an answer comes shows in its time, and one place that it is one.
	const low = challenges.flatMap(({ spec }, i) =>
		!isReach(i, specs) && spec.samples < fullSamplesOf(spec, readers[i]) ? [i] : [],
	);
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

/**
 * A stream that was answered rightly but too slowly to tell memory from a disk. CPU devices only: for GPUs
 * see memory/counted-figures.ts.
 */
function memoryUnproven(body: EvidenceBody, figures: readonly Figure[]): Finding[] {
	const readers = readersOf(body);
	return body.challenges.flatMap(({ spec }, challenge) => {
		if (readers[challenge] !== "own" || body.claim.devices[spec.device]?.kind === "gpu") return [];
		if (figures.some((f) => f.challenge === challenge)) return [];
		return [{ code: "MEMORY_UNPROVEN", detail: `device ${spec.device}: read too slowly to tell memory from a disk` }];
	});
}

/**
 * A copy that was read back rightly but so slowly that the CPU could have made the bytes again, or one that
 * was never read back.
 */
function diskUnproven({ challenges, claim }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	return claim.devices.flatMap(({ kind }, device) => {
		const asked = challenges.some(({ spec, end }) => spec.device === device && end !== "refused");
		if (kind !== "disk" || !asked || figures.some((f) => f.device === device)) return [];
		return [{ code: "DISK_UNPROVEN", detail: `device ${device}: read too slowly to tell a disk from the CPU` }];
	});
}

/** Of a CPU or a disk beside GPUs; of anything else it ended the judgement before this. */
function deviceRefused(answers: readonly Answered[], { claim }: EvidenceBody): Finding[] {
	const refused = answers.flatMap(({ record }) => (record.end === "refused" ? [record.spec.device] : []));
	return [...new Set(refused)].map((device) => ({
		code: "DEVICE_REFUSED",
		detail: `device ${device}, a ${claim.devices[device]?.kind}, refused what it was asked`,
	}));
}

function noGpuProven({ claim }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	if (figures.some(({ device }) => claim.devices[device]?.kind === "gpu")) return [];
	return [{ code: "NO_GPU_PROVEN", detail: "no figure belongs to a GPU" }];
}

/** The host's words, and no more: such a card is asked for nothing and counts for nothing. */
function gpuUnsupported({ claim: { unsupported = [] } }: EvidenceBody): Finding[] {
	return unsupported.map((card) => ({ code: "GPU_UNSUPPORTED", detail: unsupportedText(card) }));
}

function hostHidden({ claim: { hidden = [] } }: EvidenceBody): Finding[] {
	if (hidden.length === 0) return [];
	return [{ code: "HOST_HIDDEN", detail: `the engine cannot read ${hidden.join(" and ")} of its host` }];
}

/** Bytes of a GPU were read in order only: several machines may hold them. */
function latencyUnproven({ claim }: EvidenceBody, figures: readonly Figure[]): Finding[] {
	const has = (device: number, name: string) => figures.some((f) => f.device === device && f.name === name);
	return claim.devices.flatMap(({ kind }, device) => {
		if (kind !== "gpu" || !has(device, "memory.resident") || has(device, "memory.latency")) return [];
		return [
			{ code: "MEMORY_LATENCY_UNPROVEN", detail: `device ${device}: nothing shows that its bytes are in one memory` },
		];
	});
}

/**
 * By what only the holder of the bytes can answer; files without that have echoes alone, which a relay
 * answers itself.
 */
function distantEngine(answers: readonly Answered[], { link: { handshakeUs, rttUs } }: EvidenceBody): Finding[] {
	const reached = reachUs(answers);
	const median = [...rttUs].sort((a, b) => a - b)[rttUs.length >> 1];
	const answeredUs = reached ?? median;
	if (handshakeUs === null || answeredUs === undefined) return [];
	if (answeredUs <= POLICY.distantFactor * handshakeUs + POLICY.distantSlackUs) return [];
	const what = reached === null ? "echo" : "answer from memory";
	return [{ code: "DISTANT_ENGINE", detail: `${what} ${answeredUs} µs, handshake ${handshakeUs} µs` }];
}

/** One device that serves two claims in turn is caught by asking both at once; so say when they were not. */
function stageApart(answers: readonly Answered[], { claim }: EvidenceBody): Finding[] {
	const stages = new Map<string, Answered[]>();
	for (const answer of answers.filter(({ record }) => record.end !== "refused")) {
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

/**
 * What a CPU or a disk did while no GPU was busy, a GPU may have done. Peers and runs alone are of no such
 * figure.
 */
function kindsApart(answers: readonly Answered[], { claim }: EvidenceBody): Finding[] {
	const kindOf = ({ record }: Answered) => claim.devices[record.spec.device]?.kind;
	const gpus = answers.filter((answer) => kindOf(answer) === "gpu");
	if (gpus.length === 0) return [];
	const specs = answers.map(({ record }) => record.spec);
	const apart = answers.filter((answer) => {
		const { spec, stage, end } = answer.record;
		if (end === "refused") return false;
		if (kindOf(answer) === "gpu" || spec.kind === "chase" || togetherRunOf(answer, answers, claim) !== null)
			return false;
		if (isOverKept(spec) && readerOf(spec, specs, claim.devices) === "peer") return false;
		return !isBeside(
			answer,
			gpus.filter((gpu) => gpu.record.stage === stage),
		);
	});
	const devices = [...new Set(apart.map(({ record }) => record.spec.device))];
	return devices.map((device) => ({
		code: "KINDS_APART",
		detail: `device ${device} was asked while no GPU was: a GPU may have answered for it`,
	}));
}
