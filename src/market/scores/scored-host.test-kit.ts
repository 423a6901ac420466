// Hosts to score: proofs as an honest card of a profile would leave them, to be bent by tests. Not a
// simulation of probes.
import { readFileSync } from "node:fs";
import { GEMM_PRECISIONS } from "../../protocol/maths/precision.ts";
import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";
import type { Profile } from "../../verify/hardware/identify/profile.ts";
import { PROFILES } from "../../verify/hardware/identify/profiles.ts";
import { DEFAULT_PARAMS as P } from "../params.ts";
import type { Proof, ScoreInput } from "./score-input.ts";

export const CARDS = PROFILES;
export const NOW_MS = 1_800_000_000_000;
export const EVIDENCE = "e".repeat(64);

/** What all of the weights are worth; a host with eight of them, and with all else, is worth 1. */
const FULL_CARD: Profile = {
	...PROFILES[0]!,
	id: "full card",
	memoryBytes: P.gpuMemoryBytes,
	bytesPerS: P.gpuBytesPerS,
	rates: { int8: P.gpuInt8OpsPerS, fp16: P.gpuFp16OpsPerS, fp32: P.gpuFp32FlopPerS, fp64: P.gpuFp64FlopPerS },
};

export function profile(id: string): Profile {
	if (id === FULL_CARD.id) return FULL_CARD;
	const found = PROFILES.find((one) => one.id === id);
	if (found === undefined) throw new Error(`no profile ${id}`);
	return found;
}

/** What a card of this profile proves at `share` of its data sheet in every fact. */
export function gpuFigures(card: Profile, device: number, share = 0.95): Figure[] {
	const figure = (name: string, unit: string, value: number): Figure => ({
		device,
		name,
		unit,
		value: Math.floor(value * share),
		challenge: 0,
	});
	const gemm = GEMM_PRECISIONS.flatMap((p) =>
		card.rates[p] === undefined ? [] : [figure(`gemm.${p}`, "op/s", card.rates[p])],
	);
	const fma = (["fp32", "fp64"] as const).flatMap((p) =>
		card.rates[p] === undefined ? [] : [figure(`fma.${p}`, "flop/s", card.rates[p])],
	);
	return [
		...gemm,
		...fma,
		figure("memory.resident", "B", card.memoryBytes),
		figure("memory.bandwidth", "B/s", card.bytesPerS),
	];
}

/** A CPU at `share` of the reference host, with RAM, and a disk. */
export function hostFigures(cpu: number, share = 1): Figure[] {
	const figure = (device: number, name: string, unit: string, value: number): Figure => ({
		device,
		name,
		unit,
		value: Math.floor(value * share),
		challenge: 0,
	});
	return [
		figure(cpu, "gemm.int8", "op/s", 1.4e12),
		figure(cpu, "fma.fp32", "flop/s", 250e9),
		figure(cpu, "fma.fp64", "flop/s", 200e9),
		figure(cpu, "memory.resident", "B", 250e6),
		figure(cpu, "memory.bandwidth", "B/s", 64e9),
		figure(cpu + 1, "disk.read", "B/s", 3e9),
		figure(cpu + 1, "disk.write", "B/s", 1.5e9),
		figure(cpu + 1, "disk.stored", "B", 250e6),
	];
}

export interface HostShape {
	readonly cards: readonly string[];
	readonly share?: number;
	readonly hostShare?: number;
	readonly uuid?: (device: number) => string;
}

export function proofOf({ cards, share, hostShare = 1, uuid = (i) => `GPU-${i}` }: HostShape): Proof {
	const gpus = cards.map((id, device) => gpuFigures(profile(id), device, share));
	return {
		evidence: EVIDENCE,
		provenAtMs: NOW_MS - 1000,
		devices: [
			...cards.map((_, i) => ({ kind: "gpu" as const, uuid: uuid(i) })),
			{ kind: "cpu" as const, uuid: "" },
			{ kind: "disk" as const, uuid: "" },
		],
		figures: [...gpus.flat(), ...hostFigures(cards.length, hostShare)],
		identity: cards.map((id, device) => ({ device, profile: id })),
		claimedRamBytes: 128 * 2 ** 30,
	};
}

/** A provider of full reliability, so that scores are those of its host. */
export function inputOf(proof: Proof | null, more: Partial<ScoreInput> = {}): ScoreInput {
	return {
		providerId: "a".repeat(64),
		nowMs: NOW_MS,
		active: true,
		proof,
		rented: { calls: 0, paidPpm: 0 },
		rentedMs: 0,
		reliabilityPpm: 1_000_000,
		history: [],
		presence: null,
		creditedElsewhere: [],
		...more,
	};
}

export function past(...counts: readonly PastProbe["counts"][]): PastProbe[] {
	return counts.map((one, i) => ({ counts: one, evidence: i.toString(16).padStart(64, "0") }));
}

/** The figures that a score is made from. */
export const SCORED = ["gemm.int8", "gemm.fp16", "fma.fp32", "fma.fp64", "memory.bandwidth", "memory.resident"];

/** The medians of three probes of a real host with an H200. */
export function measuredH200(): Figure[] {
	const file = new URL("../../../bench/results/h200-2026-11-17-probes-again.json", import.meta.url);
	const { figures } = JSON.parse(readFileSync(file, "utf8")) as {
		figures: { device: number; name: string; unit: string; median: number }[];
	};
	return figures.map(({ device, name, unit, median }) => ({ device, name, unit, value: median, challenge: 0 }));
}
