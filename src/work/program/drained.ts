// Work that is done a little at a time, so that whoever goes through it may let others in between. A program
// of a stranger may take a second to open. Not here: who waits between (platform/in-slices.ts).

/** Ops at a stretch: a millisecond or two of the most expensive ones. */
export const OPS_A_SLICE = 8;

/** All of it at once. */
export function drained<T>(steps: Generator<void, T>): T {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}
