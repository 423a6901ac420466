// Lets the probes of one group begin a stage at the same moment: each waits at the gate until all have come or left, or for a bounded time.
// Members may be probed by different processes; they hear of each other through the hub's events, so that a stage begins within some
// milliseconds everywhere. Not here: who belongs together (market/suspicion) and what the overlap showed (judge-together.ts).
import type { NetworkEvent } from "../../api/types.ts";
import type { EventHub } from "../event-hub.ts";

const GATE_EVENT = "together.gate";

export interface TogetherGate {
	/** Resolves when every member of the group stands at `gate` or has left it; false: the time ran out first. */
	arrive(o: {
		readonly group: string;
		readonly members: readonly string[];
		readonly member: string;
		readonly gate: string;
		readonly waitMs: number;
		readonly signal?: AbortSignal;
	}): Promise<boolean>;
	/** The member's probe is over: nobody waits for it any more. */
	leave(o: { readonly group: string; readonly member: string }): void;
	close(): void;
}

const LEFT = "left";

interface Group {
	/** Gates that each member has reached; LEFT when its probe is over. */
	readonly reached: Map<string, Set<string>>;
	readonly waiting: Set<() => void>;
	touchedAtMs: number;
}

/** Groups that nobody touched for this long are forgotten: no probe lasts as long. */
const FORGET_MS = 3_600_000;

export function createTogetherGate(o: {
	readonly hub: Pick<EventHub, "tell" | "listen">;
	readonly nowMs: () => number;
	readonly after: (ms: number, run: () => void) => () => void;
}): TogetherGate {
	const groups = new Map<string, Group>();

	function groupOf(id: string): Group {
		let group = groups.get(id);
		if (!group) {
			for (const [old, { touchedAtMs }] of groups) if (touchedAtMs < o.nowMs() - FORGET_MS) groups.delete(old);
			group = { reached: new Map(), waiting: new Set(), touchedAtMs: o.nowMs() };
			groups.set(id, group);
		}
		group.touchedAtMs = o.nowMs();
		return group;
	}

	function note(id: string, member: string, gate: string): void {
		const group = groupOf(id);
		let gates = group.reached.get(member);
		if (!gates) {
			gates = new Set();
			group.reached.set(member, gates);
		}
		gates.add(gate);
		for (const look of [...group.waiting]) look();
	}

	const unlisten = o.hub.listen((event: NetworkEvent) => {
		if (event.kind !== GATE_EVENT || event.providerId === null) return;
		const gate = (event.detail as { gate?: unknown } | null)?.gate;
		if (typeof gate === "string") note(event.subject, event.providerId, gate);
	});
	const tell = (group: string, member: string, gate: string) =>
		o.hub.tell({ kind: GATE_EVENT, subject: group, providerId: member, detail: { gate } });

	return {
		arrive({ group: id, members, member, gate, waitMs, signal }) {
			note(id, member, gate);
			tell(id, member, gate);
			const group = groupOf(id);
			const isComplete = () =>
				members.every((one) => group.reached.get(one)?.has(gate) || group.reached.get(one)?.has(LEFT));
			if (isComplete()) return Promise.resolve(true);
			return new Promise((resolve) => {
				const end = (together: boolean) => {
					group.waiting.delete(look);
					cancel();
					signal?.removeEventListener("abort", aborted);
					resolve(together);
				};
				const look = () => isComplete() && end(true);
				const aborted = () => end(false);
				const cancel = o.after(waitMs, () => end(false));
				group.waiting.add(look);
				signal?.addEventListener("abort", aborted, { once: true });
				if (signal?.aborted) end(false);
			});
		},
		leave({ group, member }) {
			note(group, member, LEFT);
			tell(group, member, LEFT);
		},
		close: unlisten,
	};
}
