// Who may be sharing one card? The same GPU UUID or device key on two providers, or figures that fell: all
// suspects are probed simultaneously, so that one card cannot answer for two. docs/schedule.md. A UUID is
// only a claim: anybody can utter another's. So suspicion accuses nobody, the first who proved a UUID keeps
// its worth meanwhile (credit-uuids.ts), and nobody is probed out of turn more than once in
// `suspicionLimitMs`.

import type { Suspicion } from "../../protocol/network/provider-memory.ts";
import type { Params } from "../params.ts";
import { normalUuid } from "../scores/counted-gpus.ts";
import { dueAt, isProbed } from "./schedule.ts";
import type { Outcome, ScheduleState, SuspectView } from "./schedule-state.ts";
import { isBackedOff } from "./turns.ts";

/** Providers that must be probed at the same time, and why. */
interface Together {
	readonly providerIds: readonly string[];
	readonly suspicion: Suspicion;
}

/**
 * Groups to be probed at once, none in two of them. A group of one (fallen figures) is a probe out of turn.
 */
export function suspectGroups(views: readonly SuspectView[], nowMs: number, params: Params): Together[] {
	const able = views
		.filter(({ state }) => isProbed(state) && !isBackedOff(state, params) && isRested(state, nowMs, params))
		.sort((a, b) => (a.providerId < b.providerId ? -1 : 1));
	const shared = sharedGroups(able, nowMs, params);
	const taken = new Set(shared.flatMap(({ providerIds }) => providerIds));
	return [
		...shared,
		...fallenGroups(
			able.filter(({ providerId }) => !taken.has(providerId)),
			nowMs,
			params,
		),
	];
}

function isRested({ suspectProbeAtMs }: ScheduleState, nowMs: number, { suspicionLimitMs }: Params): boolean {
	return suspectProbeAtMs === null || nowMs - suspectProbeAtMs >= suspicionLimitMs;
}

/** UUIDs that several providers show, with those providers, first prover first. Empty UUIDs name nothing. */
export function sharedUuids(views: readonly SuspectView[]): Map<string, SuspectView[]> {
	const holders = new Map<string, Map<string, { readonly view: SuspectView; readonly firstMs: number }>>();
	for (const view of views)
		for (const { uuid, firstProvenAtMs } of view.gpus) {
			const name = normalUuid(uuid);
			if (name === "") continue;
			const of = holders.get(name) ?? new Map<string, { view: SuspectView; firstMs: number }>();
			const firstMs = Math.min(
				firstProvenAtMs ?? Number.POSITIVE_INFINITY,
				of.get(view.providerId)?.firstMs ?? Number.POSITIVE_INFINITY,
			);
			holders.set(name, of.set(view.providerId, { view, firstMs }));
		}
	const shared = [...holders].filter(([, of]) => of.size > 1);
	return new Map(
		shared
			.sort(([a], [b]) => (a < b ? -1 : 1))
			.map(([uuid, of]) => [
				uuid,
				[...of.values()]
					.sort((a, b) => compare(a.firstMs, b.firstMs) || compare(a.view.providerId, b.view.providerId))
					.map(({ view }) => view),
			]),
	);
}

/**
 * The same of device keys. Two that pass at once still have one card between them that signs: the key goes on
 * counting once.
 */
function sharedKeys(views: readonly SuspectView[]): Map<string, SuspectView[]> {
	const holders = new Map<string, SuspectView[]>();
	for (const view of views)
		for (const key of new Set(view.deviceKeys)) {
			const of = holders.get(key);
			if (of === undefined) holders.set(key, [view]);
			else of.push(view);
		}
	return new Map([...holders].filter(([, of]) => of.length > 1).sort(([a], [b]) => compare(a, b)));
}

function compare<Value extends number | string>(a: Value, b: Value): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

export function isCleared(a: SuspectView, b: SuspectView): boolean {
	return a.clearedWith.includes(b.providerId) && b.clearedWith.includes(a.providerId);
}

/**
 * Providers that are linked by any doubtful UUID make one group; of more than `suspectsAtOnce` the first
 * provers come first.
 */
function sharedGroups(able: readonly SuspectView[], nowMs: number, params: Params): Together[] {
	interface Group {
		uuids: string[];
		keys: string[];
		members: string[];
	}
	// A thousand providers that all claim one UUID must not cost a million steps: the smaller group joins the
	// larger one.
	const groupOf = new Map<string, Group>();
	const shared = [
		...[...sharedUuids(able)].map(([uuid, holders]) => ({ uuids: [uuid], keys: [], holders })),
		...[...sharedKeys(able)].map(([key, holders]) => ({ uuids: [], keys: [key], holders })),
	];
	for (const { uuids, keys, holders } of shared) {
		const isDoubtful = holders.some((a, i) => holders.slice(i + 1).some((b) => !isCleared(a, b)));
		if (!isDoubtful) continue;
		let into: Group = { uuids, keys, members: [] };
		for (const { providerId } of holders) {
			const own = groupOf.get(providerId) ?? { uuids: [], keys: [], members: [providerId] };
			if (own === into) continue;
			const [small, large] = own.members.length < into.members.length ? [own, into] : [into, own];
			for (const member of small.members) groupOf.set(member, large);
			for (const member of large.members.length === 1 ? large.members : []) groupOf.set(member, large);
			large.members.push(...small.members);
			large.uuids.push(...small.uuids);
			large.keys.push(...small.keys);
			into = large;
		}
	}
	const groups = [...new Set(groupOf.values())];
	const rank = new Map(able.map(({ providerId, gpus }) => [providerId, firstProvenMs(gpus)]));
	return groups.map(({ uuids, keys, members }) => ({
		providerIds: members
			.sort((a, b) => compare(rank.get(a)!, rank.get(b)!) || compare(a, b))
			.slice(0, params.suspectsAtOnce),
		suspicion:
			keys.length > 0
				? { kind: "shared-key", sinceMs: nowMs, keys: keys.sort() }
				: { kind: "shared-uuid", sinceMs: nowMs, uuids: uuids.sort() },
	}));
}

function firstProvenMs(gpus: SuspectView["gpus"]): number {
	return gpus.reduce(
		(first, { firstProvenAtMs }) => Math.min(first, firstProvenAtMs ?? Number.POSITIVE_INFINITY),
		Number.POSITIVE_INFINITY,
	);
}

/**
 * Those of one profile whose figures fell at the same time may lean on one card; a single one is simply
 * looked at again.
 */
function fallenGroups(able: readonly SuspectView[], nowMs: number, params: Params): Together[] {
	const byProfile = new Map<string, { id: string; figures: string[] }[]>();
	for (const view of able) {
		const fallen = fallenFigures(view.series, params);
		if (fallen.length === 0) continue;
		const profile = view.gpus.find(({ uuid }) => fallen.some((f) => f.uuid === normalUuid(uuid)))?.profile ?? "unknown";
		const of = byProfile.get(profile) ?? [];
		byProfile.set(profile, [
			...of,
			{ id: view.providerId, figures: fallen.map(({ uuid, name }) => `${uuid} ${name}`) },
		]);
	}
	return [...byProfile.values()].flatMap((members) => {
		const groups: Together[] = [];
		for (let i = 0; i < members.length; i += params.suspectsAtOnce) {
			const some = members.slice(i, i + params.suspectsAtOnce);
			const figures = some.flatMap((member) => member.figures).sort();
			const suspicion: Suspicion = { kind: "fallen", sinceMs: nowMs, figures };
			groups.push({ providerIds: some.map(({ id }) => id), suspicion });
		}
		return groups;
	});
}

/**
 * Below (1 − fallPpm) of the median of up to `fallHistory` values before it. Fewer than three before it say
 * nothing yet.
 */
export function fallenFigures(
	series: SuspectView["series"],
	{ fallPpm, fallHistory }: Params,
): { readonly uuid: string; readonly name: string }[] {
	return series.flatMap(({ uuid, name, values }) => {
		const newest = values.at(-1);
		const before = values.slice(0, -1).slice(-fallHistory);
		if (newest === undefined || before.length < 3) return [];
		// Of an even number the lower one: in doubt no suspicion.
		const median = [...before].sort((a, b) => a - b)[(before.length - 1) >> 1]!;
		const hasFallen = BigInt(newest) * 1_000_000n < BigInt(median) * BigInt(1_000_000 - fallPpm);
		return hasFallen ? [{ uuid: normalUuid(uuid), name }] : [];
	});
}

/** The state of one member when its group is sent off. */
export function onSuspected(state: ScheduleState, suspicion: Suspicion, nowMs: number): ScheduleState {
	return dueAt({ ...state, suspicion, suspectProbeAtMs: nowMs }, nowMs, "suspected");
}

export interface TogetherResult {
	readonly providerId: string;
	readonly outcome: Omit<Outcome, "heldMs">;
	/**
	 * From the start of the int8 fill to the end of the stream, on the validator's clock; null when they did
	 * not both end.
	 */
	readonly windowMs: { readonly from: number; readonly to: number } | null;
}

/**
 * Who passed at the same time as whom: pairs that are cleared of sharing a card. Only valid probes whose
 * windows all overlap in one moment; one that ran apart, failed, or showed no memory (it has no window),
 * clears nobody. The suspicion of those named in a pair is over.
 */
export function clearedPairs(results: readonly TogetherResult[]): [string, string][] {
	const passed = results.flatMap(({ providerId, outcome, windowMs }) =>
		outcome.status === "valid" && windowMs !== null ? [{ providerId, ...windowMs }] : [],
	);
	const pairs: [string, string][] = [];
	for (const [i, a] of passed.entries())
		for (const b of passed.slice(i + 1)) {
			if (a.providerId === b.providerId || Math.max(a.from, b.from) >= Math.min(a.to, b.to)) continue;
			pairs.push(a.providerId < b.providerId ? [a.providerId, b.providerId] : [b.providerId, a.providerId]);
		}
	return pairs;
}

export function onCleared(state: ScheduleState): ScheduleState {
	return { ...state, suspicion: null };
}
