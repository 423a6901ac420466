// What the service remembers of a provider between probes, in the store's opaque `schedule`: the schedule's finer state, which proof the score
// stands on, figures of the last probes, whom it was cleared with. Small: it lies in every provider's row. Decides nothing (market/ does).

import type { Params } from "../../market/params.ts";
import type { ScheduleState, Suspicion, Why } from "../../market/schedule/schedule-state.ts";
import { nextReliabilityPpm } from "../../market/scores/reliability.ts";
import type { PastProbe } from "../../market/scores/score-input.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import type { Figure, HostClaim } from "../../protocol/probe/evidence.ts";
import type { Identity } from "../../protocol/probe/verdict.ts";
import type { Provider } from "../../store/store.ts";

/** Where the score's inputs lie: figures and devices are in the probe's row, what that row does not hold is here. */
interface KeptProof {
	readonly probeId: string;
	readonly evidence: string;
	readonly provenAtMs: number;
	readonly claimedRamBytes: number;
	readonly alike: readonly { readonly device: number; readonly profiles: readonly string[] }[];
	/** Milliseconds of rental since, for rentals that have ended. */
	readonly rentedMs: number;
}

interface KeptSeries {
	readonly uuid: string;
	readonly name: string;
	readonly values: readonly number[];
}

export interface ProviderMemory {
	readonly version: 1;
	readonly why: Why;
	readonly lastStartedAtMs: number | null;
	readonly validSinceWithheld: number | null;
	readonly changeProbeAtMs: number | null;
	readonly changedAtMs: number | null;
	readonly suspicion: Suspicion | null;
	readonly suspectProbeAtMs: number | null;
	readonly proof: KeptProof | null;
	/** When each UUID was first proven here. */
	readonly firstProven: readonly { readonly uuid: string; readonly atMs: number }[];
	readonly series: readonly KeptSeries[];
	readonly clearedWith: readonly { readonly providerId: string; readonly atMs: number }[];
	/** The last probes that counted, oldest first, and the reliability before them: so that the score can name their evidence. */
	readonly recent: readonly PastProbe[];
	readonly reliabilityBeforePpm: number | null;
	/** What its last simultaneous probe came to. */
	readonly together: KeptTogether | null;
}

/** One member's part of a simultaneous probe, until the whole group can be judged. */
export interface KeptTogether {
	readonly group: string;
	readonly status: "valid" | "invalid" | "inconclusive";
	readonly code: string | null;
	readonly startedAtMs: number;
	readonly endedAtMs: number;
	/** From the start of the first stage that had to overlap to the end of the last; null when they did not all end. */
	readonly window: { readonly fromMs: number; readonly toMs: number } | null;
}

const EMPTY: ProviderMemory = {
	version: 1,
	why: "registered",
	lastStartedAtMs: null,
	validSinceWithheld: null,
	changeProbeAtMs: null,
	changedAtMs: null,
	suspicion: null,
	suspectProbeAtMs: null,
	proof: null,
	firstProven: [],
	series: [],
	clearedWith: [],
	recent: [],
	reliabilityBeforePpm: null,
	together: null,
};

/** A card is one of at most 64 devices and has some 20 figures: no provider can make its row grow without end. */
const MAX_SERIES = 512;
const MAX_UUIDS = 128;
const MAX_CLEARED = 64;
const MAX_RECENT = 16;

/** Written by us alone; of an unknown version nothing is known. */
export function memoryOf(schedule: Json): ProviderMemory {
	const isOurs = typeof schedule === "object" && schedule !== null && (schedule as { version?: Json }).version === 1;
	return isOurs ? { ...EMPTY, ...(schedule as unknown as ProviderMemory) } : EMPTY;
}

export function memoryToJson(memory: ProviderMemory): Json {
	return memory as unknown as Json;
}

export function scheduleStateOf(row: Provider): ScheduleState {
	const { why, lastStartedAtMs, validSinceWithheld, changeProbeAtMs, changedAtMs, suspicion, suspectProbeAtMs } =
		memoryOf(row.schedule);
	const rented = row.rentalId !== null;
	return {
		status: row.state,
		rented,
		nextProbeAtMs: row.state === "active" && !rented ? row.nextProbeAtMs : null,
		why,
		lastStartedAtMs,
		lastVerdict: row.lastVerdict === null ? null : { status: row.lastVerdict, code: row.lastCode },
		failures: row.failures,
		retried: row.retries,
		validSinceWithheld,
		changeProbeAtMs,
		changedAtMs,
		suspicion,
		suspectProbeAtMs,
	};
}

/** The parts of a state that have no column of their own. */
export function rememberState(memory: ProviderMemory, state: ScheduleState): ProviderMemory {
	const { why, lastStartedAtMs, validSinceWithheld, changeProbeAtMs, changedAtMs, suspicion, suspectProbeAtMs } = state;
	return {
		...memory,
		why,
		lastStartedAtMs,
		validSinceWithheld,
		changeProbeAtMs,
		changedAtMs,
		suspicion,
		suspectProbeAtMs,
	};
}

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
		readonly identity: readonly Identity[];
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
	const series = o.figures.flatMap(({ device, name, value }): KeptSeries[] => {
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
			alike: o.identity.flatMap(({ device, alike }) => (alike.length === 0 ? [] : [{ device, profiles: alike }])),
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

/** One more probe that counted. The oldest of too many becomes part of the reliability before them; the value stays the same. */
export function rememberCounted(memory: ProviderMemory, past: PastProbe, params: Params): ProviderMemory {
	if (past.counts === "nothing") return memory;
	const recent = [...memory.recent, past];
	const [oldest, ...rest] = recent;
	if (recent.length <= MAX_RECENT || oldest === undefined) return { ...memory, recent };
	const reliabilityBeforePpm = nextReliabilityPpm(memory.reliabilityBeforePpm, oldest.counts, params);
	return { ...memory, recent: rest, reliabilityBeforePpm };
}
