// What the record learns from the escrow: for each state of the record and of the chain what is news, whose
// transactions count, and that a deadline is the chain's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type EscrowPart, escrowNews, mustExpire } from "./follow-escrow.ts";

const OURS = `0x${"aa".repeat(20)}`;
const OTHER = `0x${"bb".repeat(20)}`;
const TERMS = { workMs: 60_000, windowMs: 100_000, checkedMs: 10_000 };
const STATES = ["untouched", "open", "assigned", "claimed", "settled", "refunded"] as const;
const on = (state: EscrowPart["state"], more: Partial<EscrowPart> = {}): EscrowPart => ({
	...{ provider: OURS, attempt: 1, state, untilS: 500, isChecked: false, ...more },
});
type Record = Parameters<typeof escrowNews>[0];
const news = (
	state: Record["state"],
	found: EscrowPart,
	{ account = OURS as string | null, isCancelled = false, isChecked = false } = {},
) => escrowNews({ state, isChecked }, TERMS, found, { account, isCancelled });
/** States of the chain that are news to this state of the record. */
const newsTo = (state: Record["state"], more: Parameters<typeof news>[2] = {}) =>
	STATES.flatMap((found) => news(state, on(found), more)?.kind ?? []);

test("an open part is refunded with the chain, or where its customer took back what nobody ever had", () => {
	assert.deepEqual(newsTo("open"), ["refunded"]);
	assert.equal(news("open", on("untouched"), { isCancelled: true })?.kind, "refunded");
	assert.equal(news("open", on("open"), { isCancelled: true }), null);
	assert.equal(news("open", on("assigned"), { isCancelled: true }), null);
});

test("an assignment and a claim count by whom the record names, with the chain's deadline", () => {
	assert.deepEqual(newsTo("assigned"), ["accepted"]);
	assert.deepEqual(news("assigned", on("assigned")), { kind: "accepted", atMs: 500_999 - TERMS.workMs });
	assert.deepEqual(newsTo("running"), ["claimed"]);
	assert.deepEqual(news("running", on("claimed")), { kind: "claimed", atMs: 500_999 - TERMS.windowMs });
	for (const [state, found] of [
		["assigned", "assigned"],
		["running", "claimed"],
	] as const) {
		assert.equal(news(state, on(found, { provider: OTHER })), null, "another's");
		assert.equal(news(state, on(found), { account: null }), null, "nobody knows whose");
	}
});

test("a claim is settled, checked or fallen with the chain", () => {
	assert.deepEqual(news("claimed", on("settled")), { kind: "settled" });
	for (const state of ["untouched", "open", "assigned", "refunded"] as const)
		assert.deepEqual(news("claimed", on(state)), { kind: "fell" });
	assert.deepEqual(news("claimed", on("claimed", { provider: OTHER })), { kind: "fell" }, "another's stands there");
	assert.equal(news("claimed", on("claimed", { provider: OTHER }), { account: null }), null);
	assert.equal(news("claimed", on("claimed")), null);
	const checked = on("claimed", { isChecked: true });
	assert.deepEqual(news("claimed", checked), { kind: "checked", atMs: 500_999 - TERMS.checkedMs });
	assert.equal(news("claimed", checked, { isChecked: true }), null);
});

test("what is over has no news", () => {
	for (const state of ["paid", "refunded"] as const) assert.deepEqual(newsTo(state), []);
});

test("the escrow is told that nobody has a part when the record has it open: after its time, or when its claim fell", () => {
	const expire = (found: EscrowPart, nowS: number, state: Record["state"] = "open") =>
		mustExpire({ state }, found, nowS);
	assert.equal(expire(on("assigned"), 500), null);
	assert.equal(expire(on("assigned"), 501), "late");
	assert.equal(expire(on("claimed"), 0), "fallen");
	for (const state of ["untouched", "open", "settled", "refunded"] as const) assert.equal(expire(on(state), 1e9), null);
	for (const state of ["assigned", "running", "claimed", "paid", "refunded"] as const)
		assert.equal(expire(on("assigned"), 501, state), null);
});
