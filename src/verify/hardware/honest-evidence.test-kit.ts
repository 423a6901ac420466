// An honest prover and its probe in memory, at toy sizes: the evidence that tests take as their starting
// point and then spoil. Two GPUs, a CPU and a disk, every kind of challenge. Times are invented, and such
// that a stream is early enough.
import { chaseOf } from "../../../tests/toy/toy-chase.ts";
import { productOf } from "../../../tests/toy/toy-maths.ts";
import { bytesToHex, concatBytes } from "../../protocol/bytes/bytes.ts";
import { leafHash, merkleLevels, merklePath } from "../../protocol/hash/merkle.ts";
import { mixKeys, mixLeaf } from "../../protocol/hash/mix.ts";
import { FMA_PRECISIONS } from "../../protocol/maths/precision.ts";
import { laneBytes } from "../../protocol/maths/recurrence.ts";
import { type Beacon, firstSeed, nextNonce, nextSeed, openSeed } from "../../protocol/probe/challenge-seed.ts";
import {
	coveredRounds,
	fmaLeaves,
	gemmLeaves,
	isOverKept,
	keptLeafPlace,
	lanesPerLeaf,
	rootsAsked,
	streamGroups,
} from "../../protocol/probe/challenge-shape.ts";
import { claimHash, endOfRun, nonceChain, stageHash } from "../../protocol/probe/countersign.ts";
import type {
	ChallengeSpec,
	DeviceClaim,
	DeviceKind,
	Evidence,
	EvidenceBody,
	FmaSpec,
	GemmSpec,
	HostClaim,
	OpenedWhat,
	Reading,
	TrainSpec,
} from "../../protocol/probe/evidence.ts";
import {
	type AnsweredChallenge,
	decodeEvidence,
	encodeEvidence,
	packChallenges,
} from "../../protocol/probe/evidence-codec.ts";
import type { OpeningRecord } from "../../protocol/probe/records.ts";
import { chaseSamples, fmaSamples, gemmSamples, streamSamples } from "../../protocol/probe/samples.ts";
import { createSigner, type Signer } from "../../protocol/probe/signer.ts";
import { deriveFigures } from "./derive-figures.ts";
import { toyTraining } from "./training/toy-trainer.test-kit.ts";

export const VERIFIER: Signer = createSigner(new Uint8Array(32).fill(11));
export const STRANGER: Signer = createSigner(new Uint8Array(32).fill(12));
export const PROVIDER: Signer = createSigner(new Uint8Array(32).fill(13));
export const PROBE_ID = "00112233445566778899aabbccddeeff";
export const NONCES = nonceChain(new Uint8Array(32).fill(14));
export const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);

const device = (kind: DeviceKind, name: string, uuid: string): DeviceClaim => ({
	kind,
	name,
	uuid,
	memoryBytes: 262_144,
	freeBytes: 262_144,
	units: 4,
	clockMHz: 1000,
	compute: kind === "gpu" ? "9.0" : "",
	pcieGen: 5,
	pcieWidth: 16,
	powerLimitW: 700,
	powerDefaultW: 700,
	temperatureC: 30,
	precisions: ["int8", "fp16", ...FMA_PRECISIONS],
});

export const CLAIM: HostClaim = {
	engine: { version: "0.1.0", arch: "x86_64", cuda: true },
	host: { os: "Linux 6.1", cpu: "Toy 3000", cores: 4, ramBytes: 8_000_000, ramFreeBytes: 7_000_000 },
	driver: { version: "580.1", cuda: "13.0" },
	why: "",
	devices: [
		device("gpu", "Toy GPU", "GPU-1"),
		device("cpu", "Toy CPU", ""),
		{ ...device("disk", "Toy disk", ""), precisions: [] },
		device("gpu", "Toy GPU", "GPU-2"),
	],
};

/** Stages of specs, one device once in each. */
export const STAGES: readonly (readonly ChallengeSpec[])[] = [
	[
		{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 3, keep: 2, samples: 3 },
		{ kind: "gemm", device: 1, precision: "fp16", m: 128, n: 512, k: 128, rounds: 1, keep: 1, samples: 2 },
	],
	[{ kind: "stream", device: 0, of: 0, newest: 0, passes: 2, samples: 3 }],
	[
		{ kind: "fma", device: 0, precision: "fp64", lanes: 256, steps: 512, rounds: 2, samples: 2 },
		{ kind: "fma", device: 1, precision: "int32", lanes: 512, steps: 512, rounds: 1, samples: 2 },
	],
	[{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 0, keep: 1, samples: 3 }],
	// The CPU's products written to the disk and read back.
	[{ kind: "gemm", device: 1, precision: "int8", m: 128, n: 512, k: 128, rounds: 3, keep: 2, samples: 3 }],
	[{ kind: "copy", device: 2, of: 6, newest: 1, samples: 1 }],
	[{ kind: "stream", device: 2, of: 6, newest: 1, passes: 2, samples: 2 }],
	// Two cards together, each reading the other's memory, and each alone.
	[
		{ kind: "gemm", device: 0, precision: "fp16", m: 128, n: 512, k: 128, rounds: 2, keep: 2, samples: 3 },
		{ kind: "gemm", device: 3, precision: "fp16", m: 128, n: 512, k: 128, rounds: 2, keep: 2, samples: 3 },
	],
	[
		{ kind: "stream", device: 0, of: 10, newest: 0, passes: 1, samples: 2 },
		{ kind: "stream", device: 3, of: 9, newest: 0, passes: 1, samples: 2 },
	],
	[{ kind: "gemm", device: 0, precision: "fp16", m: 128, n: 512, k: 128, rounds: 1, keep: 1, samples: 2 }],
	[{ kind: "gemm", device: 3, precision: "fp16", m: 128, n: 512, k: 128, rounds: 1, keep: 1, samples: 2 }],
	// The last on the device of the one before: moved into its stage it would ask it twice.
	[{ kind: "fma", device: 3, precision: "int32", lanes: 256, steps: 512, rounds: 1, samples: 1 }],
	[{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 3, keep: 2, samples: 3 }],
	[{ kind: "chase", device: 0, of: 16, newest: 0, intervals: 8, samples: 2 }],
];

const said = { coreMHz: 1980, memoryMHz: 3201, powerMw: 650_000, temperatureC: 60, throttle: 0 };
export const READINGS: readonly Reading[] = [
	{ device: 0, atUs: 2000, ...said },
	{ device: 0, atUs: 1_002_000, ...said, coreMHz: 1755, throttle: 4 },
];

/** Rounds that a sustained run of the kit makes. */
const SUSTAINED_ROUNDS = 4;

interface Committed {
	readonly leaves: readonly Uint8Array[];
	readonly levels: readonly (readonly Uint8Array[])[];
	readonly root: Uint8Array;
}

function commit(bytes: Uint8Array): Committed {
	const leaves = Array.from({ length: bytes.length / 1024 }, (_, i) => bytes.slice(1024 * i, 1024 * i + 1024));
	const levels = merkleLevels(leaves.map(leafHash));
	return { leaves, levels, root: levels.at(-1)![0]! };
}

function commitLabels(labels: readonly Uint8Array[], spoil: (bytes: Uint8Array) => void): Committed {
	const bytes = concatBytes(...labels);
	spoil(bytes);
	const leaves = labels.map((_, i) => bytes.slice(32 * i, 32 * i + 32));
	const levels = merkleLevels(leaves.map(leafHash));
	return { leaves, levels, root: levels.at(-1)![0]! };
}

function fmaBytes({ precision, lanes, steps }: FmaSpec, seed: Uint8Array): Uint8Array {
	return concatBytes(...Array.from({ length: lanes }, (_, lane) => laneBytes(precision, seed, lane, steps)));
}

function opening(committed: readonly Committed[], round: number, index: number): OpeningRecord {
	const { leaves, levels } = committed[round]!;
	return { round, index, leaf: leaves[index]!, path: merklePath(levels, index) };
}

/** What a cheater does to the bytes of a round before it commits to them. */
export type Spoil = (challenge: number, bytes: Uint8Array) => void;

/** Answers every stage honestly, but for what `spoil` does. Each challenge takes `spacingUs` a round. */
export function answerStages(
	stages: readonly (readonly ChallengeSpec[])[],
	beacon: Beacon = null,
	secret: Uint8Array = SECRET,
	spoil: Spoil = () => {},
	nonces: typeof NONCES | null = null,
	/** By stage; 0 where there is none. */
	attempts: readonly number[] = [],
): AnsweredChallenge[] {
	const answered: AnsweredChallenge[] = [];
	const committedOf: Committed[][] = [];
	let nowUs = 1000;
	for (const [stage, specs] of stages.entries()) {
		const sentAtUs = nowUs;
		let endUs = nowUs;
		for (const spec of specs) {
			const index = answered.length;
			const attempt = attempts[stage] ?? 0;
			const first = firstSeed(secret, index, beacon, spec, attempt);
			if (spec.kind === "train") {
				const seedOf = (last: Uint8Array) => openSeed(secret, index, last, nonces?.nonceOf(stage) ?? null);
				const trained = trainAnswer(spec, first, seedOf, sentAtUs);
				answered.push({ spec, stage, attempt, sentAtUs, end: "complete", ...trained });
				committedOf.push([]);
				endUs = Math.max(endUs, trained.opens.at(-1)!.receivedAtUs);
				continue;
			}
			const spoilOwn = (bytes: Uint8Array) => spoil(index, bytes);
			const gemm = isOverKept(spec) ? (answered[spec.of]!.spec as GemmSpec) : null;
			const gemmRounds = isOverKept(spec) ? committedOf[spec.of]!.length : 0;
			const covered = isOverKept(spec)
				? committedOf[spec.of]!.slice(-coveredRounds(gemm!, gemmRounds, spec.newest))
				: [];
			const chase =
				spec.kind === "chase"
					? chaseOf(
							covered.flatMap(({ leaves }) => leaves),
							first,
							spec.intervals,
						)
					: null;
			const committed =
				chase !== null
					? [commitLabels(chase.tree.leaves, spoilOwn)]
					: isOverKept(spec)
						? streamRounds(rootsAsked(spec), covered, first, spoilOwn)
						: workRounds(spec as GemmSpec | FmaSpec, first, spoilOwn);
			committedOf.push(committed);
			// A pass over 256 KiB at toy speed: 1 µs against 64 GB/s of fetching leaves three quarters of it
			// resident.
			const spacingUs =
				spec.kind === "copy"
					? 900
					: spec.kind === "stream"
						? gemm!.device === 0
							? 1
							: 70
						: spec.kind === "chase"
							? 300
							: 100_003 + 7 * index;
			const roots = committed.map(({ root }, i) => ({ index: i, atUs: sentAtUs + spacingUs * (i + 1), root }));
			const seed = openSeed(secret, index, roots.at(-1)!.root, nonces?.nonceOf(stage) ?? null);
			let atUs = roots.at(-1)!.atUs + 10;
			const open = (what: OpenedWhat, records: OpeningRecord[]) => {
				atUs += 20;
				return { what, sentAtUs: atUs - 20, receivedAtUs: atUs - 5, records, end: "complete" as const };
			};
			let opens: AnsweredChallenge["opens"];
			if (spec.kind === "chase") {
				const samples = chaseSamples(seed, spec.intervals, spec.samples);
				const walked = samples.flatMap(({ interval, chain }) => chase!.visited[interval]![chain]!);
				const places = walked.map((leaf) => keptLeafPlace(gemm!, gemmRounds, spec.newest, leaf));
				const labels = samples.flatMap(({ interval }) => [interval - 1, interval]);
				opens = [
					open(
						"labels",
						labels.map((label) => opening(committed, 0, label)),
					),
					open(
						"hops",
						places.map(({ round, leaf }) => opening(committedOf[spec.of]!, round, leaf)),
					),
				];
			} else if (isOverKept(spec)) {
				const samples = streamSamples(seed, roots.length, streamGroups(gemm!, gemmRounds, spec.newest), spec.samples);
				const below = samples.map(({ keptLeaf }) => keptLeafPlace(gemm!, gemmRounds, spec.newest, keptLeaf));
				opens = [
					open(
						"digests",
						samples.map(({ pass, group }) => opening(committed, pass, group)),
					),
					open(
						"leaves",
						below.map(({ round, leaf }) => opening(committedOf[spec.of]!, round, leaf)),
					),
				];
			} else {
				const samples =
					spec.kind === "gemm"
						? gemmSamples(seed, roots.length, gemmLeaves(spec), spec.samples)
						: fmaSamples(seed, roots.length, fmaLeaves(spec), lanesPerLeaf(spec.precision), spec.samples);
				opens = [
					open(
						"leaves",
						samples.map(({ round, leaf }) => opening(committed, round, leaf)),
					),
				];
			}
			const end = spec.kind === "gemm" && spec.rounds === 0 ? "stopped" : "complete";
			answered.push({ spec, stage, attempt, sentAtUs, roots, end, opens });
			endUs = Math.max(endUs, atUs);
		}
		nowUs = endUs + 500;
	}
	return answered;
}

function trainAnswer(
	spec: TrainSpec,
	first: Uint8Array,
	seedOf: (last: Uint8Array) => Uint8Array,
	sentAtUs: number,
): Pick<AnsweredChallenge, "roots" | "opens"> {
	const { roots: states, trace, leaves } = toyTraining(spec, first, seedOf);
	const roots = states.map((root, i) => ({ index: i, atUs: sentAtUs + 5000 * (i + 1), root }));
	const endUs = roots.at(-1)!.atUs;
	const open = (what: OpenedWhat, at: number, records: readonly OpeningRecord[]) => ({
		what,
		sentAtUs: endUs + at,
		receivedAtUs: endUs + at + 5,
		records,
		end: "complete" as const,
	});
	return { roots, opens: [open("trace", 10, trace), open("leaves", 20, leaves)] };
}

function workRounds(spec: GemmSpec | FmaSpec, first: Uint8Array, spoil: (bytes: Uint8Array) => void): Committed[] {
	const made: Committed[] = [];
	let seed = first;
	for (let round = 0; round < (spec.rounds === 0 ? SUSTAINED_ROUNDS : spec.rounds); round++) {
		const bytes = spec.kind === "gemm" ? productOf(spec, seed) : fmaBytes(spec, seed);
		spoil(bytes);
		const committed = commit(bytes);
		made.push(committed);
		seed = nextSeed(seed, committed.root);
	}
	return made;
}

function streamRounds(
	passes: number,
	kept: readonly Committed[],
	first: Uint8Array,
	spoil: (bytes: Uint8Array) => void,
): Committed[] {
	const made: Committed[] = [];
	let nonce = first;
	for (let pass = 0; pass < passes; pass++) {
		const keys = mixKeys(nonce);
		const leaves = kept.flatMap((round) => round.leaves);
		const bytes = concatBytes(...leaves.map((leaf, q) => mixLeaf(keys, leaf, q)));
		spoil(bytes);
		const committed = commit(bytes);
		made.push(committed);
		nonce = nextNonce(nonce, committed.root);
	}
	return made;
}

/**
 * What a body has more when its answers were drawn with NONCES: the provider's word, as an honest agent signs
 * what its engine said.
 */
export function countersigned(answered: readonly AnsweredChallenge[]): Pick<EvidenceBody, "countersign" | "link"> {
	const count = Math.max(...answered.map(({ stage }) => stage)) + 1;
	const stages = Array.from({ length: count }, (_, stage) => {
		const seen = answered.flatMap(({ spec, attempt, sentAtUs, roots, end, stage: of }, index) => {
			if (of !== stage || (end !== "complete" && end !== "stopped") || roots.length === 0) return [];
			const first = firstSeed(SECRET, index, null, spec, attempt);
			const all = roots.map(({ root }) => root);
			return [{ end: endOfRun(first, all), spanUs: roots.at(-1)!.atUs - sentAtUs }];
		});
		const nonce = NONCES.nonceOf(stage);
		const of = { probeId: PROBE_ID, verifier: VERIFIER.key, claim: claimHash(CLAIM), stage };
		const signature = bytesToHex(PROVIDER.sign(stageHash(of, nonce, seen)));
		return { nonce: bytesToHex(nonce), signature, spansUs: seen.map(({ spanUs }) => spanUs) };
	});
	const { key } = PROVIDER;
	return {
		countersign: { key, commitment: bytesToHex(NONCES.commitment), stages },
		link: { kind: "agent", engineSha256: null, hostKey: `ed25519:${key}`, handshakeUs: 900, rttUs: [1000] },
	};
}

/** Body and attachments around answers, with the figures that they give. */
export function assemble(
	answered: readonly AnsweredChallenge[],
	changes: Partial<EvidenceBody> = {},
): { body: EvidenceBody; attachments: Uint8Array[] } {
	const { challenges, attachments } = packChallenges(answered);
	const facts: Omit<EvidenceBody, "figures"> = {
		format: "assay-evidence",
		version: 4,
		probe: {
			id: PROBE_ID,
			startedAtMs: 1_800_000_000_000,
			finishedAtUs: 60_000_000,
			target: "ssh://toy@example",
			verifier: "toy verifier",
		},
		beacon: null,
		secret: bytesToHex(SECRET),
		claim: CLAIM,
		link: {
			kind: "ssh",
			engineSha256: "ab".repeat(32),
			hostKey: "SHA256:toy",
			handshakeUs: 900,
			rttUs: [1000, 1100, 990],
		},
		challenges,
		readings: READINGS,
		dropped: [],
		countersign: null,
		attestations: [],
		...changes,
	};
	return { body: { ...facts, figures: changes.figures ?? deriveFigures(facts, attachments) }, attachments };
}

export function sign(answered: readonly AnsweredChallenge[], changes: Partial<EvidenceBody> = {}): Uint8Array {
	const { body, attachments } = assemble(answered, changes);
	return encodeEvidence(body, attachments, VERIFIER);
}

/** The file's parts; throws when it cannot be decoded, which in a test is a mistake of the test. */
export function partsOf(file: Uint8Array): Evidence {
	const decoded = decodeEvidence(file);
	if (!decoded.ok) throw new Error(`${decoded.code} at ${decoded.where}: ${decoded.detail}`);
	return decoded.evidence;
}
