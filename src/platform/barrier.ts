// A barrier with named phases: whoever waits at a phase goes on when every member has arrived there or has
// left.
import { realAfter, sleep } from "./abortable.ts";

export interface Barrier {
	/** The member has come to the phase, whether or not anybody waits there yet. */
	arrive(member: string, phase: string): void;
	/** The member comes to no phase any more; nobody waits for it. */
	leave(member: string): void;
	/**
	 * True when all members were there in time, false when the time was over or the signal was aborted first.
	 */
	wait(o: {
		readonly phase: string;
		readonly members: readonly string[];
		readonly ms: number;
		readonly signal?: AbortSignal;
	}): Promise<boolean>;
}

export function createBarrier(after = realAfter): Barrier {
	const left = new Set<string>();
	const arrivals = new Map<string, Set<string>>();
	const waiting = new Set<() => void>();
	const look = () => {
		for (const one of [...waiting]) one();
	};
	return {
		arrive(member, phase) {
			arrivals.set(phase, (arrivals.get(phase) ?? new Set()).add(member));
			look();
		},
		leave(member) {
			left.add(member);
			look();
		},
		async wait({ phase, members, ms, signal }) {
			const complete = new AbortController();
			const check = () => {
				if (members.every((one) => left.has(one) || arrivals.get(phase)?.has(one))) complete.abort();
			};
			waiting.add(check);
			check();
			await sleep(ms, signal ? AbortSignal.any([complete.signal, signal]) : complete.signal, after);
			waiting.delete(check);
			return complete.signal.aborted;
		},
	};
}
