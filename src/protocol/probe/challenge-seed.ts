// Seeds and nonces, docs/hardware-proof.md §7: all follow from the verifier's secret, the challenge's place
// in the list, its parameters and the beacon. Nothing in an evidence file may choose them. A beacon's bytes
// are the canonical JSON of its {kind, value}, so that both are bound.
import { u32, utf8ToBytes } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { tagged } from "../hash/tagged-hash.ts";
import type { ChallengeSpec, EvidenceBody } from "./evidence.ts";

export type Beacon = EvidenceBody["beacon"];

function beaconBytes(beacon: Beacon): Uint8Array {
	return beacon === null ? new Uint8Array(0) : utf8ToBytes(encodeCanonicalJson(beacon));
}

/**
 * seed₀ of a gemm or fma, nonce₀ of a stream. `index` is the challenge's place in `challenges`. ATTACK:
 * without `attempt` a stage that is asked twice has the same seeds twice, and known answers could be played
 * again.
 */
export function firstSeed(
	secret: Uint8Array,
	index: number,
	beacon: Beacon,
	spec: ChallengeSpec,
	attempt: number,
): Uint8Array {
	const beta = beaconBytes(beacon);
	const parameters = utf8ToBytes(encodeCanonicalJson({ attempt, spec }));
	return tagged("assay/challenge/1", secret, u32(index), u32(beta.length), beta, parameters);
}

/**
 * What the places to open are drawn from: fixed by a secret older than the challenge and by the commitment;
 * in a countersigned stage also by the provider's nonce, so that neither side draws them alone.
 */
export function openSeed(
	secret: Uint8Array,
	index: number,
	lastRoot: Uint8Array,
	nonce: Uint8Array | null,
): Uint8Array {
	return tagged("assay/open/1", secret, u32(index), ...(nonce === null ? [] : [nonce]), lastRoot);
}

export function nextSeed(seed: Uint8Array, root: Uint8Array): Uint8Array {
	return tagged("assay/seed/1", seed, root);
}

export function nextNonce(nonce: Uint8Array, root: Uint8Array): Uint8Array {
	return tagged("assay/nonce/1", nonce, root);
}

/** seed (or nonce) of every round, first first; as many as there are roots. */
export function seedChain(
	first: Uint8Array,
	roots: readonly Uint8Array[],
	next: typeof nextSeed | typeof nextNonce,
): Uint8Array[] {
	const seeds: Uint8Array[] = [];
	let seed = first;
	for (const root of roots) {
		seeds.push(seed);
		seed = next(seed, root);
	}
	return seeds;
}
