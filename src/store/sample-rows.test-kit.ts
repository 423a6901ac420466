// Rows for tests: providers, probes and verdicts with sensible values, and the whole life of one probe in a
// line.
import { createHash } from "node:crypto";
import type { ProviderMemory } from "../protocol/network/provider-memory.ts";
import type { Figure, LinkKind } from "../protocol/probe/evidence.ts";
import type { ProbeAttestation } from "../protocol/probe/verdict.ts";
import { type DeviceRow, NO_CHAIN_KEYS } from "./devices.ts";
import type { Store } from "./open-store.ts";
import type { FinishProbe } from "./probe-finish.ts";
import type { Offer } from "./providers.ts";
import type { DueProbe } from "./queue/due-probes.ts";

/** A stable id of so many hex digits for a name. */
export function idOf(name: string | number, digits = 64): string {
	return createHash("sha256").update(String(name)).digest("hex").slice(0, digits);
}

export async function register(
	store: Store,
	name: string,
	over: Partial<Offer> & { link?: LinkKind; target?: string; nowMs?: number } = {},
): Promise<string> {
	const { link = "ssh", target = `ssh://${name}`, nowMs = 1000, ...offer } = over;
	const row = { id: idOf(name), name, pricePerHourMicros: 1_000_000, rentable: true, ssh: true, ...offer };
	await store.providers.register({ ...row, link, target, claim: null }, { nowMs, actor: "system" });
	return row.id;
}

export function gpu(device: number, over: Partial<DeviceRow> = {}): DeviceRow {
	const uuid = `GPU-${device}`;
	const row = { device, kind: "gpu" as const, claimedName: "NVIDIA H200", uuid, memoryBytes: 150_000_000_000 };
	return { ...row, profile: "h200", identity: "confirmed", ...over };
}

export function figure(device: number, name: string, value: number, unit = "op/s"): Figure {
	return { device, name, value, unit, challenge: 0 };
}

/** Memory, fp16 and bandwidth of one card. */
export function cardFigures(device: number, scale = 1): readonly Figure[] {
	return [
		figure(device, "memory.resident", Math.floor(143_800_000_000 * scale), "B"),
		figure(device, "gemm.fp16", Math.floor(667_000_000_000_000 * scale), "flop/s"),
		figure(device, "memory.bandwidth", Math.floor(4_210_000_000_000 * scale), "B/s"),
	];
}

/** Reports of these devices. */
export function attestation(keys: readonly string[], over: Partial<ProbeAttestation> = {}): ProbeAttestation {
	const card = { kind: "gpu", chip: "GH100", driver: "550.90", firmware: "96.00", level: "measured" } as const;
	return {
		...{ level: "measured", shown: "measured", isSimulated: false, rounds: 1, guest: null, reasons: [], says: [] },
		devices: keys.map((key) => ({ ...card, key })),
		...over,
	};
}

export function memory(over: Partial<ProviderMemory> = {}): ProviderMemory {
	return {
		...{ why: "registered", lastStartedAtMs: null, validSinceWithheld: null, changeProbeAtMs: null, changedAtMs: null },
		...{
			suspicion: null,
			suspectProbeAtMs: null,
			proof: null,
			firstProven: [],
			series: [],
			clearedWith: [],
			callsBeforeRental: null,
		},
		...{ recent: [], reliabilityBeforePpm: null, together: null, stalls: 0, provenInMs: null, turn: 2 },
		...over,
	};
}

export function finishOf(probeId: string, over: Partial<FinishProbe> = {}): FinishProbe {
	return {
		probeId,
		finishedAtMs: 5000,
		verdict: { status: "valid", code: null, where: null, detail: null },
		evidence: null,
		strength: "countersigned",
		figures: cardFigures(0),
		findings: [],
		devices: [gpu(0)],
		claim: null,
		attestation: null,
		keysHeld: { freeMs: 1000, rentedMs: 10_000 },
		chainKeys: NO_CHAIN_KEYS,
		elsewhereFindings: (shown) =>
			(shown?.elsewhere ?? []).map(({ key }) => ({ code: "DEVICE_ELSEWHERE", detail: key })),
		provider: {
			nextProbeAtMs: 100_000,
			failures: 0,
			retries: 0,
			reliabilityPpm: 900_000,
			answeredPpm: 950_000,
			memory: memory(),
		},
		actor: "validator",
		...over,
	};
}

/** begin → evidence → finish of one that was taken. */
export async function probe(
	store: Store,
	{ providerId }: Pick<DueProbe, "providerId">,
	name: string,
	over: Partial<FinishProbe> = {},
) {
	const probeId = idOf(name, 32);
	await store.probes.begin({ id: probeId, providerId, validator: "v", startedAtMs: 4000 });
	const evidence = await store.evidence.put(probeId, Buffer.from(`evidence of ${name}`));
	return await store.probes.finish(finishOf(probeId, { evidence, ...over }));
}

/** The same without the queue: under a lease taken by hand. */
export async function probeByHand(
	store: Store,
	providerId: string,
	name: string,
	over: Partial<FinishProbe> & { startedAtMs?: number; validator?: string } = {},
) {
	const { startedAtMs = 4000, validator = idOf("validator", 64), ...finish } = over;
	await store.leases.acquire(`provider/${providerId}`);
	try {
		const probeId = idOf(name, 32);
		await store.probes.begin({ id: probeId, providerId, validator, startedAtMs });
		const evidence = await store.evidence.put(probeId, Buffer.from(`evidence of ${name}`));
		return await store.probes.finish(finishOf(probeId, { evidence, ...finish }));
	} finally {
		await store.leases.release(`provider/${providerId}`);
	}
}
