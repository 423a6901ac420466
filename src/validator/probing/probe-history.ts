// What has happened of each probe so far, for whoever comes late to watch it: the head of that probe's event
// stream. Every process hears the events of all processes, so each has the history of every probe that began
// since it started. Bounded, in memory, and nothing but events: what is true is in the database.
import type { NetworkEvent } from "../../api/types.ts";

/** An eight-card host's probe tells some 300. Beyond, the first and the newest of each challenge are kept. */
const MAX_OF_A_PROBE = 400;
/** Of all probes together, the oldest probe goes first: some ten MB at the most. */
const MAX_EVENTS = 20_000;

export function createProbeHistory(options: { readonly mostEvents?: number } = {}) {
	const most = options.mostEvents ?? MAX_EVENTS;
	const probes = new Map<string, Map<string, NetworkEvent>>();
	let count = 0;

	function forgetOldest(): void {
		for (const [id, events] of probes) {
			if (count <= most) return;
			count -= events.size;
			probes.delete(id);
		}
	}

	return {
		see(event: NetworkEvent): void {
			if (!event.kind.startsWith("probe.") || event.subject === "") return;
			let events = probes.get(event.subject);
			if (events === undefined) {
				events = new Map();
				probes.set(event.subject, events);
			}
			const name = nameOf(event);
			// Moved to the end: what is told again of a challenge comes after what was told before it.
			if (events.delete(name)) count -= 1;
			else if (events.size >= MAX_OF_A_PROBE) return;
			events.set(name, event);
			count += 1;
			forgetOldest();
		},
		/** In order, oldest first; empty when nothing is remembered. */
		of: (probeId: string): readonly NetworkEvent[] => [...(probes.get(probeId)?.values() ?? [])],
	};
}

/** Events of the same name replace each other: only the newest count of a challenge's roots says anything. */
function nameOf({ id, kind, detail }: NetworkEvent): string {
	if (kind !== "probe.progress") return kind;
	const { step, challenge } = (typeof detail === "object" && detail !== null ? detail : {}) as {
		readonly step?: unknown;
		readonly challenge?: unknown;
	};
	return step === "root" ? `root ${challenge}` : id;
}
