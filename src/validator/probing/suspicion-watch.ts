// Carries out what market/schedule/suspicion.ts decides: sends groups of suspects off together, and when all
// of a group have ended, notes who cleared whom. A group waits here until all its members are free; the wish
// is not durable, since every valid probe of a suspect renews it.
//
// Limits, said honestly: members at several processes overlap to within the delay of a notification
// (milliseconds), and their windows are compared by the wall clocks of those processes; fallen figures are
// only compared among providers that this process has probed.
import { rememberCleared, rememberState, scheduleStateOf } from "../../market/schedule/provider-memory.ts";
import type { SuspectView } from "../../market/schedule/schedule-state.ts";
import { clearedPairs, fallenFigures, onCleared, onSuspected, suspectGroups } from "../../market/schedule/suspicion.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { Suspicion } from "../../protocol/network/provider-memory.ts";
import type { RememberedProvider } from "../../store/providers.ts";
import type { ProbeGroup } from "../../store/queue/due-probes.ts";
import { changeMemory } from "../change-memory.ts";
import { isLoopback } from "../jobs/keeper/job-hosts.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import type { ValidatorContext } from "../validator-context.ts";

/** A group that cannot be brought together in this time is found again by its members' next probes. */
const WISH_MS = 10 * 60_000;
/** Time for every process to take its members and open their links. */
const HEAD_START_MS = 1000;
/** Figures that fell longer ago than this fell at another time. */
const FALLEN_MS = 3_600_000;
/** Fallen providers that one is compared with. */
const MAX_FALLEN = 500;
/** Of the hosts of one machine. */
const MAX_HERE = 100;
/** Of the members that an event names. */
const MAX_NAMED = 16;

interface Wish {
	readonly providerIds: readonly string[];
	readonly suspicion: Suspicion;
	readonly sinceMs: number;
}

export class SuspicionWatch {
	private readonly context: ValidatorContext & { readonly scores: ScoreKeeper };
	private readonly wishes = new Map<string, Wish>();
	/** When this process saw figures of a provider fall. */
	private readonly fallen = new Map<string, number>();

	constructor(context: ValidatorContext & { readonly scores: ScoreKeeper }) {
		this.context = context;
	}

	/** After a valid probe: is there a doubt about this provider? */
	async look(providerId: string): Promise<void> {
		const { store, env, config, scores } = this.context;
		const provider = await store.providers.recall(providerId);
		if (provider === null) return;
		const nowMs = env.nowMs();
		const hasFallen = fallenFigures(provider.memory.series, config.params).length > 0;
		if (hasFallen) this.fallen.set(providerId, nowMs);
		else this.fallen.delete(providerId);
		const around = await this.apart(await scores.viewsAround(provider));
		const known = new Set(around.map((view) => view.providerId));
		const others = hasFallen ? await this.fallenOthers(providerId, nowMs) : [];
		const views = [...around, ...others.filter((view) => !known.has(view.providerId))];
		for (const { providerIds, suspicion } of suspectGroups(views, nowMs, config.params))
			if (providerIds.includes(providerId))
				this.wishes.set([...providerIds].sort().join(), { providerIds, suspicion, sinceMs: nowMs });
	}

	/**
	 * On a trial network the hosts of its own machine stand for those of different owners, and all show that
	 * machine's cards: among them that is no doubt, and probed at once they would all be too slow. Only there:
	 * elsewhere one card would take jobs under many keys.
	 */
	private async apart([own, ...others]: readonly SuspectView[]): Promise<readonly SuspectView[]> {
		const { store, config } = this.context;
		if (own === undefined || !config.jobs.isLoopbackApart) return own === undefined ? [] : [own, ...others];
		const ids = [own, ...others].slice(0, MAX_HERE).map(({ providerId }) => providerId);
		const takers = await store.connections.jobTakers(ids);
		const isHere = ({ providerId }: SuspectView) => isLoopback(takers.get(providerId)?.address ?? "");
		return isHere(own) ? [own, ...others.filter((other) => !isHere(other))] : [own, ...others];
	}

	/** Sends off the groups whose members are all free. */
	async sendOff(): Promise<void> {
		for (const [key, wish] of [...this.wishes]) if (await this.send(wish)) this.wishes.delete(key);
	}

	/** After a probe of a group was counted: judges the group when it was the last one. */
	async judge({ id, providerIds }: ProbeGroup): Promise<void> {
		const { store, mutex } = this.context;
		const name = `together/${id}`;
		await mutex.run(name, async () => {
			const members = await store.providers.recallMany(providerIds);
			if (members.some(({ memory }) => memory.together?.group !== id)) return;
			// Of several processes one judges; which one does not matter.
			if (!(await store.leases.acquire(name))) return;
			try {
				const before = await store.journal.list({ subject: id, kind: "suspicion.judged", limit: 1 });
				if (before.rows.length === 0) await this.settle(members, id);
			} finally {
				await store.leases.release(name);
			}
		});
	}

	private async fallenOthers(providerId: string, nowMs: number): Promise<SuspectView[]> {
		const { store, scores } = this.context;
		for (const [id, atMs] of this.fallen) if (nowMs - atMs > FALLEN_MS) this.fallen.delete(id);
		const ids = [...this.fallen.keys()].filter((id) => id !== providerId).slice(0, MAX_FALLEN);
		const others = await store.providers.recallMany(ids);
		return (await Promise.all(others.map((one) => scores.viewsAround(one)))).map(([own]) => own!);
	}

	/** Whether the wish is over: sent off, or too old. */
	private async send({ providerIds, suspicion, sinceMs }: Wish): Promise<boolean> {
		const { store, env } = this.context;
		const nowMs = env.nowMs();
		if (nowMs - sinceMs > WISH_MS) return true;
		const first = providerIds[0]!;
		const isAlone = providerIds.length === 1;
		const startAtMs = nowMs + HEAD_START_MS;
		if (!isAlone && !(await store.dueProbes.callTogether({ providerIds, startAtMs, nowMs }))) return false;
		for (const id of providerIds)
			await changeMemory(this.context, id, (provider) =>
				rememberState(provider.memory, onSuspected(scheduleStateOf(provider), suspicion, nowMs)),
			);
		if (isAlone) await store.providers.requestProbe(first, { atMs: nowMs });
		else {
			const detail = { providers: [...providerIds], why: suspicion.kind };
			await this.record("suspicion.together", first, detail, { ...detail, providers: providerIds.slice(0, MAX_NAMED) });
		}
		return true;
	}

	private async settle(members: readonly RememberedProvider[], group: string): Promise<void> {
		const { env, scores } = this.context;
		const nowMs = env.nowMs();
		const parts = members.map(({ id, memory }) => ({ id, kept: memory.together! }));
		const pairs = clearedPairs(
			parts.map(({ id, kept: { status, code, startedAtMs, endedAtMs, window } }) => ({
				providerId: id,
				outcome: { status, code, startedAtMs, endedAtMs },
				windowMs: window && { from: window.fromMs, to: window.toMs },
			})),
		);
		for (const { id } of members) {
			const cleared = pairs.flatMap(([a, b]) => (a === id ? [b] : b === id ? [a] : []));
			if (cleared.length === 0) continue;
			await changeMemory(this.context, id, (provider) =>
				rememberCleared(rememberState(provider.memory, onCleared(scheduleStateOf(provider))), cleared, nowMs),
			);
		}
		const failed = parts
			.filter(({ kept }) => kept.status !== "valid")
			.map(({ id, kept: { status, code } }) => ({ provider: id, status, code }));
		const detail = { providers: members.map(({ id }) => id), cleared: pairs.map((pair) => [...pair]), failed };
		const told = { cleared: pairs.length, failed: failed.slice(0, MAX_NAMED) };
		await this.record("suspicion.judged", group, detail, told);
		for (const { id } of members) await scores.score(id);
	}

	/** In the journal with everything, in an event with what fits. */
	private async record(kind: string, subject: string, detail: Json, told: Json): Promise<void> {
		const { store, env, hub, signer } = this.context;
		await store.journal.append({ actor: signer.key, kind, subject, detail }, { nowMs: env.nowMs() });
		hub.tell({ kind, subject, providerId: null, detail: told });
	}
}
