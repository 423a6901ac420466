// The bounded map: never larger than its bound, the key that was set longest ago goes first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedMap } from "./bounded-map.ts";

test("beyond its bound the key that was set longest ago goes, not one that was set again", () => {
	const map = new BoundedMap<string, number>(2);
	map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
	assert.deepEqual(
		[...map],
		[
			["a", 3],
			["c", 4],
		],
	);
	map.delete("a");
	map.set("d", 5);
	assert.deepEqual([...map.keys()], ["c", "d"]);
	for (let i = 0; i < 1000; i++) map.set(`${i}`, i);
	assert.deepEqual([...map.values()], [998, 999]);
});
