// One rental as it is kept, and what is asked of it. Shapes only; the transitions are in rental-rules.ts.
// A record of what is owed: no money moves here. docs/network.md §6.

export type RentalEnd = "released" | "expired" | "failed";

/** A row of the store fits; the transitions keep its other fields (access, devices, public key) as they are. */
export interface RentalRecord {
	/** 32 hex digits. */
	readonly id: string;
	readonly providerId: string;
	readonly customer: string;
	readonly state: "reserved" | "active" | "ended" | "refused";
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

export interface RentalTerms {
	readonly id: string;
	readonly providerId: string;
	readonly customer: string;
	readonly pricePerHourMicros: number;
	readonly durationMs: number;
}
