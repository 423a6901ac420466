// The machine's clock jumps ahead and back, by a day and by years; the machine sleeps; ours keeps its pace.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSteadyClock } from "./steady-clock.ts";

const DAY = 86_400_000;
const START = 1_800_000_000_000;

/** A machine whose clock is wrong by what `jump` says; the time since boot is in whole seconds. */
function machine() {
	let passedMs = 0;
	let wrongMs = 0;
	const clock = createSteadyClock({
		wallMs: () => START + passedMs + wrongMs,
		bootMs: () => Math.floor((1_234_567 + passedMs) / 1000) * 1000,
	});
	return {
		clock,
		jump: (ms: number) => {
			wrongMs += ms;
		},
		/** Looks once a second, as a validator does at least. Gives how far off the clock is then. */
		pass(ms: number, everyMs = 1000): number {
			for (const until = passedMs + ms; passedMs < until; ) {
				passedMs = Math.min(until, passedMs + everyMs);
				clock();
			}
			return clock() - START - passedMs;
		},
	};
}

for (const [name, ms] of [
	["a day ahead", DAY],
	["a day back", -DAY],
	["96 days ahead", 96 * DAY],
	["30 years ahead", 30 * 365 * DAY],
	["to 1970", -START],
] as const)
	test(`N12: the clock is set ${name} for ten minutes, and right again`, () => {
		const { clock, jump, pass } = machine();
		assert.equal(pass(10_000), 0);
		const before = clock();
		jump(ms);
		assert.ok(Math.abs(clock() - before) < 2000, "nothing is due at once, nothing runs out");
		const off = pass(600_000);
		assert.ok(Math.abs(off) <= 301_000, `off by ${off} ms after ten minutes`);
		jump(-ms);
		assert.ok(Math.abs(pass(1_200_000)) <= 2000, "right again");
	});

test("N12: a new time that stays is reached; small steps and sleep are followed at once; it never goes back", () => {
	const { clock, jump, pass } = machine();
	jump(-3_600_000);
	let last = clock();
	for (let second = 0; second < 7300; second++) {
		pass(1000);
		assert.ok(clock() >= last);
		last = clock();
	}
	assert.ok(Math.abs(pass(0) + 3_600_000) <= 2000, "an hour is made up for in two");
	jump(3000);
	assert.ok(Math.abs(pass(1000) + 3_597_000) <= 2000);
	// Asleep: both clocks went on.
	assert.ok(Math.abs(pass(8 * 3_600_000, 8 * 3_600_000) + 3_597_000) <= 2000);
});
