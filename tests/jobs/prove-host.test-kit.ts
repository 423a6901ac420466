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
	}: { nowMs?: number; int8?: number; bytesPerS?: number; attestation?: ProbeAttestation | null } = {},
): Promise<void> {
	await probeByHand(store, provider, `proof of ${provider} at ${nowMs}`, {
		...{ startedAtMs: nowMs - 1000, finishedAtMs: nowMs, devices: [gpu(0)], attestation },
		figures: [
			figure(0, "memory.resident", MEMORY, "B"),
			figure(0, "gemm.int8", int8),
			figure(0, "memory.bandwidth", bytesPerS, "B/s"),
		],
	});
}
