// Scores providers: gathers what market's score is made from (the last valid proof, the record, who else
// shows the same cards), and stores the score with its explanation. The formula is market's; nothing is
// weighed here.

import { presenceOf } from "../../market/roll-call/roll-call-rules.ts";
import { scheduleStateOf } from "../../market/schedule/provider-memory.ts";
import type { SuspectView } from "../../market/schedule/schedule-state.ts";
import { creditUuids } from "../../market/scores/credit-uuids.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { convictionOf, workAsProbes } from "../../market/scores/reliability.ts";
import { NEVER_RENTED, type Proof, type ScoreInput } from "../../market/scores/score-input.ts";
import { scoreProvider } from "../../market/scores/score-provider.ts";
import { paidProfile } from "../../market/scores/score-sn27.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { DeviceRow } from "../../store/devices.ts";
import type { RememberedProvider } from "../../store/providers.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { countedCalls, isCalled } from "./counted-calls.ts";

export type ScoreKeeper = ReturnType<typeof createScoreKeeper>;

/**
 * Providers that show one UUID and were all proven with it: more than these would be a flood, and each costs
 * a row.
 */
const MAX_AROUND = 500;

const paidIdentity = ({ device, identity, profile }: DeviceRow): Proof["identity"][number] => ({
	device,
	profile: paidProfile({ state: identity, profile }),
});

export function createScoreKeeper(x: Pick<ValidatorContext, "store" | "config" | "env" | "hub">) {
	const { store, config, env } = x;

	async function proofOf(provider: RememberedProvider): Promise<Proof | null> {
		const kept = provider.memory.proof;
		const probe = kept === null ? null : await store.probes.get(kept.probeId);
		if (kept === null || probe === null) return null;
		return {
			evidence: kept.evidence,
			provenAtMs: kept.provenAtMs,
			devices: probe.devices.map(({ kind, uuid }) => ({ kind, uuid })),
			figures: probe.figures,
			identity: probe.devices.map(paidIdentity),
			claimedRamBytes: kept.claimedRamBytes,
		};
	}

	/** The provider and all that showed one of its UUIDs, or have a device that signed for it. */
	async function viewsAround(provider: RememberedProvider): Promise<readonly SuspectView[]> {
		const own = viewOf(provider);
		const uuids = own.gpus.map(({ uuid }) => uuid);
		const { elsewhere = [], isSimulated = true } = provider.attestation ?? {};
		const holders = isSimulated ? [] : elsewhere.map(({ providerId }) => providerId);
		if (uuids.length === 0 && holders.length === 0) return [own];
		const same = (await store.devices.othersWith(provider.id, uuids)).slice(0, MAX_AROUND);
		const others = [...new Set([...holders, ...same])];
		return [own, ...(await store.providers.recallMany(others)).map(viewOf)];
	}

	/**
	 * Scores again whose last probe is so long ago that it counts only for who is rented and paid for: nothing
	 * else would. The others come to 0; a score that stays is made anew every third of `maxAgeMs`, for reports
	 * leave out what is older. At most `limit` of them; how many they were.
	 */
	async function age(limit: number): Promise<number> {
		const { maxAgeMs } = config.params;
		const nowMs = env.nowMs();
		const [probedBeforeMs, madeBeforeMs] = [maxAgeMs, maxAgeMs / 3].map((ms) => Math.max(0, Math.floor(nowMs - ms)));
		const old = await store.scores.aged({ probedBeforeMs: probedBeforeMs!, madeBeforeMs: madeBeforeMs!, limit });
		for (const id of old) await score(id);
		return old.length;
	}

	return { viewsAround, score, fullScorePpm, age };

	/** What it would score were it present at every call and never rented. */
	async function fullScorePpm(providerId: string): Promise<number> {
		const provider = await store.providers.recall(providerId);
		if (provider === null) return 0;
		return scoreProvider({ ...(await inputOf(provider)), ...UNCALLED }, config.params).scorePpm;
	}

	async function inputOf(provider: RememberedProvider): Promise<Omit<ScoreInput, "presence" | "rented">> {
		const { id: providerId, memory } = provider;
		const nowMs = env.nowMs();
		const rows = await store.jobs.partsOf([providerId]);
		const sinceMs = provider.lastVerdict === "valid" ? provider.lastProbeAtMs : null;
		return {
			providerId,
			nowMs,
			active: provider.state === "active",
			proof: await proofOf(provider),
			rentedMs: await rentedMs(x, provider, nowMs),
			reliabilityPpm: memory.reliabilityBeforePpm,
			history: [...memory.recent, ...workAsProbes(rows, { sinceMs, untilMs: nowMs }, config.params)],
			attested: provider.attestation?.level ?? "none",
			convicted: convictionOf(rows, nowMs, config.params),
			creditedElsewhere: creditUuids(await viewsAround(provider)).get(providerId) ?? [],
		};
	}

	/** Null: there is no such provider. */
	async function score(providerId: string): Promise<Explanation | null> {
		const provider = await store.providers.recall(providerId);
		if (provider === null) return null;
		const input = { ...(await inputOf(provider)), ...(await callsOf(x, provider)) };
		const explanation = scoreProvider(input, config.params);
		const { scorePpm, mode } = explanation;
		await store.scores.put([{ providerId, atMs: input.nowMs, scorePpm, mode, terms: explanation as unknown as Json }]);
		if (provider.scorePpm !== scorePpm)
			x.hub.tell({ kind: "score.changed", subject: providerId, providerId, detail: { scorePpm } });
		return explanation;
	}
}

function viewOf(provider: RememberedProvider): SuspectView {
	const memory = provider.memory;
	// A card that came later was not among those that passed.
	const newestMs = Math.max(0, ...memory.firstProven.map(({ atMs }) => atMs));
	return {
		providerId: provider.id,
		state: scheduleStateOf(provider),
		deviceKeys: keysOf(provider.attestation),
		gpus: memory.firstProven.map(({ uuid, atMs }) => ({ uuid, firstProvenAtMs: atMs, profile: provider.model })),
		series: memory.series,
		clearedWith: memory.clearedWith.filter(({ atMs }) => atMs >= newestMs).map(({ providerId }) => providerId),
	};
}

/** Simulated ones are nobody's: anybody can mint them. */
const keysOf = (attestation: RememberedProvider["attestation"]): readonly string[] =>
	attestation === null || attestation.isSimulated ? [] : attestation.devices.map(({ key }) => key);

/** As if there were no roll calls. */
const UNCALLED = { presence: null, rented: NEVER_RENTED } as const;

/**
 * Ended rentals since the proof, and the one that runs: those that were paid for on chain. ATTACK: only calls
 * say what a rental burned; without them, whoever rents from himself for next to nothing would not be probed
 * for a week.
 */
async function rentedMs(
	x: Pick<ValidatorContext, "store" | "config">,
	provider: RememberedProvider,
	nowMs: number,
): Promise<number> {
	const kept = provider.memory.proof;
	if (kept === null || !isCalled(x, provider)) return 0;
	const rental = provider.rentalId === null ? null : await x.store.rentals.get(provider.rentalId);
	if (rental === null || rental.escrow === null) return kept.rentedMs;
	return kept.rentedMs + Math.max(0, nowMs - Math.max(rental.reservedAtMs, kept.provenAtMs));
}

/** What the last roll calls say of it. */
async function callsOf(
	x: Pick<ValidatorContext, "store" | "config">,
	provider: RememberedProvider,
): Promise<Pick<ScoreInput, "presence" | "rented">> {
	if (!isCalled(x, provider)) return UNCALLED;
	const calls = await x.store.rollCalls.outcomes(provider.id, x.config.params.rollCallWindow);
	const paid = calls.flatMap(({ paidPpm }) => (paidPpm === null ? [] : [paidPpm]));
	const counted = await countedCalls(x, provider);
	const outcomes = counted.map(({ answered }) => (answered ? "answered" : "absent"));
	const mean = Math.floor(paid.reduce((sum, ppm) => sum + ppm, 0) / Math.max(1, paid.length));
	const presence = { ...presenceOf(outcomes, x.config.params), isUncalled: counted[0]?.isUncalled === true };
	return { presence, rented: { calls: paid.length, paidPpm: mean } };
}
