// A validator's report for the chain: (provider, score, evidence hash), sorted, under one root. Mirrors contracts/src/epochs/ReportTree.sol.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak, keccakLeaf } from "../../protocol/hash/keccak-tree.ts";
import { byProvider, createSortedTree, isSortedByProvider, type SortedTree } from "./sorted-openings.ts";

export interface ScoreReport extends SortedTree<ScoreLeaf> {
	/** keccak(0x02 ‖ u32 count ‖ tree root): what is committed to and revealed. */
	readonly reportRoot: Hex;
}

const MAX_PPM = 1_000_000;
const COUNTED = Uint8Array.of(2);

export const scoreLeafHash = ({ provider, scorePpm, evidenceSha256 }: ScoreLeaf): Uint8Array =>
	keccakLeaf(concatBytes(fromHex(provider, 20), packed(scorePpm, 4), fromHex(evidenceSha256, 32)));

/** Of what somebody says is a report, in the order given. Throws RangeError when a field cannot be a leaf's. */
export function readScoreReport(leaves: readonly ScoreLeaf[]): ScoreReport {
	const tree = createSortedTree(leaves, scoreLeafHash);
	return { ...tree, reportRoot: toHex(keccak(COUNTED, packed(leaves.length, 4), tree.root)) };
}

/** A report of one's own: sorted here; a provider twice or a score above 10⁶ is refused. */
export function createScoreReport(leaves: readonly ScoreLeaf[]): ScoreReport {
	const sorted = [...leaves].sort(byProvider);
	if (!isSortedByProvider(sorted)) throw new RangeError("a provider is in a report twice");
	if (sorted.some(({ scorePpm }) => !Number.isSafeInteger(scorePpm) || scorePpm < 0 || scorePpm > MAX_PPM))
		throw new RangeError(`a score is a whole number from 0 to ${MAX_PPM}`);
	return readScoreReport(sorted);
}

/** Two neighbours out of order, or one score too high: what voids a revealed report by proof. Null: well-formed. */
export function malformedAt({ leaves }: Pick<ScoreReport, "leaves">): readonly number[] | null {
	for (const [i, leaf] of leaves.entries()) {
		if (leaf.scorePpm > MAX_PPM) return [i];
		if (i > 0 && leaves[i - 1]!.provider >= leaf.provider) return [i - 1, i];
	}
	return null;
}
