// What a validator does now and then beside probing: forgets old history and blobs, and lets the scores of
// proofs that nobody renews grow old. Loops only; what is old is decided by the settings and by market/.
import { repeat } from "../platform/repeat.ts";
import { BlobStore } from "../store/blobs/blob-store.ts";
import { sweepBlobs } from "./jobs/blobs/sweep-blobs.ts";
import type { ScoreKeeper } from "./scoring/score-keeper.ts";
import { failure, SLOW_TURN_MS, type ValidatorContext } from "./validator-context.ts";

const PRUNE_EVERY_MS = 3_600_000;
const SWEEP_EVERY_MS = 600_000;
const AGE_EVERY_MS = 60_000;
/** One process at a time, so many providers a round. */
const AGE_LEASE = "aging";
const MAX_AGED = 100;

export function startHousekeeping(context: ValidatorContext, scores: ScoreKeeper): { stop(): Promise<void> } {
	const { env, store, config, blobs, watchdog } = context;
	const { after } = env;
	const slow = (name: string) => watchdog.watch(name, SLOW_TURN_MS);
	const pruning = repeat(
		{ everyMs: PRUNE_EVERY_MS, after, onError: failure(context, "prune"), turns: slow("prune") },
		async () => {
			const before = Math.max(0, env.nowMs() - config.keepHistoryMs);
			await store.prune({ probesBeforeMs: before, nowMs: env.nowMs() });
			const callsBefore = Math.max(0, env.nowMs() - config.rollCalls.keepFilesMs);
			// Twice the window: hosts that were excused look further back.
			const keep = 2 * config.params.rollCallWindow;
			for (const sha256 of await store.rollCalls.prune({ beforeMs: callsBefore, keep }))
				await store.evidence.remove(sha256);
		},
	);
	const sweeping = repeat(
		{ everyMs: SWEEP_EVERY_MS, after, onError: failure(context, "blobs"), turns: slow("blobs") },
		async () => {
			// Behind a door its own process does it.
			if (blobs instanceof BlobStore) await sweepBlobs(context, blobs);
		},
	);
	const everyMs = Math.max(100, Math.min(AGE_EVERY_MS, Math.floor(config.params.maxAgeMs / 10)));
	const aging = repeat({ everyMs, after, onError: failure(context, "score"), turns: slow("score") }, async () => {
		if (await store.leases.acquire(AGE_LEASE)) await scores.age(MAX_AGED);
	});
	return {
		async stop() {
			await pruning.stop();
			await sweeping.stop();
			await aging.stop();
			await store.leases.release(AGE_LEASE);
		},
	};
}
