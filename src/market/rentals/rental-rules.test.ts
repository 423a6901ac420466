// Every transition from every state, and money that neither appears nor vanishes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { RentalRecord } from "../../protocol/network/rental.ts";
import { DEFAULT_PARAMS } from "../params.ts";
import {
	activate,
	expire,
	extend,
	fail,
	isExpired,
	onHealth,
	paidMicros,
	priceMicros,
	refuse,
	release,
	reserve,
} from "./rental-rules.ts";

const P = DEFAULT_PARAMS;
const T0 = 1_800_000_000_000;
const HOUR = 3_600_000;
const terms = { id: "1".repeat(32), providerId: "p", customer: "c", pricePerHourMicros: 3_600_000, durationMs: HOUR };
const reserved = reserve(terms, T0, P);
const active = activate(reserved, T0, P);
const codeOf = (act: () => unknown): string => {
	try {
		act();
	} catch (error) {
		return error instanceof AssayError ? error.code : String(error);
	}
	return "";
};
const money = ({ chargedMicros, refundMicros }: RentalRecord) => [chargedMicros, refundMicros];

test("reserved, active, to its end: charged whole", () => {
	assert.equal(reserved.state, "reserved");
	assert.equal(reserved.untilMs, T0 + HOUR);
	assert.equal(paidMicros(reserved), 3_600_000);
	assert.equal(active.state, "active");
	const over = expire(active, T0 + HOUR, P);
	assert.deepEqual([over.state, over.endReason, ...money(over)], ["ended", "expired", 3_600_000, 0]);
	assert.equal(
		codeOf(() => expire(active, T0 + HOUR - 1, P)),
		"RENTAL_STATE",
		"not before its time",
	);
	assert.deepEqual(money(expire(active, T0 + 9 * HOUR, P)), [3_600_000, 0], "found late: no more than was paid");
});

test("time runs from when the environment stands", () => {
	const late = activate(reserved, T0 + 60_000, P);
	assert.deepEqual(money(expire(late, T0 + HOUR, P)), [3_540_000, 60_000]);
});

test("released early: to the millisecond, but the first minute whole", () => {
	assert.deepEqual(money(release(active, T0 + 90_000, P)), [90_000, 3_510_000]);
	assert.deepEqual(money(release(active, T0 + 90_001, P)), [90_001, 3_509_999]);
	assert.deepEqual(money(release(active, T0 + 1, P)), [60_000, 3_540_000]);
	assert.deepEqual(money(release(active, T0 - 5, P)), [60_000, 3_540_000], "a clock that went back");
	assert.deepEqual(money(release(reserved, T0 + 5, P)), [0, 3_600_000], "never active, never charged");
	assert.equal(release(active, T0 + 90_000, P).endReason, "released");
});

test("a dead host: charged up to when it last answered, no minimum", () => {
	let rental: RentalRecord = onHealth(active, true, T0 + 30_000, P);
	rental = onHealth(rental, false, T0 + 60_000, P);
	rental = onHealth(rental, false, T0 + 90_000, P);
	assert.deepEqual([rental.state, rental.misses], ["active", 2]);
	const dead = onHealth(rental, false, T0 + 120_000, P);
	assert.deepEqual([dead.state, dead.endReason, ...money(dead)], ["ended", "failed", 30_000, 3_570_000]);
	assert.match(dead.detail ?? "", /3 health checks/);
	// The twin: one answer in between, and the misses start anew.
	const well = onHealth(rental, true, T0 + 120_000, P);
	assert.equal(well.misses, 0);
	assert.equal(onHealth(well, false, T0 + 150_000, P).state, "active");
	assert.deepEqual(money(fail(active, T0 + 5, "gone")), [0, 3_600_000]);
	assert.deepEqual(money(fail(reserved, T0 + 5, "gone")), [0, 3_600_000]);
});

test("refused, or never answered: all is refunded", () => {
	const refused = refuse(reserved, T0 + 5, "no container runtime");
	assert.deepEqual(
		[refused.state, refused.endReason, refused.detail, ...money(refused)],
		["refused", null, "no container runtime", 0, 3_600_000],
	);
	assert.equal(isExpired(reserved, T0 + P.reserveTimeoutMs - 1, P), false);
	assert.equal(isExpired(reserved, T0 + P.reserveTimeoutMs, P), true);
	assert.deepEqual(money(expire(reserved, T0 + P.reserveTimeoutMs, P)), [0, 3_600_000]);
	assert.equal(
		codeOf(() => activate(reserved, T0 + P.reserveTimeoutMs, P)),
		"RENTAL_STATE",
		"too late is too late",
	);
});

test("extended at the same price, while it runs, within the longest time", () => {
	const longer = extend(active, HOUR, T0 + 10, P);
	assert.equal(longer.untilMs, T0 + 2 * HOUR);
	assert.equal(paidMicros(longer), 7_200_000);
	assert.deepEqual(money(release(longer, T0 + HOUR + 1, P)), [3_600_001, 3_599_999]);
	assert.equal(
		codeOf(() => extend(active, HOUR, T0 + HOUR, P)),
		"RENTAL_STATE",
		"its time is over",
	);
	for (const added of [0, -1, 0.5, Number.NaN, P.mostRentalMs])
		assert.equal(
			codeOf(() => extend(active, added, T0, P)),
			"RENTAL_TERMS",
			String(added),
		);
});

test("terms that cannot be met are refused", () => {
	for (const bad of [
		{ durationMs: P.leastRentalMs - 1 },
		{ durationMs: P.mostRentalMs + 1 },
		{ durationMs: 1e6 + 0.5 },
		{ pricePerHourMicros: -1 },
		{ pricePerHourMicros: 0.1 },
		{ pricePerHourMicros: 1e12 },
	])
		assert.equal(
			codeOf(() => reserve({ ...terms, ...bad }, T0, P)),
			"RENTAL_TERMS",
			JSON.stringify(bad),
		);
	assert.equal(paidMicros(reserve({ ...terms, pricePerHourMicros: 0 }, T0, P)), 0, "for nothing is a price");
});

test("every transition from every state: those of the page, and no other", () => {
	const states: Record<string, RentalRecord> = {
		reserved,
		active,
		ended: release(active, T0 + 90_000, P),
		refused: refuse(reserved, T0, ""),
	};
	const acts: Record<string, [(rental: RentalRecord) => RentalRecord, string[]]> = {
		activate: [(rental) => activate(rental, T0 + 1, P), ["reserved"]],
		refuse: [(rental) => refuse(rental, T0 + 1, ""), ["reserved"]],
		extend: [(rental) => extend(rental, HOUR, T0 + 1, P), ["active"]],
		release: [(rental) => release(rental, T0 + 1, P), ["reserved", "active"]],
		expire: [(rental) => expire(rental, T0 + HOUR, P), ["reserved", "active"]],
		fail: [(rental) => fail(rental, T0 + 1, ""), ["reserved", "active"]],
		health: [(rental) => onHealth(rental, true, T0 + 1, P), ["active"]],
	};
	for (const [name, [act, allowed]] of Object.entries(acts))
		for (const [state, rental] of Object.entries(states))
			assert.equal(
				codeOf(() => act(rental)),
				allowed.includes(state) ? "" : "RENTAL_STATE",
				`${name} of ${state}`,
			);
});

test("other fields of a row go through untouched, and the row is not changed in place", () => {
	const row = Object.freeze({ ...reserved, access: { port: 22 }, devices: [0, 1] });
	const next = activate(row, T0, P);
	assert.deepEqual([next.access, next.devices], [{ port: 22 }, [0, 1]]);
	assert.equal(row.state, "reserved");
});

test("conservation: charged + refund = paid, to the micro-unit, whatever happens when", () => {
	const step = fc.record({
		what: fc.constantFrom("extend", "well", "missed", "release", "expire", "fail"),
		waitMs: fc.integer({ min: -1000, max: 2 * HOUR }),
	});
	const price = fc.integer({ min: 0, max: 100_000_000_000 });
	fc.assert(
		fc.property(
			price,
			fc.integer({ min: P.leastRentalMs, max: P.mostRentalMs / 2 }),
			fc.array(step, { maxLength: 20 }),
			(pricePerHourMicros, durationMs, steps) => {
				let rental: RentalRecord = activate(reserve({ ...terms, pricePerHourMicros, durationMs }, T0, P), T0 + 7, P);
				let nowMs = T0 + 7;
				for (const { what, waitMs } of [...steps, { what: "release", waitMs: 1 } as const]) {
					nowMs += waitMs;
					if (rental.state !== "active") break;
					if (what === "expire" && !isExpired(rental, nowMs, P)) continue;
					if (what === "extend" && nowMs >= rental.untilMs) continue;
					rental =
						what === "extend"
							? extend(rental, 12_345, nowMs, P)
							: what === "well" || what === "missed"
								? onHealth(rental, what === "well", nowMs, P)
								: what === "release"
									? release(rental, nowMs, P)
									: what === "expire"
										? expire(rental, nowMs, P)
										: fail(rental, nowMs, "gone");
				}
				assert.equal(rental.state, "ended");
				const [charged, refund] = money(rental);
				assert.ok(Number.isSafeInteger(charged) && Number.isSafeInteger(refund) && charged! >= 0 && refund! >= 0);
				assert.equal(BigInt(charged!) + BigInt(refund!), BigInt(paidMicros(rental)));
			},
		),
	);
});

test("rounded in the customer's favour, and extending in pieces costs what it costs at once", () => {
	assert.equal(priceMicros(1, HOUR - 1), 0);
	assert.equal(priceMicros(7, HOUR / 2), 3);
	let pieces: RentalRecord = activate(reserve({ ...terms, pricePerHourMicros: 7 }, T0, P), T0, P);
	for (let i = 0; i < 100; i++) pieces = extend(pieces, 60_000, T0 + 1, P);
	const whole = reserve({ ...terms, pricePerHourMicros: 7, durationMs: HOUR + 6_000_000 }, T0, P);
	assert.equal(paidMicros(pieces), paidMicros(whole));
});
