// The barrier: nobody goes on before all are there, nobody waits for who has left, nobody waits for ever.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createBarrier } from "./barrier.ts";

const members = ["a", "b", "c"];

test("opens when all members are at the phase, for whoever waits then and later", async () => {
	const barrier = createBarrier();
	let open = 0;
	const wait = async (member: string) => {
		barrier.arrive(member, "fill");
		const isComplete = await barrier.wait({ phase: "fill", members, ms: 60_000 });
		open += 1;
		return isComplete;
	};
	const all = [wait("a"), wait("b")];
	barrier.arrive("c", "another phase");
	await turn();
	assert.equal(open, 0);
	all.push(wait("c"));
	assert.deepEqual(await Promise.all(all), [true, true, true]);
	assert.equal(await barrier.wait({ phase: "fill", members, ms: 0 }), true);
});

test("a member that left is not waited for at any phase", async () => {
	const barrier = createBarrier();
	for (const member of ["a", "b"]) barrier.arrive(member, "fill");
	const waiting = barrier.wait({ phase: "fill", members, ms: 60_000 });
	barrier.leave("c");
	assert.equal(await waiting, true);
	for (const member of ["a", "b"]) barrier.arrive(member, "drain");
	assert.equal(await barrier.wait({ phase: "drain", members, ms: 60_000 }), true);
});

test("a wait ends with its time or with its signal", async () => {
	const barrier = createBarrier();
	barrier.arrive("a", "fill");
	assert.equal(await barrier.wait({ phase: "fill", members, ms: 1 }), false);
	const controller = new AbortController();
	const { signal } = controller;
	const cut = barrier.wait({ phase: "fill", members, ms: 60_000, signal });
	controller.abort();
	assert.equal(await cut, false);
	assert.equal(await barrier.wait({ phase: "fill", members, ms: 60_000, signal }), false);
});
