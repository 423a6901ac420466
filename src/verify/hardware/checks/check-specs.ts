// Were the right questions asked? A verifier must not be talked into weak ones: shapes inside the protocol's
// limits, samples, a device that was claimed, streams right behind their gemm. The numbers are in policy.ts.

import { largestK } from "../../../protocol/maths/precision.ts";
import { isOverKept } from "../../../protocol/probe/challenge-shape.ts";
import type {
	ChallengeSpec,
	EvidenceBody,
	FmaSpec,
	GemmSpec,
	HostClaim,
	KeptSpec,
	TrainSpec,
} from "../../../protocol/probe/evidence.ts";
import { type Fault, fault } from "../fault.ts";
import { POLICY } from "../policy.ts";
import { readerOf } from "../reader-of.ts";

export function checkSpecs({ challenges, claim }: Pick<EvidenceBody, "challenges" | "claim">): Fault | null {
	if (challenges.length === 0) return fault("NO_CHALLENGES", "challenges", "the list is empty");
	const specs = challenges.map(({ spec }) => spec);
	for (const [index, spec] of specs.entries()) {
		const where = `challenges[${index}].spec`;
		if (spec.device >= claim.devices.length) return fault("SPEC_DEVICE", `${where}.device`, "not in the claim's list");
		if (!isOverKept(spec) && claim.devices[spec.device]?.kind === "disk")
			return fault("SPEC_DEVICE", `${where}.device`, "a disk computes nothing");
		if (spec.samples < 1) return fault("NO_SAMPLES", `${where}.samples`, "must be at least 1");
		const found =
			limit(spec.samples, 1, POLICY.maxSamples, 1, `${where}.samples`) ??
			(spec.kind === "gemm"
				? checkGemm(spec, where)
				: spec.kind === "fma"
					? checkFma(spec, where)
					: spec.kind === "train"
						? checkTrain(spec, where)
						: checkKept(spec, index, specs, claim, where));
		if (found !== null) return found;
	}
	return checkStages(challenges);
}

function limit(value: number, min: number, max: number, step: number, where: string): Fault | null {
	if (value >= min && value <= max && value % step === 0) return null;
	const multiple = step === 1 ? "" : ` and a multiple of ${step}`;
	return fault("SPEC_LIMITS", where, `must be from ${min} to ${max}${multiple}`);
}

function checkGemm(spec: GemmSpec, where: string): Fault | null {
	const { mStep, nStep, kStep, maxSide } = POLICY.gemm;
	return (
		limit(spec.m, mStep, maxSide, mStep, `${where}.m`) ??
		limit(spec.n, nStep, maxSide, nStep, `${where}.n`) ??
		limit(spec.k, kStep, largestK(spec.precision), kStep, `${where}.k`) ??
		limit(spec.rounds, 0, POLICY.maxRounds, 1, `${where}.rounds`) ??
		// FRAMES.md takes more than the rounds as the rounds.
		limit(spec.keep, 1, POLICY.maxRounds, 1, `${where}.keep`)
	);
}

function checkFma(spec: FmaSpec, where: string): Fault | null {
	const { laneStep, maxLanes, stepStep, maxSteps } = POLICY.fma;
	return (
		limit(spec.lanes, laneStep, maxLanes, laneStep, `${where}.lanes`) ??
		limit(spec.steps, stepStep, maxSteps, stepStep, `${where}.steps`) ??
		limit(spec.rounds, 1, POLICY.maxRounds, 1, `${where}.rounds`)
	);
}

function checkTrain(spec: TrainSpec, where: string): Fault | null {
	const { maxLayers, maxWidth, maxContext, maxTokens, maxRounds, maxDraws, maxSamples } = POLICY.train;
	return (
		limit(spec.layers, 1, maxLayers, 1, `${where}.layers`) ??
		limit(spec.heads, 1, 64, 1, `${where}.heads`) ??
		limit(spec.width, 8 * spec.heads, maxWidth, 8 * spec.heads, `${where}.width`) ??
		limit(spec.context, 8, maxContext, 8, `${where}.context`) ??
		limit(spec.batch, 1, Math.floor(maxTokens / spec.context), 1, `${where}.batch`) ??
		limit(spec.rounds, 1, maxRounds, 1, `${where}.rounds`) ??
		limit(spec.draws, 1, Math.min(maxDraws, spec.rounds), 1, `${where}.draws`) ??
		limit(spec.samples, 1, maxSamples, 1, `${where}.samples`)
	);
}

/**
 * A stream or copy: the gemm stands before it, its reader can have the bytes (readerOf), and nothing but
 * streams and copies ran on the gemm's device in between. What a disk reads back it must have been given, in
 * the same extent.
 */
function checkKept(
	spec: KeptSpec,
	index: number,
	specs: readonly ChallengeSpec[],
	{ devices }: HostClaim,
	where: string,
): Fault | null {
	const wrong = (detail: string) => fault("SPEC_OF", `${where}.of`, detail);
	const gemm = specs[spec.of];
	if (spec.of >= index || gemm?.kind !== "gemm") return wrong("must name a gemm that stands before it");
	const reader = readerOf(spec, specs, devices);
	if (reader === null) return wrong("names a gemm whose bytes this device cannot have");
	const between = specs.slice(spec.of + 1, index);
	if (
		between.some(
			({ kind, device }) => device === gemm.device && (kind === "gemm" || kind === "fma" || kind === "train"),
		)
	)
		return wrong("something else ran on the device in between");
	const found = limit(spec.newest, 0, POLICY.maxRounds, 1, `${where}.newest`);
	if (found !== null || spec.kind === "copy") return found;
	if (spec.kind === "chase") {
		const isPowerOf2 = (spec.intervals & (spec.intervals - 1)) === 0;
		if (isPowerOf2) return limit(spec.intervals, 2, POLICY.maxIntervals, 1, `${where}.intervals`);
		return fault("SPEC_LIMITS", `${where}.intervals`, "must be a power of two");
	}
	if (reader === "disk") {
		const copy = between.findLast(({ kind, device }) => kind === "copy" && device === spec.device);
		if (copy?.kind !== "copy" || copy.of !== spec.of || copy.newest !== spec.newest)
			return wrong("the disk was given no copy of just these rounds");
	}
	return limit(spec.passes, 1, POLICY.maxPasses, 1, `${where}.passes`);
}

function checkStages(challenges: EvidenceBody["challenges"]): Fault | null {
	let stage = 0;
	let devices = new Set<number>();
	let read = new Set<number>();
	for (const [index, { stage: here, spec }] of challenges.entries()) {
		const where = `challenges[${index}].stage`;
		if (here !== stage && (here !== stage + 1 || index === 0))
			return fault("STAGE_ORDER", where, `must be ${index === 0 ? 0 : `${stage} or ${stage + 1}`}`);
		if (here !== stage) [devices, read] = [new Set(), new Set()];
		stage = here;
		if (devices.has(spec.device)) return fault("STAGE_ORDER", where, "asks one device twice");
		devices.add(spec.device);
		// One session has one set of nonces (FRAMES.md): two readers at once would open each other's.
		if (isOverKept(spec)) {
			if (read.has(spec.of)) return fault("STAGE_ORDER", where, "reads one gemm twice");
			read.add(spec.of);
		}
	}
	return null;
}
