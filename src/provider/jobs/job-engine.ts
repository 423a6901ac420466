// An engine for one part of a job: of its own process, with the run's store as its only folder, watched and
// killed at its limits. It has no network and sees nothing else of this host (docs/provider.md). A job is a
// bounded tensor program: no code of strangers runs.
import type { EngineLimits } from "../../engine/agent/agent-calls.ts";
import { type CollectedRound, collectRound } from "../../engine/client/collect-round.ts";
import { createEngineClient } from "../../engine/client/create-engine-client.ts";
import type { OpenProveSession } from "../../engine/client/open-prove-session.ts";
import { proofOpener } from "../../engine/client/proof-opener.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { openGuardedEngine } from "../guard-engine.ts";

/**
 * What an engine takes beside the tensors of its plan: the program itself, a driver's context, buffers on
 * their way.
 */
const BESIDE_BYTES = 2 * 2 ** 30;
const READY_MS = 20_000;

export interface JobEngine {
	readonly open: OpenWorkSession;
	/** Absent of a toy, which takes no zk jobs. */
	readonly openProof?: OpenProveSession;
	/** As this engine numbers what it sees. */
	readonly device: number;
	/** Asks the host's devices for signed reports of this nonce; absent of a toy. */
	readonly attest?: (bind: Uint8Array) => Promise<CollectedRound>;
	/** From now on it may take what its plan says and what every engine needs, and no more. */
	allow(planBytes: number): void;
	close(): Promise<void>;
}

export type StartJobEngine = (at: {
	/** As the host's claim numbers them. */
	readonly device: number;
	readonly storePath: string;
	readonly minutes: number;
	readonly onKilled: (why: string) => void;
}) => Promise<JobEngine>;

type Environment = Readonly<Record<string, string | undefined>>;
type HostDevice = Pick<HostClaim["devices"][number], "kind" | "uuid">;

/**
 * What an engine is to see for a device, and what number that has there. An engine holds some hundred MB of
 * every card that it sees: one for each of eight cards would leave none of them its proven memory, and would
 * disturb what the others run.
 */
export function seenFor(devices: readonly HostDevice[], device: number): { env: Environment; device: number } {
	const gpus = devices.filter(({ kind }) => kind === "gpu");
	if (gpus.length < 2) return { env: {}, device };
	// GPUs are numbered first.
	return devices[device]?.kind === "gpu"
		? { env: { CUDA_VISIBLE_DEVICES: devices[device].uuid }, device: 0 }
		: { env: { CUDA_VISIBLE_DEVICES: "" }, device: device - gpus.length };
}

export interface JobEngineOptions {
	readonly engine: { readonly command: string; readonly args: readonly string[] };
	readonly env: Environment;
	/** Of the host's claim. */
	readonly devices: readonly HostDevice[];
	/** The most that the owner allows an engine. */
	readonly memoryBytes: number;
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
}

export const jobEngines =
	({ engine, env, devices, memoryBytes, clockUs, randomBytes }: JobEngineOptions): StartJobEngine =>
	async ({ device: number, storePath, minutes, onKilled }) => {
		const { device, env: seen } = seenFor(devices, number);
		const limits: EngineLimits = { memoryBytes, minutes: Math.max(1, Math.ceil(minutes)) };
		const args = [...engine.args, "--store", storePath];
		const link = await openGuardedEngine({ command: engine.command, args, env: { ...env, ...seen }, limits, onKilled });
		// It closes the link itself when no engine answers.
		const client = await createEngineClient(link, { clockUs, readyDeadlineMs: READY_MS, randomBytes });
		return {
			device,
			open: (work) => client.openWork(work),
			openProof: proofOpener(client),
			attest: (bind) => collectRound(client, bind),
			allow: (planBytes) => link.limitMemory(Math.min(memoryBytes, planBytes + BESIDE_BYTES)),
			async close() {
				await client.close();
				await link.close();
			},
		};
	};
