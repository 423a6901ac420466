// Which offers fit what a customer wants, and in which order: by proven figures, never by what a provider says of its devices. Pure; the
// store does the same in SQL for long lists, and this is the rule it has to follow. docs/network.md §6.
import type { OfferedGpu, OfferFilter, OfferOrder, OfferView } from "./rental.ts";

/** Identities that say which card it is. */
const NAMED: readonly string[] = ["confirmed", "consistent", "other"];

export function searchOffers(offers: readonly OfferView[], filter: OfferFilter, order: OfferOrder): OfferView[] {
	return offers
		.filter((offer) => fits(offer, filter))
		.sort((a, b) => compareBy(order, a, b, filter) || (a.providerId < b.providerId ? -1 : 1));
}

export function fits(offer: OfferView, filter: OfferFilter): boolean {
	if ((filter.rentableOnly ?? true) && !offer.rentable) return false;
	if (filter.mostPricePerHourMicros !== undefined && offer.pricePerHourMicros > filter.mostPricePerHourMicros)
		return false;
	if (offer.uptimePpm < (filter.leastUptimePpm ?? 0) || offer.scorePpm < (filter.leastScorePpm ?? 0)) return false;
	return fittingGpus(offer, filter).length >= Math.max(1, filter.devices ?? 1);
}

function fittingGpus({ gpus }: OfferView, filter: OfferFilter): OfferedGpu[] {
	const least: [string, number][] = [
		["memory.resident", filter.leastMemoryBytes ?? 0],
		["memory.bandwidth", filter.leastBytesPerS ?? 0],
		...Object.entries(filter.leastFigures ?? {}),
	];
	return gpus.filter((gpu) => {
		if (filter.profile !== undefined && (gpu.profile !== filter.profile || !NAMED.includes(gpu.state))) return false;
		// A figure that was not proven is none, not an unknown one.
		return least.every(([name, value]) => figure(gpu, name) >= value);
	});
}

function figure({ figures }: OfferedGpu, name: string): number {
	return Object.hasOwn(figures, name) ? (figures[name] ?? 0) : 0;
}

function compareBy(order: OfferOrder, a: OfferView, b: OfferView, filter: OfferFilter): number {
	switch (order) {
		case "price":
			return a.pricePerHourMicros - b.pricePerHourMicros;
		case "score":
			return b.scorePpm - a.scorePpm;
		case "uptime":
			return b.uptimePpm - a.uptimePpm;
		case "memory":
			return memoryOf(b, filter) - memoryOf(a, filter);
		case "price-per-score": {
			// a.price ÷ a.score against b.price ÷ b.score without dividing; a score of 0 is the dearest.
			if (a.scorePpm === 0 || b.scorePpm === 0) return (a.scorePpm === 0 ? 1 : 0) - (b.scorePpm === 0 ? 1 : 0);
			const left = BigInt(a.pricePerHourMicros) * BigInt(b.scorePpm);
			const right = BigInt(b.pricePerHourMicros) * BigInt(a.scorePpm);
			return left < right ? -1 : left > right ? 1 : 0;
		}
	}
}

/** The largest of the GPUs that fit. */
function memoryOf(offer: OfferView, filter: OfferFilter): number {
	return fittingGpus(offer, filter).reduce((most, gpu) => Math.max(most, figure(gpu, "memory.resident")), 0);
}
