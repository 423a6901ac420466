// What a verifier insists on, whatever a file says: limits of parameters, rates a cheater is granted,
// thresholds of findings. Each value with its reason. engine/FRAMES.md names the limits of the wire; these
// are never wider.
import type { ChallengeSpec, DeviceClaim } from "../../protocol/probe/evidence.ts";
import type { Reader } from "./reader-of.ts";

export const POLICY = {
	/**
	 * Places of a full-strength verdict: with 128 a skipped share of 3.6 % is caught 99 times in 100, with 64
	 * one of 7 %.
	 */
	fullSamples: { gemm: 128, stream: 128, copy: 64, fma: 64, chase: 16, train: 1 },
	/**
	 * A peer's or a disk's stream shows bytes whose own stream was asked at full strength, and there are many
	 * peers.
	 */
	fullSamplesOther: { peer: 16, disk: 64 },
	/**
	 * A sustained run's rounds are the same work as a plain gemm's, which is asked at full strength in the same
	 * probe.
	 */
	fullSamplesSustained: 32,
	/** One OPEN request holds this many places. */
	maxSamples: 4096,
	gemm: { mStep: 128, nStep: 512, kStep: 128, maxSide: 65536 },
	maxRounds: 2 ** 20,
	maxPasses: 65536,
	maxIntervals: 65536,
	/**
	 * A hop over a GPU's whole memory takes 0.6 µs on an H200 (bench/results). Memories of two machines need a
	 * crossing for every second hop, and the fastest networks take a microsecond for one; host memory behind
	 * PCIe was measured above 1.2. A card that is shared in time is slower as well: beyond this nothing of the
	 * memory counts, and nobody is accused.
	 */
	maxHopPs: 1_200_000,
	/**
	 * A pass over all of a GPU's own memory takes 20 to 90 ms on every card of docs/profiles.md. Beyond this
	 * nothing of the memory counts, as above.
	 */
	maxPassUs: 150_000,
	/**
	 * A hop over all bytes takes this many times as long as one over a small part of the same bytes only
	 * where they lie in several memories: sharing, caps and slow memory weigh on both alike. A neighbour that
	 * comes in between doubles it, a miss in the table of pages adds a half.
	 */
	apartFactor: 3,
	/**
	 * So many runs over all bytes must have been that slow: a network stands still during one of them, not
	 * all.
	 */
	minSlowRuns: 3,
	/** Of the bytes: a smaller part may lie in the card's cache, where hops are short. */
	minPartShare: 1 / 64,
	fma: { laneStep: 256, maxLanes: 2 ** 28, stepStep: 512, maxSteps: 2 ** 20 },
	train: {
		maxLayers: 12,
		maxWidth: 1024,
		maxContext: 1024,
		maxTokens: 2 ** 17,
		maxRounds: 4096,
		maxDraws: 16,
		maxSamples: 16,
	},
	/**
	 * What checking takes, measured on a Neoverse N1: an entry of a row, a step of a lane, a link of a seed
	 * chain, a leaf with its path.
	 */
	workNs: { entry: 4, step: { fp32: 10, fp64: 63, int32: 26 }, hash: 2600, opening: 60_000 },
	/**
	 * For one file. A host of 64 full GPUs needs half of it; a core of half that speed stays within a minute
	 * and a half.
	 */
	maxWorkNs: 40e9,
	/**
	 * What a prover that does not hold the bytes could fetch: PCIe 5 ×16 from host memory for a GPU, a fast
	 * disk for a CPU.
	 */
	fetchBytesPerS: { gpu: 64_000_000_000, cpu: 1_000_000_000 } satisfies Record<
		Exclude<DeviceClaim["kind"], "disk">,
		number
	>,
	/**
	 * The same for a GPU that reads at less than `streamMargin` times that: there is no margin left for a
	 * faster link, so PCIe 6 ×16 is assumed, the fastest that joins a card to a host.
	 */
	fetchBytesPerSSlow: 128_000_000_000,
	/**
	 * Bytes count as resident when a pass ran this many times faster than recomputing or fetching them could
	 * have.
	 */
	streamMargin: 3,
	/** Reading that takes this share of the time of making all bytes anew read nothing. */
	makingShare: 1 / 2,
	/** Share of a GPU's claimed memory below which the verdict says so. */
	memoryShare: 0.9,
	/**
	 * An engine whose echo takes longer than 3 handshakes and 20 ms is not where its host is; 20 ms forgives a
	 * busy host.
	 */
	distantFactor: 3,
	distantSlackUs: 20_000,
} as const;

/** Places that make the verdict on this challenge full-strength. */
export function fullSamplesOf(spec: ChallengeSpec, reader: Reader = null): number {
	if (spec.kind === "stream" && (reader === "peer" || reader === "disk")) return POLICY.fullSamplesOther[reader];
	return spec.kind === "gemm" && spec.rounds === 0 ? POLICY.fullSamplesSustained : POLICY.fullSamples[spec.kind];
}
