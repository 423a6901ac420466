// Samples for tests of the API: a provider, its probe and evidence, a rental, a token, events.
import type { NetworkEvent, Probe, Provider, Rental, Token } from "../../src/api/types.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { sha256Of } from "../../src/protocol/hash/tagged-hash.ts";

export const NOW_MS = 1_800_000_000_000;

export const AUDIENCE = "a".repeat(64);

export const hex = (digit: string, length: number): string => digit.repeat(length);

export const evidenceBytes: Uint8Array = Uint8Array.from({ length: 3000 }, (_, i) => i % 251);

export const EVIDENCE = bytesToHex(sha256Of(evidenceBytes));

const device = {
	device: 0,
	kind: "gpu" as const,
	claimedName: "NVIDIA H200",
	uuid: "GPU-1",
	memoryBytes: 150_000_000_000,
	profile: "h200",
	identity: "confirmed" as const,
};

const figure = { device: 0, name: "gemm.fp16", value: 667_000_000_000_000, unit: "op/s", challenge: 3 };

export const proven = {
	model: "h200",
	gpuCount: 1,
	memoryBytes: 143_800_000_000,
	fp16OpsPerS: figure.value,
	memoryBytesPerS: 4_210_000_000_000,
	attestation: {
		...{ level: "none" as const, shown: "measured" as const, isSimulated: true, rounds: 1, guest: null },
		elsewhere: [{ key: hex("e", 64), providerId: hex("f", 64) }],
		devices: [
			{
				...{ kind: "gpu" as const, key: hex("e", 64), chip: "GH100", driver: "550.90.07", firmware: "96.00.74.00.1a" },
				level: "measured" as const,
			},
		],
		reasons: [{ code: "RELAYABLE", detail: "no quote" }],
		says: ["cpu: no /dev/sev-guest"],
	},
};

const { level, shown, isSimulated, elsewhere } = proven.attestation;

export const attestation = { level, shown, isSimulated, elsewhere };

export const holdings = [{ model: "h200", count: 1, figures: { "gemm.fp16": figure.value } }];

export const provider: Provider = {
	id: hex("b", 64),
	name: "one",
	link: "agent",
	state: "active",
	connected: true,
	rented: false,
	rentable: true,
	pricePerHourMicros: 2_500_000,
	registeredAtMs: NOW_MS - 10_000,
	lastSeenAtMs: NOW_MS,
	nextProbeAtMs: NOW_MS + 1000,
	failures: 0,
	lastVerdict: "valid",
	lastCode: null,
	lastProbeAtMs: NOW_MS - 5000,
	lastValidAtMs: NOW_MS - 5000,
	scorePpm: 431_250,
	reliabilityPpm: 1_000_000,
	uptimePpm: 990_000,
	answeredPpm: 980_000,
	...proven,
	target: null,
	claim: null,
	suspicion: null,
	devices: [device],
	holdings,
	figures: [
		{
			device: 0,
			name: figure.name,
			value: figure.value,
			unit: "op/s",
			probeId: hex("c", 32),
			evidenceSha256: EVIDENCE,
			atMs: NOW_MS,
		},
	],
};

export const probe: Probe = {
	id: hex("c", 32),
	providerId: provider.id,
	validator: AUDIENCE,
	link: "agent",
	state: "done",
	startedAtMs: NOW_MS - 5000,
	finishedAtMs: NOW_MS,
	verdict: "valid",
	code: null,
	where: null,
	detail: null,
	evidenceSha256: EVIDENCE,
	evidenceBytes: evidenceBytes.length,
	strength: "countersigned",
	figures: [figure],
	findings: [{ code: "LOW_SAMPLES", detail: "few" }],
	devices: [device],
	attestation: proven.attestation,
	host: { name: "a host", model: "h200", gpuCount: 1, fp16OpsPerS: 667_000_000_000_000 },
};

export const rental: Rental = {
	escrow: null,
	id: hex("d", 32),
	providerId: provider.id,
	customer: hex("e", 64),
	state: "active",
	endReason: null,
	publicKey: `ssh-ed25519 ${"A".repeat(68)} me`,
	pricePerHourMicros: 2_500_000,
	devices: [0],
	access: { host: "198.51.100.7", port: 2222, user: "renter", hostKey: `ssh-ed25519 ${"A".repeat(68)}` },
	reservedAtMs: NOW_MS,
	startedAtMs: NOW_MS,
	untilMs: NOW_MS + 3_600_000,
	endedAtMs: null,
	chargedMicros: null,
	refundMicros: null,
	lastHealthyAtMs: NOW_MS,
	detail: null,
};

export const token: Token = {
	id: hex("f", 16),
	name: "ci",
	role: "reader",
	subject: null,
	createdAtMs: NOW_MS,
	expiresAtMs: null,
	revokedAtMs: null,
};

export const event = (n: number): NetworkEvent => ({
	id: String(n),
	atMs: NOW_MS,
	kind: "probe.progress",
	subject: probe.id,
	providerId: provider.id,
	detail: { n },
});

/** Three events after the one that the reader names, then the end. */
export async function* threeEvents({ lastEventId }: { lastEventId: string | null }): AsyncGenerator<NetworkEvent> {
	const first = Number(lastEventId ?? 0) + 1;
	for (let n = first; n < first + 3; n++) yield event(n);
}
