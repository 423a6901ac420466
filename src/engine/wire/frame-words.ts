// The words of engine/FRAMES.md: kinds, error codes, limits, and the values that requests and replies are read into.
// Shapes only; frames.ts turns them into bytes and back.
import type { FmaPrecision, GemmPrecision } from "../../protocol/maths/precision.ts";

export const PROTOCOL_VERSION = 2;
export const MAX_CLAIM_BYTES = 64 << 10;
export const MAX_PLACES = 4096;
export const MAX_PING_BYTES = 64;
export const MAX_MESSAGE_BYTES = 1024;
export const MAX_VERSION_BYTES = 64;
export const MAGIC = new TextEncoder().encode("assay-engine");

export const KIND = {
	hello: 0x01,
	gemm: 0x02,
	stream: 0x03,
	fma: 0x04,
	open: 0x05,
	release: 0x06,
	ping: 0x07,
	cancel: 0x08,
	copy: 0x09,
	read: 0x0a,
	ready: 0x80,
	claim: 0x81,
	root: 0x82,
	progress: 0x83,
	done: 0x84,
	opening: 0x85,
	pong: 0x86,
	reading: 0x87,
	error: 0xff,
} as const;

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
} as const;

export const GEMM_PRECISIONS: readonly GemmPrecision[] = ["int8", "fp8", "fp16", "bf16", "tf32"];
export const FMA_PRECISIONS: readonly FmaPrecision[] = ["fp32", "fp64", "int32"];
export const FIRST_FMA_PRECISION = 5;
export const WHATS = ["leaves", "digests", "copied-digests"] as const;

export type OpenWhat = (typeof WHATS)[number];

export interface Place {
	readonly round: number;
	readonly index: number;
}

export interface GemmRequest {
	readonly session: number;
	readonly device: number;
	readonly precision: GemmPrecision;
	readonly m: number;
	readonly n: number;
	readonly k: number;
	readonly rounds: number;
	readonly keep: number;
	readonly seed: Uint8Array;
}

export interface FmaRequest {
	readonly session: number;
	readonly device: number;
	readonly precision: FmaPrecision;
	readonly lanes: number;
	readonly steps: number;
	readonly rounds: number;
	readonly seed: Uint8Array;
}

export interface StreamRequest {
	readonly session: number;
	/** The device that digests: the session's own, a peer, or a disk that holds a copy. */
	readonly reader: number;
	/** 0 for all kept rounds. */
	readonly newest: number;
	readonly passes: number;
	readonly nonce: Uint8Array;
}

export interface CopyRequest {
	readonly session: number;
	readonly device: number;
	readonly newest: number;
	readonly nonce: Uint8Array;
}

export interface OpenRequest {
	readonly session: number;
	readonly what: OpenWhat;
	readonly places: readonly Place[];
}

export type Request =
	| { readonly kind: "hello"; readonly version: number }
	| ({ readonly kind: "gemm" } & GemmRequest)
	| ({ readonly kind: "stream" } & StreamRequest)
	| ({ readonly kind: "fma" } & FmaRequest)
	| ({ readonly kind: "open" } & OpenRequest)
	| { readonly kind: "release"; readonly session: number }
	| { readonly kind: "ping"; readonly payload: Uint8Array }
	| { readonly kind: "cancel"; readonly target: number }
	| ({ readonly kind: "copy" } & CopyRequest)
	| { readonly kind: "read"; readonly device: number };

export type Reply =
	| { readonly kind: "ready"; readonly version: number; readonly engineVersion: string }
	/** `json` is text only: parse-claim.ts reads it. */
	| { readonly kind: "claim"; readonly json: string }
	| { readonly kind: "root"; readonly index: number; readonly root: Uint8Array }
	| { readonly kind: "progress"; readonly done: number; readonly total: number }
	| { readonly kind: "done"; readonly count: number; readonly cancelled: boolean }
	| {
			readonly kind: "opening";
			readonly round: number;
			readonly index: number;
			readonly leaf: Uint8Array;
			readonly path: Uint8Array;
	  }
	| { readonly kind: "pong"; readonly payload: Uint8Array }
	| {
			readonly kind: "reading";
			readonly coreMHz: number;
			readonly memoryMHz: number;
			readonly powerMw: number;
			readonly temperatureC: number;
			readonly throttle: number;
	  }
	| { readonly kind: "error"; readonly code: number; readonly message: string };
