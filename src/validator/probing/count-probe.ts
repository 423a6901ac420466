// Step 4 of a probe's life (docs/schedule.md §3): from a verdict to everything that it changes, in one
// transaction of the store. The same for a probe that has just ended and for one whose process died after its
// evidence was durable. What it means is decided by market/.

import {
	rememberCounted,
	rememberProof,
	rememberState,
	scheduleStateOf,
	uuidOf,
} from "../../market/schedule/provider-memory.ts";
import { nextProbe } from "../../market/schedule/schedule.ts";
import type { Outcome } from "../../market/schedule/schedule-state.ts";
import { type JobWork, nextAnsweredPpm, nextReliabilityPpm, workAsProbes } from "../../market/scores/reliability.ts";
import type { KeptTogether } from "../../protocol/network/provider-memory.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import type { DeviceRow } from "../../store/devices.ts";
import type { FinishProbe, FinishResult } from "../../store/probe-finish.ts";
import type { RememberedProvider } from "../../store/providers.ts";
import { elsewhereFindings } from "../../verify/hardware/checks/check-attestations.ts";
import type { ValidatorContext } from "../validator-context.ts";

export interface EndedProbe extends Pick<FinishProbe, "probeId" | "finishedAtMs" | "evidence" | "claim"> {
	readonly providerId: string;
	readonly startedAtMs: number;
	/**
	 * How long it was at work, beyond the load that was ordered; null: it was not, or nobody knows any more.
	 */
	readonly heldMs: number | null;
	readonly verdict: Verdict;
	readonly together: KeptTogether | null;
}

/** `latest`: no later probe of the provider was counted before. */
export async function countProbe(
	context: Pick<
		ValidatorContext,
		"store" | "config" | "env" | "hub" | "metrics" | "signer" | "receipts" | "mutex" | "keyHolders"
	>,
	ended: EndedProbe,
): Promise<FinishResult> {
	await noteFraud(context.receipts, ended);
	const chainKeys = await context.keyHolders(ended.providerId, keysOf(ended.verdict));
	// Read, decide, write: a claim or a suspicion that is noted meanwhile must not be lost.
	const result = await context.mutex.run(ended.providerId, async () => {
		const provider = await context.store.providers.recall(ended.providerId);
		if (provider === null) return { counted: false, latest: false };
		const random01 = context.env.random();
		const work = await context.store.jobs.partsOf([ended.providerId]);
		const finish = finishOf(context, provider, ended, { random01, work, chainKeys });
		return context.store.probes.finish({ ...finish, nowMs: context.env.nowMs() });
	});
	if (!result.counted) return result;
	const { verdict, probeId, providerId } = ended;
	const code = verdict.status === "valid" ? null : verdict.code;
	context.metrics.probes.inc({ verdict: verdict.status, code: code ?? "" });
	context.metrics.probeSeconds.observe(
		{ verdict: verdict.status },
		Math.max(0, ended.finishedAtMs - ended.startedAtMs) / 1000,
	);
	context.hub.tell({
		kind: "probe.verdict",
		subject: probeId,
		providerId,
		detail: { verdict: verdict.status, code, evidence: ended.evidence?.sha256 ?? null },
	});
	return result;
}

/** In a simultaneous probe this is the very sign that was looked for. */
export const isMemoryDoubted = (verdict: Verdict): boolean =>
	verdict.status === "valid" && verdict.findings.some(({ code }) => code === "MEMORY_SLOW" || code === "MEMORY_FAR");

/** Simulated ones are bound on no chain. */
const keysOf = (verdict: Verdict): readonly string[] =>
	verdict.status === "valid" && verdict.attestation?.isSimulated === false
		? verdict.attestation.devices.map(({ key }) => key)
		: [];

/**
 * An opened element that contradicts its seed is what the chain can punish. A verdict names the first fault
 * only, and a cheater could put a cheaper one before it, or hang up: so every such probe is looked through.
 * Noted before it is counted, so that no crash loses it; twice is the same note.
 */
async function noteFraud(receipts: ValidatorContext["receipts"], ended: EndedProbe): Promise<void> {
	const { verdict, evidence, probeId, providerId } = ended;
	const mayHide = verdict.status === "invalid" || (verdict.status === "inconclusive" && verdict.code === "OPENING_CUT");
	if (receipts === null || evidence === null || !mayHide) return;
	await receipts.note({ evidence: evidence.sha256, probeId, providerId });
}

function finishOf(
	context: Pick<ValidatorContext, "config" | "signer">,
	provider: RememberedProvider,
	ended: EndedProbe,
	{
		random01,
		work,
		chainKeys,
	}: Pick<FinishProbe, "chainKeys"> & { readonly random01: number; readonly work: readonly JobWork[] },
): FinishProbe {
	const { verdict, evidence, claim, startedAtMs, finishedAtMs } = ended;
	const { params } = context.config;
	const isValid = verdict.status === "valid";
	const outcome: Outcome = {
		status: verdict.status,
		code: isValid ? null : verdict.code,
		startedAtMs,
		endedAtMs: finishedAtMs,
		together: ended.together !== null,
		isMemoryDoubted: isMemoryDoubted(verdict),
		heldMs: ended.heldMs,
	};
	const { state, counts } = nextProbe(scheduleStateOf(provider), outcome, params, random01);
	const isNew = provider.lastProbeAtMs === null;
	let memory = rememberState(provider.memory, state);
	// Work since the last probe first: it came before this one.
	const sinceMs = provider.lastVerdict === "valid" ? provider.lastProbeAtMs : null;
	const counted = workAsProbes(work, { sinceMs, untilMs: startedAtMs }, params);
	for (const one of counted) memory = rememberCounted(memory, one, params);
	memory = rememberCounted(memory, { evidence: evidence?.sha256 ?? ended.probeId, counts }, params);
	if (ended.together !== null) memory = { ...memory, together: ended.together };
	if (isValid && claim !== null && evidence !== null)
		memory = rememberProof(memory, {
			probeId: ended.probeId,
			evidence: evidence.sha256,
			startedAtMs,
			claim,
			figures: verdict.figures,
			values: params.fallHistory + 1,
		});
	return {
		probeId: ended.probeId,
		finishedAtMs,
		verdict: isValid
			? { status: "valid", code: null, where: null, detail: null }
			: { status: verdict.status, code: verdict.code, where: verdict.where, detail: verdict.detail },
		evidence,
		strength: isValid ? verdict.strength : null,
		figures: isValid ? verdict.figures : [],
		findings: isValid ? verdict.findings : [],
		devices: isValid && claim !== null ? deviceRows(claim, verdict) : [],
		claim,
		attestation: (isValid && verdict.attestation) || null,
		keysHeld: { freeMs: params.maxAgeMs, rentedMs: params.maxRentedAgeMs },
		chainKeys,
		elsewhereFindings,
		provider: {
			// Never due by this rule (rented or paused meanwhile): the store keeps it out of the schedule whatever
			// the date.
			nextProbeAtMs: state.nextProbeAtMs ?? startedAtMs + params.intervalMs,
			failures: state.failures,
			retries: state.retried,
			reliabilityPpm: [...counted.map((one) => one.counts), counts].reduce(
				(before: number | null, one) => nextReliabilityPpm(before, one, params),
				isNew ? null : provider.reliabilityPpm,
			)!,
			answeredPpm: nextAnsweredPpm(isNew ? null : provider.answeredPpm, verdict.status, params),
			memory,
		},
		actor: context.signer.key,
	};
}

/** A profile is only as good as its identity: of the states that name no card it is left out. */
function deviceRows(claim: HostClaim, verdict: Extract<Verdict, { status: "valid" }>): DeviceRow[] {
	return claim.devices.map(({ kind, name, uuid, memoryBytes }, device) => {
		const identity = verdict.identity.find((one) => one.device === device);
		const state = identity?.state ?? "unjudged";
		const isNamed = state === "confirmed" || state === "consistent" || state === "other";
		const profile = isNamed ? (identity?.profile ?? null) : null;
		// One spelling of each UUID, or a capital letter would hide that two providers show the same.
		const named = { profile, identity: state, alike: identity?.alike ?? [] };
		return { device, kind, claimedName: name, uuid: uuidOf(uuid), memoryBytes, ...named };
	});
}
