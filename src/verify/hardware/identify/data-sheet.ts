// A proven figure beside the data sheet of the card: is it good for this card? Pure, for people; nothing is
// judged by it.
import { FMA_PRECISIONS, GEMM_PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import { type Profile, usualTotalBytes } from "./profile.ts";
import { PROFILES } from "./profiles.ts";
import { BANDWIDTH_SHARE, FILL_SHARE, INT32_SHARE, MATRIX_SHARE, type Range, SCALAR_SHARE } from "./shares.ts";

export interface BesideSheet {
	/** Proven ÷ data sheet. */
	readonly share: number;
	/** What honest cards of this kind reach. */
	readonly usual: Range;
	/** In a word: above the usual range is as good as in it. */
	readonly isUsual: boolean;
}

/** `profile`: its id. null: the data sheet has no such figure. */
export function besideDataSheet(
	profile: string,
	{ name, value }: { readonly name: string; readonly value: number },
): BesideSheet | null {
	const card = PROFILES.find(({ id }) => id === profile);
	const [peak, usual] = (card && sheetOf(card, name)) ?? [0, null];
	if (usual === null || peak <= 0) return null;
	const share = value / peak;
	return { share, usual, isUsual: share >= usual.low };
}

function sheetOf(card: Profile, name: string): readonly [peak: number, usual: Range] | null {
	if (name === "memory.bandwidth") return [card.bytesPerS, BANDWIDTH_SHARE];
	if (name === "memory.resident") return [usualTotalBytes(card), FILL_SHARE];
	const [, kind, word = ""] = /^(gemm|fma)\.(\w+)(?:\.sustained)?$/.exec(name) ?? [];
	const precisions: readonly string[] = kind === "gemm" ? GEMM_PRECISIONS : kind === "fma" ? FMA_PRECISIONS : [];
	const peak = card.rates[word as Precision];
	if (!precisions.includes(word) || peak === undefined) return null;
	if (kind === "gemm") return [peak, MATRIX_SHARE[card.architecture]];
	return [peak, word === "int32" ? INT32_SHARE : SCALAR_SHARE];
}
