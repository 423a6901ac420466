// A CPU that was busy while it was probed proves no memory, and a host without that figure gets no jobs. On the machine of `assay up` such a probe is made
// again soon, one at a time, a few times: a user who waits is better served than by the schedule's hour. Nothing is taken for proven that was not.
import type { ApiClient } from "../../api/create-client.ts";
import { sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";

const LOOK_EVERY_MS = 5000;
/** Of one provider. */
const MOST_TRIES = 6;

type Asking = Pick<ApiClient, "network" | "listProviders" | "getProvider" | "askProbe">;

/** Gives the function that stops it. `client` may ask for probes. */
export function probeAgain(
	client: Asking,
	onAsked: (name: string) => void,
	everyMs = LOOK_EVERY_MS,
): () => Promise<void> {
	const stopping = new AbortController();
	const tries = new Map<string, { count: number; probedAtMs: number }>();
	const look = async (): Promise<void> => {
		// One at a time: two at once would be busy with each other.
		if ((await client.network()).probes.running > 0) return;
		const { rows } = await client.listProviders({ query: { limit: 100 } });
		for (const { id, name, connected, lastVerdict, lastProbeAtMs } of rows) {
			if (!connected || lastVerdict !== "valid" || lastProbeAtMs === null) continue;
			const known = tries.get(id) ?? { count: 0, probedAtMs: 0 };
			// Asked for and not made yet, or often enough.
			if (known.probedAtMs === lastProbeAtMs || known.count >= MOST_TRIES) continue;
			const { figures } = await client.getProvider({ params: { id } });
			if (figures.some((one) => one.name === "memory.bandwidth")) continue;
			tries.set(id, { count: known.count + 1, probedAtMs: lastProbeAtMs });
			await client.askProbe({ params: { id }, body: { why: "it proved no memory" } });
			onAsked(name);
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
