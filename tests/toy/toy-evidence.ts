// Evidence of one gemm made inside the test, without link or engine: for tests that need hundreds of files.
// The maths is the toy's.

import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { leafHash, merkleLevels, merklePath } from "../../src/protocol/hash/merkle.ts";
import { firstSeed, openSeed } from "../../src/protocol/probe/challenge-seed.ts";
import { gemmLeaves } from "../../src/protocol/probe/challenge-shape.ts";
import type { EvidenceBody, GemmSpec } from "../../src/protocol/probe/evidence.ts";
import { encodeEvidence, packChallenges } from "../../src/protocol/probe/evidence-codec.ts";
import { type GemmSample, gemmSamples } from "../../src/protocol/probe/samples.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { deriveFigures } from "../../src/verify/hardware/derive-figures.ts";
import { toyClaim } from "./toy-claim.ts";
import { leavesOf, productOf } from "./toy-maths.ts";

/**
 * The honest product of a one-round gemm, its leaves hashed once: cheats on it only hash what they change.
 */
export interface Prepared {
	readonly spec: GemmSpec;
	readonly secret: Uint8Array;
	readonly leaves: readonly Uint8Array[];
	readonly hashes: readonly Uint8Array[];
}

export function prepare(spec: GemmSpec, secret: Uint8Array): Prepared {
	const leaves = leavesOf(productOf(spec, firstSeed(secret, 0, null, spec, 0)));
	return { spec, secret, leaves, hashes: leaves.map((leaf) => leafHash(leaf)) };
}

/** The file of a prover that left the leaves in `skipped` zero, and the places that were drawn. */
export function evidenceOf(
	prepared: Prepared,
	skipped: (leaf: number) => boolean,
	signer: Signer,
): { file: Uint8Array; samples: readonly GemmSample[]; id: string } {
	const { spec, secret } = prepared;
	const zeros = new Uint8Array(1024);
	const zeroHash = leafHash(zeros);
	const leaves = prepared.leaves.map((leaf, i) => (skipped(i) ? zeros : leaf));
	const levels = merkleLevels(prepared.hashes.map((hash, i) => (skipped(i) ? zeroHash : hash)));
	const root = levels.at(-1)![0]!;
	const samples = gemmSamples(openSeed(secret, 0, root, null), 1, gemmLeaves(spec), spec.samples);
	const records = samples.map(({ round, leaf }) => ({
		round,
		index: leaf,
		leaf: leaves[leaf]!,
		path: merklePath(levels, leaf),
	}));
	const { challenges, attachments } = packChallenges([
		{
			spec,
			stage: 0,
			attempt: 0,
			sentAtUs: 1000,
			roots: [{ index: 0, atUs: 2000, root }],
			end: "complete",
			opens: [{ what: "leaves", sentAtUs: 3000, receivedAtUs: 4000, records, end: "complete" }],
		},
	]);
	const id = bytesToHex(secret.subarray(0, 16));
	const facts: Omit<EvidenceBody, "figures"> = {
		format: "assay-evidence",
		version: 4,
		probe: { id, startedAtMs: 1_800_000_000_000, finishedAtUs: 5000, target: "toy", verifier: signer.key },
		beacon: null,
		secret: bytesToHex(secret),
		claim: toyClaim(0),
		link: { kind: "local", engineSha256: null, hostKey: null, handshakeUs: null, rttUs: [100] },
		challenges,
		readings: [],
		dropped: [],
		countersign: null,
		attestations: [],
	};
	const body = { ...facts, figures: deriveFigures(facts, attachments) };
	return { file: encodeEvidence(body, attachments, signer), samples, id };
}
