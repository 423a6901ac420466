// The files of somebody else's bundle, by their own words: its index may say anything. A higher rank than a
// file has would keep later ones out, and a time at which it will be fetched would keep anybody from asking
// again. What its vendor did not sign is left out.
import type { AttestationSettings } from "../settings.ts";
import type { CollateralItem } from "./bundle.ts";
import { issuersIn, readItem } from "./read-item.ts";

export interface Reread {
	readonly kept: readonly CollateralItem[];
	readonly refused: readonly { readonly id: string; readonly code: string; readonly detail: string }[];
}

/** `chains`: evidence whose certificates issued some of it. */
export function rereadItems(
	items: readonly CollateralItem[],
	chains: readonly Uint8Array[],
	settings: AttestationSettings,
): Reread {
	const issuers = issuersIn([...items.map(({ bytes }) => bytes), ...chains], settings);
	const kept: CollateralItem[] = [];
	const refused: Reread["refused"][number][] = [];
	for (const { id, source, bytes, fetchedAtS } of items) {
		const { item, verdict } = readItem(bytes, issuers, settings);
		if (item === null) refused.push({ id, code: verdict.code ?? "", detail: verdict.detail });
		else kept.push({ ...item, source, bytes, fetchedAtS: Math.min(fetchedAtS, Math.floor(settings.atMs / 1000)) });
	}
	return { kept, refused };
}
