// The verifier's part of a wrapped run's key, docs/zk.md §13: what can be checked of it, and the hash that
// names it.
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { bytesOf, G2_ONE, g1Of, g2Of } from "../../../protocol/maths/bn254.ts";
import { DEV_CEREMONY, HERMEZ_CEREMONY } from "../../../protocol/maths/hermez.ts";

/** alpha; beta, gamma, delta; a point for 1 and one for each of three inputs. */
export const KEY_WORDS = 22;
const [GAMMA, DELTA, INPUTS] = [6, 10, 14];

export type KeyFault =
	/** Of secrets that everybody knows, where such keys are not asked for. */
	| "dev"
	/** alpha and beta are those of no ceremony that is known here. */
	| "ceremony"
	/** No words, no points, gamma other than 1, or delta 1, to which nobody has contributed. */
	| "form";

/** Null: whoever knows that its ceremony was honest may rely on it. `key`: words of 64 hex digits. */
export function wrapKeyFault(
	key: readonly string[],
	{ isDevAllowed }: { readonly isDevAllowed: boolean },
): KeyFault | null {
	if (key.length !== KEY_WORDS || key.some((word) => !/^[0-9a-f]{64}$/.test(word))) return "form";
	const isOf = (ceremony: readonly string[]) => ceremony.every((word, i) => word === key[i]);
	if (isOf(DEV_CEREMONY) && !isDevAllowed) return "dev";
	if (!isOf(HERMEZ_CEREMONY) && !isOf(DEV_CEREMONY)) return "ceremony";
	const words = key.map((word) => BigInt(`0x${word}`));
	const two = (at: number) => g2Of(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!);
	const [gamma, delta] = [two(GAMMA), two(DELTA)];
	if (typeof gamma === "string" || typeof delta === "string") return "form";
	// ATTACK: with delta = gamma whoever proves can write one input for another.
	if (!gamma.equals(G2_ONE) || delta.equals(G2_ONE) || delta.is0()) return "form";
	for (let i = INPUTS; i < KEY_WORDS; i += 2) {
		const point = g1Of(words[i]!, words[i + 1]!);
		if (typeof point === "string" || point.is0()) return "form";
	}
	return null;
}

export const isDevKey = (key: readonly string[]): boolean => DEV_CEREMONY.every((word, i) => word === key[i]);

/** A key with what it was made for. The circuit of every plan and number of segments has a key of its own. */
export interface BoundKey {
	/** Hash of the plan, 64 hex digits. */
	readonly plan: string;
	readonly segments: number;
	/** Words of 64 hex digits. */
	readonly words: readonly string[];
}

/** By which a key is named: keccak256, 64 hex digits. */
export const wrapKeyHash = ({ plan, segments, words }: BoundKey): string =>
	bytesToHex(
		keccak(
			utf8ToBytes("assay/zk/key/1"),
			hexToBytes(plan)!,
			bytesOf(BigInt(segments)),
			concatBytes(...words.map((word) => hexToBytes(word)!)),
		),
	);
