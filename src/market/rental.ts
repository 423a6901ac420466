// One rental as it is kept, and what is asked of it. Shapes only; the transitions are in rental-rules.ts, offers in search-offers.ts.
// A record of what is owed: no money moves here. docs/network.md §6.

export type RentalEnd = "released" | "expired" | "failed" | "refused";

export interface RentalState {
	readonly rentalId: string;
	readonly providerId: string;
	readonly customerId: string;
	readonly state: "reserved" | "active" | "ended" | "refused";
	readonly pricePerHourMicros: number;
	readonly reservedAtMs: number;
	/** Until then it is paid for. */
	readonly untilMs: number;
	readonly activeAtMs: number | null;
	/** The last time the environment was seen to answer. */
	readonly healthyAtMs: number | null;
	/** Health checks missed in a row. */
	readonly misses: number;
	readonly endedAtMs: number | null;
	readonly end: RentalEnd | null;
	readonly endDetail: string;
	/** Price of reservedAtMs … untilMs, rounded down. INVARIANT: once ended, charged + refunded = paid. */
	readonly paidMicros: number;
	/** Null until the end. */
	readonly chargedMicros: number | null;
	readonly refundedMicros: number | null;
}

export interface ReserveTerms {
	readonly rentalId: string;
	readonly providerId: string;
	readonly customerId: string;
	readonly pricePerHourMicros: number;
	readonly durationMs: number;
}

/** One provider as a customer may search it. Everything about devices is proven; the offer's name and price are the provider's word. */
export interface OfferView {
	readonly providerId: string;
	readonly name: string;
	readonly pricePerHourMicros: number;
	/** Offered, connected, active, not rented. */
	readonly rentable: boolean;
	readonly scorePpm: number;
	readonly uptimePpm: number;
	readonly provenAtMs: number;
	readonly evidence: string;
	readonly gpus: readonly OfferedGpu[];
}

export interface OfferedGpu {
	readonly profile: string | null;
	readonly state: string;
	/** Best proven figure by name, e.g. "gemm.fp16", "memory.resident". */
	readonly figures: Readonly<Record<string, number>>;
}

/** A provider fits when `devices` of its GPUs each meet every limit. */
export interface OfferFilter {
	readonly profile?: string;
	readonly devices?: number;
	readonly leastMemoryBytes?: number;
	readonly leastBytesPerS?: number;
	/** Least proven figure by name. */
	readonly leastFigures?: Readonly<Record<string, number>>;
	readonly mostPricePerHourMicros?: number;
	readonly leastUptimePpm?: number;
	readonly leastScorePpm?: number;
	readonly rentableOnly?: boolean;
}

export type OfferOrder = "price" | "score" | "price-per-score" | "memory" | "uptime";
