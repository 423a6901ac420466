// The figures that an evidence file proves: work over time on the verifier's clock, round trips included,
// rounded down. Derived from the facts alone, by the probe when it writes a file and by verify when it reads
// one. A challenge that did not end well has no figure. Whether the answers are right is not judged here.
import { INTERVAL_HOPS } from "../../protocol/hash/chase.ts";
import { coveredBytes } from "../../protocol/probe/challenge-shape.ts";
import type {
	ChaseSpec,
	CopySpec,
	EvidenceBody,
	Figure,
	FmaSpec,
	GemmSpec,
	HostClaim,
	StreamSpec,
	TrainSpec,
} from "../../protocol/probe/evidence.ts";
import { type Answered, isCommitted, readAnswers } from "./answers.ts";
import { POLICY } from "./policy.ts";
import { isReach } from "./reach.ts";
import { readerOf } from "./reader-of.ts";
import { togetherRunOf } from "./scaling.ts";
import { gemmRoundOps, sustainedRatioPpm } from "./throughput-curve.ts";

const US_PER_S = 1_000_000n;

/** Integers of the file are safe ones: a figure beyond them is stated as "at least that". */
export function figure({ record, index }: Answered, name: string, value: bigint, unit: string): Figure {
	const most = BigInt(Number.MAX_SAFE_INTEGER);
	return { device: record.spec.device, name, value: Number(value > most ? most : value), unit, challenge: index };
}

export function deriveFigures(
	body: Pick<EvidenceBody, "challenges" | "claim" | "attestations">,
	attachments: readonly Uint8Array[],
): Figure[] {
	const read = readAnswers(body, attachments);
	return read.ok ? figuresOf(read.answers, body.claim) : [];
}

export function figuresOf(answers: readonly Answered[], claim: EvidenceBody["claim"]): Figure[] {
	const counted = answers.filter((answer) => isCommitted(answer) && answer.roots.length > 0 && answer.ownUs > 0);
	const speeds = counted.flatMap((answer) => {
		const { spec } = answer.record;
		if (spec.kind === "fma") return [fmaFigure(answer, spec)];
		if (spec.kind === "train") return [trainFigure(answer, spec)];
		return spec.kind === "gemm" ? gemmFigures(answer, spec, togetherRunOf(answer, counted, claim)) : [];
	});
	const specs = answers.map(({ record }) => record.spec);
	const cpuOps = cpuSpeed(claim, speeds);
	const kept = counted.flatMap((answer) => {
		const { spec } = answer.record;
		if (spec.kind === "chase") return isReach(answer.index, specs) ? [] : [latencyFigure(answer, spec)];
		if (spec.kind !== "stream" && spec.kind !== "copy") return [];
		const reader = readerOf(spec, specs, claim.devices);
		if (reader === "disk") return diskFigures(answer, spec, counted, answers, cpuOps);
		if (spec.kind === "copy" || reader === null) return [];
		return reader === "own"
			? memoryFigures(answer, residencyOf(answer, spec, answers, claim, speeds))
			: peerFigures(answer, spec, answers);
	});
	// By challenge; within one, in the order made.
	return [...speeds, ...kept].sort((a, b) => a.challenge - b.challenge);
}

function gemmSpeed(answer: Answered, spec: GemmSpec): bigint {
	return (gemmRoundOps(spec) * BigInt(answer.roots.length) * US_PER_S) / BigInt(answer.workUs);
}

/** `together`: the same product with all devices at once, when this one ran alone. */
function gemmFigures(answer: Answered, spec: GemmSpec, together: Answered | null): Figure[] {
	const speed = gemmSpeed(answer, spec);
	const name = `gemm.${spec.precision}`;
	if (together !== null) {
		const alone = figure(answer, `${name}.alone`, speed, "op/s");
		const atOnce = figure(together, name, gemmSpeed(together, spec), "op/s");
		const ppm = alone.value === 0 ? 0n : (BigInt(atOnce.value) * 1_000_000n) / BigInt(alone.value);
		return [alone, figure(answer, `scaling.${spec.precision}`, ppm, "ppm")];
	}
	if (spec.rounds !== 0) return [figure(answer, name, speed, "op/s")];
	const ratio = sustainedRatioPpm(spec, answer.record.sentAtUs, answer.roots);
	return [
		figure(answer, `${name}.sustained`, speed, "op/s"),
		figure(answer, `${name}.sustained-ratio`, BigInt(ratio), "ppm"),
	];
}

function fmaFigure(answer: Answered, { precision, lanes, steps }: FmaSpec): Figure {
	const work = 2n * BigInt(lanes) * BigInt(steps) * BigInt(answer.roots.length);
	const unit = precision === "int32" ? "op/s" : "flop/s";
	return figure(answer, `fma.${precision}`, (work * US_PER_S) / BigInt(answer.workUs), unit);
}

/** Tokens that were learnt from: `rounds` segments of one step each. */
function trainFigure(answer: Answered, { batch, context, rounds }: TrainSpec): Figure {
	const tokens = BigInt(batch) * BigInt(context) * BigInt(rounds);
	return figure(answer, "train.gpt", (tokens * US_PER_S) / BigInt(answer.workUs), "token/s");
}

/** Picoseconds a hop, rounded up: the one figure of which less is better. */
function latencyFigure(answer: Answered, { intervals }: ChaseSpec): Figure {
	const hops = BigInt(INTERVAL_HOPS * intervals);
	return figure(answer, "memory.latency", (BigInt(answer.workUs) * 1_000_000n + hops - 1n) / hops, "ps");
}

function memoryFigures(answer: Answered, residency: Residency | null): Figure[] {
	// A late stream proves no bytes here. What of a slow GPU's counts all the same: memory/counted-figures.ts.
	if (residency === null || residency.late) return [];
	return [
		figure(answer, "memory.resident", residency.residentBytes, "B"),
		figure(answer, "memory.bandwidth", residency.bytesPerS, "B/s"),
	];
}

/**
 * A table of peers has no lateness: whoever makes the bytes anew instead of reading them is as slow as that,
 * and the figure says so.
 */
function peerFigures(answer: Answered, spec: StreamSpec, answers: readonly Answered[]): Figure[] {
	const read = rateOf(answer, spec, answers);
	const gemm = answers[spec.of]?.record.spec;
	if (read === null || gemm === undefined) return [];
	return [figure(answer, `peer.bandwidth.${gemm.device}`, read.bytesPerS, "B/s")];
}

/**
 * What a disk gives back. The CPU could make the bytes again instead: a pass must take at most a third of
 * what that takes at the proven speed of all CPU devices together, and what they could have made meanwhile
 * does not count. Writing counts only when what was written comes back like that.
 */
function diskFigures(
	answer: Answered,
	spec: StreamSpec | CopySpec,
	counted: readonly Answered[],
	answers: readonly Answered[],
	cpuOps: bigint,
): Figure[] {
	if (spec.kind === "copy") {
		const isReadBack = counted.some((other) => {
			const { spec: s } = other.record;
			if (s.kind !== "stream" || s.device !== spec.device || s.of !== spec.of || other.index < answer.index)
				return false;
			return notMade(rateOf(other, s, answers), cpuOps, 0n)?.late === false;
		});
		const written = rateOf(answer, spec, answers);
		if (!isReadBack || written === null) return [];
		return [figure(answer, "disk.write", written.bytesPerS, "B/s")];
	}
	const storage = notMade(rateOf(answer, spec, answers), cpuOps, 0n);
	if (storage === null || storage.late) return [];
	return [
		figure(answer, "disk.stored", storage.residentBytes, "B"),
		figure(answer, "disk.read", storage.bytesPerS, "B/s"),
	];
}

interface Rate {
	readonly gemm: GemmSpec;
	/** Of one pass. */
	readonly bytes: bigint;
	readonly passes: bigint;
	/** The device's own: whether bytes were there is a matter of its own passes. */
	readonly totalUs: bigint;
	readonly bytesPerS: bigint;
}

function rateOf(answer: Answered, spec: StreamSpec | CopySpec, answers: readonly Answered[]): Rate | null {
	const of = answers[spec.of];
	const gemm = of?.record.spec;
	// k 0 is no product; check-specs.ts refuses it before anything is derived.
	if (of === undefined || gemm?.kind !== "gemm" || gemm.k === 0 || !isCommitted(of)) return null;
	const bytes = BigInt(Math.floor(coveredBytes(gemm, of.roots.length, spec.newest)));
	const passes = BigInt(answer.roots.length);
	const totalUs = BigInt(answer.ownUs);
	return { gemm, bytes, passes, totalUs, bytesPerS: (bytes * passes * US_PER_S) / BigInt(answer.workUs) };
}

/** The fastest proven product of a device, op/s. Any precision's units may be put to recomputing. */
function fastest(figures: readonly Figure[], device: number): bigint {
	return figures
		.filter(({ device: at, unit, name }) => at === device && unit === "op/s" && name.startsWith("gemm."))
		.reduce((best, { value }) => (BigInt(value) > best ? BigInt(value) : best), 0n);
}

/** What all CPU devices of the host can do together, op/s. */
function cpuSpeed({ devices }: HostClaim, speeds: readonly Figure[]): bigint {
	return devices.reduce((sum, { kind }, device) => (kind === "cpu" ? sum + fastest(speeds, device) : sum), 0n);
}

export interface Residency {
	readonly keptBytes: bigint;
	readonly bytesPerS: bigint;
	readonly residentBytes: bigint;
	/** A pass took so long that the bytes could have been made or fetched meanwhile. */
	readonly late: boolean;
	/** The same of making them alone. */
	readonly lateToMake: boolean;
	/** A pass took half of the time that making all of the bytes takes, or more. */
	readonly asLongAsMaking: boolean;
}

/**
 * How much of what was kept was there. The time of a pass is the mean over the chained passes: a prover may
 * hold back a root to make the next pass look short, but all of them together took what they took, so one at
 * least was no slower than the mean.
 */
export function residencyOf(
	answer: Answered,
	spec: StreamSpec,
	answers: readonly Answered[],
	claim: EvidenceBody["claim"],
	figures: readonly Figure[],
	fetchBytesPerS?: number,
): Residency | null {
	const kind = claim.devices[spec.device]?.kind;
	if (kind === undefined || kind === "disk") return null;
	const fetch = BigInt(fetchBytesPerS ?? POLICY.fetchBytesPerS[kind]);
	return notMade(rateOf(answer, spec, answers), fastest(figures, spec.device), fetch);
}

/**
 * `ops`: what could be put to computing the bytes again; `fetch`: bytes a second that could come from
 * elsewhere.
 */
function notMade(rate: Rate | null, ops: bigint, fetch: bigint): Residency | null {
	if (rate === null) return null;
	const { bytes: keptBytes, passes, totalUs, bytesPerS } = rate;
	// Two bytes an element, 2k operations each.
	const recompute = ops / BigInt(rate.gemm.k);
	const faster = recompute > fetch ? recompute : fetch;
	// Rounded up: in doubt for the share that was not there.
	const elsewhere = (totalUs * (recompute + fetch) + passes * US_PER_S - 1n) / (passes * US_PER_S);
	const margin = BigInt(POLICY.streamMargin);
	const all = keptBytes * passes * US_PER_S;
	return {
		keptBytes,
		bytesPerS,
		residentBytes: elsewhere < keptBytes ? keptBytes - elsewhere : 0n,
		late: totalUs * margin * faster > all,
		lateToMake: totalUs * margin * recompute > all,
		asLongAsMaking: recompute > 0n && totalUs * recompute * BigInt(1 / POLICY.makingShare) >= all,
	};
}
