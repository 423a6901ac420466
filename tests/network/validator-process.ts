// A validator process of a simulated network: the real createValidator, with the toys' plan and clock.
// Started by startChild.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createLogger } from "../../src/platform/logger.ts";
import { createValidator, type DoorSettings } from "../../src/validator/create-validator.ts";
import type { ValidatorSettings } from "../../src/validator/validator-config.ts";
import { answerParent, usageOfThis } from "./child-program.ts";
import { kindNamed } from "./simulated-kinds.ts";
import { openToyEngine } from "./simulated-provider.ts";
import { smallPlan, toyClockUs, toyNetworkPlan } from "./toy-network-plan.ts";

const PLANS = {
	network: { plan: toyNetworkPlan, clock: { clockUs: toyClockUs } },
	small: { plan: smallPlan, clock: {} },
};

/** All that goes through JSON; plan and clock are the toys'. */
export interface StartValidator {
	readonly settings: ValidatorSettings;
	readonly door?: DoorSettings;
	/** What is asked: by the claim, or one small product on the real clock. */
	readonly plan: keyof typeof PLANS;
	readonly log?: "debug" | "info" | "warn" | "error";
}

export interface StartedValidator {
	readonly url: string;
	readonly key: string;
	readonly process: string;
	readonly adminTokenFile: string;
}

export interface LoopDelay {
	readonly p50Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
}

const held = monitorEventLoopDelay({ resolution: 5 });
held.enable();
let stop = async () => {};
const inspector = new Session();
const SAMPLE_EVERY_US = 500;

answerParent({
	async start({ settings, door, plan: name, log }: StartValidator): Promise<StartedValidator> {
		const { plan, clock } = PLANS[name];
		const validator = createValidator(
			{
				...settings,
				probe: { ...settings.probe, plan },
				// Links that any process may open; the toy then computes in this one. Cards of one name would be
				// suspected of being one.
				openLocalLink: async () => openToyEngine(kindNamed("honest"), randomBytes(8).toString("hex"), () => {}),
			},
			{ ...clock, logger: log === undefined ? null : createLogger(log) },
			door,
		);
		const { url, key, store, adminTokenFile } = await validator.start();
		stop = validator.stop;
		return { url, key, process: store.process, adminTokenFile };
	},
	async stop() {
		await stop();
		setImmediate(() => process.exit(0));
	},
	usage: usageOfThis,
	async profile(): Promise<void> {
		inspector.connect();
		await inspector.post("Profiler.enable");
		await inspector.post("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
		await inspector.post("Profiler.start");
	},
	/** What this process did since it was asked for a profile, as browsers' developer tools read it. */
	async keepProfile(path: string): Promise<void> {
		const { profile } = await inspector.post("Profiler.stop");
		inspector.disconnect();
		writeFileSync(path, JSON.stringify(profile));
	},
	/**
	 * How long this process's event loop was held up since the last time this was asked; also by a machine that
	 * had no core for it.
	 */
	loop(): LoopDelay {
		const toMs = (ns: number) => Number((ns / 1e6).toFixed(1));
		const delay = { p50Ms: toMs(held.percentile(50)), p99Ms: toMs(held.percentile(99)), maxMs: toMs(held.max) };
		held.reset();
		return delay;
	},
});
