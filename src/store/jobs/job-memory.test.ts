// What a process remembers of jobs: the newest that it saw, nothing that is over, and no more bytes than it
// may.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createJobMemory } from "./job-memory.ts";
import type { JobRow } from "./job-rows.ts";

const row = (id: string, version: number, over: Partial<JobRow> = {}): JobRow =>
	({ id, version, isOver: false, ...over }) as JobRow;

test("of two versions the newer stays, whichever comes last", () => {
	const memory = createJobMemory();
	memory.keep(row("a", 1), 10);
	memory.keep(row("a", 3));
	memory.keep(row("a", 2), 10);
	assert.equal(memory.row("a")?.version, 3);
	memory.keep(row("a", 3, { isCleared: true }));
	assert.equal(memory.row("a")?.isCleared, true, "what has no version of its own is as it was read last");
});

test("one that is over, or was never read whole, is not remembered", () => {
	const memory = createJobMemory();
	memory.keep(row("a", 1));
	assert.equal(memory.row("a"), null);
	memory.keep(row("a", 1), 10);
	memory.keep(row("a", 2, { isOver: true }));
	assert.equal(memory.row("a"), null);
});

test("the one that was seen longest ago goes first; one that is too large alone is not kept", () => {
	const memory = createJobMemory({ mostBytes: 100 });
	for (const id of ["a", "b", "c"]) memory.keep(row(id, 1), 33);
	memory.keep(row("a", 2));
	memory.keep(row("d", 1), 33);
	const known = () => ["a", "b", "c", "d", "e"].filter((id) => memory.row(id) !== null);
	assert.deepEqual(known(), ["a", "c", "d"]);
	memory.keep(row("e", 1), 101);
	assert.deepEqual(known(), []);
	memory.keep(row("e", 1), 100);
	memory.forget("e");
	for (const id of ["a", "b", "c"]) memory.keep(row(id, 1), 33);
	assert.deepEqual(known(), ["a", "b", "c"], "what is forgotten weighs nothing");
});
