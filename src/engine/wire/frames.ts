// The codec of engine/FRAMES.md, both directions: the verifier encodes requests and decodes replies, a toy engine the reverse.
// Pure: bytes in, values out. It judges shapes only (sizes, fixed bytes, UTF-8); whether a reply fits what was asked is the
// client's business, and whether it is true is verify/'s. Cutting a byte stream into frames is in frame-reader.ts.
import { badFrame, FieldReader, FieldWriter, type Frame, HASH_BYTES } from "./frame-fields.ts";

export { type Frame, MAX_LENGTH_TO_ENGINE, MAX_LENGTH_TO_VERIFIER, MIN_LENGTH } from "./frame-fields.ts";
export { FrameReader } from "./frame-reader.ts";

import {
	FIRST_FMA_PRECISION,
	FMA_PRECISIONS,
	GEMM_PRECISIONS,
	KIND,
	MAGIC,
	MAX_CLAIM_BYTES,
	MAX_MESSAGE_BYTES,
	MAX_PING_BYTES,
	MAX_PLACES,
	MAX_VERSION_BYTES,
	type Place,
	type Reply,
	type Request,
	WHATS,
} from "./frame-words.ts";

export {
	type CopyRequest,
	ERROR_CODE,
	type FmaRequest,
	type GemmRequest,
	KIND,
	MAX_CLAIM_BYTES,
	MAX_PING_BYTES,
	MAX_PLACES,
	type OpenRequest,
	type OpenWhat,
	type Place,
	PROTOCOL_VERSION,
	type Reply,
	type Request,
	type StreamRequest,
} from "./frame-words.ts";

export function encodeFrame(kind: number, id: number, payload: Uint8Array): Uint8Array {
	return new FieldWriter(9 + payload.length)
		.uint(4, 5 + payload.length)
		.uint(1, kind)
		.uint(4, id)
		.raw(payload).bytes;
}

export function encodeRequest(id: number, r: Request): Uint8Array {
	return encodeFrame(KIND[r.kind], id, requestPayload(r));
}

function requestPayload(r: Request): Uint8Array {
	switch (r.kind) {
		case "hello":
			return new FieldWriter(2).uint(2, r.version).bytes;
		case "gemm": {
			const w = new FieldWriter(60).uint(4, r.session).uint(2, r.device).uint(1, GEMM_PRECISIONS.indexOf(r.precision));
			w.uint(1, 0).uint(4, r.m).uint(4, r.n).uint(4, r.k).uint(4, r.rounds).uint(4, r.keep);
			return w.hash(r.seed).bytes;
		}
		case "stream": {
			const w = new FieldWriter(48).uint(4, r.session).uint(2, r.reader).uint(2, 0);
			return w.uint(4, r.newest).uint(4, r.passes).hash(r.nonce).bytes;
		}
		case "copy": {
			const w = new FieldWriter(44).uint(4, r.session).uint(2, r.device).uint(2, 0);
			return w.uint(4, r.newest).hash(r.nonce).bytes;
		}
		case "read":
			return new FieldWriter(2).uint(2, r.device).bytes;
		case "fma": {
			const index = FMA_PRECISIONS.indexOf(r.precision);
			const w = new FieldWriter(52).uint(4, r.session).uint(2, r.device);
			w.uint(1, index < 0 ? index : FIRST_FMA_PRECISION + index).uint(1, 0);
			return w.uint(4, r.lanes).uint(4, r.steps).uint(4, r.rounds).hash(r.seed).bytes;
		}
		case "open": {
			if (r.places.length > MAX_PLACES) throw new RangeError(`${r.places.length} places in one OPEN`);
			const w = new FieldWriter(12 + 8 * r.places.length).uint(4, r.session).uint(1, WHATS.indexOf(r.what));
			w.uint(1, 0).uint(2, 0).uint(4, r.places.length);
			for (const place of r.places) w.uint(4, place.round).uint(4, place.index);
			return w.bytes;
		}
		case "release":
			return new FieldWriter(4).uint(4, r.session).bytes;
		case "ping":
			if (r.payload.length > MAX_PING_BYTES) throw new RangeError(`a PING of ${r.payload.length} bytes`);
			return r.payload;
		case "cancel":
			return new FieldWriter(4).uint(4, r.target).bytes;
	}
}

/** Throws FRAME_BAD for an unknown kind, a missing or surplus byte, a reserved byte that is not 0. */
export function decodeRequest(frame: Frame): Request {
	const p = new FieldReader(frame.payload);
	switch (frame.kind) {
		case KIND.hello:
			return p.end({ kind: "hello", version: p.u16() });
		case KIND.gemm: {
			const [session, device] = [p.u32(), p.u16()];
			const precision = p.pick(GEMM_PRECISIONS, p.u8(), "precision");
			p.zeros(1);
			const [m, n, k, rounds, keep] = [p.u32(), p.u32(), p.u32(), p.u32(), p.u32()];
			return p.end({ kind: "gemm", session, device, precision, m, n, k, rounds, keep, seed: p.hash() });
		}
		case KIND.stream: {
			const [session, reader] = [p.u32(), p.u16()];
			p.zeros(2);
			return p.end({ kind: "stream", session, reader, newest: p.u32(), passes: p.u32(), nonce: p.hash() });
		}
		case KIND.copy: {
			const [session, device] = [p.u32(), p.u16()];
			p.zeros(2);
			return p.end({ kind: "copy", session, device, newest: p.u32(), nonce: p.hash() });
		}
		case KIND.read:
			return p.end({ kind: "read", device: p.u16() });
		case KIND.fma: {
			const [session, device] = [p.u32(), p.u16()];
			const precision = p.pick(FMA_PRECISIONS, p.u8() - FIRST_FMA_PRECISION, "precision");
			p.zeros(1);
			const [lanes, steps, rounds] = [p.u32(), p.u32(), p.u32()];
			return p.end({ kind: "fma", session, device, precision, lanes, steps, rounds, seed: p.hash() });
		}
		case KIND.open: {
			const session = p.u32();
			const what = p.pick(WHATS, p.u8(), "what");
			p.zeros(3);
			const count = p.u32();
			if (count < 1 || count > MAX_PLACES) throw badFrame(`${count} places in one OPEN`);
			const places: Place[] = [];
			for (let i = 0; i < count; i++) places.push({ round: p.u32(), index: p.u32() });
			return p.end({ kind: "open", session, what, places });
		}
		case KIND.release:
			return p.end({ kind: "release", session: p.u32() });
		case KIND.ping:
			if (frame.payload.length > MAX_PING_BYTES) throw badFrame("a PING is too long");
			return p.end({ kind: "ping", payload: p.rest() });
		case KIND.cancel:
			return p.end({ kind: "cancel", target: p.u32() });
		default:
			throw badFrame(`kind ${frame.kind} is no request`);
	}
}

export function encodeReply(id: number, r: Reply): Uint8Array {
	return encodeFrame(KIND[r.kind], id, replyPayload(r));
}

function replyPayload(r: Reply): Uint8Array {
	switch (r.kind) {
		case "ready": {
			const text = new TextEncoder().encode(r.engineVersion);
			return new FieldWriter(14 + text.length).raw(MAGIC).uint(2, r.version).raw(text).bytes;
		}
		case "claim":
			return new TextEncoder().encode(r.json);
		case "root":
			return new FieldWriter(36).uint(4, r.index).hash(r.root).bytes;
		case "progress":
			return new FieldWriter(8).uint(4, r.done).uint(4, r.total).bytes;
		case "done":
			return new FieldWriter(5).uint(4, r.count).uint(1, r.cancelled ? 1 : 0).bytes;
		case "opening": {
			const w = new FieldWriter(12 + r.leaf.length + r.path.length).uint(4, r.round).uint(4, r.index);
			return w
				.uint(2, r.leaf.length)
				.uint(2, r.path.length / HASH_BYTES)
				.raw(r.leaf)
				.raw(r.path).bytes;
		}
		case "pong":
			return r.payload;
		case "reading": {
			const w = new FieldWriter(20).uint(4, r.coreMHz).uint(4, r.memoryMHz).uint(4, r.powerMw);
			return w.uint(4, r.temperatureC).uint(4, r.throttle).bytes;
		}
		case "error": {
			const text = new TextEncoder().encode(r.message);
			return new FieldWriter(2 + text.length).uint(2, r.code).raw(text).bytes;
		}
	}
}

/** Throws FRAME_BAD for an unknown kind and for any payload that is not exactly as FRAMES.md says. */
export function decodeReply(frame: Frame): Reply {
	const p = new FieldReader(frame.payload);
	switch (frame.kind) {
		case KIND.ready: {
			if (p.raw(MAGIC.length).some((byte, i) => byte !== MAGIC[i])) throw badFrame("READY lacks `assay-engine`");
			const version = p.u16();
			const engineVersion = p.text(MAX_VERSION_BYTES);
			if (engineVersion === "") throw badFrame("READY has no engine version");
			return p.end({ kind: "ready", version, engineVersion });
		}
		case KIND.claim:
			return p.end({ kind: "claim", json: p.text(MAX_CLAIM_BYTES) });
		case KIND.root:
			return p.end({ kind: "root", index: p.u32(), root: p.hash() });
		case KIND.progress:
			return p.end({ kind: "progress", done: p.u32(), total: p.u32() });
		case KIND.done: {
			const [count, reason] = [p.u32(), p.u8()];
			if (reason > 1) throw badFrame(`DONE with reason ${reason}`);
			return p.end({ kind: "done", count, cancelled: reason === 1 });
		}
		case KIND.opening: {
			const [round, index, leafBytes, nodes] = [p.u32(), p.u32(), p.u16(), p.u16()];
			return p.end({ kind: "opening", round, index, leaf: p.raw(leafBytes), path: p.raw(nodes * HASH_BYTES) });
		}
		case KIND.pong:
			if (frame.payload.length > MAX_PING_BYTES) throw badFrame("a PONG is too long");
			return p.end({ kind: "pong", payload: p.rest() });
		case KIND.reading: {
			const [coreMHz, memoryMHz, powerMw, temperatureC, throttle] = [p.u32(), p.u32(), p.u32(), p.u32(), p.u32()];
			return p.end({ kind: "reading", coreMHz, memoryMHz, powerMw, temperatureC, throttle });
		}
		case KIND.error:
			return p.end({ kind: "error", code: p.u16(), message: p.text(MAX_MESSAGE_BYTES) });
		default:
			throw badFrame(`kind ${frame.kind} is no reply`);
	}
}
