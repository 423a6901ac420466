// What is known of a card before it is probed: the shape of a profile, and how its rates follow from its
// units and clock. Facts only; how near a proven figure comes to them is in shares.ts. The cards are in
// profiles.ts, the page is docs/profiles.md.
import { GEMM_PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";

/** Which kernels run on it, and so which share of the peak they reach. */
export type Architecture = "turing" | "ampere" | "ada" | "hopper" | "blackwell-dc" | "blackwell";
/** How far a card may run above its printed boost clock depends on who bought it. */
type Market = "geforce" | "workstation" | "datacentre";
/** A fact that sources disagree on, or that follows from units nobody has measured. It never accuses. */
export type DoubtfulFact = Precision | "memory" | "bandwidth";

export interface Doubt {
	readonly facts: readonly DoubtfulFact[];
	readonly why: string;
}

/** Operations (multiply and add are two) per SM and clock. Absent: the card has no unit for it. */
export type UnitRates = Readonly<Partial<Record<Precision, number>>>;

export interface Family {
	readonly architecture: Architecture;
	readonly market: Market;
	/** As the driver says it, "8.9". */
	readonly compute: string;
	readonly unitRates: UnitRates;
	readonly doubt?: Doubt;
}

export interface Profile {
	readonly id: string;
	/** What the driver reports; the first is the usual one. One name may belong to several memory sizes. */
	readonly names: readonly string[];
	readonly architecture: Architecture;
	readonly market: Market;
	readonly compute: string;
	readonly sms: number;
	readonly boostMHz: number;
	/** The clock that the data sheet's tensor rates were worked out for, where it is not the boost clock. */
	readonly tensorMHz: number;
	/** Soldered bytes: the marketing "GB" are GiB on every card here but the B300 and GB300. */
	readonly memoryBytes: number;
	/**
	 * What the driver usually reports as total, with ECC as the card ships; null where no report was at hand.
	 */
	readonly reportedBytes: number | null;
	readonly bytesPerS: number;
	/** Dense peak op/s, fp32 accumulation for fp8, fp16, bf16 and tf32. Absent: no unit for it. */
	readonly rates: Readonly<Partial<Record<Precision, number>>>;
	readonly powerW: number;
	readonly doubt: readonly Doubt[];
}

export interface CardFacts {
	/** Further names the driver uses, without "NVIDIA". */
	readonly also?: readonly string[];
	/** The driver's name, where the id had to say more than it. */
	readonly name?: string;
	readonly tensorMHz?: number;
	/** Peaks that are not units times clock, op/s, from the data sheet. */
	readonly rates?: Readonly<Partial<Record<Precision, number>>>;
	readonly doubt?: readonly Doubt[];
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** `memoryGiB` soldered, `reportedMiB` as nvidia-smi shows it (0: not known), `gbPerS` in 10⁹ bytes. */
export function card(
	id: string,
	family: Family,
	sms: number,
	boostMHz: number,
	memoryGiB: number,
	reportedMiB: number,
	gbPerS: number,
	powerW: number,
	facts: CardFacts = {},
): Profile {
	const tensorMHz = facts.tensorMHz ?? boostMHz;
	const rates: Partial<Record<Precision, number>> = {};
	for (const [precision, perSmClock] of Object.entries(family.unitRates) as [Precision, number][]) {
		const isTensor = (GEMM_PRECISIONS as readonly Precision[]).includes(precision);
		rates[precision] = sms * perSmClock * (isTensor ? tensorMHz : boostMHz) * 1e6;
	}
	return {
		id,
		names: [`NVIDIA ${facts.name ?? id}`, ...(facts.also ?? []).map((name) => `NVIDIA ${name}`)],
		architecture: family.architecture,
		market: family.market,
		compute: family.compute,
		sms,
		boostMHz,
		tensorMHz,
		memoryBytes: Math.round(memoryGiB * GIB),
		reportedBytes: reportedMiB === 0 ? null : reportedMiB * MIB,
		bytesPerS: gbPerS * 1e9,
		rates: { ...rates, ...facts.rates },
		powerW,
		doubt: [...(family.doubt ? [family.doubt] : []), ...(facts.doubt ?? [])],
	};
}

export function isDoubtful(profile: Profile, fact: DoubtfulFact): boolean {
	return profile.doubt.some(({ facts }) => facts.includes(fact));
}

/**
 * The driver's total if known, else 97 %, what is left of the soldered bytes on cards where both are known.
 */
export function usualTotalBytes({ reportedBytes, memoryBytes }: Profile): number {
	return reportedBytes ?? 0.97 * memoryBytes;
}

/**
 * Names are compared whole, never in part: "RTX 4090 Laptop GPU", "A100 … MIG 3g.20gb" and "GRID A100-40C"
 * are other devices than the cards whose names they contain. Only case, spaces and the maker's name (which
 * old drivers leave out) do not count.
 */
export function normalName(name: string): string {
	return name
		.trim()
		.replace(/\s+/g, " ")
		.toLowerCase()
		.replace(/^nvidia /, "");
}

/** The same of its memory: gamers' cards let their owners raise its clock, 10 to 20 % of which holds. */
export function memoryHeadroom({ market }: Profile): number {
	return market === "geforce" ? 1.15 : 1;
}

/**
 * How much faster than its data sheet a card may honestly run: what its clock can be above the one the peak
 * was worked out for.
 */
export function headroom({ market, architecture, boostMHz, tensorMHz }: Profile, precision: Precision): number {
	const clock =
		market === "datacentre" ? 1.03 : market === "workstation" ? 1.2 : architecture === "turing" ? 1.3 : 1.25;
	return (GEMM_PRECISIONS as readonly Precision[]).includes(precision) ? (clock * boostMHz) / tensorMHz : clock;
}
