// The figures that an evidence file proves: work over time on the verifier's clock, round trips included, rounded down.
// Derived from the facts alone, by the probe when it writes a file and by verify when it reads one.
// A challenge that did not end well has no figure. Whether the answers are right is not judged here.
import { keptRounds } from "../../protocol/challenge-shape.ts";
import type { EvidenceBody, Figure, FmaSpec, GemmSpec, StreamSpec } from "../../protocol/evidence.ts";
import { type Answered, isCommitted, readAnswers, workUs } from "./answers.ts";
import { POLICY } from "./policy.ts";
import { gemmRoundOps, sustainedRatioPpm } from "./throughput-curve.ts";

const US_PER_S = 1_000_000n;

/** Integers of the file are safe ones: a figure beyond them is stated as "at least that". */
function toFigureValue(value: bigint): number {
	return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

export function deriveFigures(
	body: Pick<EvidenceBody, "challenges" | "claim">,
	attachments: readonly Uint8Array[],
): Figure[] {
	const read = readAnswers(body.challenges, attachments);
	return read.ok ? figuresOf(read.answers, body.claim) : [];
}

export function figuresOf(answers: readonly Answered[], claim: EvidenceBody["claim"]): Figure[] {
	const counted = answers.filter((answer) => isCommitted(answer) && answer.roots.length > 0 && workUs(answer) > 0);
	const speeds = counted.flatMap((answer) => {
		const { spec } = answer.record;
		return spec.kind === "gemm" ? gemmFigures(answer, spec) : spec.kind === "fma" ? [fmaFigure(answer, spec)] : [];
	});
	const memory = counted.flatMap((answer) => {
		const { spec } = answer.record;
		return spec.kind === "stream" ? memoryFigures(answer, spec, answers, claim, speeds) : [];
	});
	// By challenge; within one, in the order made.
	return [...speeds, ...memory].sort((a, b) => a.challenge - b.challenge);
}

function gemmFigures(answer: Answered, spec: GemmSpec): Figure[] {
	const { roots, index: challenge, record } = answer;
	const value = toFigureValue((gemmRoundOps(spec) * BigInt(roots.length) * US_PER_S) / BigInt(workUs(answer)));
	const { device, precision } = spec;
	const name = `gemm.${precision}`;
	if (spec.rounds !== 0) return [{ device, name, value, unit: "op/s", challenge }];
	const ratio = sustainedRatioPpm(spec, record.sentAtUs, roots);
	return [
		{ device, name: `${name}.sustained`, value, unit: "op/s", challenge },
		{ device, name: `${name}.sustained-ratio`, value: ratio, unit: "ppm", challenge },
	];
}

function fmaFigure(answer: Answered, spec: FmaSpec): Figure {
	const work = 2n * BigInt(spec.lanes) * BigInt(spec.steps) * BigInt(answer.roots.length);
	return {
		device: spec.device,
		name: `fma.${spec.precision}`,
		value: toFigureValue((work * US_PER_S) / BigInt(workUs(answer))),
		unit: spec.precision === "int32" ? "op/s" : "flop/s",
		challenge: answer.index,
	};
}

function memoryFigures(
	answer: Answered,
	spec: StreamSpec,
	answers: readonly Answered[],
	claim: EvidenceBody["claim"],
	speeds: readonly Figure[],
): Figure[] {
	const residency = residencyOf(answer, spec, answers, claim, speeds);
	// A late stream proves no bytes. For a GPU it is a fault besides (check-figures.ts).
	if (residency === null || residency.late) return [];
	const { device } = spec;
	const challenge = answer.index;
	const { residentBytes, bytesPerS } = residency;
	return [
		{ device, name: "memory.resident", value: toFigureValue(residentBytes), unit: "B", challenge },
		{ device, name: "memory.bandwidth", value: toFigureValue(bytesPerS), unit: "B/s", challenge },
	];
}

export interface Residency {
	readonly keptBytes: bigint;
	readonly bytesPerS: bigint;
	readonly residentBytes: bigint;
	/** A pass took so long that the bytes could have been made or fetched meanwhile. */
	readonly late: boolean;
}

/**
 * How much of what was kept was there. The time of a pass is the mean over the chained passes: a prover may hold back a root to
 * make the next pass look short, but all of them together took what they took, so one at least was no slower than the mean.
 */
export function residencyOf(
	answer: Answered,
	spec: StreamSpec,
	answers: readonly Answered[],
	claim: EvidenceBody["claim"],
	figures: readonly Figure[],
): Residency | null {
	const gemm = answers[spec.of];
	const device = claim.devices[spec.device];
	if (gemm?.record.spec.kind !== "gemm" || device === undefined || !isCommitted(gemm)) return null;
	const { m, n, k } = gemm.record.spec;
	if (k === 0) return null; // not a product; check-specs.ts refuses it before anything is derived
	const keptBytes = 2n * BigInt(m) * BigInt(n) * BigInt(keptRounds(gemm.record.spec, gemm.roots.length));
	const passes = BigInt(answer.roots.length);
	const totalUs = BigInt(workUs(answer));
	// Two bytes an element, 2k operations each. Any precision's units may be put to recomputing: the fastest proven one counts.
	const ops = figures
		.filter(({ device: at, unit, name }) => at === spec.device && unit === "op/s" && name.startsWith("gemm."))
		.reduce((best, { value }) => (BigInt(value) > best ? BigInt(value) : best), 0n);
	const recompute = ops / BigInt(k);
	const fetch = BigInt(POLICY.fetchBytesPerS[device.kind]);
	const faster = recompute > fetch ? recompute : fetch;
	// Rounded up: in doubt for the share that was not there.
	const elsewhere = (totalUs * (recompute + fetch) + passes * US_PER_S - 1n) / (passes * US_PER_S);
	return {
		keptBytes,
		bytesPerS: (keptBytes * passes * US_PER_S) / totalUs,
		residentBytes: elsewhere < keptBytes ? keptBytes - elsewhere : 0n,
		late: totalUs * BigInt(POLICY.streamMargin) * faster > keptBytes * passes * US_PER_S,
	};
}
