// Puts files that were read into a bundle, never backwards: what is about the same thing is replaced only by
// what its vendor issued later.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { type CollateralItem, MOST_ITEMS } from "./bundle.ts";
import { newestParts } from "./newest-parts.ts";

export type Change = "new" | "renewed" | "same" | "older" | "full";

/** Manifests are never renewed: one id can have several signed issues, and any one may fit. */
const isRenewed = ({ kind }: CollateralItem): boolean => kind !== "manifest";

/** By the vendor's time. */
const isNewer = (a: CollateralItem, b: CollateralItem): boolean => a.validFromS > b.validFromS;

export function mergeItem(
	items: readonly CollateralItem[],
	next: CollateralItem,
): { readonly items: readonly CollateralItem[]; readonly change: Change } {
	if (items.some(({ bytes }) => equalBytes(bytes, next.bytes))) return { items, change: "same" };
	const at = isRenewed(next) ? items.findIndex(({ kind, id }) => kind === next.kind && id === next.id) : -1;
	if (at < 0) return items.length < MOST_ITEMS ? { items: [...items, next], change: "new" } : { items, change: "full" };
	const before = items[at]!;
	// A clock that was set back does not make the bundle younger.
	const fetchedAtS = Math.max(before.fetchedAtS, next.fetchedAtS);
	if (next.kind === "Intel collateral") {
		const parts = newestParts(before.bytes, next.bytes);
		if (equalBytes(parts.bytes, before.bytes)) return { items, change: "older" };
		return { items: items.with(at, { ...next, ...parts, fetchedAtS }), change: "renewed" };
	}
	if (!isNewer(next, before)) return { items, change: "older" };
	return { items: items.with(at, { ...next, fetchedAtS }), change: "renewed" };
}
