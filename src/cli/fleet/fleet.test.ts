// A fleet: the file is read line by line; a dead, slow or lying host delays and hides nobody; Ctrl-C ends
// what waits.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { type FleetRow, fleetExit, type ProbeOne, probeFleet } from "./probe-fleet.ts";
import { readFleet } from "./read-fleet.ts";

test("one target a line, with comments; what is wrong is named with its line", () => {
	assert.deepEqual(readFleet("# rack 1\nroot@a\r\n\n ssh://root@b:2222 # the new one\nlocal\n"), [
		"ssh://root@a",
		"ssh://root@b:2222",
		"local",
	]);
	for (const [text, why] of [
		["", /no target/],
		["# nothing\n", /no target/],
		["root@a\nhttp://b\n", /line 2/],
		["root@a\n\nssh://root@a\n", /line 3 .*line 1/],
		["root@a -oProxyCommand=id\n", /line 1/],
	] as const)
		assert.throws(
			() => readFleet(text),
			(error: Error & { code: string }) => error.code === "FLEET_BAD" && why.test(error.message),
		);
});

const good: Omit<FleetRow, "target"> = {
	...{ status: "valid", cards: "1 × H200", code: null, why: "", evidence: "x.assay", tookUs: 1, exit: 0 },
};
const names = (count: number) => Array.from({ length: count }, (_, i) => `ssh://h${i}`);

test("no more than so many at once; one that never answers delays nobody, and Ctrl-C ends it", async () => {
	const stop = new AbortController();
	const rows: FleetRow[] = [];
	let now = 0;
	let most = 0;
	const probeOne: ProbeOne = async (target) => {
		most = Math.max(most, ++now);
		await new Promise((resolve) => setImmediate(resolve));
		if (target === "ssh://h0")
			await new Promise((_, reject) => stop.signal.addEventListener("abort", () => reject(stop.signal.reason)));
		now -= 1;
		if (target === "ssh://h1") throw new AssayError("UNREACHABLE", "no route to host");
		return good;
	};
	const { promise: othersDone, resolve } = Promise.withResolvers<void>();
	const all = probeFleet(names(50), probeOne, {
		...{ atOnce: 4, signal: stop.signal },
		onRow: (row) => {
			rows.push(row);
			if (rows.length === 49) resolve();
		},
	});
	await othersDone;
	assert.equal(most, 4);
	assert.equal(rows.find(({ target }) => target === "ssh://h1")?.code, "UNREACHABLE");
	stop.abort(new Error("Ctrl-C"));
	const ended = await all;
	assert.deepEqual(
		ended.map(({ target }) => target),
		names(50),
	);
	assert.equal(ended[0]?.status, "not probed");
	assert.equal(fleetExit(ended), 130);
});

test("after Ctrl-C nobody who waited is begun", async () => {
	const stop = new AbortController();
	let begun = 0;
	const probeOne: ProbeOne = async () => {
		begun += 1;
		stop.abort(new Error("Ctrl-C"));
		return good;
	};
	const rows = await probeFleet(names(20), probeOne, { atOnce: 1, signal: stop.signal, onRow: () => {} });
	assert.equal(begun, 1);
	assert.equal(rows.filter(({ status }) => status === "not probed").length, 19);
});

test("one exit code for all: a lie first, then what could not be asked, then what proved nothing", () => {
	const exit = (...exits: number[]) => fleetExit(exits.map((one) => ({ ...good, target: "", exit: one })));
	assert.equal(exit(0, 0), 0);
	assert.equal(exit(0, 2), 2);
	assert.equal(exit(2, 69), 69);
	assert.equal(exit(69, 77, 1, 2), 1);
	assert.equal(exit(1, 130), 130);
});
