// For whom does a GPU's UUID count when several providers show it? For the first who proved it, and for those
// who passed a simultaneous probe with everyone it already counts for: then they are different cards,
// whatever they call themselves. Nobody else, until then.

import type { SuspectView } from "../schedule/schedule-state.ts";
import { isCleared, sharedUuids } from "../schedule/suspicion.ts";

/**
 * By provider: UUIDs that count elsewhere. What scoreProvider takes as `creditedElsewhere`; providers without
 * any are not in it.
 */
export function creditUuids(views: readonly SuspectView[]): Map<string, string[]> {
	const elsewhere = new Map<string, string[]>();
	for (const [uuid, holders] of sharedUuids(views.filter(({ state }) => state.status !== "removed"))) {
		const credited: SuspectView[] = [];
		for (const holder of holders) {
			if (credited.every((other) => isCleared(holder, other))) credited.push(holder);
			else elsewhere.set(holder.providerId, [...(elsewhere.get(holder.providerId) ?? []), uuid]);
		}
	}
	return elsewhere;
}
