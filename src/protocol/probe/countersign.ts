// The provider's own word on a probe (docs/hardware-proof.md §7): before the first challenge it commits to a
// chain of nonces; after the last root of each stage, and before any place to open is known, it reveals the
// stage's nonce and signs it together with its claim, all roots, and how long each run took by its own clock.
// The places are drawn from the verifier's secret and this nonce: a verifier that never met the host can
// forge none of it, and one that did can neither make it faster nor another card. Pure. Not here: who asks
// (validator/probe), who signs (engine/agent/dial-agent.ts).
import { concatBytes, equalBytes, hexToBytes, u32, utf8ToBytes, writeU64 } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { sha256Of, tagged } from "../hash/tagged-hash.ts";
import { nextSeed } from "./challenge-seed.ts";
import { type Countersign, type HostClaim, MAX_STAGES } from "./evidence.ts";
import { isSignature } from "./signer.ts";

const before = (nonce: Uint8Array) => tagged("assay/stage-nonce/1", nonce);

/**
 * `last` is 32 fresh random bytes, for one probe. Nonces are revealed from the chain's end, so that none
 * tells the next.
 */
export function nonceChain(last: Uint8Array): { readonly commitment: Uint8Array; nonceOf(stage: number): Uint8Array } {
	const chain = [last];
	while (chain.length <= MAX_STAGES) chain.push(before(chain.at(-1)!));
	return { commitment: chain[MAX_STAGES]!, nonceOf: (stage) => chain[MAX_STAGES - 1 - stage]! };
}

/** One hash that binds a run's first seed and every root of its answer. */
export function endOfRun(first: Uint8Array, roots: readonly Uint8Array[]): Uint8Array {
	return roots.reduce(nextSeed, first);
}

export function claimHash(claim: HostClaim): Uint8Array {
	return sha256Of(utf8ToBytes(encodeCanonicalJson(claim)));
}

/** A run as the provider saw it: from the request to the last root, by its own clock. */
export interface SeenRun {
	readonly end: Uint8Array;
	readonly spanUs: number;
}

/** For this probe of this verifier alone. */
export interface StageOf {
	readonly probeId: string;
	readonly verifier: string;
	readonly claim: Uint8Array;
	readonly stage: number;
}

/** What the provider signs after a stage. */
export function stageHash(of: StageOf, nonce: Uint8Array, runs: readonly SeenRun[]): Uint8Array {
	const names = [hexToBytes(of.probeId, 16)!, hexToBytes(of.verifier, 32)!, of.claim];
	const seen = runs.map(({ end, spanUs }) => {
		const span = new Uint8Array(8);
		writeU64(span, 0, spanUs);
		return concatBytes(end, span);
	});
	return tagged("assay/countersign/1", ...names, u32(of.stage), nonce, ...seen);
}

/**
 * A request leaves the verifier before the provider sees it, and a root reaches it after: only clocks that
 * run apart can differ.
 */
const CLOCKS_APART_PPM = 1000;

/**
 * What is wrong with a word, null for nothing. `previous`: the nonce of the stage before, or the commitment.
 */
export function wrongInWord(
	word: Countersign["stages"][number],
	expected: {
		readonly key: string;
		readonly previous: Uint8Array;
		readonly of: StageOf;
		/** As the verifier has them; `tookUs` by its clock. */
		readonly runs: readonly { readonly end: Uint8Array; readonly tookUs: number }[];
	},
): "nonce" | "spansUs" | "signature" | null {
	const { key, previous, of, runs } = expected;
	const nonce = hexToBytes(word.nonce, 32)!;
	if (!equalBytes(before(nonce), previous)) return "nonce";
	const isFaster = ({ tookUs }: { readonly tookUs: number }, i: number) =>
		tookUs * (1 + CLOCKS_APART_PPM / 1e6) + 1 < word.spansUs[i]!;
	if (word.spansUs.length !== runs.length || runs.some(isFaster)) return "spansUs";
	const seen = runs.map(({ end }, i) => ({ end, spanUs: word.spansUs[i]! }));
	return isSignature(key, word.signature, stageHash(of, nonce, seen)) ? null : "signature";
}
