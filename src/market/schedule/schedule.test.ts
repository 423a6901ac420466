// The schedule's rules, each with its negative twin; and what SN27's schedule gets wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import { codes } from "../../protocol/codes.ts";
import { createParams, DEFAULT_PARAMS } from "../params.ts";
import { isProbed, nextProbe, onChanged } from "./schedule.ts";
import { freshState, resting } from "./schedule-state.test-kit.ts";
import type { Decision, Outcome, ScheduleState } from "./schedule-state.ts";

const P = DEFAULT_PARAMS;
const MIN = 60_000;
const T0 = 1_800_000_000_000;
const fresh = freshState(T0);

function outcome(status: Outcome["status"], code: string | null, startedAtMs = T0, tookMs = 10_000): Outcome {
	return { status, code, startedAtMs, endedAtMs: startedAtMs + tookMs, heldMs: tookMs };
}
function after(
	state: ScheduleState,
	status: Outcome["status"],
	code: string | null = null,
	startedAtMs = T0,
): Decision {
	return nextProbe(state, outcome(status, code, startedAtMs), P, 0.5);
}
const countOf = ({ counts }: Decision) => counts;

test("after a valid probe: the interval from its start, plus a draw below the jitter", () => {
	const at = (random01: number) => nextProbe(fresh, outcome("valid", null), P, random01).state.nextProbeAtMs!;
	assert.equal(at(0), T0 + 72 * MIN);
	assert.equal(at(0.5), T0 + 72 * MIN + 7.5 * MIN);
	assert.equal(at(1 - 2 ** -53), T0 + 87 * MIN - 1, "never the whole jitter");
	for (const random01 of [1, -0.1, Number.NaN, 2])
		assert.throws(() => nextProbe(fresh, outcome("valid", null), P, random01), RangeError);
	const { state, counts } = after(fresh, "valid");
	assert.equal(state.failures, 0);
	assert.equal(counts, "success");
	assert.equal(state.why, "interval");
});

test("moments differ between providers: SN27's random tests collide, ours spread over the jitter", () => {
	const draws = Array.from({ length: 1000 }, (_, i) => (i * 0.618_033_988_749) % 1);
	const moments = draws.map((random01) => nextProbe(fresh, outcome("valid", null), P, random01).state.nextProbeAtMs!);
	const perMinute = new Map<number, number>();
	for (const at of moments) perMinute.set(Math.floor(at / MIN), (perMinute.get(Math.floor(at / MIN)) ?? 0) + 1);
	assert.ok(Math.max(...perMinute.values()) < 2 * (1000 / 15));
	// The twin: without jitter all of them come at once.
	const still = createParams({ jitterMs: 0 });
	assert.equal(
		new Set(draws.map((r) => nextProbe(fresh, outcome("valid", null), still, r).state.nextProbeAtMs)).size,
		1,
	);
});

/** Runs a provider that always ends the same way through `n` probes, each started when it is due. */
function run(status: Outcome["status"], code: string | null, n: number, from = fresh) {
	let state = from;
	let atMs = T0;
	const pauses: number[] = [];
	const counts: (string | undefined)[] = [];
	for (let i = 0; i < n; i++) {
		const decision = nextProbe(state, outcome(status, code, atMs), P, 0);
		state = decision.state;
		counts.push(countOf(decision));
		pauses.push(state.nextProbeAtMs! - atMs);
		atMs = state.nextProbeAtMs!;
	}
	return { state, pauses, counts };
}

test("inconclusive: retried after 1, 2, 4, 8, 16 min, then 1, 2, 4 … intervals, at most 18 h; it never counts", () => {
	const { pauses, counts, state } = run("inconclusive", "CHALLENGE_SILENT", 12);
	const series = [1, 2, 4, 8, 16].map((minutes) => minutes * MIN + 10_000);
	assert.deepEqual(pauses, [...series, ...[72, 144, 288, 576, 1080, 1080, 1080].map((minutes) => minutes * MIN)]);
	assert.deepEqual(new Set(counts), new Set(["nothing"]));
	assert.equal(state.failures, 0);
});

test("a host that was never at work holds no slot: retried, then its interval, then again, as if it were unplugged", () => {
	let state = fresh;
	const pauses: number[] = [];
	for (let i = 0; i < 12; i++) {
		state = nextProbe(state, { ...outcome("inconclusive", "LINK_DEADLINE"), heldMs: null }, P, 0).state;
		pauses.push(state.nextProbeAtMs! - T0);
	}
	const series = [1, 2, 4, 8, 16].map((minutes) => minutes * MIN + 10_000);
	assert.deepEqual(pauses, [...series, 72 * MIN, ...series, 72 * MIN]);
	assert.deepEqual([state.stalls, state.turn], [0, fresh.turn]);
});

test("SN27 tries 22 times, every 60 s; here a dead host costs six probes an interval, further and further apart", () => {
	const { pauses } = run("inconclusive", "CHALLENGE_SILENT", 100);
	const spentMs = pauses.reduce((sum, pause) => sum + pause, 0);
	assert.ok(100 / (spentMs / (72 * MIN)) < 6.01);
	const retries = pauses.filter((pause) => pause < 72 * MIN);
	assert.ok(
		retries.filter((pause) => pause <= MIN + 10_000).length <= 100 / 6 + 1,
		"one quick retry a series, no more",
	);
});

test("every invalid code but the mishaps of an honest host counts at once and waits its interval", () => {
	const invalid = Object.entries(codes).filter(([, { kind }]) => kind === "verdict-invalid");
	assert.ok(invalid.length > 30);
	for (const [code] of invalid) {
		const decision = after(fresh, "invalid", code);
		const isCrash = ["OPENING_WITHHELD", "STREAM_WITHHELD", "STREAM_LATE"].includes(code);
		assert.equal(countOf(decision), isCrash ? "nothing" : "failure", code);
		assert.equal(decision.state.failures, isCrash ? 0 : 1, code);
		assert.equal(decision.state.why, isCrash ? "retry" : "interval", code);
	}
});

test("withheld once is forgiven, repeated it counts", () => {
	const { counts, pauses, state } = run("invalid", "OPENING_WITHHELD", 4);
	assert.deepEqual(counts, ["nothing", "failure", "failure", "failure"]);
	assert.equal(state.failures, 3);
	assert.deepEqual(pauses.slice(0, 2), [MIN + 10_000, 2 * MIN + 10_000]);
	assert.equal(countOf(after(run("invalid", "STREAM_WITHHELD", 1).state, "invalid", "OPENING_WITHHELD")), "failure");
});

test("late once is asked again, late twice counts; late beside other suspects counts at once", () => {
	const { counts, state } = run("invalid", "STREAM_LATE", 2);
	assert.deepEqual(counts, ["nothing", "failure"]);
	assert.equal(state.failures, 1);
	assert.equal(countOf(after(run("invalid", "STREAM_WITHHELD", 1).state, "invalid", "STREAM_LATE")), "failure");
	const together = (code: string) => nextProbe(fresh, { ...outcome("invalid", code), together: true }, P, 0.5);
	assert.equal(countOf(together("STREAM_LATE")), "failure");
	assert.equal(together("STREAM_LATE").state.why, "interval");
	assert.equal(countOf(together("STREAM_WITHHELD")), "nothing");
	// Memory that does not count is no fault, and no success where it was what was looked for.
	const doubted = { ...outcome("valid", null), isMemoryDoubted: true };
	assert.equal(countOf(nextProbe(fresh, doubted, P, 0.5)), "success");
	assert.equal(countOf(nextProbe(fresh, { ...doubted, together: true }, P, 0.5)), "nothing");
	assert.equal(countOf(nextProbe(fresh, { ...outcome("valid", null), together: true }, P, 0.5)), "success");
});

test("N15: a host that is killed between its roots and its openings has failed nothing; a second time soon it has", () => {
	const { counts, pauses, state } = run("inconclusive", "OPENING_CUT", 3);
	assert.deepEqual(counts, ["nothing", "failure", "failure"]);
	assert.equal(state.failures, 2);
	assert.deepEqual(pauses.slice(0, 2), [MIN + 10_000, 2 * MIN + 10_000]);
	const together = nextProbe(fresh, { ...outcome("inconclusive", "OPENING_CUT"), together: true }, P, 0.5);
	assert.equal(countOf(together), "nothing");
	assert.equal(
		countOf(after(state, "inconclusive", "CHALLENGE_SILENT")),
		"nothing",
		"a link that breaks before counts for nothing",
	);
});

test("N15: nobody gains by hanging up: in whatever row of probes it counts as withholding does", () => {
	const kinds = fc.constantFrom("valid", "silent", "wrong", "withheld");
	fc.assert(
		fc.property(fc.array(kinds, { maxLength: 60 }), (row) => {
			let [hangsUp, withholds] = [fresh, fresh];
			for (const kind of row) {
				const same = (
					{
						valid: ["valid", null],
						silent: ["inconclusive", "CHALLENGE_SILENT"],
						wrong: ["invalid", "ELEMENT_WRONG"],
					} as const
				)[kind as "valid"];
				const a = after(hangsUp, ...(same ?? (["inconclusive", "OPENING_CUT"] as const)));
				const b = after(withholds, ...(same ?? (["invalid", "OPENING_WITHHELD"] as const)));
				assert.equal(a.counts, b.counts);
				[hangsUp, withholds] = [a.state, b.state];
				assert.deepEqual({ ...hangsUp, lastVerdict: null }, { ...withholds, lastVerdict: null });
			}
		}),
	);
});

test("who hangs up whenever the draw hits is not forgiven again and again", () => {
	let state = after(fresh, "invalid", "OPENING_WITHHELD").state;
	// An inconclusive in between, which costs nothing, does not wash it off.
	state = after(state, "inconclusive", "CHALLENGE_SILENT").state;
	assert.equal(countOf(after(state, "invalid", "OPENING_WITHHELD")), "failure");
	// Nor do a few valid ones; ten do.
	for (let valid = 1; valid <= P.forgiveAfterValid; valid++) {
		state = after(state, "valid").state;
		const again = countOf(after(state, "invalid", "OPENING_WITHHELD"));
		assert.equal(again, valid < P.forgiveAfterValid ? "failure" : "nothing", `${valid} valid`);
	}
});

test("a valid probe ends a row of failures and of retries", () => {
	const failed = run("invalid", "ELEMENT_WRONG", 3).state;
	assert.equal(failed.failures, 3);
	assert.equal(after(failed, "valid").state.failures, 0);
	const retried = run("inconclusive", "CHALLENGE_SILENT", 3).state;
	assert.equal(retried.retried, 3);
	assert.equal(after(retried, "valid").state.retried, 0);
	assert.equal(after(failed, "inconclusive", "ABORTED").state.failures, 3, "an inconclusive one ends nothing");
});

test("rented, paused or removed: what ends or changes meanwhile does not make it due", () => {
	for (const why of ["rented", "paused", "removed"] as const) {
		const state = resting(after(fresh, "valid").state, why);
		assert.equal(isProbed(state), false);
		const ended = after(state, "valid");
		assert.equal(countOf(ended), "success", "it still counts");
		assert.equal(ended.state.why, why);
		for (const later of [ended.state, after(state, "inconclusive", "ABORTED").state, onChanged(state, T0 + 5, P)])
			assert.equal(later.nextProbeAtMs, null);
	}
});

test("changed: due at once, at most once in ten minutes, and none is lost", () => {
	const quiet = after(fresh, "valid").state;
	const first = onChanged(quiet, T0 + MIN, P);
	assert.deepEqual([first.nextProbeAtMs, first.why], [T0 + MIN, "changed"]);
	const proven = after(first, "valid", null, T0 + MIN).state;
	assert.equal(proven.changedAtMs, null);
	const second = onChanged(proven, T0 + 3 * MIN, P);
	assert.equal(second.nextProbeAtMs, T0 + 11 * MIN, "the limiter");
	assert.equal(onChanged(second, T0 + 4 * MIN, P).nextProbeAtMs, T0 + 11 * MIN, "planned already, not put off");
	assert.equal(onChanged(proven, T0 + 30 * MIN, P).nextProbeAtMs, T0 + 30 * MIN, "long after");
	// One that is due anyway stays due then.
	const soon = { ...quiet, nextProbeAtMs: T0 + 30 };
	assert.equal(onChanged(soon, T0 + MIN, P).nextProbeAtMs, T0 + 30);
});

test("a change during a probe is proven after it", () => {
	const changed = onChanged(fresh, T0 + 5_000, P);
	const { state } = after(changed, "valid");
	assert.equal(state.nextProbeAtMs, T0 + 10_000);
	assert.equal(state.why, "changed");
	// The twin: one from before the probe began was proven by it.
	assert.equal(after(onChanged(fresh, T0 - 5_000, P), "valid").state.why, "interval");
	// A change that is planned already is not put off by another one during another probe.
	const planned = { ...fresh, changeProbeAtMs: T0 + 7 * MIN, changedAtMs: T0 + 1, nextProbeAtMs: T0 + 7 * MIN };
	assert.equal(after(planned, "valid").state.nextProbeAtMs, T0 + 7 * MIN);
	// A flood of changes during every probe: the limiter holds.
	const again = onChanged(state, T0 + 15_000, P);
	assert.equal(after(again, "valid", null, T0 + 10_000).state.nextProbeAtMs, T0 + 10_000 + 10 * MIN);
});

test("whatever happens in whatever order: never due while resting, always due while active, storable", () => {
	const event = fc.oneof(
		fc.record({
			status: fc.constantFrom("valid", "invalid", "inconclusive"),
			code: fc.constantFrom(null, "OPENING_WITHHELD", "OPENING_CUT", "ELEMENT_WRONG"),
			random01: fc.double({ min: 0, max: 0.999, noNaN: true }),
		}),
		fc.constantFrom("changed", "rented", "paused"),
	);
	fc.assert(
		fc.property(fc.array(fc.tuple(event, fc.integer({ min: 0, max: 100 * MIN })), { maxLength: 40 }), (events) => {
			let state = fresh;
			let nowMs = T0;
			for (const [what, waitMs] of events) {
				nowMs += waitMs;
				const before = state;
				if (what === "changed") state = onChanged(state, nowMs, P);
				else if (what === "rented" || what === "paused") state = resting(state, what);
				else {
					const decision = nextProbe(
						state,
						{ ...what, startedAtMs: nowMs - 10, endedAtMs: nowMs, heldMs: 10 },
						P,
						what.random01,
					);
					state = decision.state;
					if (what.status === "inconclusive" && what.code !== "OPENING_CUT")
						assert.equal(state.failures, before.failures);
				}
				assert.equal(state.nextProbeAtMs !== null, isProbed(state));
				assert.ok(
					state.nextProbeAtMs === null || state.nextProbeAtMs <= nowMs + P.backOffMs + P.jitterMs,
					"nobody is forgotten",
				);
				assert.ok(state.retried <= P.retries);
				encodeCanonicalJson(state);
			}
		}),
	);
});
