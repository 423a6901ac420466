// What a call counts for a host, by what came of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isExcusedBy, outcomeAtDeadline } from "./call-outcome.ts";

const HERE = { isConnected: true, isExcused: false, isUncalled: false };

test("late, silent, away, refused and wrong; and who waits for its opening", () => {
	const at = (ms: number, code: string | null = null) => ({ ms, code });
	const cases = [
		[outcomeAtDeadline(HERE, at(5), { ok: true }, 5), "opening", null],
		[outcomeAtDeadline(HERE, at(5), { ok: false, code: "CALL_DEVICE_OTHER" }, 5), "wrong", "CALL_DEVICE_OTHER"],
		// A busy host that says how little it could do has shown nothing false.
		[outcomeAtDeadline(HERE, at(5), { ok: false, code: "CALL_TOO_LITTLE" }, 5), "late", "CALL_TOO_LITTLE"],
		[outcomeAtDeadline(HERE, at(6), null, 5), "late", null],
		[outcomeAtDeadline(HERE, at(5), null, 5), "absent", "AGENT_SILENT"],
		[outcomeAtDeadline(HERE, at(6, "PROVIDER_BUSY"), null, 5), "absent", "PROVIDER_BUSY"],
		[outcomeAtDeadline(HERE, undefined, null, 5), "absent", "AGENT_SILENT"],
		[outcomeAtDeadline({ ...HERE, isConnected: false }, undefined, null, 5), "absent", "AGENT_CLOSED"],
		[outcomeAtDeadline({ ...HERE, isExcused: true }, at(5), { ok: true }, 5), "excused", null],
		[outcomeAtDeadline(HERE, at(1, "ROLL_CALL_OFF"), null, 5), "uncalled", "ROLL_CALL_OFF"],
		[outcomeAtDeadline({ ...HERE, isUncalled: true }, undefined, null, 5), "uncalled", "ROLL_CALL_OFF"],
	] as const;
	for (const [found, state, code] of cases) assert.deepEqual(found, { state, code });
});

test("a paid rental excuses whoever did not answer, and nobody twice", () => {
	for (const state of ["absent", "late", "wrong", "uncalled"] as const) {
		assert.equal(isExcusedBy(0, { state }), true);
		assert.equal(isExcusedBy(undefined, { state }), false);
	}
	for (const state of ["answered", "excused"] as const) assert.equal(isExcusedBy(7, { state }), false);
});
