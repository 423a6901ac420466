// One probe of one provider, in the order of docs/schedule.md §3: row, probe, evidence made durable, then everything counted at once. Evidence is
// written before it is judged, so that a process that dies while judging loses nothing. A lost lease ends the probe: another process has it.
import type { ReceiptsWanted } from "../../engine/agent/agent-calls.ts";
import { sleep } from "../../platform/abortable.ts";
import type { Semaphore } from "../../platform/semaphore.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import type { KeptTogether } from "../../protocol/network/provider-memory.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import type { Provider } from "../../store/providers.ts";
import type { DueProbe } from "../../store/queue/due-probes.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import type { ProbeEvent } from "../probe/probe-event.ts";
import { runProbe } from "../probe/run-probe.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { countProbe } from "./count-probe.ts";
import { openProviderLink, withDeadline } from "./open-provider-link.ts";
import { createProbeProgress, type MayTell } from "./probe-progress.ts";
import type { TogetherGate } from "./together-gate.ts";
import type { OnChecked, VerifierPool } from "./verifier-pool.ts";

export interface ProbeContext extends ValidatorContext {
	readonly gate: TogetherGate;
	readonly pool: VerifierPool;
	readonly semaphore: Semaphore;
	readonly mayTell: MayTell;
}

export type ProbedProvider = {
	readonly providerId: string;
	readonly latest: boolean;
	readonly group: DueProbe["together"];
};

/** Null: nothing was counted. `signal` also ends when this process stops. */
export async function probeProvider(
	x: ProbeContext,
	due: DueProbe,
	signal: AbortSignal,
): Promise<ProbedProvider | null> {
	const { store, env, config, metrics, hub, signer } = x;
	const provider = await store.providers.get(due.providerId);
	// Rented, paused or removed since it was taken: the store leaves it due for when that is over.
	if (provider === null || provider.state !== "active" || provider.rentalId !== null || signal.aborted) return null;
	if (due.together !== null) await sleep(due.together.startAtMs - x.env.nowMs(), signal, x.env.after);
	const probeId = bytesToHex(env.randomBytes(16));
	const startedAtMs = env.nowMs();
	metrics.queueLagSeconds.observe(Math.max(0, startedAtMs - provider.nextProbeAtMs) / 1000);
	await store.probes.begin({ id: probeId, providerId: provider.id, validator: signer.key, startedAtMs });
	hub.tell({ kind: "probe.started", subject: probeId, providerId: provider.id, detail: { link: provider.link } });

	let release: (() => void) | null = null;
	let kept: { readonly sha256: string; readonly bytes: number } | null = null;
	const stages = watchStages(x, config.probe.togetherStages);
	const progress = createProbeProgress({
		hub,
		probeId,
		providerId: provider.id,
		nowMs: env.nowMs,
		mayTell: x.mayTell,
	});
	try {
		const { quick, sustainMs, samples, plan, deadlines } = config.probe;
		const beacon = await x.beacon();
		const receipts = provider.link === "agent" ? await x.receipts?.collect(provider.id, probeId) : null;
		const result = await runProbe({
			openLink: () => openBounded(x, provider, probeId, receipts?.wanted ?? null),
			target: provider.link === "agent" ? `agent:${provider.id}` : provider.target,
			quick,
			sustainMs,
			...(samples === null ? {} : { samples }),
			...(plan === null ? {} : { plan }),
			...(beacon === null ? {} : { beacon }),
			...(receipts ? { onCommitted: receipts.onCommitted } : {}),
			deadlines,
			signer,
			clockUs: env.clockUs,
			nowMs: env.nowMs,
			randomBytes: env.randomBytes,
			probeId,
			signal,
			onEvent(event) {
				stages.see(event);
				progress.see(event);
			},
			async beforeStage(name) {
				// Suspects pass: one of them with a slot would wait for another without.
				if (due.together !== null) await holdForGroup(x, due, name, signal);
				else release ??= await x.semaphore.acquire(signal);
			},
			async verify(evidence, expect) {
				// Receipts first: evidence that lies there without them would look as if nobody had asked.
				if (receipts) await x.receipts?.put(receipts.file(bytesToHex(sha256Of(evidence))));
				kept = await store.evidence.put(probeId, evidence);
				return judge(x, evidence, expect, progress.checked);
			},
		});
		const { verdict, claim } = result;
		// Stopped before there was evidence: another process has it, or this one ends. It counts for nothing.
		if (kept === null && signal.aborted) {
			await giveUp(x, provider, probeId);
			return null;
		}
		if (verdict.status === "inconclusive" && verdict.where === "link") metrics.linkFailures.inc({ code: verdict.code });
		const finishedAtMs = env.nowMs();
		const together: KeptTogether | null =
			due.together === null
				? null
				: {
						group: due.together.id,
						status: verdict.status,
						code: verdict.status === "valid" ? null : verdict.code,
						startedAtMs,
						endedAtMs: finishedAtMs,
						window: stages.window(),
					};
		const { counted, latest } = await countProbe(x, {
			probeId,
			providerId: provider.id,
			startedAtMs,
			finishedAtMs,
			verdict,
			evidence: kept,
			claim,
			together,
		});
		return counted ? { providerId: provider.id, latest, group: due.together } : null;
	} catch (error) {
		// With evidence the pending entry stays, and recovery counts it. Without, the row must not look as if somebody still worked on it.
		if (kept === null) await giveUp(x, provider, probeId);
		throw error;
	} finally {
		giveSlot(release);
		if (due.together !== null) x.gate.leave({ group: due.together.id, member: provider.id });
	}
}

/** A function of its own because the compiler cannot see that a callback has set the variable. */
function giveSlot(release: (() => void) | null): void {
	release?.();
}

async function giveUp(x: ProbeContext, provider: Provider, probeId: string): Promise<void> {
	await x.store.probes.abandon(probeId, { nowMs: x.env.nowMs(), nextProbeAtMs: x.env.nowMs() }).catch((error) => {
		// Without the database nothing can be said; the lease runs out and recovery abandons it.
		x.log.warn({ probe: probeId, err: error }, "a probe could not be given up");
	});
	x.hub.tell({ kind: "probe.abandoned", subject: probeId, providerId: provider.id, detail: {} });
}

function openBounded(x: ProbeContext, provider: Provider, probeId: string, receipts: ReceiptsWanted | null) {
	const { totalMs } = x.config.probe;
	return withDeadline(() => openProviderLink(x, provider, probeId, receipts), {
		totalMs,
		after: x.env.after,
		onDeadline: () => x.log.warn({ provider: provider.id, probe: probeId, totalMs }, "a probe took too long"),
	});
}

/** Verdicts come from threads; should one die twice over a file, this thread judges it: late is better than never. */
async function judge(
	x: ProbeContext,
	evidence: Uint8Array,
	expect: Expectations,
	onChecked: OnChecked,
): Promise<Verdict> {
	try {
		return await x.pool.verify(evidence, expect, onChecked);
	} catch (error) {
		if (!(error instanceof AssayError) || error.code !== "VERIFIER_DIED") throw error;
		x.log.error({ err: error }, "a thread died over a file; judged here");
		return verifyEvidence(evidence, expect);
	}
}

async function holdForGroup(x: ProbeContext, due: DueProbe, name: string, signal: AbortSignal): Promise<void> {
	const { togetherStages, togetherWaitMs } = x.config.probe;
	if (due.together === null || !togetherStages.includes(name)) return;
	const { id, providerIds } = due.together;
	const arrived = await x.gate.arrive({
		group: id,
		members: providerIds,
		member: due.providerId,
		gate: name,
		waitMs: togetherWaitMs,
		signal,
	});
	if (!arrived) x.log.warn({ group: id, provider: due.providerId, stage: name }, "the group was not complete in time");
}

/** When the stages that must overlap began and ended, on this process's wall clock. */
function watchStages(x: ProbeContext, names: readonly string[]) {
	const open = new Set<number>();
	const done = new Set<string>();
	let fromMs: number | null = null;
	let toMs: number | null = null;
	return {
		see(event: ProbeEvent) {
			if (event.kind === "stage" && names.includes(event.name)) {
				fromMs ??= x.env.nowMs();
				done.add(event.name);
				for (const { challenge } of event.challenges) open.add(challenge);
			} else if (event.kind === "answered" && open.delete(event.challenge) && event.end === "complete") {
				toMs = x.env.nowMs();
			}
		},
		window: () =>
			fromMs !== null && toMs !== null && open.size === 0 && done.size === names.length ? { fromMs, toMs } : null,
	};
}
