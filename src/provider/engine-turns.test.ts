// Whose turn it is, on a clock of the test's own. Audit N5: a validator that opened again and again kept an
// honest one out, whose probes then saw a host that is never there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineTurns, TURN_RULES } from "./engine-turns.ts";

const S = 1000;
const MIN = 60 * S;
const HOUR = 60 * MIN;

/** Validators that ask once a second while they want the engine, for so many hours. */
function play(
	hours: number,
	validators: Readonly<Record<string, { readonly holdMs: number; readonly everyMs: number }>>,
) {
	let nowMs = 0;
	const turns = new EngineTurns(() => nowMs);
	const at: { holder: { readonly key: string; readonly untilMs: number } | null } = { holder: null };
	const state = Object.entries(validators).map(([key, { holdMs, everyMs }]) => ({
		...{ key, holdMs, everyMs, wantsMs: 0, usedMs: 0 },
		waits: [] as number[],
	}));
	for (; nowMs < hours * HOUR; nowMs += S) {
		for (const one of state) {
			if (at.holder !== null && nowMs >= at.holder.untilMs) {
				turns.end();
				at.holder = null;
			}
			if (at.holder?.key === one.key || nowMs < one.wantsMs) continue;
			const isNext = turns.ask(one.key);
			if (turns.mustYieldTo(one.key)) {
				turns.end();
				for (const other of state) if (other.key === at.holder?.key) other.wantsMs = nowMs;
				at.holder = null;
			} else if (isNext) {
				turns.begin(one.key);
				at.holder = { key: one.key, untilMs: nowMs + one.holdMs };
				one.waits.push(nowMs - one.wantsMs);
				one.wantsMs = nowMs + Math.max(one.everyMs, one.holdMs);
			}
		}
		const working = state.find(({ key }) => key === at.holder?.key);
		if (working) working.usedMs += S;
	}
	return Object.fromEntries(state.map(({ key, usedMs, waits }) => [key, { usedMs, waits }]));
}

test("N5: one that keeps the engine for ever keeps an honest validator waiting for seconds, but for its first minutes", () => {
	const { honest, hog } = play(48, {
		hog: { holdMs: 30 * MIN, everyMs: 0 },
		honest: { holdMs: 20 * S, everyMs: 72 * MIN },
	}) as Record<"honest" | "hog", { usedMs: number; waits: number[] }>;
	assert.equal(honest.waits.length, 40, "every probe of two days");
	assert.ok(Math.max(...honest.waits) <= TURN_RULES.protectedMs + 3 * S, `${Math.max(...honest.waits)}`);
	assert.ok(honest.waits.filter((ms) => ms > 3 * S).length <= 1, "once, before anybody could know");
	assert.ok(hog.usedMs > 40 * HOUR, "what nobody else wants it has");
});

test("N5: of n that always ask each has its share, however long one would hold", () => {
	for (const honest of [1, 2, 4]) {
		const names = Array.from({ length: honest }, (_, i) => `honest ${i}`);
		const asks = Object.fromEntries(names.map((name) => [name, { holdMs: 20 * S, everyMs: 0 }]));
		const played = play(24, { hog: { holdMs: 30 * MIN, everyMs: 0 }, ...asks });
		for (const name of names) {
			const share = played[name]!.usedMs / Object.values(played).reduce((sum, { usedMs }) => sum + usedMs, 0);
			assert.ok(share >= 0.95 / (honest + 1), `${name} of ${honest + 1}: ${share}`);
			assert.ok(Math.max(...played[name]!.waits) <= TURN_RULES.protectedMs + 10 * MIN);
		}
	}
});

test("who opens again at once is behind the one that was told to come again, until that one's place lapses", () => {
	let nowMs = 0;
	const turns = new EngineTurns(() => nowMs);
	assert.equal(turns.ask("a"), true);
	turns.begin("a");
	nowMs += 10 * S;
	assert.equal(turns.ask("b"), false);
	turns.end();
	assert.equal(turns.ask("a"), false, "b has used nothing, and waits");
	nowMs += TURN_RULES.placeMs;
	assert.equal(turns.ask("a"), false);
	nowMs += S;
	assert.equal(turns.ask("a"), true, "b did not come");
});

test("who has used little is not cut off, and nobody gives way to one that has used more", () => {
	let nowMs = 0;
	const turns = new EngineTurns(() => nowMs);
	turns.begin("a");
	nowMs += TURN_RULES.protectedMs;
	assert.equal(turns.mustYieldTo("b"), false, "a slow probe goes on to its end");
	nowMs += S;
	assert.equal(turns.mustYieldTo("b"), true);
	assert.equal(turns.mustYieldTo("a"), false, "its own second request");
	turns.end();
	turns.begin("b");
	nowMs += TURN_RULES.protectedMs + 10 * MIN;
	assert.equal(turns.mustYieldTo("a"), true);
	turns.end();
	turns.begin("a");
	nowMs += 5 * MIN;
	assert.equal(turns.mustYieldTo("b"), false, "it has used more");
	turns.end();
	nowMs += 20 * HOUR;
	assert.ok(turns.usedMs("a") + turns.usedMs("b") < S, "yesterday is forgotten");
});
