// The toy session: the suite of all sessions, and its lies.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { mlpSample } from "../../work/builder/samples.test-kit.ts";
import { toyWork } from "./toy-work-session.test-kit.ts";
import type { WorkSession } from "./work-session.ts";
import { openSample, workSessionSuite } from "./work-session-suite.test-kit.ts";

workSessionSuite("toy", async () => {
	const store = new Map<string, Uint8Array>();
	const put = (root: Uint8Array, bytes: Uint8Array) => void store.set(bytesToHex(root), bytes);
	return { open: toyWork({ store }), put, close: async () => {} };
});

test("a changed element is in all that a cheating session says from there on", async () => {
	const sample = mlpSample();
	const writer = sample.program.step.findIndex(({ target }) => sample.program.tensors[target ?? -1]?.name === "w1");
	const cheat = { segment: 2, step: 1, op: writer, element: 5 };
	const [honest, cheating] = [await openSample(toyWork(), sample), await openSample(toyWork({ cheat }), sample)];
	const run = async (session: WorkSession) => {
		const states: Uint8Array[] = [];
		await session.run({ first: 0, count: 4, onSegment: ({ stateRoots }) => states.push(stateRoots[0]!) });
		return states;
	};
	const [a, b] = [await run(honest), await run(cheating)];
	assert.deepEqual(
		a.map((root, i) => equalBytes(root, b[i]!)),
		[true, true, false, false],
	);
	for (const session of [honest, cheating]) await session.run({ first: 0, count: 2 });
	const roots = [[] as Uint8Array[], [] as Uint8Array[]];
	for (const [i, session] of [honest, cheating].entries())
		await session.trace(2, (_s, _o, root) => roots[i]!.push(root));
	const firstFalse = roots[0]!.findIndex((root, i) => !equalBytes(root, roots[1]![i]!));
	assert.equal(firstFalse, sample.program.step.length + writer);
});
