// The proven figures of a toy host, so that it may be drawn for jobs.
import type { ProbeAttestation } from "../../src/protocol/probe/verdict.ts";
import type { Store } from "../../src/store/open-store.ts";
import { figure, gpu, probeByHand } from "../../src/store/sample-rows.test-kit.ts";

export const MEMORY = 2 ** 30;

/** Figures of a host whose speed makes a toy job cost something. */
export async function prove(
	store: Store,
	provider: string,
	{
		nowMs = Date.now(),
		int8 = 1e9,
		bytesPerS = 1e9,
		attestation = null,
		devices = 1,
	}: {
		nowMs?: number;
		/** Of each device, or of one after the other. */
		int8?: number | readonly number[];
		bytesPerS?: number;
		attestation?: ProbeAttestation | null;
		devices?: number;
	} = {},
): Promise<void> {
	const numbers = Array.from({ length: devices }, (_, device) => device);
	await probeByHand(store, provider, `proof of ${provider} at ${nowMs}`, {
		...{ startedAtMs: nowMs - 1000, finishedAtMs: nowMs, devices: numbers.map((device) => gpu(device)), attestation },
		figures: numbers.flatMap((device) => [
			figure(device, "memory.resident", MEMORY, "B"),
			figure(device, "gemm.int8", typeof int8 === "number" ? int8 : int8[device]!),
			figure(device, "memory.bandwidth", bytesPerS, "B/s"),
		]),
	});
}
