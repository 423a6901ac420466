// One probe of one provider, in the order of docs/schedule.md §3: row, probe, evidence made durable, then
// everything counted at once. Evidence is written before it is judged, so that a process that dies while
// judging loses nothing. A lost lease ends the probe: another process has it.

import type { Link } from "../../engine/links/link.ts";
import { holdMs } from "../../market/schedule/turns.ts";
import { sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import type { RememberedProvider } from "../../store/providers.ts";
import type { DueProbe } from "../../store/queue/due-probes.ts";
import { elsewhereFindings } from "../../verify/hardware/checks/check-attestations.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import { untilFree } from "../agents/until-free.ts";
import type { ProbeEvent } from "../probe/probe-event.ts";
import { type ProbeResult, runProbe } from "../probe/run-probe.ts";
import type { ProbeHold } from "../roll-call/probe-hold.ts";
import { guestsOf } from "../validator-config.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { countProbe, isMemoryDoubted } from "./count-probe.ts";
import { openProviderLink, withDeadline } from "./open-provider-link.ts";
import { createProbeProgress, type MayTell } from "./probe-progress.ts";
import type { Slots } from "./slots.ts";
import type { TogetherGate } from "./together-gate.ts";
import type { VerifierPool } from "./verifier-pool.ts";

export interface ProbeContext extends ValidatorContext {
	readonly gate: TogetherGate;
	readonly pool: VerifierPool;
	readonly slots: Slots;
	readonly mayTell: MayTell;
	/** Null: without roll calls. */
	readonly hold: ProbeHold | null;
}

export type ProbedProvider = {
	readonly providerId: string;
	readonly latest: boolean;
	readonly group: DueProbe["together"];
};

/** Null: nothing was counted. `signal` also ends when this process stops. */
export async function probeProvider(
	context: ProbeContext,
	due: DueProbe,
	signal: AbortSignal,
): Promise<ProbedProvider | null> {
	const { store, env } = context;
	const provider = await store.providers.recall(due.providerId);
	// Rented, paused or removed since it was taken: the store leaves it due for when that is over.
	if (provider === null || provider.state !== "active" || provider.rentalId !== null || signal.aborted) return null;
	if (due.together !== null) await sleep(due.together.startAtMs - env.nowMs(), signal, env.after);
	await context.hold?.free(due.providerId, signal);
	if (signal.aborted) return null;
	const probe = new ProviderProbe(context, due, provider, signal);
	await probe.begin();
	try {
		return await probe.count(await probe.run());
	} catch (error) {
		await probe.giveUp();
		throw error;
	} finally {
		probe.end();
	}
}

class ProviderProbe {
	private readonly context: ProbeContext;
	private readonly due: DueProbe;
	private readonly provider: RememberedProvider;
	private readonly signal: AbortSignal;
	private readonly probeId: string;
	private readonly startedAtMs: number;
	private readonly stages: ReturnType<typeof watchStages>;
	private release: (() => void) | null = null;
	private link: Link | null = null;
	/** Ends the wait for a slot with the time of the whole probe: whoever waited for us has not stalled. */
	private readonly late = new AbortController();
	/** Since when it is at work, and how long it was. */
	private workedFromMs: number | null = null;
	private heldMs: number | null = null;
	private unhold: () => void = () => {};
	/** The evidence, once it is durable. */
	private kept: { readonly sha256: string; readonly bytes: number } | null = null;

	constructor(context: ProbeContext, due: DueProbe, provider: RememberedProvider, signal: AbortSignal) {
		const { env, config } = context;
		this.context = context;
		this.due = due;
		this.provider = provider;
		this.signal = signal;
		this.probeId = bytesToHex(env.randomBytes(16));
		this.startedAtMs = env.nowMs();
		this.stages = watchStages(config.probe.togetherStages, env.nowMs);
	}

	async begin(): Promise<void> {
		const { store, metrics, signer } = this.context;
		const { probeId, startedAtMs, provider } = this;
		metrics.queueLagSeconds.observe(Math.max(0, startedAtMs - provider.nextProbeAtMs) / 1000);
		await store.probes.begin({ id: probeId, providerId: provider.id, validator: signer.key, startedAtMs });
		this.tell("probe.started", { link: provider.link });
	}

	async run(): Promise<ProbeResult> {
		const { env, config, hub, signer, mayTell } = this.context;
		const { probeId, signal, stages, provider } = this;
		const { quick, sustainMs, samples, plan, deadlines } = config.probe;
		const { nowMs, clockUs, randomBytes } = env;
		const isAgent = provider.link === "agent";
		const beacon = await this.context.beacon();
		const receipts = isAgent ? await this.context.receipts?.collect(provider.id, probeId) : null;
		const progress = createProbeProgress({ hub, probeId, providerId: provider.id, nowMs, mayTell });
		return runProbe({
			...{ quick, sustainMs, deadlines, signer, clockUs, nowMs, randomBytes, probeId, signal },
			...(samples === null ? {} : { samples }),
			...(plan === null ? {} : { plan }),
			...(beacon === null ? {} : { beacon }),
			...(receipts ? { onCommitted: receipts.onCommitted } : {}),
			collateral: await this.context.collateral(),
			target: isAgent ? `agent:${provider.id}` : provider.target,
			openLink: async () => {
				this.link = await withDeadline(
					() =>
						untilFree(() => openProviderLink(this.context, provider, probeId, receipts?.wanted ?? null), {
							...{ env, patienceMs: config.probe.busyMs, everyMs: BUSY_EVERY_MS, signal },
						}),
					{
						totalMs: config.probe.totalMs,
						after: env.after,
						onDeadline: () => {
							this.warn("a probe took too long");
							this.late.abort(new AssayError("LINK_DEADLINE", "no slot came free before the probe's deadline"));
						},
					},
				);
				return this.link;
			},
			onEvent(event) {
				stages.see(event);
				progress.see(event);
			},
			beforeStage: (name) => this.beforeStage(name),
			verify: async (evidence, expect) => {
				// Before it is judged: how long that takes is not the host's doing.
				if (this.workedFromMs !== null) this.heldMs = Math.max(0, nowMs() - this.workedFromMs - orderedMs(sustainMs));
				// Receipts first: evidence that lies there without them would look as if nobody had asked.
				if (receipts) await this.context.receipts?.put(receipts.file(bytesToHex(sha256Of(evidence))));
				this.kept = await this.context.store.evidence.put(probeId, evidence);
				return this.judge(evidence, { ...expect, ...guestsOf(config) }, progress.checked);
			},
		});
	}

	async count({ verdict, claim }: ProbeResult): Promise<ProbedProvider | null> {
		const { env, metrics } = this.context;
		const { probeId, startedAtMs, heldMs, kept: evidence } = this;
		const { together: group, providerId } = this.due;
		// Stopped before there was evidence: another process has it, or this one ends. It counts for nothing.
		if (evidence === null && this.signal.aborted) {
			await this.giveUp();
			return null;
		}
		const { status } = verdict;
		if (status === "inconclusive" && verdict.where === "link") metrics.linkFailures.inc({ code: verdict.code });
		const finishedAtMs = env.nowMs();
		const code = status === "valid" ? null : verdict.code;
		const window = isMemoryDoubted(verdict) ? null : this.stages.window();
		const together = group && { group: group.id, status, code, startedAtMs, endedAtMs: finishedAtMs, window };
		const ended = { probeId, providerId, startedAtMs, finishedAtMs, heldMs, verdict, evidence, claim, together };
		const { counted, latest, attestation } = await countProbe(this.context, ended);
		if (counted) {
			const findings = status === "valid" ? [...elsewhereFindings(attestation ?? null), ...verdict.findings] : [];
			this.context.agents.get(providerId)?.tellVerdict({ probe: probeId, status, code, findings });
		}
		return counted ? { providerId, latest, group } : null;
	}

	/** With evidence the pending entry stays for recovery. Without, nobody works on the row any more. */
	async giveUp(): Promise<void> {
		if (this.kept !== null) return;
		const { store, env } = this.context;
		await store.probes.abandon(this.probeId, { nowMs: env.nowMs(), nextProbeAtMs: env.nowMs() }).catch((error) => {
			// Without the database nothing can be said; the lease runs out and recovery abandons it.
			this.warn("a probe could not be given up", error);
		});
		this.tell("probe.abandoned", {});
	}

	end(): void {
		this.unhold();
		this.release?.();
		const { together, providerId } = this.due;
		if (together !== null) this.context.gate.leave({ group: together.id, member: providerId });
	}

	/** Suspects wait for their group and take no slot: with one, they could wait for those without. */
	private async beforeStage(name: string): Promise<void> {
		const { gate, config, slots } = this.context;
		const { signal, due, provider } = this;
		const waits = AbortSignal.any([signal, this.late.signal]);
		if (due.together === null) this.release ??= await slots.acquire(provider.memory.turn === 0, waits);
		if (this.workedFromMs === null) this.startWork();
		if (due.together === null) return;
		if (config.probe.togetherStages.includes(name)) {
			const { id, providerIds: members } = due.together;
			const waitMs = config.probe.togetherWaitMs;
			const arrived = await gate.arrive({ group: id, members, member: due.providerId, gate: name, waitMs, signal });
			if (!arrived) this.warn(`the group was not complete in time for ${name}`);
		}
	}

	/** From here on its time runs. At the end of it the link is closed, as at the end of a whole probe. */
	private startWork(): void {
		const { env, config } = this.context;
		const { sustainMs, togetherStages, togetherWaitMs } = config.probe;
		this.workedFromMs = env.nowMs();
		const waitMs = this.due.together === null ? 0 : togetherStages.length * togetherWaitMs;
		this.unhold = env.after(holdMs(this.provider.memory, config.params) + orderedMs(sustainMs) + waitMs, () => {
			this.warn("a probe held its slot too long");
			void this.link?.close();
		});
	}

	/** Verdicts come from threads; should one die twice over a file, this thread judges it: late but judged. */
	private async judge(...args: Parameters<VerifierPool["verify"]>): Promise<Verdict> {
		try {
			return await this.context.pool.verify(...args);
		} catch (error) {
			if (!(error instanceof AssayError) || error.code !== "VERIFIER_DIED") throw error;
			this.context.log.error({ err: error }, "a thread died over a file; judged here");
			const [evidence, expect]: [Uint8Array, Expectations, ...unknown[]] = args;
			return verifyEvidence(evidence, expect);
		}
	}

	private tell(kind: string, detail: { readonly [name: string]: string }): void {
		this.context.hub.tell({ kind, subject: this.probeId, providerId: this.provider.id, detail });
	}

	private warn(message: string, err?: unknown): void {
		this.context.log.warn({ provider: this.provider.id, probe: this.probeId, err }, message);
	}
}

/** A host keeps the place of one that comes again. */
const BUSY_EVERY_MS = 1000;

/** A lasting load is ordered of the cards and then of the CPU. */
const orderedMs = (sustainMs: number): number => 2 * sustainMs;

/** When the stages that must overlap began and ended, on this process's wall clock. */
function watchStages(names: readonly string[], nowMs: () => number) {
	const open = new Set<number>();
	const done = new Set<string>();
	let fromMs: number | null = null;
	let toMs: number | null = null;
	return {
		see(event: ProbeEvent) {
			if (event.kind === "stage" && names.includes(event.name)) {
				fromMs ??= nowMs();
				done.add(event.name);
				for (const { challenge } of event.challenges) open.add(challenge);
			} else if (event.kind === "answered" && open.delete(event.challenge) && event.end === "complete") {
				toMs = nowMs();
			}
		},
		window: () =>
			fromMs !== null && toMs !== null && open.size === 0 && done.size === names.length ? { fromMs, toMs } : null,
	};
}
