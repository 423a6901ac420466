// The shapes of an evidence file: what was asked, what came back and when, on the verifier's clock.
// Shapes only; encode and decode are in evidence-codec.ts, the judgement in verify/hardware. Page: docs/hardware-proof.md §7, §8.
// Everything under `claim`, every root and every opening came from the provider and is hostile until checked.

export type GemmPrecision = "int8" | "fp8" | "fp16" | "bf16" | "tf32";
export type FmaPrecision = "fp32" | "fp64" | "int32";
export type Precision = GemmPrecision | FmaPrecision;

export type DeviceKind = "gpu" | "cpu" | "disk";

export interface DeviceClaim {
	readonly kind: DeviceKind;
	readonly name: string;
	readonly uuid: string;
	readonly memoryBytes: number;
	readonly freeBytes: number;
	readonly units: number;
	readonly clockMHz: number;
	readonly compute: string;
	readonly pcieGen: number;
	readonly pcieWidth: number;
	readonly powerLimitW: number;
	readonly powerDefaultW: number;
	readonly temperatureC: number;
	readonly precisions: readonly Precision[];
}

/** What the host says of itself. A claim proves nothing. */
export interface HostClaim {
	readonly engine: { readonly version: string; readonly arch: string; readonly cuda: boolean };
	readonly host: {
		readonly os: string;
		readonly cpu: string;
		readonly cores: number;
		readonly ramBytes: number;
		readonly ramFreeBytes: number;
	};
	readonly driver: { readonly version: string; readonly cuda: string } | null;
	readonly why: string;
	readonly devices: readonly DeviceClaim[];
}

/** `rounds: 0` means "until the verifier says stop" (a sustained run). `device` is an index into claim.devices. */
export interface GemmSpec {
	readonly kind: "gemm";
	readonly device: number;
	readonly precision: GemmPrecision;
	readonly m: number;
	readonly n: number;
	readonly k: number;
	readonly rounds: number;
	readonly keep: number;
	readonly samples: number;
}

/**
 * `of` is the index of the gemm challenge whose kept products are streamed, the `newest` rounds of them (0: all that are kept; files of
 * version 1 have no such field and mean all). `device` is the reader: the gemm's own device, a peer of the same kind, or a disk that
 * holds a copy.
 */
export interface StreamSpec {
	readonly kind: "stream";
	readonly device: number;
	readonly of: number;
	readonly newest: number;
	readonly passes: number;
	readonly samples: number;
}

/** The `newest` kept products of gemm `of` written to the disk `device`; answered by the root of one pass of digests. */
export interface CopySpec {
	readonly kind: "copy";
	readonly device: number;
	readonly of: number;
	readonly newest: number;
	readonly samples: number;
}

export interface FmaSpec {
	readonly kind: "fma";
	readonly device: number;
	readonly precision: FmaPrecision;
	readonly lanes: number;
	readonly steps: number;
	readonly rounds: number;
	readonly samples: number;
}

export type ChallengeSpec = GemmSpec | StreamSpec | CopySpec | FmaSpec;

/**
 * How the answer to a request ended: `complete` (DONE, reason 0), `stopped` (DONE, reason 1, after the verifier's CANCEL),
 * `refused` (an ERROR frame), `silent` (deadline passed or the link broke), `garbage` (frames that break FRAMES.md).
 */
export type End = "complete" | "stopped" | "refused" | "silent" | "garbage";

/** One OPEN request and what came back. `attachment` holds opening records as received, see evidence-codec.ts. */
export interface OpenRecord {
	readonly what: "leaves" | "digests";
	readonly sentAtUs: number;
	readonly receivedAtUs: number;
	readonly attachment: number;
	readonly end: End;
}

export interface ChallengeRecord {
	readonly spec: ChallengeSpec;
	/** Challenges of one stage run at once on different devices; stages run one after the other. */
	readonly stage: number;
	readonly sentAtUs: number;
	/** Attachment with root records as received: u32 index, u64 atUs, 32 root. */
	readonly roots: number;
	readonly end: End;
	/** gemm, fma: one with `leaves`. stream, copy: `digests`, then the `leaves` below them. Fewer when the answer broke off. */
	readonly opens: readonly OpenRecord[];
}

/** What a device said of itself at one moment of the probe. A claim: shown beside the curve of a sustained run, never judged. */
export interface Reading {
	readonly device: number;
	/** When the answer came, on the verifier's clock. */
	readonly atUs: number;
	readonly coreMHz: number;
	readonly memoryMHz: number;
	readonly powerMw: number;
	readonly temperatureC: number;
	/** Reasons why the clock is held down, NVML's bits; 0 for none. */
	readonly throttle: number;
}

/** How an engine is reached: started here, over SSH, or through the agent that dialled in. */
export type LinkKind = "local" | "ssh" | "agent";

export interface EvidenceBody {
	readonly format: "assay-evidence";
	/** 1 is read as well: it knew no readings, no `newest` and no disk. */
	readonly version: 1 | 2;
	readonly probe: {
		/** 16 random bytes, hex. */
		readonly id: string;
		/** Wall clock of the verifier at its monotonic zero, milliseconds since 1970. */
		readonly startedAtMs: number;
		/** Monotonic microseconds since then; every other `…AtUs` is on the same clock. */
		readonly finishedAtUs: number;
		readonly target: string;
		readonly verifier: string;
	};
	readonly beacon: { readonly kind: string; readonly value: string } | null;
	readonly secret: string;
	readonly claim: HostClaim;
	readonly link: {
		readonly kind: LinkKind;
		readonly engineSha256: string | null;
		readonly hostKey: string | null;
		/** TCP handshake to the host, and echoes of the engine (PING to PONG), microseconds. */
		readonly handshakeUs: number | null;
		readonly rttUs: readonly number[];
	};
	readonly challenges: readonly ChallengeRecord[];
	/** In the order they came. Files of version 1 have none. */
	readonly readings: readonly Reading[];
	/** Derived by verify/hardware from the rest; verify derives them again and refuses any difference. */
	readonly figures: readonly Figure[];
}

/** A proven number of one device. Integers only (rounded down), so that the file is canonical. */
export interface Figure {
	readonly device: number;
	/**
	 * "gemm.int8", "gemm.int8.sustained", "gemm.int8.sustained-ratio", "gemm.int8.alone", "scaling.int8", "memory.resident",
	 * "memory.bandwidth", "peer.bandwidth.3" (read from device 3), "disk.write", "disk.read", "disk.stored", "fma.fp32".
	 */
	readonly name: string;
	readonly value: number;
	/** "op/s" | "flop/s" | "B" | "B/s" | "ppm". */
	readonly unit: string;
	/** Index of the challenge it came from. */
	readonly challenge: number;
}

export interface AttachmentEntry {
	readonly bytes: number;
	readonly sha256: string;
}

export interface Envelope {
	readonly attachments: readonly AttachmentEntry[];
	readonly body: EvidenceBody;
	readonly signature: { readonly key: string; readonly value: string };
}

/** A whole file in memory. */
export interface Evidence {
	readonly envelope: Envelope;
	readonly attachments: readonly Uint8Array[];
}
