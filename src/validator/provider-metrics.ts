// What Prometheus sees of single providers: as many as the settings allow, the best scores first, so that
// nobody who makes keys makes series. Labels are ids, never a provider's own words. Asked of the store when
// somebody scrapes, once for all of them.
import { Gauge, type Registry } from "prom-client";
import { uptimeOf } from "../market/scores/uptime.ts";
import type { Store } from "../store/open-store.ts";
import type { Provider } from "../store/providers.ts";

export type ProviderSample = Pick<
	Provider,
	"id" | "scorePpm" | "reliabilityPpm" | "answeredPpm" | "uptimePpm" | "failures" | "lastValidAtMs" | "gpuCount"
> & { readonly isConnected: boolean };

const PAGE = 200;
/** Several scrapes, and all gauges of one, share an answer. */
const SHARED_MS = 1000;

export async function bestProviders(store: Store, most: number, nowMs: () => number): Promise<ProviderSample[]> {
	const found: ProviderSample[] = [];
	let cursor: string | null = null;
	while (found.length < most) {
		const page: Awaited<ReturnType<Store["providers"]["list"]>> = await store.providers.list({
			...{ sort: "score", state: "active", limit: Math.min(PAGE, most - found.length) },
			...(cursor === null ? {} : { cursor }),
		});
		for (const row of page.rows) {
			const isConnected = row.link !== "agent" || row.connectedTo !== null;
			found.push({ ...row, uptimePpm: uptimeOf(row, nowMs()), isConnected });
		}
		cursor = page.cursor;
		if (cursor === null) break;
	}
	return found;
}

export function registerProviderMetrics(registry: Registry, ask: () => Promise<readonly ProviderSample[]>): void {
	let answer: { readonly atMs: number; readonly rows: Promise<readonly ProviderSample[]> } | null = null;
	const rowsNow = (): Promise<readonly ProviderSample[]> => {
		if (answer === null || performance.now() - answer.atMs > SHARED_MS)
			answer = { atMs: performance.now(), rows: ask().catch(() => []) };
		return answer.rows;
	};
	const gauge = (name: string, help: string, value: (row: ProviderSample) => number | null): void =>
		void new Gauge({
			name: `assay_provider_${name}`,
			help,
			labelNames: ["provider"],
			registers: [registry],
			async collect() {
				const rows = await rowsNow();
				// One that is gone leaves no series behind.
				this.reset();
				for (const row of rows) {
					const found = value(row);
					if (found !== null) this.set({ provider: row.id }, found);
				}
			},
		});
	gauge("connected", "1: connected, or dialled for each probe", ({ isConnected }) => (isConnected ? 1 : 0));
	gauge("score", "Its score", ({ scorePpm }) => scorePpm && scorePpm / 1e6);
	gauge("reliability_ratio", "Record of its probes that were valid", ({ reliabilityPpm }) => reliabilityPpm / 1e6);
	gauge("answered_ratio", "Record of its probes that came to a verdict", ({ answeredPpm }) => answeredPpm / 1e6);
	gauge("uptime_ratio", "Time connected of the time registered", ({ uptimePpm }) => uptimePpm / 1e6);
	gauge("failures", "Failed probes in a row", ({ failures }) => failures);
	gauge("gpus", "Proven cards of its largest group", ({ gpuCount }) => gpuCount);
	gauge(
		"last_valid_timestamp_seconds",
		"When its last valid probe began",
		({ lastValidAtMs }) => lastValidAtMs && lastValidAtMs / 1000,
	);
}
