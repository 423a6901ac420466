// What one engine can be asked, and the shape of its answers. Types; create-engine-client.ts makes one from a
// link. A provider's misbehaviour during a request is a value here (`end`, `code`), never an exception: it is
// evidence.
import type { End, HostClaim, Reading } from "../../protocol/probe/evidence.ts";
import type { RootRecord } from "../../protocol/probe/records.ts";
import type { CopyRequest, FmaRequest, GemmRequest, OpenRequest, StreamRequest } from "../wire/frames.ts";

/** As on the wire: the path in one piece, whatever its length. */
export interface OpeningRecord {
	readonly round: number;
	readonly index: number;
	readonly leaf: Uint8Array;
	/** Siblings bottom up, 32 bytes each. */
	readonly path: Uint8Array;
}

/** How a request ended. `code` is null for `complete` and `stopped`, else a row of protocol/codes.ts. */
export interface Ending {
	readonly end: End;
	readonly code: string | null;
	readonly detail: string;
	/** Present when `code` is ENGINE_REFUSED. */
	readonly engineError?: { readonly code: number; readonly message: string };
}

export interface Answer extends Ending {
	readonly sentAtUs: number;
	readonly endedAtUs: number;
	/** As they came, with gaps, repeats and disorder: verify/ judges them. */
	readonly roots: readonly RootRecord[];
}

export interface OpenAnswer extends Ending {
	readonly sentAtUs: number;
	readonly receivedAtUs: number;
	readonly openings: readonly OpeningRecord[];
}

export interface Within {
	/** From the request to its last reply. When it passes, the link is closed: late answers do not count. */
	readonly deadlineMs: number;
}

export interface RunOptions extends Within {
	readonly onRoot?: (root: RootRecord) => void;
	/** Advisory, never evidence: the host may say anything here. */
	readonly onProgress?: (done: number, total: number) => void;
	/** Aborting sends CANCEL; DONE is then awaited for `graceMs` (default 10 s) at most. */
	readonly stop?: AbortSignal;
	readonly graceMs?: number;
}

export interface EngineClient {
	/** Of the engine, as READY told it. */
	readonly version: string;
	/** Throws AssayError when the engine misbehaves here: there is no probe without a claim. */
	hello(within: Within): Promise<HostClaim>;
	/** Microseconds from PING to PONG; the payload is random and checked. Throws AssayError like hello. */
	ping(within: Within): Promise<number>;
	gemm(request: GemmRequest, options: RunOptions): Promise<Answer>;
	fma(request: FmaRequest, options: RunOptions): Promise<Answer>;
	stream(request: StreamRequest, options: RunOptions): Promise<Answer>;
	/** One root, when the bytes are durable. */
	copy(request: CopyRequest, options: RunOptions): Promise<Answer>;
	/** What the device says of itself now; null when it cannot, or not in time. Never throws. */
	read(device: number, within: Within): Promise<Reading | null>;
	open(request: OpenRequest, within: Within): Promise<OpenAnswer>;
	/** Never throws; the ending tells whether the engine agreed. */
	release(session: number, within: Within): Promise<Ending>;
	close(): Promise<void>;
}

export interface EngineClientOptions {
	/** Monotonic microseconds; all stamps of a probe are on this clock. */
	readonly clockUs: () => number;
	readonly readyDeadlineMs: number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** How often to ping, against the engine's idle clock (120 s). Default 30 s; 0: never. */
	readonly keepAliveMs?: number;
}
