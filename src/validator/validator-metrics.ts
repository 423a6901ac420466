// What Prometheus sees of the validator: probes, queue, leases, links, verification, rentals. Labels are
// codes and states; ids only where their number is bounded (provider-metrics.ts).
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type ProviderSample, registerProviderMetrics } from "./provider-metrics.ts";

export type ValidatorMetrics = ReturnType<typeof createValidatorMetrics>;

/** `live` is asked whenever somebody scrapes. */
export function createValidatorMetrics(
	registry: Registry,
	live: {
		readonly dueProbes: () => Promise<{ readonly running: number; readonly due: number }>;
		readonly leases: () => Promise<number>;
		readonly providers: () => Promise<readonly ProviderSample[]>;
	},
) {
	const registers = [registry];
	const buckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
	const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
		new Counter({ name: `assay_${name}`, help, labelNames, registers });
	const seconds = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
		new Histogram({ name: `assay_${name}`, help, labelNames, buckets, registers });
	const gauge = (name: string, help: string) => new Gauge({ name: `assay_${name}`, help, registers });
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
	registerProviderMetrics(registry, live.providers);
	return {
		alerts: counter("alerts_total", "Alerts: sent, failed, dropped, held back because one was sent before", "how"),
		probes: counter("probes_total", "Probes that ended, by verdict and code", "verdict", "code"),
		probeSeconds: seconds("probe_seconds", "From the start of a probe to its verdict", "verdict"),
		probesRunning: gauge("probes_running", "Probes of this process"),
		queueLagSeconds: seconds("queue_lag_seconds", "How long after its due time a probe began"),
		verifySeconds: seconds("verify_seconds", "Waiting for a thread and judging one evidence file"),
		linkFailures: counter("link_failures_total", "Links that did not open or broke before a claim, by code", "code"),
		agents: gauge("agents_connected", "Agent links to this process"),
		agentsRefused: counter("agents_refused_total", "Agent links that were turned away, by code", "code"),
		leasesLost: counter("leases_lost_total", "Leases of this process that were lost"),
		recovered: counter(
			"recovered_total",
			"What dead processes left: counted from its evidence, abandoned, dropped",
			"how",
		),
		jobs: counter("jobs_total", "Transitions of jobs, by what happened", "to"),
		rentals: counter("rentals_total", "Rentals by the state they came to", "to"),
		eventsLost: counter("events_lost_total", "Events that could not be told"),
		failures: counter("failures_total", "Rounds of the validator's loops that ended in an error", "where"),
	};
}
