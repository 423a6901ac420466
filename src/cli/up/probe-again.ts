// A CPU that was busy while it was probed proves no memory, and a host without that figure gets no jobs. One
// that was idle while it was probed, and has been busy since, is too slow for every roll call: more is asked
// of it than it can do now. On the machine of `assay up` both are probed again soon, one at a time, a few
// times, then seldom: a user who waits is better served than by the schedule's hour. A host that is fit is
// left alone: made on a busy machine, the new proof would be the worse one, and it is the newest that counts.
// Nothing is taken for proven that was not.
import type { ApiClient } from "../../api/create-client.ts";
import { NO_CALL_ANSWERED } from "../../market/scores/score-provider.ts";
import { sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";

const LOOK_EVERY_MS = 5000;
/**
 * Of one provider, one after the other; then each after a rest: a machine that was busy for long comes free
 * some time.
 */
const MOST_TRIES = 6;
const REST_MS = 300_000;

type Asking = Pick<
	ApiClient,
	| "network"
	| "listProviders"
	| "listJobHosts"
	| "getProvider"
	| "getProviderScore"
	| "listProviderRollCalls"
	| "askProbe"
>;

export interface ProbeAgain {
	/** `isFirst`: the first of a series, or one after a rest. */
	readonly onAsked: (name: string, why: string, isFirst: boolean) => void;
	/** False: of quick probes, which never prove memory. */
	readonly isMemoryWanted: boolean;
	readonly everyMs?: number;
	readonly nowMs?: () => number;
}

/** Gives the function that stops it. `client` may ask for probes. */
export function probeAgain(
	client: Asking,
	{ onAsked, isMemoryWanted, everyMs = LOOK_EVERY_MS, nowMs = Date.now }: ProbeAgain,
): () => Promise<void> {
	const stopping = new AbortController();
	const tries = new Map<string, { count: number; probedAtMs: number; askedAtMs: number }>();
	const whyAgain = async (id: string, probedAtMs: number): Promise<string | null> => {
		if (isMemoryWanted) {
			const { figures } = await client.getProvider({ params: { id } });
			if (figures.every((one) => one.name !== "memory.bandwidth")) return "it was too busy to prove its memory";
		}
		const { terms } = await client.getProviderScore({ params: { id } });
		if (terms.why !== NO_CALL_ANSWERED) return null;
		// A call since that probe: the calls before were for what it had proven until then. Who refuses calls, or
		// is away, is not too slow.
		const [newest] = (await client.listProviderRollCalls({ params: { id }, query: { limit: 1 } })).rows;
		if (newest?.state !== "late" || newest.atMs < probedAtMs) return null;
		// Jobs on this machine explain it, and would make the new proof worse as well.
		const hosts = await client.listJobHosts({ query: { limit: 100 } });
		const areIdle = hosts.rows.every(({ devices }) => devices.every(({ isFree }) => isFree));
		return areIdle ? "it is slower than it was, and late for roll calls" : null;
	};
	const look = async (): Promise<void> => {
		// One at a time: two at once would be busy with each other.
		if ((await client.network()).probes.running > 0) return;
		const { rows } = await client.listProviders({ query: { limit: 100 } });
		for (const { id, name, connected, lastVerdict, lastProbeAtMs } of rows) {
			if (!connected || lastVerdict !== "valid" || lastProbeAtMs === null) continue;
			const known = tries.get(id) ?? { count: 0, probedAtMs: 0, askedAtMs: 0 };
			const isResting = known.count >= MOST_TRIES && nowMs() - known.askedAtMs < REST_MS;
			// Asked for and not made yet, or often enough for now.
			if (known.probedAtMs === lastProbeAtMs || isResting) continue;
			const why = await whyAgain(id, lastProbeAtMs);
			if (why === null) continue;
			tries.set(id, { count: known.count + 1, probedAtMs: lastProbeAtMs, askedAtMs: nowMs() });
			await client.askProbe({ params: { id }, body: { why } });
			onAsked(name, why, known.count % MOST_TRIES === 0);
			return;
		}
	};
	const looking = (async () => {
		while (await sleep(everyMs, stopping.signal))
			await look().catch((error: unknown) => {
				if (!(error instanceof AssayError)) throw error;
			});
	})();
	return async () => {
		stopping.abort();
		await looking;
	};
}
