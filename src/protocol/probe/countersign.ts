// The provider's own word on a probe (docs/hardware-proof.md §7): before the first challenge it commits to a chain of nonces; after
// the last root of each stage, and before any place to open is known, it reveals the stage's nonce and signs it together with all
// roots. The places are drawn from the verifier's secret and this nonce: a verifier that never met the host can forge neither.
// Pure. Not here: who asks (validator/probe), who signs (engine/agent/dial-agent.ts).
import { hexToBytes, u32 } from "../bytes/bytes.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { nextSeed } from "./challenge-seed.ts";
import { MAX_STAGES } from "./evidence.ts";

const before = (nonce: Uint8Array) => tagged("assay/stage-nonce/1", nonce);

/** `last` is 32 fresh random bytes, for one probe. Nonces are revealed from the chain's end, so that none tells the next. */
export function nonceChain(last: Uint8Array): { readonly commitment: Uint8Array; nonceOf(stage: number): Uint8Array } {
	const chain = [last];
	while (chain.length <= MAX_STAGES) chain.push(before(chain.at(-1)!));
	return { commitment: chain[MAX_STAGES]!, nonceOf: (stage) => chain[MAX_STAGES - 1 - stage]! };
}

/** `previous`: the nonce of the stage before, or the commitment. */
export function followsNonce(nonce: Uint8Array, previous: Uint8Array): boolean {
	return before(nonce).every((byte, i) => byte === previous[i]);
}

/** One hash that binds a run's first seed and every root of its answer. */
export function endOfRun(first: Uint8Array, roots: readonly Uint8Array[]): Uint8Array {
	return roots.reduce(nextSeed, first);
}

/** What the provider signs after a stage: for this probe of this verifier alone. */
export function stageHash(
	of: { readonly probeId: string; readonly verifier: string; readonly stage: number },
	nonce: Uint8Array,
	ends: readonly Uint8Array[],
): Uint8Array {
	const names = [hexToBytes(of.probeId, 16)!, hexToBytes(of.verifier, 32)!];
	return tagged("assay/countersign/1", ...names, u32(of.stage), nonce, ...ends);
}
