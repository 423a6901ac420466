// One rental as it is kept, docs/rentals.md. A shape only: the transitions are in market/rentals, the row in
// store/. A record of what is owed: no money moves here.

export type RentalState = "reserved" | "active" | "ended" | "refused";
export type RentalEnd = "released" | "expired" | "failed";

/** How the customer gets in. */
export interface RentalAccess {
	readonly host: string;
	readonly port: number;
	readonly user: string;
	readonly hostKey: string;
}

/** What the rules decide about; they keep the other fields of a `Rental` as they are. */
export interface RentalRecord {
	/** 32 hex digits. */
	readonly id: string;
	readonly providerId: string;
	/** The customer's key. */
	readonly customer: string;
	readonly state: RentalState;
	readonly endReason: RentalEnd | null;
	readonly pricePerHourMicros: number;
	readonly reservedAtMs: number;
	/** When the environment stood: time is charged from here. */
	readonly startedAtMs: number | null;
	/** Until then it is paid for. */
	readonly untilMs: number;
	readonly endedAtMs: number | null;
	/** Null until the end. INVARIANT: then charged + refund = paidMicros(rental). */
	readonly chargedMicros: number | null;
	readonly refundMicros: number | null;
	/** Health checks missed in a row. */
	readonly misses: number;
	/** The last time the environment was seen to answer. */
	readonly lastHealthyAtMs: number | null;
	readonly detail: string | null;
}

export interface Rental extends RentalRecord {
	readonly publicKey: string;
	readonly devices: readonly number[];
	readonly access: RentalAccess | null;
	/**
	 * Its deposit in the RentalEscrow, 0x and 64 hex digits. Null: nothing is paid on chain, and nothing is
	 * excused.
	 */
	readonly escrow: string | null;
}
