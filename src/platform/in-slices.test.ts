// Many who work in slices at once: together they take no more of a turn of the loop than one of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { foldInSlices, foldPieces, PIECE_BYTES, pieceRoot } from "./blob-tree.ts";
import { inSlices } from "./in-slices.ts";

/** Runs it, and gives the most that was counted between two turns of the loop that somebody else had. */
async function mostOfATurn(act: () => Promise<unknown>, counted: () => number): Promise<number> {
	let [most, before] = [0, 0];
	let isDone = false;
	const done = act().finally(() => {
		isDone = true;
	});
	while (!isDone) {
		await new Promise((resolve) => setImmediate(resolve));
		most = Math.max(most, counted() - before);
		before = counted();
	}
	await done;
	return most;
}

test("H1 ATTACK: fifty at once make one step a turn, and others have theirs in between", async () => {
	let steps = 0;
	function* work(): Generator<void, number> {
		for (let n = 0; n < 20; n++) {
			steps += 1;
			yield;
		}
		return steps;
	}
	const all = () => Promise.all(Array.from({ length: 50 }, () => inSlices(work())));
	const most = await mostOfATurn(all, () => steps);
	assert.equal(steps, 1000);
	assert.ok(most <= 2, `${most} steps in a turn`);
});

test("nobody waits for all of another's steps", async () => {
	function* work(steps: number): Generator<void, number> {
		for (let n = 0; n < steps; n++) yield;
		return steps;
	}
	const ended: number[] = [];
	await Promise.all([1000, 3, 10].map((steps) => inSlices(work(steps)).then((n) => ended.push(n))));
	assert.deepEqual(ended, [3, 10, 1000]);
});

test("pieces and lists of roots are hashed so, each right; whoever throws or is stopped harms nobody else", async () => {
	const bytes = new Uint8Array(PIECE_BYTES).fill(7);
	const roots = Array.from({ length: 300 }, (_, i) => new Uint8Array(32).fill(i & 255));
	const alone = await pieceRoot(bytes);
	function* wrong(): Generator<void, never> {
		yield;
		throw new Error("wrong");
	}
	function* long(): Generator<void, number> {
		for (;;) yield;
	}
	const stop = new AbortController();
	setImmediate(() => stop.abort(new Error("stopped")));
	const [pieces, folded] = await Promise.all([
		Promise.all(Array.from({ length: 10 }, () => pieceRoot(bytes))),
		foldInSlices(roots),
		assert.rejects(inSlices(wrong()), /wrong/),
		assert.rejects(inSlices(long(), stop.signal), /stopped/),
	]);
	for (const piece of pieces) assert.deepEqual(piece, alone);
	assert.deepEqual(folded, foldPieces(roots));
});
