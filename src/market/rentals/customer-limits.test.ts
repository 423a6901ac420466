// What one customer may hold, at each bound and one beyond it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { createParams } from "../params.ts";
import { checkCustomer, type HeldRentals, type WishedTime } from "./customer-limits.ts";

const P = createParams({});
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOTHING: HeldRentals = { open: 0, openUnpaid: 0, unpaidMs: 0 };
const wish = (ms: number, more: Partial<WishedTime> = {}): WishedTime => ({
	...{ isPaid: false, durationMs: ms, addedMs: ms, isNew: true },
	...more,
});
const isRefused = (held: Partial<HeldRentals>, wished: WishedTime): boolean => {
	try {
		checkCustomer({ ...NOTHING, ...held }, wished, P);
		return false;
	} catch (error) {
		assert.ok(error instanceof AssayError && error.code === "RENTAL_LIMIT");
		return true;
	}
};

test("N19: no key rents for 30 days at once unless it is paid for", () => {
	assert.equal(isRefused({}, wish(30 * DAY)), true);
	assert.equal(isRefused({}, wish(30 * DAY, { isPaid: true })), false, "the twin");
	assert.equal(isRefused({}, wish(P.mostUnpaidMs)), false);
	assert.equal(isRefused({}, wish(P.mostUnpaidMs + 1)), true);
	// In pieces neither: what counts is the whole of it.
	assert.equal(isRefused({}, wish(P.mostUnpaidMs + 1, { isNew: false, addedMs: 1 })), true);
});

test("N19: so many rentals at once, and so much unpaid time a day", () => {
	assert.equal(isRefused({ openUnpaid: P.mostOpenUnpaid, open: P.mostOpenUnpaid }, wish(HOUR)), true);
	assert.equal(isRefused({ openUnpaid: P.mostOpenUnpaid - 1, open: P.mostOpenUnpaid - 1 }, wish(HOUR)), false);
	assert.equal(
		isRefused({ openUnpaid: P.mostOpenUnpaid, open: P.mostOpenUnpaid }, wish(HOUR, { isPaid: true })),
		false,
	);
	assert.equal(isRefused({ open: P.mostOpenRentals }, wish(HOUR, { isPaid: true })), true);
	assert.equal(isRefused({ open: P.mostOpenRentals - 1 }, wish(HOUR, { isPaid: true })), false);
	assert.equal(isRefused({ unpaidMs: P.mostUnpaidDayMs - HOUR }, wish(HOUR)), false);
	assert.equal(isRefused({ unpaidMs: P.mostUnpaidDayMs - HOUR + 1 }, wish(HOUR)), true);
	// Who holds as many as it may can still extend one.
	const more = wish(2 * HOUR, { isNew: false, addedMs: HOUR });
	assert.equal(isRefused({ open: P.mostOpenRentals, openUnpaid: P.mostOpenUnpaid }, more), false);
});
