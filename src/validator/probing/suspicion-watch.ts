// Carries out what market/suspicion decides: sends groups of suspects off together, and when all of a group have ended, notes who cleared whom.
// A group waits here until all its members are free; the wish is not durable, since every valid probe of a suspect renews it.
//
// Limits, said honestly: members at several processes overlap to within the delay of a notification (milliseconds), and their windows are
// compared by the wall clocks of those processes; fallen figures are only compared among providers that this process has probed.

import { rememberCleared, rememberState, scheduleStateOf } from "../../market/schedule/provider-memory.ts";
import type { SuspectView } from "../../market/schedule/schedule-state.ts";
import { clearedPairs, fallenFigures, onCleared, onSuspected, suspectGroups } from "../../market/schedule/suspicion.ts";
import type { KeptTogether, Suspicion } from "../../protocol/network/provider-memory.ts";
import type { RememberedProvider } from "../../store/providers.ts";
import type { ProbeGroup } from "../../store/queue/due-probes.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import type { ValidatorContext } from "../validator-context.ts";

export interface SuspicionWatch {
	/** After a valid probe: is there a doubt about this provider? */
	look(providerId: string): Promise<void>;
	/** Sends off the groups whose members are all free. */
	sendOff(): Promise<void>;
	/** After a probe of a group was counted: judges the group when it was the last one. */
	judge(group: ProbeGroup): Promise<void>;
	readonly waiting: () => number;
}

/** Members may be busy or away for a while; a group that cannot be brought together in this time is found again by their next probes. */
const WISH_MS = 10 * 60_000;
/** Time for every process to take its members and open their links. */
const HEAD_START_MS = 1000;
/** Figures that fell longer ago than this fell at another time. */
const FALLEN_MS = 3_600_000;

interface Wish {
	readonly providerIds: readonly string[];
	readonly suspicion: Suspicion;
	readonly sinceMs: number;
}

export function createSuspicionWatch(x: ValidatorContext & { readonly scores: ScoreKeeper }): SuspicionWatch {
	const { store, env, config, mutex } = x;
	const wishes = new Map<string, Wish>();
	const fallen = new Map<string, number>();

	async function fallenOthers(providerId: string, nowMs: number): Promise<SuspectView[]> {
		for (const [id, atMs] of fallen) if (nowMs - atMs > FALLEN_MS) fallen.delete(id);
		const others = await store.providers.recallMany([...fallen.keys()].filter((id) => id !== providerId).slice(0, 500));
		return (await Promise.all(others.map((one) => x.scores.viewsAround(one)))).map(([own]) => own!);
	}

	async function suspect(id: string, suspicion: Suspicion, nowMs: number): Promise<void> {
		await mutex.run(id, async () => {
			const provider = await store.providers.recall(id);
			if (provider === null) return;
			const { state } = onSuspected(scheduleStateOf(provider), suspicion, nowMs);
			await store.providers.remember(id, rememberState(provider.memory, state));
		});
	}

	async function send(key: string, wish: Wish): Promise<void> {
		const nowMs = env.nowMs();
		const { providerIds, suspicion } = wish;
		if (nowMs - wish.sinceMs > WISH_MS) {
			wishes.delete(key);
			return;
		}
		const [only] = providerIds;
		if (providerIds.length === 1 && only !== undefined) {
			wishes.delete(key);
			await suspect(only, suspicion, nowMs);
			await store.providers.requestProbe(only, { atMs: nowMs });
			return;
		}
		const startAtMs = nowMs + HEAD_START_MS;
		if (!(await store.dueProbes.callTogether({ providerIds, startAtMs, nowMs }))) return;
		wishes.delete(key);
		for (const id of providerIds) await suspect(id, suspicion, nowMs);
		await store.journal.append(
			{
				actor: x.signer.key,
				kind: "suspicion.together",
				subject: providerIds[0]!,
				detail: { providers: [...providerIds], why: suspicion.kind },
			},
			{ nowMs },
		);
		x.hub.tell({
			kind: "suspicion.together",
			subject: providerIds[0]!,
			providerId: null,
			detail: { providers: providerIds.slice(0, 16), why: suspicion.kind },
		});
	}

	async function settle(members: readonly RememberedProvider[], group: string): Promise<void> {
		const parts = members.map((member) => ({ member, kept: member.memory.together! }));
		const pairs = clearedPairs(
			parts.map(({ member, kept }) => ({
				providerId: member.id,
				outcome: { status: kept.status, code: kept.code, startedAtMs: kept.startedAtMs, endedAtMs: kept.endedAtMs },
				windowMs: kept.window === null ? null : { from: kept.window.fromMs, to: kept.window.toMs },
			})),
		);
		const nowMs = env.nowMs();
		for (const { id } of members) {
			const cleared = pairs.flatMap(([a, b]) => (a === id ? [b] : b === id ? [a] : []));
			if (cleared.length === 0) continue;
			await mutex.run(id, async () => {
				const provider = await store.providers.recall(id);
				if (provider === null) return;
				const memory = rememberState(provider.memory, onCleared(scheduleStateOf(provider)));
				await store.providers.remember(id, rememberCleared(memory, cleared, nowMs));
			});
		}
		const failed = parts.filter(({ kept }) => kept.status !== "valid").map(({ member, kept }) => said(member.id, kept));
		await store.journal.append(
			{
				actor: x.signer.key,
				kind: "suspicion.judged",
				subject: group,
				detail: { providers: members.map(({ id }) => id), cleared: pairs.map((pair) => [...pair]), failed },
			},
			{ nowMs },
		);
		x.hub.tell({
			kind: "suspicion.judged",
			subject: group,
			providerId: null,
			detail: { cleared: pairs.length, failed: failed.slice(0, 16) },
		});
		for (const { id } of members) await x.scores.score(id);
	}

	return {
		waiting: () => wishes.size,
		async look(providerId) {
			const provider = await store.providers.recall(providerId);
			if (provider === null) return;
			const nowMs = env.nowMs();
			if (fallenFigures(provider.memory.series, config.params).length > 0) fallen.set(providerId, nowMs);
			else fallen.delete(providerId);
			const around = await x.scores.viewsAround(provider);
			const known = new Set(around.map((view) => view.providerId));
			const others = fallen.has(providerId) ? await fallenOthers(providerId, nowMs) : [];
			const views = [...around, ...others.filter((view) => !known.has(view.providerId))];
			for (const { providerIds, suspicion } of suspectGroups(views, nowMs, config.params))
				if (providerIds.includes(providerId))
					wishes.set([...providerIds].sort().join(), { providerIds, suspicion, sinceMs: nowMs });
		},
		async sendOff() {
			for (const [key, wish] of [...wishes]) await send(key, wish);
		},
		async judge(group) {
			const name = `together/${group.id}`;
			await mutex.run(name, async () => {
				const members = await store.providers.recallMany(group.providerIds);
				if (members.some(({ memory }) => memory.together?.group !== group.id)) return;
				// Of several processes one judges; which one does not matter.
				if (!(await store.leases.acquire(name))) return;
				try {
					const before = await store.journal.list({
						limit: 1,
						filter: { subject: group.id, kind: "suspicion.judged" },
					});
					if (before.rows.length === 0) await settle(members, group.id);
				} finally {
					await store.leases.release(name);
				}
			});
		},
	};
}

function said(provider: string, { status, code }: KeptTogether) {
	return { provider, status, code };
}
