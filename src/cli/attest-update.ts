// `assay attest update`: from a folder, or from the vendors, for named evidence. What was fetched within a
// day and still holds is not asked for again.
import type { CollateralItem } from "../verify/attestation/collateral/bundle.ts";
import { type Wanted, wantedBy } from "../verify/attestation/collateral/wanted.ts";
import type { AttestationSettings } from "../verify/attestation/settings.ts";
import { filesBelow, type UpdateResult, updateBundle } from "./attest-collateral.ts";
import { type Fetched, fetchWanted, type Sources } from "./attest-sources.ts";

const DAY_S = 86_400;

export interface FetchResult extends UpdateResult {
	/** Requests for files, and files that were at hand. */
	readonly asked: number;
	readonly atHand: number;
	readonly failed: Fetched["failed"];
}

/** A folder is read once. */
export function updateFromFolder(folder: string, from: string, settings: AttestationSettings): Promise<UpdateResult> {
	let files = filesBelow(from);
	return updateBundle(
		folder,
		() => {
			const brought = files;
			files = [];
			return brought;
		},
		[],
		settings,
	);
}

export async function updateFromVendors(
	folder: string,
	evidence: readonly Uint8Array[],
	settings: AttestationSettings,
	sources: Sources,
	signal: AbortSignal,
): Promise<FetchResult> {
	const told = { asked: 0, atHand: 0, failed: [] as Fetched["failed"][number][] };
	const done = new Set<string>();
	const bring = async (items: readonly CollateralItem[]) => {
		const fresh = wantedBy(evidence, items, settings).filter(({ item }) => !done.has(`${item.kind} ${item.id}`));
		for (const { item } of fresh) done.add(`${item.kind} ${item.id}`);
		const missing = fresh.filter((one) => !isAtHand(one, items, settings.atMs / 1000));
		const { files, failed } = await fetchWanted(missing, sources, signal);
		told.asked += missing.length;
		told.atHand += fresh.length - missing.length;
		told.failed.push(...failed);
		return files;
	};
	const result = await updateBundle(folder, bring, evidence, settings);
	return { ...result, ...told };
}

const isAtHand = ({ item }: Wanted, items: readonly CollateralItem[], nowS: number): boolean =>
	items.some(
		(one) =>
			one.kind === item.kind &&
			one.id === item.id &&
			nowS <= one.validUntilS &&
			Math.abs(nowS - one.fetchedAtS) < DAY_S,
	);
