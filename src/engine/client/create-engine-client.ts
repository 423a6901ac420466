// Makes an engine client from a link: waits for READY, then one method per request of engine/FRAMES.md. Each
// method says which replies fit its request and how many; conversation.ts does ids, deadlines and endings.
// Roots and openings are recorded as they came, also when they are wrong: verify/ judges them. Only their
// number is bounded.
import { TokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { INTERVAL_HOPS } from "../../protocol/hash/chase.ts";
import type { HostClaim, Reading } from "../../protocol/probe/evidence.ts";
import type { RootRecord } from "../../protocol/probe/records.ts";
import type { Link } from "../links/link.ts";
import {
	type AttestRequest,
	type ChaseRequest,
	type CopyRequest,
	type FmaRequest,
	type GemmRequest,
	type OpenRequest,
	PROTOCOL_VERSION,
	type Reply,
	type Request,
	type StreamRequest,
} from "../wire/frame-table.ts";
import { Conversation, type Outcome, violation } from "./conversation.ts";
import type {
	Answer,
	AttestAnswer,
	Ending,
	EngineClientOptions,
	OpenAnswer,
	ReportRecord,
	RunOptions,
	Within,
} from "./engine-answers.ts";
import { type OpenProof, openProveSession, type ProveSession } from "./open-prove-session.ts";
import { openWorkSession } from "./open-work-session.ts";
import { type OpenWrap, openWrapSession, type WrapSession } from "./open-wrap-session.ts";
import { parseClaim } from "./parse-claim.ts";
import { printable } from "./printable.ts";
import type { OpenWork, WorkSession } from "./work-session.ts";

/** Recorded beyond what was asked, so that evidence can show the surplus; more is a flood. */
const MAX_SURPLUS = 16;
/** An engine may report 10 a second (FRAMES.md); ten times that for longer than two seconds is a flood. */
const PROGRESS_PER_S = 100;
/** A leaf is 1 KiB, no tree of FRAMES.md deeper than 24; what an opening has beyond is unasked. */
const FAIR_OPENING_BYTES = 1024 + 32 * 32;
const PING_BYTES = 16;
const DEFAULT_KEEP_ALIVE_MS = 30_000;
/** A link on which an echo takes longer than this is of no use for timing anything. */
const KEEP_ALIVE_DEADLINE_MS = 60_000;
/** 64 devices with a report and a chain each, of 13 KiB together; a guest has three parts. */
const MAX_REPORT_PARTS = 128;
const MAX_REPORT_BYTES = 2 << 20;
/** Names of work sessions: far above those that a probe chooses. */
const FIRST_WORK_SESSION = 2 ** 31;
const COMPLETE: Ending = { end: "complete", code: null, detail: "" };

type ReplyOf<K extends Reply["kind"]> = Extract<Reply, { kind: K }>;

/** Throws AssayError when no engine of our protocol answers; the link is closed then. */
export async function createEngineClient(link: Link, options: EngineClientOptions): Promise<EngineClient> {
	const talk = new Conversation(link, options.clockUs);
	try {
		return new EngineClient(talk, await awaitReady(talk, options.readyDeadlineMs), options);
	} catch (error) {
		await talk.close();
		throw error;
	}
}

/** The engine's version. Throws AssayError. */
async function awaitReady(talk: Conversation, deadlineMs: number): Promise<string> {
	let ready: ReplyOf<"ready"> | null = null;
	const { ending } = await talk.awaitReady((reply) => {
		if (reply.kind !== "ready") throw violation(`${reply.kind} where READY must come first`);
		ready = reply;
		return COMPLETE;
	}, deadlineMs);
	const hint =
		ending.end === "garbage"
			? "Something other than the engine writes to the stream; a login script on the host that prints text does this."
			: "See what the engine said above; `assay doctor` tells whether this machine can run it.";
	const { version, engineVersion } = mustComplete<ReplyOf<"ready">>(ending, ready, "the engine did not start", hint);
	if (version !== PROTOCOL_VERSION)
		throw new AssayError(
			"ENGINE_VERSION",
			`the engine speaks version ${version} of the wire, we speak ${PROTOCOL_VERSION}`,
			{ hint: "Use an engine of the same release: let assay upload its own." },
		);
	return printable(engineVersion, 64);
}

function mustComplete<T>(ending: Ending, reply: T | null, doing: string, hint: string): T {
	if (ending.end === "complete" && reply !== null) return reply;
	throw new AssayError(ending.code ?? "REPLY_WRONG", `${doing}: ${ending.detail}`, { hint });
}

/** The stream loses nothing, so a count that differs from what came is a lie about the answer itself. */
function doneEnding(reply: ReplyOf<"done">, received: number): Ending {
	if (reply.count !== received) throw violation(`DONE counts ${reply.count} where ${received} came`);
	return reply.cancelled ? { end: "stopped", code: null, detail: "" } : COMPLETE;
}

/** One method per request of engine/FRAMES.md. */
export class EngineClient {
	/** Of the engine, as READY told it. */
	readonly version: string;
	private readonly talk: Conversation;
	private readonly options: EngineClientOptions;
	private readonly keepAlive: NodeJS.Timeout | undefined;
	private isPinging = false;
	private nextWork = FIRST_WORK_SESSION;

	constructor(talk: Conversation, version: string, options: EngineClientOptions) {
		this.talk = talk;
		this.version = version;
		this.options = options;
		const everyMs = options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS;
		if (everyMs > 0) this.keepAlive = setInterval(() => this.keepAwake(), everyMs).unref();
	}

	/** Throws AssayError when the engine misbehaves here: there is no probe without a claim. */
	async hello({ deadlineMs }: Within): Promise<HostClaim> {
		const { ending, reply } = await this.askOne({ kind: "hello", version: PROTOCOL_VERSION }, "claim", deadlineMs);
		const hint = "The engine on the host is broken or not ours.";
		return parseClaim(mustComplete(ending, reply, "the engine did not say what it has", hint).json);
	}

	/** Microseconds from PING to PONG; the payload is random and checked. Throws AssayError like hello. */
	async ping({ deadlineMs }: Within): Promise<number> {
		const { ending, reply, sentAtUs, endedAtUs } = await this.echo(deadlineMs);
		mustComplete(ending, reply, "the engine did not echo", "The connection or the engine is stuck; try again.");
		return endedAtUs - sentAtUs;
	}

	gemm(request: GemmRequest, options: RunOptions): Promise<Answer> {
		return this.run({ kind: "gemm", ...request }, request.rounds, options);
	}

	fma(request: FmaRequest, options: RunOptions): Promise<Answer> {
		return this.run({ kind: "fma", ...request }, request.rounds, options);
	}

	stream(request: StreamRequest, options: RunOptions): Promise<Answer> {
		return this.run({ kind: "stream", ...request }, request.passes, options);
	}

	/** One root, when the bytes are durable. */
	copy(request: CopyRequest, options: RunOptions): Promise<Answer> {
		return this.run({ kind: "copy", ...request }, 1, options);
	}

	/** One root, of the tree over the labels. */
	chase(request: ChaseRequest, options: RunOptions): Promise<Answer> {
		return this.run({ kind: "chase", ...request }, 1, options);
	}

	/** What the device says of itself now; null when it cannot, or not in time. Never throws. */
	async read(device: number, { deadlineMs }: Within): Promise<Reading | null> {
		const { ending, reply, endedAtUs } = await this.askOne({ kind: "read", device }, "reading", deadlineMs);
		if (ending.end !== "complete" || reply === null) return null;
		const { kind: _, ...said } = reply;
		// All 0: nothing could be read.
		return Object.values(said).every((value) => value === 0) ? null : { device, atUs: endedAtUs, ...said };
	}

	async open(request: OpenRequest, options: Within): Promise<OpenAnswer> {
		const toRecord = ({ round, index, leaf, path }: ReplyOf<"opening">) => {
			this.talk.countUnasked(Math.max(0, leaf.length + path.length - FAIR_OPENING_BYTES));
			return { round, index, leaf, path };
		};
		const count = request.places.length * (request.what === "hops" ? INTERVAL_HOPS : 1);
		const asked = { kind: "opening", count, toRecord } as const;
		const { ending, sentAtUs, endedAtUs, records } = await this.askMany({ kind: "open", ...request }, asked, options);
		return { ...ending, sentAtUs, receivedAtUs: endedAtUs, openings: records };
	}

	/** Reports of the devices, or a quote of the guest. Never throws; an engine of before ATTEST refuses. */
	async attest(request: AttestRequest, { deadlineMs }: Within): Promise<AttestAnswer> {
		const parts: ReportRecord[] = [];
		let bytes = 0;
		const handler = (reply: Reply): Ending | null => {
			if (reply.kind === "done") return doneEnding(reply, parts.length);
			if (reply.kind !== "report") throw violation(`${reply.kind} in answer to ATTEST`);
			const { kind: _, ...part } = reply;
			bytes += part.bytes.length;
			if (parts.length >= MAX_REPORT_PARTS || bytes > MAX_REPORT_BYTES)
				throw violation("more reports than a host has devices", "LINK_FLOOD");
			parts.push(part);
			return null;
		};
		const { ending, ...times } = await this.talk.ask({ kind: "attest", ...request }, handler, { deadlineMs });
		return { ...ending, ...times, parts };
	}

	/** Never throws; the ending tells whether the engine agreed. */
	async release(session: number, { deadlineMs }: Within): Promise<Ending> {
		const check = (reply: ReplyOf<"done">) => doneEnding(reply, 0);
		return (await this.askOne({ kind: "release", session }, "done", deadlineMs, check)).ending;
	}

	/**
	 * Throws AssayError: the program's fault (PROGRAM_…), DEVICE_NO_ROOM, or that this engine runs no programs.
	 */
	openWork(work: OpenWork): Promise<WorkSession> {
		return openWorkSession(this.talk, this.nextWork++, work);
	}

	/** Throws AssayError: DEVICE_NO_ROOM, or that this engine or device proves nothing. */
	openProof(proof: OpenProof): Promise<ProveSession> {
		return openProveSession(this.talk, this.nextWork++, proof);
	}

	/** Throws as openProof does. */
	openWrap(wrap: OpenWrap): Promise<WrapSession> {
		return openWrapSession(this.talk, this.nextWork++, wrap);
	}

	async close(): Promise<void> {
		clearInterval(this.keepAlive);
		await this.talk.close();
	}

	private async keepAwake(): Promise<void> {
		if (this.isPinging) return;
		this.isPinging = true;
		await this.echo(KEEP_ALIVE_DEADLINE_MS);
		this.isPinging = false;
	}

	private echo(deadlineMs: number) {
		const payload = this.options.randomBytes(PING_BYTES);
		return this.askOne({ kind: "ping", payload }, "pong", deadlineMs, (reply) => {
			if (!equalBytes(reply.payload, payload)) throw violation("PONG does not carry the bytes of its PING");
			return COMPLETE;
		});
	}

	/** A request with one reply. */
	private async askOne<K extends Reply["kind"]>(
		request: Request,
		kind: K,
		deadlineMs: number,
		toEnding: (reply: ReplyOf<K>) => Ending = () => COMPLETE,
	): Promise<Outcome & { readonly reply: ReplyOf<K> | null }> {
		let said: ReplyOf<K> | null = null;
		const handler = (reply: Reply) => {
			if (reply.kind !== kind) throw violation(`${reply.kind} in answer to ${request.kind.toUpperCase()}`);
			said = reply as ReplyOf<K>;
			return toEnding(said);
		};
		const outcome = await this.talk.ask(request, handler, { deadlineMs });
		return { ...outcome, reply: said };
	}

	private async run(request: Request, count: number, options: RunOptions): Promise<Answer> {
		const toRecord = ({ index, root }: ReplyOf<"root">, atUs: number): RootRecord => ({ index, atUs, root });
		const asked = { kind: "root", count, toRecord, onRecord: options.onRoot } as const;
		const { ending, sentAtUs, endedAtUs, records } = await this.askMany(request, asked, options);
		return { ...ending, sentAtUs, endedAtUs, roots: records };
	}

	/** A request with so many replies, PROGRESS between them and DONE at the end. */
	private async askMany<K extends "root" | "opening", T>(
		request: Request,
		asked: {
			readonly kind: K;
			readonly count: number;
			readonly toRecord: (reply: ReplyOf<K>, atUs: number) => T;
			readonly onRecord?: ((record: T) => void) | undefined;
		},
		options: RunOptions,
	): Promise<Outcome & { readonly records: readonly T[] }> {
		const { kind, count, toRecord, onRecord } = asked;
		const records: T[] = [];
		const progress = new TokenBucket({ perS: PROGRESS_PER_S, burst: 2 * PROGRESS_PER_S });
		// A callback that throws is our own mistake: neither the engine nor other requests must suffer for it. It
		// is told at the end.
		const failures: unknown[] = [];
		const tell = (callback: () => void) => {
			try {
				if (failures.length === 0) callback();
			} catch (error) {
				failures.push(error);
			}
		};
		const handler = (reply: Reply, atUs: number): Ending | null => {
			if (reply.kind === "done") return doneEnding(reply, records.length);
			if (reply.kind === "progress") {
				if (!progress.take(atUs / 1000))
					throw violation(`more than ${PROGRESS_PER_S} PROGRESS frames a second`, "LINK_FLOOD");
				tell(() => options.onProgress?.(reply.done, reply.total));
				return null;
			}
			if (reply.kind !== kind) throw violation(`${reply.kind} in answer to ${request.kind.toUpperCase()}`);
			if (records.length >= count + MAX_SURPLUS)
				throw violation(`more ${kind}s than the ${count} asked for`, "LINK_FLOOD");
			const record = toRecord(reply as ReplyOf<K>, atUs);
			records.push(record);
			tell(() => onRecord?.(record));
			return null;
		};
		const outcome = await this.talk.ask(request, handler, options);
		if (failures.length > 0) throw failures[0];
		return { ...outcome, records };
	}
}
