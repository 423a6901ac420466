// What Prometheus sees of the validator: probes, queue, leases, links, verification, rentals. Labels are codes and states, never ids.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface ValidatorMetrics {
	readonly probes: Counter<"verdict" | "code">;
	readonly probeSeconds: Histogram<"verdict">;
	readonly probesRunning: Gauge;
	/** How long after its due time a probe began. */
	readonly queueLagSeconds: Histogram;
	readonly verifySeconds: Histogram;
	readonly linkFailures: Counter<"code">;
	readonly agents: Gauge;
	readonly agentsRefused: Counter<"code">;
	readonly leasesLost: Counter;
	readonly recovered: Counter<"how">;
	readonly rentals: Counter<"to">;
	readonly eventsLost: Counter;
	readonly failures: Counter<"where">;
}

/** `live` is asked whenever somebody scrapes. */
export function createValidatorMetrics(
	registry: Registry,
	live: {
		readonly dueProbes: () => Promise<{ readonly running: number; readonly due: number }>;
		readonly leases: () => Promise<number>;
	},
): ValidatorMetrics {
	const registers = [registry];
	const seconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
	const providers = new Gauge({
		name: "assay_queue_providers",
		help: "Providers by where they stand: due and waiting, or being probed",
		labelNames: ["state"],
		registers,
		async collect() {
			const counts = await live.dueProbes().catch(() => null);
			for (const state of ["running", "due"] as const) if (counts) this.set({ state }, counts[state]);
		},
	});
	providers.set({ state: "due" }, 0);
	new Gauge({
		name: "assay_leases",
		help: "Leases on providers that are held, of all processes",
		registers,
		async collect() {
			const count = await live.leases().catch(() => null);
			if (count !== null) this.set(count);
		},
	});
	return {
		probes: new Counter({
			name: "assay_probes_total",
			help: "Probes that ended, by verdict and code",
			labelNames: ["verdict", "code"],
			registers,
		}),
		probeSeconds: new Histogram({
			name: "assay_probe_seconds",
			help: "From the start of a probe to its verdict",
			labelNames: ["verdict"],
			buckets: seconds,
			registers,
		}),
		probesRunning: new Gauge({ name: "assay_probes_running", help: "Probes of this process", registers }),
		queueLagSeconds: new Histogram({
			name: "assay_queue_lag_seconds",
			help: "How long after its due time a probe began",
			buckets: seconds,
			registers,
		}),
		verifySeconds: new Histogram({
			name: "assay_verify_seconds",
			help: "Waiting for a thread and judging one evidence file",
			buckets: seconds,
			registers,
		}),
		linkFailures: new Counter({
			name: "assay_link_failures_total",
			help: "Links that did not open or broke before a claim, by code",
			labelNames: ["code"],
			registers,
		}),
		agents: new Gauge({ name: "assay_agents_connected", help: "Agent links to this process", registers }),
		agentsRefused: new Counter({
			name: "assay_agents_refused_total",
			help: "Agent links that were turned away, by code",
			labelNames: ["code"],
			registers,
		}),
		leasesLost: new Counter({
			name: "assay_leases_lost_total",
			help: "Leases of this process that were lost",
			registers,
		}),
		recovered: new Counter({
			name: "assay_recovered_total",
			help: "What dead processes left: counted from its evidence, abandoned, dropped",
			labelNames: ["how"],
			registers,
		}),
		rentals: new Counter({
			name: "assay_rentals_total",
			help: "Rentals by the state they came to",
			labelNames: ["to"],
			registers,
		}),
		eventsLost: new Counter({ name: "assay_events_lost_total", help: "Events that could not be told", registers }),
		failures: new Counter({
			name: "assay_failures_total",
			help: "Rounds of the validator's loops that ended in an error",
			labelNames: ["where"],
			registers,
		}),
	};
}
