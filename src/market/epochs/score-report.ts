// A validator's report for the chain: (provider, score, evidence hash), sorted, under one root. Mirrors
// contracts/src/epochs/ReportTree.sol.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { MAX_REPORT_LEAVES, type Opening, type ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak, keccakLeaf } from "../../protocol/hash/keccak-tree.ts";
import { createSortedTree, type SortedTree } from "./sorted-openings.ts";

export interface ScoreReport extends SortedTree<ScoreLeaf> {
	/** keccak(0x02 ‖ u32 count ‖ tree root): what is committed to and revealed. */
	readonly reportRoot: Hex;
}

/** What one seat's report says of one provider, as the chain takes it. */
export interface ReportOpening {
	readonly seat: number;
	readonly count: number;
	readonly openings: readonly Opening<ScoreLeaf>[];
}

const MAX_PPM = 1_000_000;
const COUNTED = Uint8Array.of(2);

export const scoreLeafHash = ({ provider, scorePpm, evidenceSha256 }: ScoreLeaf): Uint8Array =>
	keccakLeaf(concatBytes(fromHex(provider, 20), packed(scorePpm, 4), fromHex(evidenceSha256, 32)));

/**
 * Of what somebody says is a report, in the order given. Throws RangeError when a field cannot be a leaf's.
 */
export function readScoreReport(leaves: readonly ScoreLeaf[]): ScoreReport {
	const tree = createSortedTree(leaves, ({ provider }) => provider, scoreLeafHash);
	return { ...tree, reportRoot: toHex(keccak(COUNTED, packed(leaves.length, 4), tree.root)) };
}

/** A report of one's own: sorted here; a provider twice, a score above 10⁶ or too many leaves are refused. */
export function createScoreReport(leaves: readonly ScoreLeaf[]): ScoreReport {
	const sorted = [...leaves].sort((a, b) => (a.provider < b.provider ? -1 : a.provider > b.provider ? 1 : 0));
	const isWhole = ({ scorePpm }: ScoreLeaf) => Number.isSafeInteger(scorePpm) && scorePpm >= 0;
	if (!sorted.every(isWhole) || malformedAt({ leaves: sorted }) !== null)
		throw new RangeError(
			`a report lists a provider once, with a whole score up to ${MAX_PPM}, and ${MAX_REPORT_LEAVES} at most`,
		);
	return readScoreReport(sorted);
}

/**
 * Too many leaves (any one shows it), a score too high, or two neighbours out of order. Null: well-formed.
 */
export function malformedAt({ leaves }: Pick<ScoreReport, "leaves">): readonly number[] | null {
	if (leaves.length > MAX_REPORT_LEAVES) return [0];
	for (const [i, leaf] of leaves.entries()) {
		if (leaf.scorePpm > MAX_PPM) return [i];
		if (i > 0 && leaves[i - 1]!.provider >= leaf.provider) return [i - 1, i];
	}
	return null;
}
