// Work of many small steps on this thread, with everybody else served between them. What is longer than a
// second in all belongs on a thread of its own (thread-file.ts).
//
// ATTACK: a step each of fifty at once is a long stretch again, and a read has several turns of the loop to
// wait for. So all of them together have one step a turn, in rotation.
import { setImmediate } from "node:timers/promises";

/** Makes one step; false: that was the last one. */
type Step = () => boolean;
const rotation: Step[] = [];
let isGoing = false;

async function goRound(): Promise<void> {
	isGoing = true;
	while (rotation.length > 0) {
		await setImmediate();
		const next = rotation.shift()!;
		if (next()) rotation.push(next);
	}
	isGoing = false;
}

/** Throws the reason of `signal` between two steps. */
export function inSlices<T>(steps: Generator<void, T>, signal?: AbortSignal): Promise<T> {
	return new Promise((resolve, reject) => {
		rotation.push(() => {
			try {
				signal?.throwIfAborted();
				const step = steps.next();
				if (step.done) resolve(step.value);
				return step.done !== true;
			} catch (error) {
				reject(error);
				return false;
			}
		});
		if (!isGoing) void goRound();
	});
}
