// What a test opened is closed when the test ends, also when it fails: a server or a program that stays would
// keep its process from ending, and its error from being told.
import type { TestContext } from "node:test";

const closes = new WeakMap<object, (() => unknown)[]>();

/** The last one first; one that cannot be closed does not keep the others open. */
export function atEnd(t: Pick<TestContext, "after">, close: () => unknown): void {
	const known = closes.get(t);
	if (known !== undefined) return void known.push(close);
	const own = [close];
	closes.set(t, own);
	t.after(async () => {
		const failed: unknown[] = [];
		for (const one of own.toReversed())
			try {
				await one();
			} catch (error) {
				failed.push(error);
			}
		if (failed.length > 0) throw failed[0];
	});
}
