// Keeps providers probed: takes those that are due, runs probes, and after each of them scores and doubts.
// Everything that is durable about the schedule lies in the store; a scheduler that dies loses nothing. What
// is due and what a verdict means is decided by market/.
import { farthestProbeMs, placesOfOthers } from "../../market/schedule/turns.ts";
import { repeat } from "../../platform/repeat.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import { failure, SLOW_TURN_MS } from "../validator-context.ts";
import { type ProbeContext, probeProvider } from "./probe-provider.ts";
import { recoverProbes } from "./recover-probes.ts";
import type { SuspicionWatch } from "./suspicion-watch.ts";

export type Scheduler = Awaited<ReturnType<typeof startScheduler>>;

export async function startScheduler(
	context: ProbeContext & { readonly scores: ScoreKeeper; readonly suspicion: SuspicionWatch },
) {
	const { store, env, config, metrics, log, watchdog } = context;
	const stopping = new AbortController();

	/** Nothing here may undo a counted probe: what fails is told and made good by the next probe. */
	async function afterwards(providerId: string): Promise<void> {
		await context.scores.score(providerId).catch(failure(context, "score"));
		await context.suspicion.look(providerId).catch(failure(context, "suspicion"));
	}

	async function recover(): Promise<void> {
		const { counted, abandoned, dropped } = await recoverProbes(context);
		if (counted.length + abandoned.length + dropped > 0)
			log.info({ counted: counted.length, abandoned: abandoned.length, dropped }, "what was left is taken over");
		for (const providerId of counted) await afterwards(providerId);
	}

	// Before the first one is taken: a provider whose evidence waits must not be probed again for want of it.
	await recover();
	const unlost = store.leases.onLost((name) => {
		metrics.leasesLost.inc();
		log.warn({ lease: name }, "a lease was lost");
	});

	const places = config.concurrency + config.waiting;
	const others = placesOfOthers(places, config.othersPercent);
	const taking = store.dueProbes.take(
		{
			...{ concurrency: places, others, retryMs: config.params.retryFirstMs, nowMs: env.nowMs },
			farthestMs: farthestProbeMs(config.params),
		},
		async (due) => {
			metrics.probesRunning.inc();
			try {
				const signal = AbortSignal.any([due.signal, stopping.signal]);
				const probed = await probeProvider(context, due, signal);
				if (probed?.latest) await afterwards(probed.providerId);
				if (probed?.group) await context.suspicion.judge(probed.group).catch(failure(context, "suspicion"));
			} finally {
				metrics.probesRunning.dec();
			}
		},
	);

	const looking = repeat(
		{
			...{ everyMs: config.dispatchEveryMs, after: env.after, onError: failure(context, "dispatch") },
			turns: watchdog.watch("dispatch"),
		},
		async () => {
			// Suspects first: all of them must be free at once.
			await context.suspicion.sendOff();
			taking.wake();
		},
	);
	const recovering = repeat(
		{
			...{ everyMs: config.recoverEveryMs, after: env.after, onError: failure(context, "recover") },
			turns: watchdog.watch("recover", SLOW_TURN_MS),
		},
		recover,
	);

	let waking: () => void = () => {};
	let isAwake = false;
	/**
	 * Looks for due providers now rather than at the next round. Many that call in one moment make one look.
	 */
	function wake(): void {
		if (isAwake || stopping.signal.aborted) return;
		isAwake = true;
		waking = env.after(5, () => {
			isAwake = false;
			void looking.now();
		});
	}

	return {
		wake,
		running: taking.running,
		async stop(): Promise<void> {
			stopping.abort();
			waking();
			await looking.stop();
			await recovering.stop();
			await taking.stop();
			unlost();
		},
	};
}
