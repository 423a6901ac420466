// What the record learns from the escrow: for every pair of a state of the record and one of the chain what
// is news, that an older answer is none, and that a deadline is the chain's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clockOffMs, type EscrowKnown, type EscrowPart, escrowNews, mustTell } from "./follow-escrow.ts";

const TERMS = { workMs: 60_000, windowMs: 100_000, checkedMs: 10_000 };
const FOUND = ["untouched", "open", "assigned", "claimed", "settled", "refunded"] as const;
const on = (state: EscrowPart["state"], more: Partial<EscrowPart> = {}): EscrowPart => ({
	...{ provider: `0x${"aa".repeat(20)}`, attempt: 1, state, untilS: 500, isChecked: false, ...more },
});
type State = Parameters<typeof escrowNews>[0]["state"];
/** The record is at its second attempt. */
const news = (state: State, found: EscrowPart, more: Partial<EscrowKnown> & { readonly isChecked?: boolean } = {}) => {
	const { isChecked = false, ...known } = more;
	const all = { holder: 2, isCancelled: false, isFallen: false, offMs: 0, ...known };
	return escrowNews({ state, isChecked, attempt: 2, untilMs: 500_999 + all.offMs }, TERMS, found, all);
};
const kinds = (state: State, more: Partial<EscrowKnown> = {}) =>
	FOUND.map((found) => news(state, on(found), more)?.kind ?? "-").join(" ");

test("every pair: by whoever the record has the part of now, or had it of last", () => {
	// In the order of FOUND.
	assert.equal(kinds("open"), "- - taken recovered recovered refunded");
	assert.equal(kinds("assigned"), "- - accepted recovered recovered -");
	assert.equal(kinds("running"), "behind released - claimed recovered -");
	assert.equal(kinds("claimed"), "behind fell behind - settled fell");
	assert.equal(kinds("paid"), "- - - - - -");
	assert.equal(kinds("refunded"), "unrefunded unrefunded unrefunded recovered recovered -");
});

test("every pair: by somebody who had it in an earlier attempt", () => {
	const earlier = { holder: 1 };
	assert.equal(kinds("open", earlier), "- - taken recovered recovered refunded");
	assert.equal(kinds("assigned", earlier), "- - taken recovered recovered -");
	// The chain had the second attempt already: what it says of the first is old, unless it is the end of all.
	assert.equal(kinds("running", earlier), "behind behind behind behind recovered -");
	assert.equal(kinds("claimed", earlier), "behind behind behind behind recovered fell");
	assert.equal(kinds("refunded", earlier), "unrefunded unrefunded unrefunded recovered recovered -");
});

test("every pair: by somebody whom the record never knew", () => {
	const unknown = { holder: null };
	assert.equal(kinds("open", unknown), "- - - - recovered refunded");
	assert.equal(kinds("assigned", unknown), "- - - - recovered -");
	assert.equal(kinds("running", unknown), "behind behind behind behind recovered -");
	// Events alone say whether the claim fell; without one the node is behind.
	assert.equal(kinds("claimed", unknown), "behind fell fell fell recovered fell");
	assert.equal(kinds("refunded", unknown), "unrefunded unrefunded unrefunded unrefunded recovered -");
});

test("a state of the chain that is older than the record convicts nobody, gives nothing back and pays nothing", () => {
	for (const found of ["untouched", "assigned"] as const)
		assert.deepEqual(news("claimed", on(found)), { kind: "behind" }, found);
	assert.deepEqual(news("running", on("untouched")), { kind: "behind" });
});

test("who declined, or was silent, and took it on chain all the same has it: by the attempt that it was asked in", () => {
	const atMs = 500_999 - TERMS.workMs;
	assert.deepEqual(news("open", on("assigned")), { kind: "taken", holder: 2, atMs });
	assert.deepEqual(news("assigned", on("assigned"), { holder: 1 }), { kind: "taken", holder: 1, atMs });
	assert.equal(news("open", on("assigned"), { isFallen: true }), null);
	assert.equal(news("open", on("assigned"), { holder: null }), null);
});

test("whom a recovered part is of, and whether it is paid", () => {
	assert.deepEqual(news("open", on("claimed")), { kind: "recovered", holder: 2, isPaid: false });
	assert.deepEqual(news("open", on("settled"), { holder: 1 }), { kind: "recovered", holder: 1, isPaid: true });
	assert.deepEqual(news("running", on("settled"), { holder: null }), { kind: "recovered", holder: null, isPaid: true });
	assert.equal(
		news("open", on("claimed"), { isFallen: true }),
		null,
		"what it was built on fell: it is opened on chain",
	);
});

test("what nobody ever had is given back when its customer took it back, and only then", () => {
	assert.equal(news("open", on("untouched"), { isCancelled: true })?.kind, "refunded");
	assert.equal(news("refunded", on("untouched"), { isCancelled: true }), null);
	assert.equal(news("open", on("open"), { isCancelled: true }), null);
	assert.equal(news("open", on("assigned"), { isCancelled: true }), null);
});

test("deadlines are the chain's", () => {
	assert.deepEqual(news("assigned", on("assigned")), { kind: "accepted", atMs: 500_999 - TERMS.workMs });
	assert.deepEqual(news("running", on("claimed")), { kind: "claimed", atMs: 500_999 - TERMS.windowMs });
	const checked = on("claimed", { isChecked: true });
	assert.deepEqual(news("claimed", checked), { kind: "checked", atMs: 500_999 - TERMS.checkedMs });
	assert.equal(news("claimed", checked, { isChecked: true }), null);
});

test("the escrow is told of an open part: that it is nobody's after its time, that an unknown claim had its window", () => {
	const tell = (found: EscrowPart, nowS: number, isFallen = false, holder: number | null = null) =>
		mustTell(found, nowS, { isFallen, holder });
	assert.equal(tell(on("assigned"), 500), null, "of whoever the record never knew nothing is said");
	// Before its time is over: the record gave it up.
	assert.equal(tell(on("assigned"), 500, false, 1), "release");
	assert.equal(tell(on("assigned"), 501, false, 1), "expire");
	assert.equal(tell(on("claimed"), 500, false, 1), null, "a claim stands, whatever the record thinks");
	assert.equal(tell(on("assigned"), 501), "expire");
	assert.equal(tell(on("claimed"), 500), null);
	assert.equal(tell(on("claimed"), 501), "settle");
	for (const state of ["assigned", "claimed"] as const) assert.equal(tell(on(state), 0, true), "expire");
	for (const state of ["untouched", "open", "settled", "refunded"] as const)
		assert.equal(tell(on(state), 1e9, true), null);
});

test("the chain's deadlines are told by the validator's clock, however wrong that is", () => {
	assert.equal(clockOffMs(1_000_000, 1000), 0, "no two clocks are the same");
	assert.equal(clockOffMs(1_000_000, 970), 0, "the newest block is seconds old");
	const offMs = clockOffMs(4_600_999, 1000);
	assert.equal(offMs, 3_600_000);
	assert.equal(clockOffMs(1_000_999, 4600), -offMs);
	for (const off of [offMs, -offMs]) {
		const at = (state: State, found: EscrowPart) => news(state, found, { offMs: off });
		assert.deepEqual(at("assigned", on("assigned")), { kind: "accepted", atMs: 500_999 + off - TERMS.workMs });
		assert.deepEqual(at("running", on("claimed")), { kind: "claimed", atMs: 500_999 + off - TERMS.windowMs });
		const checked = on("claimed", { isChecked: true });
		assert.deepEqual(at("claimed", checked), { kind: "checked", atMs: 500_999 + off - TERMS.checkedMs });
		assert.equal(at("running", on("assigned")), null, "the record has it");
		assert.equal(at("claimed", on("claimed")), null);
		// The validator was started with another clock since.
		const known = { holder: 2, isCancelled: false, isFallen: false, offMs: off };
		for (const [state, found] of [
			["running", "assigned"],
			["claimed", "claimed"],
		] as const) {
			const part = { state, isChecked: false, attempt: 2, untilMs: 500_999 };
			assert.deepEqual(escrowNews(part, TERMS, on(found), known), { kind: "moved", untilMs: 500_999 + off });
		}
	}
});
