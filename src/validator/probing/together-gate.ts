// Lets the probes of one group begin a stage at the same moment: a barrier for each group. Members may be
// probed by different processes; they hear of each other through the hub's events, so that a stage begins
// within milliseconds everywhere. Not here: who belongs together (market/schedule/suspicion.ts), and what the
// overlap showed (suspicion-watch.ts).
import type { NetworkEvent } from "../../api/types.ts";
import type { After } from "../../platform/abortable.ts";
import { type Barrier, createBarrier } from "../../platform/barrier.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { EventHub } from "../event-hub.ts";

const GATE_EVENT = "together.gate";

export type TogetherGate = ReturnType<typeof createTogetherGate>;

interface Arrival {
	readonly group: string;
	readonly members: readonly string[];
	readonly member: string;
	readonly gate: string;
	readonly waitMs: number;
	readonly signal?: AbortSignal;
}

const LEFT = "left";
/** Those longest untouched are forgotten: far more than one validator probes at once. */
const MAX_GROUPS = 10_000;

export function createTogetherGate(options: {
	readonly hub: Pick<EventHub, "tell" | "listen">;
	readonly after: After;
}) {
	const barriers = new BoundedMap<string, Barrier>(MAX_GROUPS);

	function barrierOf(group: string): Barrier {
		const barrier = barriers.get(group) ?? createBarrier(options.after);
		barriers.set(group, barrier);
		return barrier;
	}
	function note(group: string, member: string, gate: string): void {
		if (gate === LEFT) barrierOf(group).leave(member);
		else barrierOf(group).arrive(member, gate);
	}
	function tell(group: string, member: string, gate: string): void {
		note(group, member, gate);
		options.hub.tell({ kind: GATE_EVENT, subject: group, providerId: member, detail: { gate } });
	}

	const unlisten = options.hub.listen((event: NetworkEvent) => {
		if (event.kind !== GATE_EVENT || event.providerId === null) return;
		const gate = (event.detail as { gate?: unknown } | null)?.gate;
		if (typeof gate === "string") note(event.subject, event.providerId, gate);
	});

	return {
		/** Resolves when every member stands at `gate` or has left; false: the time ran out first. */
		arrive({ group, members, member, gate, waitMs, signal }: Arrival): Promise<boolean> {
			tell(group, member, gate);
			return barrierOf(group).wait({ members, phase: gate, ms: waitMs, ...(signal && { signal }) });
		},
		/** The member's probe is over: nobody waits for it any more. */
		leave: ({ group, member }: Pick<Arrival, "group" | "member">): void => tell(group, member, LEFT),
		close: unlisten,
	};
}
