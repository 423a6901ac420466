// Makes an engine client from a link: waits for READY, then one method per request of engine/FRAMES.md.
// Each method says which replies fit its request and how many; conversation.ts does ids, deadlines and endings.
// Roots and openings are recorded as they came, also when they are wrong: verify/ judges them. Only their number is bounded.

import { createTokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Reading } from "../../protocol/probe/evidence.ts";
import type { RootRecord } from "../../protocol/probe/records.ts";
import type { Link } from "../links/link.ts";
import { PROTOCOL_VERSION, type Reply, type Request } from "../wire/frames.ts";
import { Conversation, type Outcome, type ReplyHandler, violation } from "./conversation.ts";
import type { Answer, Ending, EngineClient, EngineClientOptions, OpeningRecord, RunOptions } from "./engine-client.ts";
import { parseClaim } from "./parse-claim.ts";
import { printable } from "./printable.ts";

/** Recorded beyond what was asked, so that evidence can show the surplus; more is a flood. */
const MAX_SURPLUS = 16;
/** An engine may report 10 a second (FRAMES.md). Ten times that for long is a flood; bursts of two seconds are forgiven. */
const PROGRESS_PER_S = 100;
/** A leaf is 1 KiB and no tree of FRAMES.md is deeper than 24; what an opening has above this counts as unasked. */
const FAIR_OPENING_BYTES = 1024 + 32 * 32;
const PING_BYTES = 16;
const DEFAULT_KEEP_ALIVE_MS = 30_000;
/** A link on which an echo takes longer than this is of no use for timing anything. */
const KEEP_ALIVE_DEADLINE_MS = 60_000;
const COMPLETE: Ending = { end: "complete", code: null, detail: "" };

function doneEnding(reply: Reply & { kind: "done" }, received: number): Ending {
	// The stream loses nothing, so a count that differs from what came is a lie about the answer itself.
	if (reply.count !== received) throw violation(`DONE counts ${reply.count} where ${received} came`);
	return reply.cancelled ? { end: "stopped", code: null, detail: "" } : COMPLETE;
}

function onlyDone(reply: Reply): Ending {
	if (reply.kind !== "done") throw violation(`${reply.kind} where only DONE fits`);
	return doneEnding(reply, 0);
}

/** On the verifier's clock. */
function createProgressLimit(): (atUs: number) => void {
	const bucket = createTokenBucket({ perS: PROGRESS_PER_S, burst: 2 * PROGRESS_PER_S });
	return (atUs) => {
		if (!bucket.take(atUs / 1000))
			throw violation(`more than ${PROGRESS_PER_S} PROGRESS frames a second`, "LINK_FLOOD");
	};
}

function endingToError(ending: Ending, doing: string, hint: string): AssayError {
	return new AssayError(ending.code ?? "REPLY_WRONG", `${doing}: ${ending.detail}`, { hint });
}

/** Throws AssayError when no engine of our protocol answers; the link is closed then. */
export async function createEngineClient(link: Link, o: EngineClientOptions): Promise<EngineClient> {
	const talk = new Conversation(link, o.clockUs);
	let version = "";
	let wireVersion = 0;
	const ready = await talk.awaitReady((reply) => {
		if (reply.kind !== "ready") throw violation(`${reply.kind} where READY must come first`);
		version = printable(reply.engineVersion, 64);
		wireVersion = reply.version;
		return COMPLETE;
	}, o.readyDeadlineMs);
	if (ready.ending.end !== "complete") {
		await talk.close();
		const garbled = ready.ending.end === "garbage";
		throw endingToError(
			ready.ending,
			"the engine did not start",
			garbled
				? "Something other than the engine writes to the stream; a login script on the host that prints text does this."
				: "See what the engine said above; `assay doctor` tells whether this machine can run it.",
		);
	}
	if (wireVersion !== PROTOCOL_VERSION) {
		await talk.close();
		throw new AssayError(
			"ENGINE_VERSION",
			`the engine speaks version ${wireVersion} of the wire, we speak ${PROTOCOL_VERSION}`,
			{
				hint: "Use an engine of the same release: let assay upload its own.",
			},
		);
	}

	async function ping(deadlineMs: number): Promise<Outcome> {
		const payload = o.randomBytes(PING_BYTES);
		return talk.ask(
			{ kind: "ping", payload },
			(reply) => {
				if (reply.kind !== "pong") throw violation(`${reply.kind} in answer to PING`);
				const same = reply.payload.length === payload.length && payload.every((byte, i) => byte === reply.payload[i]);
				if (!same) throw violation("PONG does not carry the bytes of its PING");
				return COMPLETE;
			},
			{ deadlineMs },
		);
	}

	async function run(request: Request, asked: number, options: RunOptions): Promise<Answer> {
		const roots: RootRecord[] = [];
		const limitProgress = createProgressLimit();
		// A callback that throws is our own mistake: the engine and the other requests must not suffer for it. It is told at the end.
		const failures: unknown[] = [];
		const tell = (callback: () => void) => {
			try {
				if (failures.length === 0) callback();
			} catch (error) {
				failures.push(error);
			}
		};
		const handler: ReplyHandler = (reply, atUs) => {
			switch (reply.kind) {
				case "root": {
					if (roots.length >= asked + MAX_SURPLUS)
						throw violation(`more roots than the ${asked} asked for`, "LINK_FLOOD");
					const record = { index: reply.index, atUs, root: reply.root };
					roots.push(record);
					tell(() => options.onRoot?.(record));
					return null;
				}
				case "progress":
					limitProgress(atUs);
					tell(() => options.onProgress?.(reply.done, reply.total));
					return null;
				case "done":
					return doneEnding(reply, roots.length);
				default:
					throw violation(`${reply.kind} in answer to ${request.kind.toUpperCase()}`);
			}
		};
		const { ending, sentAtUs, endedAtUs } = await talk.ask(request, handler, options);
		if (failures.length > 0) throw failures[0];
		return { ...ending, sentAtUs, endedAtUs, roots };
	}

	const keepAliveMs = o.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS;
	let pinging = false;
	const keepAlive =
		keepAliveMs > 0
			? setInterval(async () => {
					if (pinging) return;
					pinging = true;
					await ping(KEEP_ALIVE_DEADLINE_MS);
					pinging = false;
				}, keepAliveMs).unref()
			: undefined;

	return {
		version,
		async hello({ deadlineMs }) {
			let json = "";
			const { ending } = await talk.ask(
				{ kind: "hello", version: PROTOCOL_VERSION },
				(reply) => {
					if (reply.kind !== "claim") throw violation(`${reply.kind} in answer to HELLO`);
					json = reply.json;
					return COMPLETE;
				},
				{ deadlineMs },
			);
			if (ending.end !== "complete") {
				throw endingToError(
					ending,
					"the engine did not say what it has",
					"The engine on the host is broken or not ours.",
				);
			}
			return parseClaim(json);
		},
		async ping({ deadlineMs }) {
			const { ending, sentAtUs, endedAtUs } = await ping(deadlineMs);
			if (ending.end !== "complete") {
				throw endingToError(ending, "the engine did not echo", "The connection or the engine is stuck; try again.");
			}
			return endedAtUs - sentAtUs;
		},
		gemm: (r, options) => run({ kind: "gemm", ...r }, r.rounds, options),
		fma: (r, options) => run({ kind: "fma", ...r }, r.rounds, options),
		stream: (r, options) => run({ kind: "stream", ...r }, r.passes, options),
		copy: (r, options) => run({ kind: "copy", ...r }, 1, options),
		async read(device, { deadlineMs }) {
			let reading: Omit<Reading, "device" | "atUs"> | null = null;
			const { ending, endedAtUs } = await talk.ask(
				{ kind: "read", device },
				(reply) => {
					if (reply.kind !== "reading") throw violation(`${reply.kind} in answer to READ`);
					const { kind: _, ...said } = reply;
					reading = said;
					return COMPLETE;
				},
				{ deadlineMs },
			);
			const said = reading as Omit<Reading, "device" | "atUs"> | null;
			if (ending.end !== "complete" || said === null) return null;
			// All 0: nothing could be read.
			return Object.values(said).every((value) => value === 0) ? null : { device, atUs: endedAtUs, ...said };
		},
		async open(r, options) {
			const openings: OpeningRecord[] = [];
			const limitProgress = createProgressLimit();
			const handler: ReplyHandler = (reply, atUs) => {
				switch (reply.kind) {
					case "opening": {
						if (openings.length >= r.places.length + MAX_SURPLUS) {
							throw violation(`more openings than the ${r.places.length} asked for`, "LINK_FLOOD");
						}
						const { round, index, leaf, path } = reply;
						talk.countUnasked(Math.max(0, leaf.length + path.length - FAIR_OPENING_BYTES));
						openings.push({ round, index, leaf, path });
						return null;
					}
					case "progress":
						limitProgress(atUs);
						return null;
					case "done":
						return doneEnding(reply, openings.length);
					default:
						throw violation(`${reply.kind} in answer to OPEN`);
				}
			};
			const { ending, sentAtUs, endedAtUs } = await talk.ask({ kind: "open", ...r }, handler, options);
			return { ...ending, sentAtUs, receivedAtUs: endedAtUs, openings };
		},
		async release(session, options) {
			const { ending } = await talk.ask({ kind: "release", session }, onlyDone, options);
			return ending;
		},
		async close() {
			clearInterval(keepAlive);
			await talk.close();
		},
	};
}
