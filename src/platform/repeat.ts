// A periodic task: runs, rests, runs again until it is stopped; never twice at once.
import type { After } from "./abortable.ts";
import type { Turns } from "./watchdog.ts";

/**
 * `everyMs` of rest between the end of one run and the start of the next. Errors go to `onError` and do not
 * end it.
 */
export function repeat(
	o: {
		readonly everyMs: number;
		readonly after: After;
		readonly onError: (error: unknown) => void;
		readonly turns?: Turns;
	},
	run: () => Promise<void>,
): { readonly now: () => Promise<void>; readonly stop: () => Promise<void> } {
	let stopped = false;
	let running: Promise<void> | null = null;
	let cancel = () => {};
	const once = (): Promise<void> => {
		if (stopped) return Promise.resolve();
		cancel();
		if (running !== null) return running;
		o.turns?.begin();
		running = run()
			.catch(o.onError)
			.finally(() => {
				running = null;
				o.turns?.end();
				if (!stopped) cancel = o.after(o.everyMs, () => void once());
			});
		return running;
	};
	cancel = o.after(0, () => void once());
	return {
		now: once,
		async stop() {
			stopped = true;
			cancel();
			await running;
		},
	};
}
