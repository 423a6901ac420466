// Whether loops still turn. Ages are counted by the dog's own looks: a process that was frozen for an hour
// has not let anybody wait for an hour.
import type { After } from "./abortable.ts";

const LOOK_EVERY_MS = 5000;

/** Of one loop, which does one turn at a time. */
export interface Turns {
	begin(): void;
	end(): void;
}

export type Watchdog = ReturnType<typeof createWatchdog>;

export function createWatchdog(o: {
	readonly after: After;
	/** Once for each turn that takes too long. */
	readonly onStuck: (name: string, ms: number) => void;
}) {
	const open = new Map<string, { ageMs: number; readonly mostMs: number; readonly onStuck: () => void }>();
	const isStuck = ({ ageMs, mostMs }: { readonly ageMs: number; readonly mostMs: number }) => ageMs > mostMs;
	const look = (): void => {
		for (const [name, turn] of open) {
			const before = isStuck(turn);
			turn.ageMs += LOOK_EVERY_MS;
			if (before || !isStuck(turn)) continue;
			o.onStuck(name, turn.ageMs);
			turn.onStuck();
		}
		cancel = o.after(LOOK_EVERY_MS, look);
	};
	let cancel = o.after(LOOK_EVERY_MS, look);
	return {
		/** `onStuck`: gives up what keeps others from the work. */
		watch: (name: string, mostMs = 60_000, onStuck = () => {}): Turns => ({
			begin: () => void open.set(name, { ageMs: 0, mostMs, onStuck }),
			end: () => void open.delete(name),
		}),
		/** Loops whose turn takes too long. */
		stuck: (): readonly string[] => [...open].filter(([, turn]) => isStuck(turn)).map(([name]) => name),
		stop: (): void => cancel(),
	};
}
