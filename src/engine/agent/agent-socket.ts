// One WebSocket of the agent link, for either end: opens and seals messages, keeps turns, counts, pings, and
// ends the connection at the first thing that does not fit. Whoever owns it (accept-agent.ts, dial-agent.ts)
// gets whole messages in turn and nothing else. Page: docs/agent-link.md.
//
// Attacks it bounds: silence and trickling (only whole messages and answered pings count as life), floods
// (rates, sizes; the library refuses larger messages before it buffers them), a far side that does not read
// (unsent bytes), garbage, replays and reordering (the seal).

import type { RawData, WebSocket } from "ws";
import { TokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { printable } from "../client/printable.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import { type AgentParties, type AgentSide, sealingKey } from "./agent-handshake.ts";
import { type AgentMessage, decodeMessage, MAX_DATA_BYTES } from "./agent-messages.ts";
import { type AgentState, judgeData, nextState, START } from "./agent-protocol.ts";
import { createSealer, createUnsealer, MAX_MESSAGE_BYTES, type Opened, type Sealer } from "./agent-seal.ts";

/** For both ends' WebSocket library. Compression would let a peer make us inflate, and blur timings. */
export const SOCKET_OPTIONS = {
	perMessageDeflate: false,
	maxPayload: MAX_MESSAGE_BYTES,
	// Whole messages of 64 KiB need neither; a peer that cuts them finer only costs us.
	maxFragments: 16,
	maxBufferedChunks: 4096,
} as const;

/** How long the far side may take to agree that the connection is over. */
const GOODBYE_MS = 1000;
const PING_BYTES = 16;
/** The best of so many last pings is the way's time. */
const RTTS_KEPT = 8;
const PACE_MS = 1;
/** Pings come after three quarters of their time, or the whole of it, or one of the 254 times between. */
const PACES = 1024;

export const closeCodes = {
	normal: 1000,
	away: 1001,
	bad: 4000,
	unproven: 4001,
	silent: 4002,
	refused: 4003,
	flood: 4004,
};

/** Why a connection is over; the same words at both ends, as far as each can know. */
export interface AgentEnd {
	/** Of the WebSocket: 1000 and 1001 are orderly, 4000 … 4999 are ours (docs/agent-link.md). */
	readonly closeCode: number;
	/** A row of protocol/codes.ts. */
	readonly code: string;
	readonly detail: string;
}

export interface AgentSocketOptions {
	readonly ws: WebSocket;
	readonly side: AgentSide;
	readonly bounds: AgentBounds;
	/** Monotonic microseconds. */
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** Throwing AssayError ends the connection with its code. */
	onMessage(message: AgentMessage): void;
	onData(channel: number, bytes: Uint8Array, late: boolean): void;
}

export class AgentSocket {
	readonly closed: Promise<AgentEnd>;
	private readonly options: AgentSocketOptions;
	private readonly far: AgentSide;
	private state: AgentState = START;
	private sealer: Sealer | null = null;
	private unseal: ((sealed: Uint8Array) => Opened) | null = null;
	private ended: AgentEnd | null = null;
	private lastHeardUs: number;
	private lastBeatUs: number;
	private pausedBy = 0;
	private readonly pings: { payload: Uint8Array; sentAtUs: number; settle: (us: number | null) => void }[] = [];
	private readonly rttsUs: number[] = [];
	private readonly timers: NodeJS.Timeout[] = [];
	private readonly controlBucket: TokenBucket;
	private readonly dataBucket: TokenBucket;
	private readonly paceBucket: TokenBucket;

	constructor(options: AgentSocketOptions) {
		const { ws, side, bounds, clockUs } = options;
		this.options = options;
		this.far = side === "provider" ? "validator" : "provider";
		const bucket = (perS: number) => new TokenBucket({ perS, burst: 2 * perS });
		this.controlBucket = bucket(bounds.controlPerS);
		this.dataBucket = bucket(bounds.dataPerS);
		this.paceBucket = bucket(bounds.dataPerS / 2);
		this.lastHeardUs = clockUs();
		this.lastBeatUs = this.lastHeardUs;
		const { promise, resolve } = Promise.withResolvers<AgentEnd>();
		this.closed = promise;
		ws.on("message", (data, isBinary) => this.guard(() => this.read(data, isBinary)));
		ws.on("ping", () => this.guard(() => this.countControl()));
		ws.on("pong", (payload) => this.guard(() => this.pong(payload)));
		// The library's own complaints: bad frames, messages that are too large, a broken connection. `close`
		// follows.
		ws.on("error", (error: Error & { code?: string }) => {
			const flood = /^WS_ERR_(UNSUPPORTED_MESSAGE_LENGTH|TOO_MANY)/.test(error.code ?? "");
			const code = flood ? "AGENT_FLOOD" : error.code?.startsWith("WS_ERR") ? "AGENT_MESSAGE_BAD" : "AGENT_CLOSED";
			this.ended ??= {
				closeCode: flood ? closeCodes.flood : closeCodes.bad,
				code,
				detail: printable(error.message, 200),
			};
		});
		ws.on("close", (closeCode, reason) => {
			for (const timer of this.timers) clearTimeout(timer);
			for (const ping of this.pings.splice(0)) ping.settle(null);
			this.ended ??= farEnd(closeCode, reason);
			resolve(this.ended);
		});
		const handshake = setTimeout(() => {
			if (this.state.phase !== "talk") this.fail("AGENT_SILENT", "the handshake was not complete in time");
		}, bounds.handshakeMs);
		// Each connection has a pace of its own. At one pace, those that fell together once, because this process
		// was held up, would stay together, and hold it up again each time.
		const pingMs = Math.round(bounds.pingMs * (1 - options.randomBytes(1)[0]! / PACES));
		this.timers.push(
			handshake,
			setInterval(() => this.beat(), pingMs),
		);
	}

	get isEnded(): boolean {
		return this.ended !== null;
	}

	/** The best of the last pings; null before the first. */
	get rttUs(): number | null {
		return this.rttsUs.length === 0 ? null : Math.min(...this.rttsUs);
	}

	/** From here on everything is sealed, in both directions. */
	seal(shared: Uint8Array, parties: AgentParties): void {
		this.sealer = createSealer(sealingKey(this.options.side, shared, parties));
		this.unseal = createUnsealer(sealingKey(this.far, shared, parties));
	}

	/** Whether `send` would send it now. */
	maySend(message: AgentMessage): boolean {
		return !this.ended && nextState(this.state, this.options.side, message).ok;
	}

	/** Nothing is sent on a connection that has ended. Out of turn is our own mistake and throws. */
	send(message: AgentMessage): void {
		if (this.ended) return;
		const step = nextState(this.state, this.options.side, message);
		if (!step.ok) throw new Error(`agent link: we spoke out of turn: ${step.detail}`);
		this.state = step.state;
		const json = JSON.stringify(message);
		if (this.sealer) this.options.ws.send(this.sealer.control(json), { binary: true });
		else this.options.ws.send(json);
		this.checkUnsent();
	}

	/** In pieces, one after the other, until `isUnwanted`; then `done`. */
	sendData(channel: number, bytes: Uint8Array, isUnwanted: () => boolean, done: () => void): void {
		if (this.ended || !this.sealer || bytes.length === 0 || isUnwanted()) {
			done();
			return;
		}
		const inPace = this.paceBucket.take(this.options.clockUs() / 1000);
		const next = () => this.sendData(channel, bytes.subarray(MAX_DATA_BYTES), isUnwanted, done);
		this.options.ws.send(this.sealer.data(channel, bytes.subarray(0, MAX_DATA_BYTES)), { binary: true }, () => {
			if (inPace) next();
			else setTimeout(next, PACE_MS);
		});
		this.checkUnsent();
	}

	/** Microseconds of one WebSocket ping with fresh random bytes; null when the connection ends first. */
	ping(): Promise<number | null> {
		if (this.ended) return Promise.resolve(null);
		return new Promise((settle) => {
			const payload = this.options.randomBytes(PING_BYTES);
			this.pings.push({ payload, sentAtUs: this.options.clockUs(), settle });
			this.options.ws.ping(payload);
		});
	}

	/** Stops reading while our own side is full: then the far side's silence is our doing. */
	pause(): void {
		if (this.pausedBy++ === 0 && !this.ended) this.options.ws.pause();
	}

	resume(): void {
		if (--this.pausedBy > 0) return;
		this.lastHeardUs = this.options.clockUs();
		this.options.ws.resume();
	}

	/** Ends the connection and tells the far side why. The first reason stays. */
	end(closeCode: number, code: string, detail: string): void {
		if (this.ended) return;
		this.ended = { closeCode, code, detail };
		const { ws } = this.options;
		if (this.pausedBy > 0) ws.resume();
		ws.close(closeCode, code);
		this.timers.push(setTimeout(() => ws.terminate(), GOODBYE_MS));
	}

	fail(code: string, detail: string): void {
		const closeCode =
			{ AGENT_PROOF_WRONG: closeCodes.unproven, AGENT_SILENT: closeCodes.silent, AGENT_FLOOD: closeCodes.flood }[
				code
			] ?? closeCodes.bad;
		this.end(closeCode, code, detail);
	}

	/** A violation ends the connection; our own faults do too, and the far side is told nothing of them. */
	private guard(handle: () => void): void {
		if (this.ended) return;
		try {
			handle();
		} catch (error) {
			if (error instanceof AssayError) this.fail(error.code, error.message);
			else this.end(1011, "AGENT_CLOSED", `a fault of this end: ${String(error)}`);
		}
	}

	private read(data: RawData, isBinary: boolean): void {
		const bytes = data as Buffer;
		const atUs = this.options.clockUs();
		if (isBinary !== (this.unseal !== null)) throw bad("text after the handshake, or sealed bytes before its keys");
		const opened: Opened = this.unseal ? this.unseal(bytes) : { kind: "control", json: bytes.toString("utf8") };
		if (opened.kind === "data") {
			if (!this.dataBucket.take(atUs / 1000)) throw flood("more data messages a second than fit");
			const fits = judgeData(this.state, this.far, opened.channel);
			if (fits === "wrong") throw bad("data of a channel that is not open");
			this.lastHeardUs = atUs;
			this.options.onData(opened.channel, opened.bytes, fits === "late");
			return;
		}
		this.countControl();
		const message = decodeMessage(this.far, opened.json);
		const step = nextState(this.state, this.far, message);
		if (!step.ok) throw bad(step.detail);
		this.state = step.state;
		this.lastHeardUs = atUs;
		if (!step.isLate) this.options.onMessage(message);
	}

	private pong(payload: Uint8Array): void {
		const atUs = this.options.clockUs();
		const at = this.pings.findIndex((ping) => equalBytes(ping.payload, payload));
		if (at < 0) {
			this.countControl();
			return;
		}
		const [ping] = this.pings.splice(at, 1);
		this.lastHeardUs = atUs;
		const us = Math.max(0, atUs - ping!.sentAtUs);
		this.rttsUs.push(us);
		if (this.rttsUs.length > RTTS_KEPT) this.rttsUs.shift();
		ping!.settle(us);
	}

	private countControl(): void {
		if (!this.controlBucket.take(this.options.clockUs() / 1000))
			throw flood(`more than ${this.options.bounds.controlPerS} control messages a second`);
	}

	private checkUnsent(): void {
		if (this.options.ws.bufferedAmount > this.options.bounds.bufferedBytes)
			this.fail("AGENT_FLOOD", "the far side does not read what it is sent");
	}

	private beat(): void {
		if (this.ended || this.pausedBy > 0) return;
		const nowUs = this.options.clockUs();
		// If this process was held up or asleep, the far side's words may be lying in the socket: it was we who
		// did not listen.
		if (nowUs - this.lastBeatUs > 2000 * this.options.bounds.pingMs) this.lastHeardUs = nowUs;
		this.lastBeatUs = nowUs;
		if (nowUs - this.lastHeardUs > 1000 * this.options.bounds.deadMs)
			this.fail("AGENT_SILENT", `nothing came for ${this.options.bounds.deadMs / 1000} s`);
		// One unanswered ping at a time is enough to tell; more would pile up on a connection that hangs.
		else if (this.pings.length === 0) void this.ping();
	}
}

/** What the far side gave as its reason, if it is one of our codes; its words are hostile. */
function farEnd(closeCode: number, reason: Uint8Array): AgentEnd {
	const word = Buffer.from(reason).toString("utf8");
	const known = Object.hasOwn(codes, word);
	const detail =
		closeCode === 1006 ? "the connection broke" : `the far side closed it (${closeCode}${known ? `, ${word}` : ""})`;
	return { closeCode, code: known ? word : "AGENT_CLOSED", detail };
}

function bad(detail: string): AssayError {
	return new AssayError("AGENT_MESSAGE_BAD", detail);
}

function flood(detail: string): AssayError {
	return new AssayError("AGENT_FLOOD", detail);
}
