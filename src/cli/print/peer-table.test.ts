// The square table of peers as text: rows read, columns are read, dashes where nothing was proven, one unit
// for all.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceClaim, Figure } from "../../protocol/probe/evidence.ts";
import { isPeerFigure } from "../../verify/hardware/peer-speeds.ts";
import { compareFigures, comparisonTable } from "./compare-figures.ts";
import { figureLabel } from "./figures.ts";
import { plain } from "./paint.ts";
import { peerTables } from "./peer-table.ts";

const peer = (device: number, from: number, value: number): Figure => ({
	device,
	name: `peer.bandwidth.${from}`,
	value,
	unit: "B/s",
	challenge: 0,
});
const devices = (...kinds: readonly DeviceClaim["kind"][]) => kinds.map((kind) => ({ kind }) as DeviceClaim);

test("a table for each kind that has peers", () => {
	const figures = [peer(0, 1, 410e9), peer(1, 0, 4.1e9), peer(2, 3, 5e9), peer(3, 2, 6e9)];
	assert.deepEqual(peerTables(devices("gpu", "gpu", "cpu", "cpu", "disk"), figures, plain), [
		"",
		"  each row reads the memory of each column, GB/s",
		"           gpu 0  gpu 1",
		"  gpu 0        –    410",
		"  gpu 1     4.10      –",
		"",
		"  each row reads the memory of each column, GB/s",
		"           cpu 2  cpu 3",
		"  cpu 2        –   5.00",
		"  cpu 3     6.00      –",
	]);
});

test("a pair that was not proven is a dash, and no peers are no table", () => {
	const lines = peerTables(devices("gpu", "gpu", "gpu"), [peer(0, 1, 2e12), peer(2, 0, 1e12)], plain);
	assert.deepEqual(lines.slice(1), [
		"  each row reads the memory of each column, TB/s",
		"           gpu 0  gpu 1  gpu 2",
		"  gpu 0        –   2.00      –",
		"  gpu 1        –      –      –",
		"  gpu 2     1.00      –      –",
	]);
	const other = { ...peer(0, 1, 1), name: "memory.bandwidth" };
	assert.deepEqual(peerTables(devices("gpu"), [other], plain), []);
	assert.deepEqual([isPeerFigure(peer(0, 12, 1)), isPeerFigure(other)], [true, false]);
});

test("the new figures have words, and are compared like the others", () => {
	assert.deepEqual(
		["disk.write", "disk.read", "disk.stored", "gemm.fp16.alone", "scaling.fp16", "peer.bandwidth.3"].map(figureLabel),
		[
			"write speed",
			"read speed",
			"disk space verified",
			"matrix fp16 alone",
			"fp16 together ÷ alone",
			"memory of device 3",
		],
	);
	const scaling = { ...peer(0, 1, 950_000), name: "scaling.fp16", unit: "ppm" };
	const table = comparisonTable(
		compareFigures([peer(0, 1, 4e11), scaling], [peer(0, 1, 2e11), { ...scaling, value: 475_000 }]),
		plain,
	);
	assert.match(table, /memory of device 1 +400 GB\/s +200 GB\/s +× 0\.500/);
	assert.match(table, /fp16 together ÷ alone +95\.0 % +47\.5 % +× 0\.500/);
});
