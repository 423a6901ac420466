// A host's jobs with toys all around: a desk in memory, engines that are none, and a count of what they hold.
// For tests of the provider alone.
import type { Cheat } from "../../engine/client/toy-work-session.test-kit.ts";
import { type After, realAfter } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ProviderEvent } from "../provider-event.ts";
import type { JobLimits } from "./check-offer.ts";
import { type HostJobs, type HostJobsOptions, openHostJobs } from "./host-jobs.ts";
import { JOB, type ToyDesk } from "./toy-desk.test-kit.ts";
import { toyOpener } from "./toy-run.test-kit.ts";

export const LIMITS: JobLimits = {
	...{
		memoryBytes: 1 << 30,
		diskBytes: 1 << 30,
		minutes: 60,
		pricePerHourMicros: 0,
		leastMicros: 900,
		mostBondMicros: 1000,
	},
	methods: ["sampled", "redundant"],
};
export const VALIDATOR = "ab".repeat(32);
export const ASKED = { job: JOB, part: 0, attempt: 1, audit: null, device: 0 };

export interface Host extends AsyncDisposable {
	readonly jobs: HostJobs;
	readonly events: ProviderEvent[];
	/** The next news of a part that `is` likes. */
	until(is: (event: ProviderEvent & { kind: "job" }) => boolean): Promise<ProviderEvent & { kind: "job" }>;
	nudge(more?: Partial<typeof ASKED> | { audit: number }): Promise<void>;
	held: number;
	engines: number;
	/** The device of each engine. */
	readonly working: readonly number[];
}

export async function startHost(
	folder: string,
	desk: ToyDesk,
	more: Partial<HostJobsOptions> & { cheat?: Cheat } = {},
) {
	const events: ProviderEvent[] = [];
	const waiting = new Set<(event: ProviderEvent) => void>();
	const { cheat, ...options } = more;
	const host = { held: 0, engines: 0, working: [] as number[] };
	const jobs = await openHostJobs({
		...{ dataFolder: folder, devices: [0], limits: LIMITS, chain: null, after: realAfter, nowMs: Date.now },
		async hold() {
			host.held += 1;
			return () => {
				host.held -= 1;
			};
		},
		async startEngine({ device, storePath }) {
			host.engines += 1;
			host.working.push(device);
			const open = toyOpener(storePath, cheat);
			return {
				open,
				device: 0,
				allow() {},
				close: async () => {
					host.engines -= 1;
					host.working.splice(host.working.indexOf(device), 1);
				},
			};
		},
		deskOf: () => desk,
		onEvent(event) {
			events.push(event);
			for (const one of waiting) one(event);
		},
		...options,
	});
	return Object.assign(host, {
		jobs,
		events,
		until(is: (event: ProviderEvent & { kind: "job" }) => boolean) {
			const found = events.find((event) => event.kind === "job" && is(event));
			if (found) return Promise.resolve(found as ProviderEvent & { kind: "job" });
			return new Promise<ProviderEvent & { kind: "job" }>((resolve, reject) => {
				const timer = setTimeout(() => reject(new Error(`no such news: ${JSON.stringify(events)}`)), 600_000);
				waiting.add((event) => {
					if (event.kind !== "job" || !is(event)) return;
					clearTimeout(timer);
					resolve(event);
				});
			});
		},
		nudge: (how: object = {}) => jobs.handlers("ws://toy/agent").job!({ ...ASKED, ...how, validatorKey: VALIDATOR }),
		[Symbol.asyncDispose]: () => jobs.stop(),
	}) as unknown as Host;
}

/** Short pauses are none: signs of life come as fast as the work goes, however fast that is. */
export const soonAfter: After = (ms, run) => realAfter(ms <= 1000 ? 0 : ms, run);
export const isState = (state: string) => (event: { readonly state: string }) => event.state === state;
export const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;
