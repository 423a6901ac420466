// The life of a rental as pure transitions: reserve → activate → extend … → release, expire or fail; or
// refuse. docs/rentals.md. Each takes the record and the time and gives the next record, or throws
// RENTAL_STATE. Money is integer micro-units and only a record.
//
// Time runs from the moment the environment stands. Charges are rounded down, the rest of what was paid is
// the refund: so in the customer's favour, and charged + refund = paid to the micro-unit.
import { AssayError } from "../../protocol/assay-error.ts";
import type { RentalEnd, RentalRecord } from "../../protocol/network/rental.ts";
import type { Params } from "../params.ts";

/** What is asked for. */
interface RentalTerms extends Pick<RentalRecord, "id" | "providerId" | "customer" | "pricePerHourMicros"> {
	readonly durationMs: number;
}

const HOUR_MS = 3_600_000n;
/** 100,000 units an hour: with it even the longest rental's price is a safe integer. */
const MAX_PRICE_MICROS = 100_000_000_000;

/** Price of a time, rounded down. */
export function priceMicros(pricePerHourMicros: number, durationMs: number): number {
	return Number((BigInt(pricePerHourMicros) * BigInt(Math.max(0, durationMs))) / HOUR_MS);
}

/** What the customer has paid, or owes, for the whole time up to `untilMs`. */
export function paidMicros({ pricePerHourMicros, reservedAtMs, untilMs }: RentalRecord): number {
	return priceMicros(pricePerHourMicros, untilMs - reservedAtMs);
}

export function reserve(terms: RentalTerms, nowMs: number, params: Params): RentalRecord {
	const { id, providerId, customer, pricePerHourMicros, durationMs } = terms;
	if (!Number.isSafeInteger(pricePerHourMicros) || pricePerHourMicros < 0 || pricePerHourMicros > MAX_PRICE_MICROS)
		throw termsBad(`the price must be an integer from 0 to ${MAX_PRICE_MICROS} micro-units an hour`);
	checkDuration(durationMs, params.leastRentalMs, params.mostRentalMs);
	return {
		id,
		providerId,
		customer,
		state: "reserved",
		endReason: null,
		pricePerHourMicros,
		reservedAtMs: nowMs,
		startedAtMs: null,
		untilMs: nowMs + durationMs,
		endedAtMs: null,
		chargedMicros: null,
		refundMicros: null,
		misses: 0,
		lastHealthyAtMs: null,
		detail: null,
	};
}

/** The provider's environment stands. Too late is too late: then expire it. */
export function activate<R extends RentalRecord>(rental: R, nowMs: number, params: Params): R {
	require(rental, "activate", "reserved");
	if (nowMs >= reservedUntilMs(rental, params)) throw stateBad(rental, "activate", "its reservation has run out");
	return { ...rental, state: "active", startedAtMs: nowMs, lastHealthyAtMs: nowMs, misses: 0 };
}

/** The provider would not, or could not: all is refunded. */
export function refuse<R extends RentalRecord>(rental: R, nowMs: number, detail: string): R {
	require(rental, "refuse", "reserved");
	return { ...rental, state: "refused", endedAtMs: nowMs, chargedMicros: 0, refundMicros: paidMicros(rental), detail };
}

/** At the same price, while it runs. `addedMs` is added to the end. */
export function extend<R extends RentalRecord>(rental: R, addedMs: number, nowMs: number, params: Params): R {
	require(rental, "extend", "active");
	if (nowMs >= rental.untilMs) throw stateBad(rental, "extend", "its time is over");
	checkDuration(addedMs, 1, params.mostRentalMs);
	checkDuration(rental.untilMs + addedMs - rental.reservedAtMs, params.leastRentalMs, params.mostRentalMs);
	return { ...rental, untilMs: rental.untilMs + addedMs };
}

/**
 * The customer gives it back: pro rata, but the first minute whole. Before it was active nothing is charged.
 */
export function release<R extends RentalRecord>(rental: R, nowMs: number, params: Params): R {
	require(rental, "release", "reserved", "active");
	const chargedMs = rental.startedAtMs === null ? 0 : Math.max(nowMs - rental.startedAtMs, params.leastChargeMs);
	return ended(rental, "released", nowMs, chargedMs, "");
}

/**
 * Its time is over, or a reservation was not answered in time (then nothing is charged). Too early is an
 * error.
 */
export function expire<R extends RentalRecord>(rental: R, nowMs: number, params: Params): R {
	require(rental, "expire", "reserved", "active");
	if (!isExpired(rental, nowMs, params)) throw stateBad(rental, "expire", "its time is not over");
	const chargedMs = rental.startedAtMs === null ? 0 : rental.untilMs - rental.startedAtMs;
	return ended(rental, "expired", Math.max(nowMs, rental.startedAtMs ?? nowMs), chargedMs, "");
}

/** The host died: charged up to when it was last seen to answer. No minimum: the fault is the provider's. */
export function fail<R extends RentalRecord>(rental: R, nowMs: number, detail: string): R {
	require(rental, "fail", "reserved", "active");
	const { startedAtMs, lastHealthyAtMs } = rental;
	const chargedMs = startedAtMs === null ? 0 : (lastHealthyAtMs ?? startedAtMs) - startedAtMs;
	return ended(rental, "failed", nowMs, chargedMs, detail);
}

/** One health check. The last of `healthMisses` misses in a row fails the rental. */
export function onHealth<R extends RentalRecord>(rental: R, isHealthy: boolean, nowMs: number, params: Params): R {
	require(rental, "check the health of", "active");
	if (isHealthy) return { ...rental, misses: 0, lastHealthyAtMs: Math.max(nowMs, rental.lastHealthyAtMs ?? nowMs) };
	const missed = { ...rental, misses: rental.misses + 1 };
	return missed.misses < params.healthMisses
		? missed
		: fail(missed, nowMs, `${missed.misses} health checks were missed`);
}

export function isExpired(rental: RentalRecord, nowMs: number, params: Params): boolean {
	if (rental.state === "reserved") return nowMs >= reservedUntilMs(rental, params);
	return rental.state === "active" && nowMs >= rental.untilMs;
}

function reservedUntilMs({ reservedAtMs, untilMs }: RentalRecord, { reserveTimeoutMs }: Params): number {
	return Math.min(untilMs, reservedAtMs + reserveTimeoutMs);
}

/** Never more than from its start to its end as paid for, never less than nothing, whatever clocks say. */
function ended<R extends RentalRecord>(
	rental: R,
	endReason: RentalEnd,
	nowMs: number,
	usedMs: number,
	detail: string,
): R {
	const most = rental.startedAtMs === null ? 0 : rental.untilMs - rental.startedAtMs;
	const chargedMs = Math.max(0, Math.min(usedMs, most));
	const chargedMicros = priceMicros(rental.pricePerHourMicros, chargedMs);
	const refundMicros = paidMicros(rental) - chargedMicros;
	return {
		...rental,
		state: "ended",
		endReason,
		endedAtMs: nowMs,
		chargedMicros,
		refundMicros,
		detail: detail || null,
	};
}

function require(rental: RentalRecord, verb: string, ...states: readonly RentalRecord["state"][]): void {
	if (!states.includes(rental.state)) throw stateBad(rental, verb, `it is ${rental.endReason ?? rental.state}`);
}

function stateBad({ id }: RentalRecord, verb: string, why: string): AssayError {
	return new AssayError("RENTAL_STATE", `cannot ${verb} rental ${id}: ${why}`);
}

function termsBad(detail: string): AssayError {
	return new AssayError("RENTAL_TERMS", detail);
}

function checkDuration(durationMs: number, least: number, most: number): void {
	if (!Number.isSafeInteger(durationMs) || durationMs < least || durationMs > most)
		throw termsBad(`the duration must be from ${least} to ${most} ms`);
}
