// The table of engine/FRAMES.md, which both ends follow: every frame with its fields in the order of the
// wire, the codes and the limits. frames.ts reads and writes by it; scripts/generate-frames.ts makes the
// engine's header (engine/src/wire/frame_table.hpp) and the page's own tables from it. Not here: what a
// request does, which the page says in words.
import type { FmaPrecision, GemmPrecision } from "../../protocol/maths/precision.ts";

export const PROTOCOL_VERSION = 3;

/** Bounds of a frame's `length` field: it counts kind, id and payload. */
export const MIN_LENGTH = 5;
/** A program or a piece of a tensor, each 1 MiB at most, and what stands before it. */
export const MAX_LENGTH_TO_ENGINE = (1 << 20) + 64;
export const MAX_LENGTH_TO_VERIFIER = 4 << 20;
export const HASH_BYTES = 32;
export const MAGIC = "assay-engine";
export const MAX_PLACES = 4096;

/** What OPEN opens, by its number. */
export const WHATS = ["leaves", "digests", "copied-digests", "labels", "hops"] as const;

/**
 * Whom ATTEST asks, by its number: the GPUs, the CPU of a confidential guest, or the switches (which engines
 * of before refuse).
 */
export const ATTEST_WHATS = ["devices", "guest", "switches"] as const;
/** What a REPORT holds. `nothing`: a text that says why there is none. */
export const REPORT_PARTS = ["nothing", "report", "chain", "quote", "certificates", "provider"] as const;

export const ERROR_CODE = {
	bad_frame: 1,
	bad_request: 2,
	no_device: 3,
	no_memory: 4,
	busy: 5,
	no_session: 6,
	device_failed: 7,
	cancelled: 8,
	unsupported: 9,
	version: 10,
	bad_program: 11,
	tensor_size: 12,
	tensor_range: 13,
	tensor_root: 14,
	blob_missing: 15,
	blob_cut: 16,
	disk_full: 17,
	disk_failed: 18,
} as const;

/** Fields that take the rest of the payload: how many bytes they may have. */
export const REST = {
	pingBytes: { is: "bytes", min: 0, max: 64 },
	versionText: { is: "text", min: 1, max: 64 },
	claimText: { is: "text", min: 0, max: 64 << 10 },
	messageText: { is: "text", min: 0, max: 1024 },
	programBytes: { is: "bytes", min: 1, max: 1 << 20 },
	pieceBytes: { is: "bytes", min: 1, max: 1 << 20 },
	metricBytes: { is: "bytes", min: 1, max: 8 << 10 },
	/** 32 bytes each. */
	rootBytes: { is: "bytes", min: 0, max: 128 << 10 },
	reportBytes: { is: "bytes", min: 1, max: 64 << 10 },
	planBytes: { is: "bytes", min: 1, max: 4 << 10 },
	/** Scalars, 32 bytes each. */
	pointBytes: { is: "bytes", min: 0, max: 2 << 10 },
} as const;

type Rest = typeof REST;
type RestValues = { [K in keyof Rest]: Rest[K]["is"] extends "text" ? string : Uint8Array };

/**
 * What a field of each type is read into. `zeros` are reserved bytes and, like the magic, no value at all. Of
 * `leaf` and `path` the length stands at their place (u16, of bytes and of nodes) and the bytes after all
 * other fields.
 */
export interface FieldValues extends RestValues {
	u16: number;
	u32: number;
	/** Up to 2^53 − 1 here: what is beyond no host has. */
	u64: number;
	hash: Uint8Array;
	gemmPrecision: GemmPrecision;
	fmaPrecision: FmaPrecision;
	what: OpenWhat;
	/** u32 count, then as many places. */
	places: readonly Place[];
	/** u8, 0 or 1. */
	flag: boolean;
	leaf: Uint8Array;
	path: Uint8Array;
	attestWhat: AttestWhat;
	reportPart: ReportPart;
}
export type FieldType = keyof FieldValues | "magic" | "zeros1" | "zeros2" | "zeros3";

interface FrameShape {
	readonly kind: number;
	readonly fields: Readonly<Record<string, FieldType>>;
	/** For the page: a request's replies, a reply's remark. */
	readonly says?: string;
}

export const REQUESTS = {
	hello: { kind: 0x01, fields: { version: "u16" }, says: "CLAIM, or ERROR `version`" },
	gemm: {
		kind: 0x02,
		fields: {
			session: "u32",
			device: "u16",
			precision: "gemmPrecision",
			reserved: "zeros1",
			m: "u32",
			n: "u32",
			k: "u32",
			rounds: "u32",
			keep: "u32",
			seed: "hash",
		},
		says: "ROOT × rounds, DONE",
	},
	stream: {
		kind: 0x03,
		fields: { session: "u32", reader: "u16", reserved: "zeros2", newest: "u32", passes: "u32", nonce: "hash" },
		says: "ROOT × passes, DONE",
	},
	fma: {
		kind: 0x04,
		fields: {
			session: "u32",
			device: "u16",
			precision: "fmaPrecision",
			reserved: "zeros1",
			lanes: "u32",
			steps: "u32",
			rounds: "u32",
			seed: "hash",
		},
		says: "ROOT × rounds, DONE",
	},
	open: {
		kind: 0x05,
		fields: { session: "u32", what: "what", reserved: "zeros3", places: "places" },
		says: "OPENING × count (`hops`: × 64) in the order asked, DONE",
	},
	release: { kind: 0x06, fields: { session: "u32" }, says: "DONE" },
	ping: { kind: 0x07, fields: { payload: "pingBytes" }, says: "PONG at once, whatever else runs" },
	cancel: {
		kind: 0x08,
		fields: { target: "u32" },
		says: "DONE at once; the request `target`, running or queued, then ends with DONE, cancelled",
	},
	copy: {
		kind: 0x09,
		fields: { session: "u32", device: "u16", reserved: "zeros2", newest: "u32", nonce: "hash" },
		says: "ROOT × 1, DONE",
	},
	read: { kind: 0x0a, fields: { device: "u16" }, says: "READING" },
	chase: {
		kind: 0x0b,
		fields: { session: "u32", newest: "u32", intervals: "u32", nonce: "hash" },
		says: "ROOT × 1, DONE",
	},
	program: {
		kind: 0x0c,
		fields: { session: "u32", device: "u16", seed: "hash", program: "programBytes" },
		says: "PLAN, or ERROR `bad_program`",
	},
	tensor: {
		kind: 0x0d,
		fields: { session: "u32", tensor: "u16", offset: "u64", bytes: "pieceBytes" },
		says: "DONE",
	},
	hash: { kind: 0x0e, fields: { session: "u32", tensor: "u16" }, says: "ROOT × 1, DONE" },
	load: { kind: 0x0f, fields: { session: "u32", tensor: "u16", root: "hash" }, says: "DONE" },
	run: {
		kind: 0x10,
		fields: { session: "u32", first: "u32", count: "u32", saveEvery: "u32" },
		says: "METRIC for each step and metric tensor, SEGMENT for each segment, DONE",
	},
	save: { kind: 0x11, fields: { session: "u32" }, says: "ROOT × state and result tensors, DONE" },
	fetch: {
		kind: 0x12,
		fields: { session: "u32", tensor: "u16", offset: "u64", length: "u64" },
		says: "BYTES of 1 MiB each, the last one what is left, DONE",
	},
	trace: { kind: 0x13, fields: { session: "u32", segment: "u32" }, says: "ROOT × steps · ops, DONE" },
	ask: {
		kind: 0x14,
		fields: { session: "u32", segment: "u32", step: "u32", op: "u32", places: "places" },
		says: "OPENING × count in the order asked, DONE",
	},
	seed: { kind: 0x15, fields: { session: "u32", seed: "hash" }, says: "DONE" },
	attest: {
		kind: 0x16,
		fields: { what: "attestWhat", reserved: "zeros3", nonce: "hash", set: "hash" },
		says: "REPORT for each part, DONE",
	},
	prover: {
		kind: 0x17,
		fields: { session: "u32", device: "u16", plan: "planBytes" },
		says: "PLAN, or ERROR `bad_request`",
	},
	give: {
		kind: 0x18,
		fields: { session: "u32", number: "u16", offset: "u64", bytes: "pieceBytes" },
		says: "DONE",
	},
	commit: {
		kind: 0x19,
		fields: { session: "u32", firstStep: "u32", seed: "hash" },
		says: "PROGRESS, BYTES of 1 MiB each, the last one what is left, DONE",
	},
	prove: {
		kind: 0x1a,
		fields: { session: "u32", statement: "hash" },
		says: "PROGRESS, BYTES of 1 MiB each, the last one what is left, DONE",
	},
	part: {
		kind: 0x1c,
		fields: { session: "u32", statement: "hash", nonce: "hash" },
		says: "PROGRESS, BYTES of 1 MiB each, the last one what is left, DONE",
	},
	fold: {
		kind: 0x1d,
		fields: { session: "u32", secret: "hash" },
		says: "PROGRESS, BYTES of 1 MiB each, the last one what is left, DONE",
	},
	wrapper: {
		kind: 0x1e,
		fields: {
			...{ session: "u32", device: "u16", form: "u16", inputs: "u32", wires: "u32", log2: "u32" },
			circuitBytes: "u64",
		},
		says: "PLAN, or ERROR `bad_request`",
	},
	wrap: {
		kind: 0x1f,
		fields: { session: "u32", r: "hash", s: "hash" },
		says: "PROGRESS, BYTES × 1 (a proof), DONE",
	},
	key: {
		kind: 0x20,
		fields: { session: "u32" },
		says: "PROGRESS, BYTES × 1 (what a verifier needs), DONE",
	},
	evaluate: {
		kind: 0x1b,
		fields: {
			session: "u32",
			tensor: "u16",
			reading: "u16",
			columns: "u32",
			shift: "u32",
			add: "u32",
			most: "u32",
			point: "pointBytes",
		},
		says: "BYTES × 1 (a scalar), DONE",
	},
} as const satisfies Record<string, FrameShape>;

export const REPLIES = {
	ready: {
		kind: 0x80,
		fields: { magic: "magic", version: "u16", engineVersion: "versionText" },
		says: "the first frame, sent before anything is read",
	},
	claim: { kind: 0x81, fields: { json: "claimText" }, says: "JSON: see below" },
	root: {
		kind: 0x82,
		fields: { index: "u32", root: "hash" },
		says: "`index` of the round or pass, counting from 0; of the tensor; in a trace step · ops + op",
	},
	progress: {
		kind: 0x83,
		fields: { done: "u32", total: "u32" },
		says: "rounds or passes, at most 10 a second, advisory: never evidence",
	},
	done: {
		kind: 0x84,
		fields: { count: "u32", cancelled: "flag" },
		says: "`count` of roots, openings, segments or pieces sent",
	},
	opening: {
		kind: 0x85,
		fields: { round: "u32", index: "u32", leaf: "leaf", path: "path" },
		says: "the path bottom up",
	},
	pong: { kind: 0x86, fields: { payload: "pingBytes" }, says: "the PING's payload" },
	reading: {
		kind: 0x87,
		fields: { coreMHz: "u32", memoryMHz: "u32", powerMw: "u32", temperatureC: "u32", throttle: "u32" },
		says: "`throttle`: NVML's bits, 0 for none",
	},
	plan: {
		kind: 0x88,
		fields: { peakBytes: "u64", stateBytes: "u64", initOps: "u32", stepOps: "u32" },
		says: "what the session takes on its device; what SAVE writes",
	},
	metric: {
		kind: 0x89,
		fields: { segment: "u32", step: "u32", tensor: "u16", bytes: "metricBytes" },
		says: "a metric tensor as it is after the step",
	},
	segment: {
		kind: 0x8a,
		fields: { segment: "u32", saved: "flag", roots: "rootBytes" },
		says: "after it: roots of all state tensors, then of all results, in the order of the program",
	},
	bytes: { kind: 0x8b, fields: { bytes: "pieceBytes" }, says: "the next ones, in order" },
	report: {
		kind: 0x8c,
		fields: { index: "u16", part: "reportPart", reserved: "zeros1", bytes: "reportBytes" },
		says: "`index` of the device as NVML counts; of a guest 0",
	},
	error: { kind: 0xff, fields: { code: "u16", message: "messageText" }, says: "ends the request" },
} as const satisfies Record<string, FrameShape>;

type Kinds<T extends Record<string, FrameShape>> = { readonly [K in keyof T]: T[K]["kind"] };
const kindsOf = <T extends Record<string, FrameShape>>(table: T): Kinds<T> =>
	Object.fromEntries(Object.entries(table).map(([name, { kind }]) => [name, kind])) as Kinds<T>;

export const KIND = { ...kindsOf(REQUESTS), ...kindsOf(REPLIES) };

type Values<F extends Readonly<Record<string, FieldType>>> = {
	readonly [K in keyof F as F[K] extends keyof FieldValues ? K : never]: F[K] extends keyof FieldValues
		? FieldValues[F[K]]
		: never;
};
type OneOf<T extends Record<string, FrameShape>> = {
	[K in keyof T & string]: { readonly kind: K } & Values<T[K]["fields"]>;
}[keyof T & string];

export type Request = OneOf<typeof REQUESTS>;
export type Reply = OneOf<typeof REPLIES>;
export type GemmRequest = Values<typeof REQUESTS.gemm.fields>;
export type FmaRequest = Values<typeof REQUESTS.fma.fields>;
/**
 * `reader` digests: the session's own device, a peer, or a disk that holds a copy. `newest` 0 is all kept
 * rounds.
 */
export type StreamRequest = Values<typeof REQUESTS.stream.fields>;
export type CopyRequest = Values<typeof REQUESTS.copy.fields>;
export type ChaseRequest = Values<typeof REQUESTS.chase.fields>;
export type OpenRequest = Values<typeof REQUESTS.open.fields>;
/** `nonce`: what every device signs; a guest signs both. */
export type AttestRequest = Values<typeof REQUESTS.attest.fields>;
export type AttestWhat = (typeof ATTEST_WHATS)[number];
export type ReportPart = (typeof REPORT_PARTS)[number];
export type OpenWhat = (typeof WHATS)[number];
export interface Place {
	readonly round: number;
	readonly index: number;
}
