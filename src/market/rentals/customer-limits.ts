// How much one customer may hold. Pure. A key costs nothing and time without a deposit costs nothing, so
// without a bound anybody keeps any host out of the network for a month; time that is paid for through the
// escrow is bounded by its price and by the escrow's longest time. docs/rentals.md.
import { AssayError } from "../../protocol/assay-error.ts";
import type { Params } from "../params.ts";

/** Unpaid time is counted over this long. */
export const LOOK_BACK_MS = 86_400_000;

/** What a customer holds now, and held in the last day. */
export interface HeldRentals {
	readonly open: number;
	readonly openUnpaid: number;
	/** Of rentals without a deposit: used in the last day, and still to come of those that are open. */
	readonly unpaidMs: number;
}

export interface WishedTime {
	readonly isPaid: boolean;
	/** From the reservation to the end. */
	readonly durationMs: number;
	/** Of it, what is asked for now. */
	readonly addedMs: number;
	/** False: it has the rental, and wants more time. */
	readonly isNew: boolean;
}

/** Throws AssayError RENTAL_LIMIT. */
export function checkCustomer(held: HeldRentals, wish: WishedTime, params: Params): void {
	const { mostOpenRentals, mostOpenUnpaid, mostUnpaidMs, mostUnpaidDayMs } = params;
	if (wish.isNew && held.open >= mostOpenRentals)
		throw limit(`this customer has ${held.open} open rentals, the most allowed is ${mostOpenRentals}`);
	if (wish.isPaid) return;
	if (wish.durationMs > mostUnpaidMs)
		throw limit(`without a deposit a rental may last ${mostUnpaidMs} ms, not ${wish.durationMs}`);
	if (wish.isNew && held.openUnpaid >= mostOpenUnpaid)
		throw limit(
			`this customer has ${held.openUnpaid} open rentals without a deposit, the most allowed is ${mostOpenUnpaid}`,
		);
	if (held.unpaidMs + wish.addedMs > mostUnpaidDayMs)
		throw limit(
			`without a deposit this customer may use ${mostUnpaidDayMs} ms a day, and has used or booked ${held.unpaidMs}`,
		);
}

const limit = (detail: string): AssayError => new AssayError("RENTAL_LIMIT", detail);
