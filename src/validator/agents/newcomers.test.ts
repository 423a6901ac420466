// N10: floods of new providers from one address and from many, and a site of many honest hosts behind one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNewcomers, NEWCOMERS } from "./newcomers.ts";

const MINUTE = 60_000;
function create() {
	const clock = { ms: 0 };
	const newcomers = createNewcomers(() => clock.ms);
	let keys = 0;
	/** How many of so many were taken. */
	const bring = (address: string, count: number) =>
		Array.from({ length: count }, () => newcomers.mayRegister(address, `key ${++keys}`)).filter(Boolean).length;
	return { clock, newcomers, bring };
}

test("N10: of 700 new providers of one address 128 are taken, then two a minute; others are not refused", () => {
	const { clock, bring } = create();
	assert.equal(bring("one", 700), 128);
	clock.ms += 10 * MINUTE;
	assert.equal(bring("one", 700), 20);
	assert.equal(bring("another", 100), 100);
	clock.ms -= 365 * 24 * 60 * MINUTE;
	assert.equal(bring("one", 10), 0, "a clock that goes back gives nothing");
});

test("N10: 500 honest hosts behind one address come in as they are proven", () => {
	const { newcomers } = create();
	let taken = 0;
	for (let host = 0; host < 500; host++) {
		const key = `host ${host}`;
		assert.ok(newcomers.mayRegister("site", key) && newcomers.connected("site", key), key);
		taken += 1;
		// Each is proven when a hundred more have come.
		if (host >= 100) newcomers.proven(`host ${host - 100}`);
	}
	assert.equal(taken, 500);
});

test("N10: twenty greedy addresses leave room for others; a hundred small ones come in", () => {
	const { bring } = create();
	const greedy = Array.from({ length: 20 }, (_, n) => bring(`greedy ${n}`, 700));
	const taken = greedy.reduce((sum, count) => sum + count, 0);
	// Beyond the part that is kept each still gets its first few.
	assert.ok(taken <= NEWCOMERS.inAll - NEWCOMERS.keptForFew + 20 * NEWCOMERS.few, String(taken));
	assert.equal(bring("honest", 3), 3);
	for (let n = 0; n < 1000; n++) bring(`small ${n}`, 1);
	assert.equal(bring("late", 1), 0, "all together are bounded too");
});

test("N10: links of hosts that are not proven are bounded by address; leaving and being proven free a place", () => {
	const newcomers = createNewcomers(() => 0, { perAddress: 2 });
	const come = (key: string, address = "a") => newcomers.connected(address, key);
	assert.deepEqual([come("1"), come("2"), come("3"), come("2"), come("3", "b")], [true, true, false, true, true]);
	newcomers.left("1");
	assert.deepEqual([come("4"), come("5")], [true, false]);
	newcomers.proven("4");
	assert.deepEqual([come("5"), come("6")], [true, false]);
	// From another address: it counts there.
	assert.deepEqual([come("5", "b"), come("6")], [true, true]);
	newcomers.left("unknown");
	newcomers.proven("unknown");
});
