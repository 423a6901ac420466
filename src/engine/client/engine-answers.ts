// How an engine's answers look to the client (create-engine-client.ts), and what a request may say beside its
// frame. Types only. A provider's misbehaviour during a request is a value here (`end`, `code`), never an
// exception: it is evidence.
import type { End } from "../../protocol/probe/evidence.ts";
import type { RootRecord } from "../../protocol/probe/records.ts";
import type { ReportPart } from "../wire/frame-table.ts";

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

/** Signed reports as they came: verify/ judges them. */
export interface AttestAnswer extends Ending {
	readonly sentAtUs: number;
	readonly endedAtUs: number;
	readonly parts: readonly ReportRecord[];
}

/** `index`: of the device as NVML counts; of a guest 0. Part `nothing` is a text that says why. */
export interface ReportRecord {
	readonly index: number;
	readonly part: ReportPart;
	readonly bytes: Uint8Array;
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

export interface EngineClientOptions {
	/** Monotonic microseconds; all stamps of a probe are on this clock. */
	readonly clockUs: () => number;
	readonly readyDeadlineMs: number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** How often to ping, against the engine's idle clock (120 s). Default 30 s; 0: never. */
	readonly keepAliveMs?: number;
}
