// A flood of one name and one question of another: the other one's turn comes next; nothing piles up; closing
// refuses all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFairQueue } from "./fair-queue.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

function create(o: { atOnce: number; perName: number; inAll: number; first?: string; withinMs?: number }) {
	const queue = createFairQueue({ ...o, refused: () => new Error("no room") });
	const begun: string[] = [];
	const ends: (() => void)[] = [];
	const refused: string[] = [];
	const ask = (name: string, label = name, size = 0) =>
		void queue
			.run(
				name,
				async () => {
					begun.push(label);
					await new Promise<void>((resolve) => ends.push(resolve));
				},
				size,
			)
			.catch(() => refused.push(label));
	return { queue, begun, ends, refused, ask };
}

test("names take turns, however many times one of them asks", async () => {
	const { begun, ends, ask, queue } = create({ atOnce: 1, perName: 100, inAll: 1000 });
	for (let n = 0; n < 5; n++) ask("flood", `flood ${n}`);
	ask("a");
	ask("b");
	for (let n = 0; n < 7; n++) {
		await settle();
		ends.shift()!();
	}
	await settle();
	assert.deepEqual(begun, ["flood 0", "flood 1", "a", "b", "flood 2", "flood 3", "flood 4"]);
	assert.equal(queue.waiting(), 0);
});

test("lines are bounded; when all is full the longest line gives way, not the newcomer", async () => {
	const { begun, ends, refused, ask, queue } = create({ atOnce: 2, perName: 3, inAll: 4 });
	for (let n = 0; n < 6; n++) ask("flood", `flood ${n}`);
	await settle();
	assert.deepEqual([begun, refused, queue.waiting()], [["flood 0", "flood 1"], ["flood 5"], 3]);
	ask("a");
	ask("b");
	await settle();
	assert.deepEqual([refused, queue.waiting()], [["flood 5", "flood 4"], 4]);
	ask("a", "a again");
	await settle();
	assert.deepEqual(refused, ["flood 5", "flood 4", "flood 3"], "two of a against two of the flood");
	ask("a", "a a third time");
	await settle();
	assert.deepEqual(refused.at(-1), "a a third time", "nobody has a longer line");
	for (let n = 0; n < 6; n++) {
		ends.shift()!();
		await settle();
	}
	assert.deepEqual(begun.slice(2), ["flood 2", "a", "b", "a again"]);
});

test("whoever comes first waits for no other name, nor loses its place to one; its own line is bounded", async () => {
	const { begun, ends, refused, ask } = create({ atOnce: 1, perName: 2, inAll: 3, first: "own" });
	for (const name of ["a", "b", "c", "own", "own"]) ask(name);
	await settle();
	assert.deepEqual(refused, ["b"], "both of its own came in");
	for (const name of ["own", "d"]) ask(name);
	await settle();
	assert.deepEqual(refused.slice(1), ["own", "c"], "of its own no more than two, which give way to nobody");
	for (let n = 0; n < 3; n++) {
		ends.shift()!();
		await settle();
	}
	assert.deepEqual(begun, ["a", "own", "own", "d"]);
});

test("ATTACK: a hundred names with something large are not all before one with something small", async () => {
	const { begun, ends, ask } = create({ atOnce: 1, perName: 2, inAll: 1000 });
	for (let n = 0; n < 100; n++) ask(`flood ${n}`, "large", 1000);
	for (let n = 0; n < 20; n++) ask(`honest ${n}`, "small", 50);
	for (let n = 0; n < 16; n++) {
		await settle();
		ends.shift()!();
	}
	await settle();
	assert.deepEqual(begun, [
		"large",
		...Array(2)
			.fill([...Array(7).fill("small"), "large"])
			.flat(),
	]);
});

test("ATTACK: whoever waits too long is refused, and hears so; what is its own goes on waiting", async () => {
	const { begun, ends, refused, ask, queue } = create({ atOnce: 1, perName: 9, inAll: 9, first: "own", withinMs: 5 });
	for (const name of ["large", "a", "a", "b", "own"]) ask(name);
	while (queue.waiting() > 1) await new Promise((resolve) => setTimeout(resolve, 5));
	await settle();
	assert.deepEqual(refused, ["a", "a", "b"]);
	ends.shift()!();
	await settle();
	assert.deepEqual(begun, ["large", "own"]);
	ask("c");
	ends.shift()!();
	await settle();
	assert.deepEqual(begun.at(-1), "c");
});

test("closing refuses who waits and who comes; what runs goes on; an error frees its place", async () => {
	const { begun, ends, refused, ask, queue } = create({ atOnce: 1, perName: 9, inAll: 9 });
	await assert.rejects(
		queue.run("x", () => {
			throw new Error("of the act");
		}),
		/of the act/,
	);
	ask("a");
	ask("b");
	await settle();
	queue.close();
	ask("c");
	await settle();
	assert.deepEqual([begun, refused.sort()], [["a"], ["b", "c"]]);
	ends.shift()!();
	await settle();
	assert.deepEqual([begun, queue.waiting()], [["a"], 0]);
});
