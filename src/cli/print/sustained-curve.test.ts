// The curve of a sustained run as text.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceClaim, Reading } from "../../protocol/probe/evidence.ts";
import { answerStages, partsOf, READINGS, STAGES, sign } from "../../verify/hardware/honest-evidence.test-kit.ts";
import { sparkline } from "./sparkline.ts";
import { curveLine, readingLines, sustainedLines } from "./sustained-curve.ts";

test("bars rise from nothing to the best", () => {
	assert.equal(sparkline([0, 25, 50, 75, 100]), "▁▃▅▇█");
	assert.equal(sparkline([5, 5, 5]), "███");
	assert.equal(sparkline([]), "");
	assert.equal(sparkline([0, 0]), "");
});

test("a long run is averaged down to the width", () => {
	const halves = [...Array(500).fill(100), ...Array(500).fill(50)] as number[];
	assert.equal(sparkline(halves, 10), "█████▅▅▅▅▅");
});

test("the line names device, time, lowest and highest second", () => {
	const curve = [1e12, 2e12, 1.5e12].map((opsPerS, i) => ({ endUs: (i + 1) * 1_000_000, opsPerS }));
	assert.equal(curveLine(0, "int8", curve), "  device 0  int8 for 3.00 s: 1.00 TOPS … 2.00 TOPS  ▅█▇");
});

const reading = (coreMHz: number, throttle: number): Reading => ({
	device: 0,
	atUs: 0,
	coreMHz,
	memoryMHz: 3201,
	powerMw: 650_400,
	temperatureC: 60,
	throttle,
});
const claim = { powerLimitW: 350, powerDefaultW: 700 } as DeviceClaim;

test("what a device says of itself stands beneath, with its power limit", () => {
	assert.deepEqual(readingLines([reading(1980, 0), reading(990, 4)], claim), [
		"            self-reported during the run (not proof):",
		"            clock        990 … 1980 MHz  █▅",
		"            memory clock 3201 … 3201 MHz  ██",
		"            power        650 … 650 W (limit 350 W, 50 % of default)  ██",
		"            temperature  60 … 60 °C  ██",
		"            clock throttled in 1 of 2 readings",
	]);
	assert.deepEqual(readingLines([], claim), []);
	const clockOnly = { ...reading(1500, 0), memoryMHz: 0, powerMw: 0, temperatureC: 0 };
	assert.equal(readingLines([clockOnly], undefined).length, 2);
});

test("throttled is what the proven curve says, never what the device says", () => {
	const stages = STAGES.slice(0, 4);
	const steady = sustainedLines(partsOf(sign(answerStages(stages))));
	assert.match(steady[0]!, /^ {2}device 0 {2}int8 for /);
	assert.doesNotMatch(steady[0]!, /THROTTLED/);
	const answered = structuredClone(answerStages(stages));
	// The last of four rounds takes as long as the other three.
	const sustained = answered.at(-1)!;
	const last = sustained.roots.at(-1) as { atUs: number };
	last.atUs += 2 * (last.atUs - sustained.roots.at(-2)!.atUs);
	for (const open of sustained.opens as unknown as { sentAtUs: number; receivedAtUs: number }[]) {
		open.sentAtUs += 1_000_000;
		open.receivedAtUs += 1_000_000;
	}
	assert.match(sustainedLines(partsOf(sign(answered)))[0]!, /THROTTLED$/);
});

test("only the readings of the run itself and of its device are shown", () => {
	const answered = answerStages(STAGES.slice(0, 4));
	const { sentAtUs, roots } = answered.at(-1)!;
	const during = { ...READINGS[0]!, atUs: sentAtUs + 5 };
	const others = [
		{ ...READINGS[0]!, atUs: sentAtUs - 1, coreMHz: 7 },
		{ ...during, device: 1, coreMHz: 7 },
		during,
		{ ...READINGS[0]!, atUs: roots.at(-1)!.atUs + 1, coreMHz: 7 },
	];
	const lines = sustainedLines(partsOf(sign(answered, { readings: others })));
	assert.ok(lines.some((line) => line.includes("1980 … 1980 MHz")));
	assert.ok(!lines.some((line) => line.includes("7 …")));
});
