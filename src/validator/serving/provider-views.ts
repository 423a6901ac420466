// Rows of the store as the API shows them: what is public of a provider, an offer, a probe. Picks and
// renames; judges nothing.
import type { Offer, ProviderSummary } from "../../api/types.ts";
import type { Holding } from "../../store/holdings.ts";
import type { ProviderFilter } from "../../store/provider-query.ts";
import type { Provider } from "../../store/providers.ts";

export function providerSummary(row: Provider): ProviderSummary {
	const { id, name, link, state, rentable, pricePerHourMicros, registeredAtMs, lastSeenAtMs, failures } = row;
	const { lastVerdict, lastCode, lastProbeAtMs, lastValidAtMs, scorePpm, reliabilityPpm, uptimePpm } = row;
	const { model, gpuCount, memoryBytes, fp16OpsPerS, memoryBytesPerS } = row;
	const isDue = state === "active" && row.rentalId === null;
	return {
		id,
		name,
		link,
		state,
		connected: link !== "agent" || row.connectedTo !== null,
		rented: row.rentalId !== null,
		rentable,
		pricePerHourMicros,
		registeredAtMs,
		lastSeenAtMs,
		nextProbeAtMs: isDue ? row.nextProbeAtMs : null,
		failures,
		lastVerdict,
		lastCode,
		lastProbeAtMs,
		lastValidAtMs,
		scorePpm,
		reliabilityPpm,
		uptimePpm,
		model,
		gpuCount,
		memoryBytes,
		fp16OpsPerS,
		memoryBytesPerS,
	};
}

export function offerView(row: Provider, holdings: readonly Holding[]): Offer {
	const { id, name, pricePerHourMicros, model, gpuCount, memoryBytes, fp16OpsPerS, memoryBytesPerS } = row;
	const { uptimePpm, reliabilityPpm, scorePpm } = row;
	return {
		providerId: id,
		name,
		pricePerHourMicros,
		model,
		gpuCount,
		memoryBytes,
		fp16OpsPerS,
		memoryBytesPerS,
		holdings: holdings.map(({ model, count, figures }) => ({ model, count, figures: { ...figures } })),
		lastValidAtMs: row.lastValidAtMs ?? 0,
		uptimePpm,
		reliabilityPpm,
		scorePpm,
	};
}

/** The filters that providers, offers and `rent` have in common. */
export interface ProvenWants {
	readonly model?: string | undefined;
	readonly minDevices?: number | undefined;
	readonly minMemoryBytes?: number | undefined;
	readonly minFp16OpsPerS?: number | undefined;
	readonly minBandwidthBytesPerS?: number | undefined;
	readonly maxPriceMicros?: number | undefined;
	readonly minUptimePpm?: number | undefined;
}

export function wantsToFilter(wants: ProvenWants): ProviderFilter {
	const filter = {
		model: wants.model,
		minCount: wants.minDevices,
		minMemoryBytes: wants.minMemoryBytes,
		minFp16OpsPerS: wants.minFp16OpsPerS,
		minMemoryBytesPerS: wants.minBandwidthBytesPerS,
		maxPricePerHourMicros: wants.maxPriceMicros,
		minUptimePpm: wants.minUptimePpm,
	};
	return withoutUndefined(filter);
}

/** `exactOptionalPropertyTypes` tells an absent field from one that is undefined; queries do not. */
export function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
	return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
		[K in keyof T]?: Exclude<T[K], undefined>;
	};
}
