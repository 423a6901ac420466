// What is remembered of a provider after each thing that happens to it: pure changes of its `ProviderMemory`,
// and the schedule's state as its row and that memory have it. Every list is bounded. Decides nothing
// (schedule.ts, suspicion.ts).
import { safeText } from "../../protocol/bytes/safe-text.ts";
import type { FigureSeries, PastProbe, ProviderMemory, ProviderState } from "../../protocol/network/provider-memory.ts";
import type { Figure, HostClaim } from "../../protocol/probe/evidence.ts";
import type { VerdictStatus } from "../../protocol/probe/verdict.ts";
import type { Params } from "../params.ts";
import { nextReliabilityPpm } from "../scores/reliability.ts";
import type { RememberedState, ScheduleState } from "./schedule-state.ts";

/** What the schedule knows of a provider; the store's row fits. */
export interface ScheduledProvider {
	readonly state: ProviderState;
	readonly rentalId: string | null;
	readonly nextProbeAtMs: number;
	readonly lastVerdict: VerdictStatus | null;
	readonly lastCode: string | null;
	readonly failures: number;
	readonly retries: number;
	readonly memory: ProviderMemory;
}

/**
 * A card is one of at most 64 devices and has some 20 figures: no provider can make its row grow without end.
 */
const MAX_SERIES = 512;
const MAX_UUIDS = 128;
const MAX_CLEARED = 64;
const MAX_RECENT = 16;

const remembered = (from: RememberedState): RememberedState => {
	const { why, lastStartedAtMs, validSinceWithheld, changeProbeAtMs, changedAtMs } = from;
	const { suspicion, suspectProbeAtMs, stalls, provenInMs, turn } = from;
	const schedule = { why, lastStartedAtMs, validSinceWithheld, changeProbeAtMs, changedAtMs };
	return { ...schedule, suspicion, suspectProbeAtMs, stalls, provenInMs, turn };
};

export function scheduleStateOf({ memory, ...row }: ScheduledProvider): ScheduleState {
	const rented = row.rentalId !== null;
	return {
		...remembered(memory),
		status: row.state,
		rented,
		nextProbeAtMs: row.state === "active" && !rented ? row.nextProbeAtMs : null,
		lastVerdict: row.lastVerdict === null ? null : { status: row.lastVerdict, code: row.lastCode },
		failures: row.failures,
		retried: row.retries,
	};
}

/** The parts of a state that have no column of their own. */
export const rememberState = (memory: ProviderMemory, state: ScheduleState): ProviderMemory => ({
	...memory,
	...remembered(state),
});

/** UUIDs come from hosts: shortened and made harmless before they are kept or compared. */
export function uuidOf(text: string): string {
	return safeText(text.slice(0, 128)).trim().toLowerCase();
}

/** After a valid probe: its proof, its figures as the newest of each series, its UUIDs as proven. */
export function rememberProof(
	memory: ProviderMemory,
	o: {
		readonly probeId: string;
		readonly evidence: string;
		readonly startedAtMs: number;
		readonly claim: HostClaim;
		readonly figures: readonly Figure[];
		/** How many values of each figure are kept. */
		readonly values: number;
	},
): ProviderMemory {
	const gpus = o.claim.devices.map(({ kind, uuid }) => (kind === "gpu" && uuid !== "" ? uuidOf(uuid) : null));
	const known = new Map(memory.firstProven.map(({ uuid, atMs }) => [uuid, atMs]));
	for (const uuid of gpus) if (uuid !== null && !known.has(uuid)) known.set(uuid, o.startedAtMs);
	const present = new Set(gpus);
	const firstProven = [...known]
		.map(([uuid, atMs]) => ({ uuid, atMs }))
		.filter(({ uuid }) => present.has(uuid))
		.slice(0, MAX_UUIDS);
	const before = new Map(memory.series.map((series) => [`${series.uuid} ${series.name}`, series]));
	const series = o.figures.flatMap(({ device, name, value }): FigureSeries[] => {
		const uuid = gpus[device];
		if (uuid === undefined || uuid === null) return [];
		const values = [...(before.get(`${uuid} ${name}`)?.values ?? []), value].slice(-o.values);
		return [{ uuid, name, values }];
	});
	return {
		...memory,
		proof: {
			probeId: o.probeId,
			evidence: o.evidence,
			provenAtMs: o.startedAtMs,
			claimedRamBytes: o.claim.host.ramBytes,
			rentedMs: 0,
		},
		firstProven,
		series: series.slice(0, MAX_SERIES),
	};
}

export function rememberCleared(memory: ProviderMemory, providerIds: readonly string[], atMs: number): ProviderMemory {
	const others = memory.clearedWith.filter(({ providerId }) => !providerIds.includes(providerId));
	const clearedWith = [...others, ...providerIds.map((providerId) => ({ providerId, atMs }))].slice(-MAX_CLEARED);
	return { ...memory, clearedWith };
}

/**
 * One more probe that counted. The oldest of too many becomes part of the reliability before them; the value
 * stays the same.
 */
export function rememberCounted(memory: ProviderMemory, past: PastProbe, params: Params): ProviderMemory {
	if (past.counts === "nothing") return memory;
	const recent = [...memory.recent, past];
	const [oldest, ...rest] = recent;
	if (recent.length <= MAX_RECENT || oldest === undefined) return { ...memory, recent };
	const reliabilityBeforePpm = nextReliabilityPpm(memory.reliabilityBeforePpm, oldest.counts, params);
	return { ...memory, recent: rest, reliabilityBeforePpm };
}
