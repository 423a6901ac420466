// What the parts of a validator share. Made once by create-validator.ts; no part reaches around it.
import type { Logger } from "pino";
import type { AgentConnection } from "../engine/agent/accept-agent.ts";
import type { Environment } from "../platform/environment.ts";
import type { KeyedMutex } from "../platform/keyed-mutex.ts";
import type { Watchdog } from "../platform/watchdog.ts";
import type { Beacon } from "../protocol/probe/challenge-seed.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import type { Blobs } from "../store/blobs/blob-store.ts";
import type { ChainKeys } from "../store/devices.ts";
import type { Store } from "../store/open-store.ts";
import type { CollateralItem } from "../verify/attestation/collateral/bundle.ts";
import type { EventHub } from "./event-hub.ts";
import type { ProbeReceipts } from "./receipts/probe-receipts.ts";
import type { ValidatorConfig } from "./validator-config.ts";
import type { ValidatorMetrics } from "./validator-metrics.ts";

export type KeyHolders = (providerId: string, keys: readonly string[]) => Promise<ChainKeys>;

export interface ValidatorContext {
	readonly config: ValidatorConfig;
	readonly env: Environment;
	readonly store: Store;
	/** Inputs and results of jobs. */
	readonly blobs: Blobs;
	readonly signer: Signer;
	readonly hub: EventHub;
	/** Of every loop; what hangs makes this process not ready. */
	readonly watchdog: Watchdog;
	readonly metrics: ValidatorMetrics;
	readonly log: Logger;
	/** By provider: whoever reads, decides and writes what is remembered of it must not be overtaken. */
	readonly mutex: KeyedMutex;
	/** Agents that this process holds, by provider. */
	readonly agents: ReadonlyMap<string, AgentConnection>;
	/** For the seeds of a probe that begins now: proves that it was not made earlier. Null without a chain. */
	readonly beacon: () => Promise<Beacon>;
	/** Vendors' files that reports of devices are judged by. */
	readonly collateral: () => Promise<readonly CollateralItem[]>;
	/** Whose device keys are, by the chain; without one, nobody's. */
	readonly keyHolders: KeyHolders;
	/** Null without a chain: nobody's receipts would bind anybody. */
	readonly receipts: ProbeReceipts | null;
}

/** A turn that may wait for the chain, for hosts or for engines. */
export const SLOW_TURN_MS = 600_000;

/** One line in the log and one in the metrics; the loop goes on. */
export function failure(
	{ log, metrics }: Pick<ValidatorContext, "log" | "metrics">,
	where: string,
): (error: unknown) => void {
	return (error) => {
		metrics.failures.inc({ where });
		log.error({ where, err: error }, "a round failed");
	};
}
