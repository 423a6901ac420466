// What a validator does next in a roll call, as a pure function of what it knows of it: a game of one player.
// Asked again and again, so that a process that comes back goes on where the last one was. Who carries it
// out: validator/roll-call. Page: docs/roll-call.md §4.
import type { OpeningTurn } from "./opening-turns.ts";

export interface OpeningHost extends OpeningTurn {
	readonly id: string;
	/** Those of `others` that say they have opened it. */
	readonly listedBy: { has(validator: string): boolean };
}

export interface CallView {
	readonly nowMs: number;
	/** Answers were waited for until the deadline. */
	readonly isHeard: boolean;
	readonly isCommitted: boolean;
	/** A commitment that is not on chain by then is none. */
	readonly commitByMs: number;
	/** Something that the places are drawn from must have come by then. */
	readonly drawByMs: number;
	/** When the places were drawn; null: not yet. */
	readonly drawnAtMs: number | null;
	readonly openByMs: number;
	/** In the tree and not opened yet. */
	readonly left: Iterable<OpeningHost>;
	/** Of hosts, of other validators and of their files: not to be asked before. */
	readonly waits: ReadonlyMap<string, number>;
	/** Why it cannot go on; null: it can. */
	readonly fault: string | null;
	/** Who has not dialled in after a restart is not asked yet. */
	isReachable(host: string): boolean;
	/** Openings at a time. */
	readonly most: number;
}

export type CallMove =
	| { readonly kind: "ask" | "commit" | "draw" | "finish" }
	| { readonly kind: "void"; readonly why: string }
	| { readonly kind: "open"; readonly host: string }
	/** Which hosts has it opened? */
	| { readonly kind: "list"; readonly from: string }
	| { readonly kind: "fetch"; readonly host: string; readonly from: string };

/** Of one peer at a time: it has customers too. */
const MOST_FETCHES = 8;

/** Names in `waits`. */
export const waitKey = {
	/** It failed, or gave something that was of no use. */
	peer: (from: string) => `peer/${from}`,
	/** It was asked a moment ago. */
	list: (from: string) => `list/${from}`,
	file: (from: string, host: string) => `${from}/${host}`,
	/** It was not connected a moment ago. */
	host: (host: string) => `host/${host}`,
};

export function nextCallMoves(view: CallView): readonly CallMove[] {
	const { nowMs, fault } = view;
	const over = (why: string): CallMove[] => [{ kind: "void", why }];
	if (fault !== null) return over(fault);
	if (!view.isHeard) return [{ kind: "ask" }];
	if (!view.isCommitted)
		return nowMs > view.commitByMs ? over("the commitment did not come in time") : [{ kind: "commit" }];
	if (view.drawnAtMs === null)
		return nowMs > view.drawByMs ? over("nothing came that the places could be drawn by") : [{ kind: "draw" }];
	const moves = openings(view, nowMs - view.drawnAtMs);
	if (moves === null) return [{ kind: "finish" }];
	return nowMs > view.openByMs ? over("the openings took too long") : moves;
}

/** Null: there is nothing left. One's own turn comes first, then what others have. */
function openings({ left, waits, nowMs, most, isReachable }: CallView, sinceMs: number): CallMove[] | null {
	const may = (key: string) => (waits.get(key) ?? 0) <= nowMs;
	const own: CallMove[] = [];
	const fetched: CallMove[] = [];
	const perPeer = new Map<string, number>();
	const asked = new Set<string>();
	let any = false;
	for (const { id, afterMs, others, listedBy } of left) {
		any = true;
		const from = others.find((one) => listedBy.has(one) && may(waitKey.peer(one)) && may(waitKey.file(one, id)));
		if (from !== undefined) {
			const before = perPeer.get(from) ?? 0;
			perPeer.set(from, before + 1);
			if (before < MOST_FETCHES) fetched.push({ kind: "fetch", host: id, from });
		} else if (sinceMs >= afterMs && isReachable(id) && may(waitKey.host(id))) {
			if (own.length < most) own.push({ kind: "open", host: id });
		} else for (const one of others) if (may(waitKey.peer(one)) && may(waitKey.list(one))) asked.add(one);
	}
	if (!any) return null;
	return [...own, ...fetched, ...[...asked].map((from) => ({ kind: "list", from }) as const)];
}
