// What Prometheus sees of the API. Labels are names of routes, never paths: a stranger must not be able to
// make new series.
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from "prom-client";

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

export function createApiMetrics(registry: Registry) {
	const registers = [registry];
	if (registry.getSingleMetric("process_cpu_seconds_total") === undefined)
		collectDefaultMetrics({ register: registry });
	return {
		request: new Histogram({
			name: "assay_http_request_seconds",
			help: "Time from a request's head to the end of its reply",
			labelNames: ["route", "method", "status"],
			buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
			registers,
		}),
		refused: new Counter({
			name: "assay_http_problems_total",
			help: "Requests answered by a problem document",
			labelNames: ["code"],
			registers,
		}),
		streams: new Gauge({ name: "assay_http_event_streams", help: "Open event streams", registers }),
		streamEnds: new Counter({
			name: "assay_http_event_stream_ends_total",
			help: "Why event streams ended",
			labelNames: ["why"],
			registers,
		}),
	};
}
