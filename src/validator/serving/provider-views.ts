// Rows of the store as the API shows them: what is public of a provider, an offer, a probe. Picks and
// renames; judges nothing.
import type { Offer, Provider as ProviderReply, ProviderSummary } from "../../api/types.ts";
import type { DeviceRow } from "../../store/devices.ts";
import type { Holding } from "../../store/holdings.ts";
import type { ProviderFilter } from "../../store/provider-query.ts";
import type { Provider } from "../../store/providers.ts";

const OFFERED = ["name", "pricePerHourMicros"] as const;
const PROVEN = ["model", "gpuCount", "memoryBytes", "fp16OpsPerS", "memoryBytesPerS"] as const;
const RATED = ["scorePpm", "reliabilityPpm", "uptimePpm"] as const;
const LAST = ["lastSeenAtMs", "lastVerdict", "lastCode", "lastProbeAtMs", "lastValidAtMs"] as const;
const OWN = ["id", "link", "state", "rentable", "registeredAtMs", "failures"] as const;

function pick<T, K extends keyof T>(row: T, names: readonly K[]): Pick<T, K> {
	return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<T, K>;
}

export function providerSummary(row: Provider): ProviderSummary {
	const rented = row.rentalId !== null;
	return {
		...pick(row, [...OWN, ...OFFERED, ...LAST, ...RATED, ...PROVEN]),
		connected: row.link !== "agent" || row.connectedTo !== null,
		rented,
		nextProbeAtMs: row.state === "active" && !rented ? row.nextProbeAtMs : null,
	};
}

export function offerView(row: Provider, holdings: readonly Holding[]): Offer {
	return {
		providerId: row.id,
		...pick(row, [...OFFERED, ...RATED, ...PROVEN]),
		holdings: holdings.map(holdingView),
		lastValidAtMs: row.lastValidAtMs ?? 0,
	};
}

export function holdingView({ model, count, figures }: Holding): Offer["holdings"][number] {
	return { model, count, figures: { ...figures } };
}

export function deviceView(row: DeviceRow): ProviderReply["devices"][number] {
	return pick(row, ["device", "kind", "claimedName", "uuid", "memoryBytes", "profile", "identity"]);
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
