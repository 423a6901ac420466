// The codec of engine/FRAMES.md: every frame there and back, at every cut of the stream, and every way a
// frame can be wrong.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { frameHeader, framesPage, HEADER, PAGE } from "../../../scripts/generate-frames.ts";
import { scaled } from "../../../tests/fuzz.test-kit.ts";
import { PRECISIONS } from "../../protocol/maths/precision.ts";
import type { Frame } from "./frame-fields.ts";
import { FrameReader } from "./frame-reader.ts";
import {
	ATTEST_WHATS,
	type FieldType,
	KIND,
	MAX_LENGTH_TO_ENGINE,
	MAX_LENGTH_TO_VERIFIER,
	type Place,
	REPLIES,
	REPORT_PARTS,
	REQUESTS,
	REST,
	type Reply,
	type Request,
	WHATS,
} from "./frame-table.ts";
import { decodeReply, decodeRequest, encodeFrame, encodeReply, encodeRequest } from "./frames.ts";

/** xorshift32: the same cases on every run. */
function createRandom(seed: number): (range: number) => number {
	let x = seed;
	return (range) => {
		x ^= x << 13;
		x ^= x >>> 17;
		x ^= x << 5;
		return (x >>> 0) % range;
	};
}

const random = createRandom(0xa55a);
const bytes = (size: number) => Uint8Array.from({ length: size }, () => random(256));
const u32 = () => random(2 ** 32);

const requests: Request[] = [
	{ kind: "hello", version: 3 },
	{
		kind: "gemm",
		session: 7,
		device: 1,
		precision: "bf16",
		m: 128,
		n: 512,
		k: 256,
		rounds: 3,
		keep: 2,
		seed: bytes(32),
	},
	{ kind: "stream", session: 7, reader: 3, newest: 2, passes: 4, nonce: bytes(32) },
	{ kind: "copy", session: 7, device: 2, newest: 9, nonce: bytes(32) },
	{ kind: "read", device: 258 },
	{ kind: "chase", session: 7, newest: 0, intervals: 4096, nonce: bytes(32) },
	{ kind: "open", session: 7, what: "hops", places: [{ round: 4095, index: 3 }] },
	{ kind: "open", session: 7, what: "copied-digests", places: [{ round: 0, index: 1 }] },
	{ kind: "fma", session: 8, device: 65535, precision: "fp64", lanes: 256, steps: 512, rounds: 2, seed: bytes(32) },
	{
		kind: "open",
		session: 7,
		what: "digests",
		places: [
			{ round: 0, index: 5 },
			{ round: 2, index: 2 ** 32 - 1 },
		],
	},
	{ kind: "release", session: 2 ** 32 - 1 },
	{ kind: "ping", payload: bytes(64) },
	{ kind: "ping", payload: bytes(0) },
	{ kind: "cancel", target: 3 },
	{ kind: "program", session: 9, device: 1, seed: bytes(32), program: bytes(300) },
	{ kind: "tensor", session: 9, tensor: 4095, offset: 2 ** 53 - 1, bytes: bytes(70_000) },
	{ kind: "hash", session: 9, tensor: 0 },
	{ kind: "load", session: 9, tensor: 3, root: bytes(32) },
	{ kind: "run", session: 9, first: 2 ** 31 - 1, count: 5, saveEvery: 0 },
	{ kind: "save", session: 9 },
	{ kind: "fetch", session: 9, tensor: 3, offset: 2 ** 40, length: 2 ** 33 + 7 },
	{ kind: "trace", session: 9, segment: 17 },
	{ kind: "attest", what: "guest", nonce: bytes(32), set: bytes(32) },
	{ kind: "prover", session: 10, device: 1, plan: bytes(72) },
	{ kind: "give", session: 10, number: 66, offset: 2 ** 40, bytes: bytes(640) },
	{ kind: "commit", session: 10, firstStep: 2 ** 32 - 1, seed: bytes(32) },
	{ kind: "prove", session: 10, statement: bytes(32) },
	{ kind: "part", session: 10, statement: bytes(32), nonce: bytes(32) },
	{ kind: "fold", session: 10, secret: bytes(32) },
	{ kind: "wrapper", session: 11, device: 1, form: 2, inputs: 3, wires: 2 ** 32 - 1, log2: 28, circuitBytes: 2 ** 40 },
	{ kind: "wrap", session: 11, r: bytes(32), s: bytes(32) },
	{ kind: "key", session: 11 },
	{
		kind: "evaluate",
		session: 10,
		tensor: 2,
		reading: 1,
		columns: 785,
		shift: 3,
		add: 256,
		most: 2047,
		point: bytes(64),
	},
	{ kind: "ask", session: 9, segment: 17, step: 3, op: 65_534, places: [{ round: 255, index: 2 ** 32 - 1 }] },
];
const replies: Reply[] = [
	{ kind: "ready", version: 3, engineVersion: "0.1.0+é" },
	{ kind: "claim", json: '{"devices":[]}' },
	{ kind: "root", index: 9, root: bytes(32) },
	{ kind: "progress", done: 1, total: 2 },
	{ kind: "done", count: 10, cancelled: true },
	{ kind: "opening", round: 1, index: 2, leaf: bytes(1024), path: bytes(7 * 32) },
	{ kind: "opening", round: 1, index: 2, leaf: bytes(0), path: bytes(0) },
	{ kind: "pong", payload: bytes(16) },
	{ kind: "reading", coreMHz: 1980, memoryMHz: 3201, powerMw: 699_000, temperatureC: 71, throttle: 4 },
	{ kind: "plan", peakBytes: 2 ** 53 - 1, stateBytes: 2 ** 33, initOps: 0, stepOps: 65_535 },
	{ kind: "metric", segment: 1, step: 65_535, tensor: 4095, bytes: bytes(8192) },
	{ kind: "segment", segment: 2 ** 31 - 1, saved: true, roots: bytes(96) },
	{ kind: "segment", segment: 0, saved: false, roots: bytes(0) },
	{ kind: "bytes", bytes: bytes(5000) },
	{ kind: "report", index: 65_535, part: "chain", bytes: bytes(300) },
	{ kind: "error", code: 4, message: "no room" },
];

/** Frames cut from the chunks; payloads are copied, as they are only valid during the call. */
function cut(chunks: readonly Uint8Array[], maxLength = MAX_LENGTH_TO_VERIFIER): Frame[] {
	const frames: Frame[] = [];
	const reader = new FrameReader(maxLength);
	for (const chunk of chunks) {
		reader.push(chunk, (frame) => {
			frames.push({ ...frame, payload: new Uint8Array(frame.payload) });
			return true;
		});
	}
	assert.equal(reader.midFrame, false);
	return frames;
}

function lengthField(length: number): Uint8Array {
	const field = new Uint8Array(4);
	new DataView(field.buffer).setUint32(0, length, true);
	return field;
}

const frameCode = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

test("every request and reply comes back as it was", () => {
	for (const request of requests) {
		const [frame] = cut([encodeRequest(77, request)], MAX_LENGTH_TO_ENGINE);
		assert.equal(frame?.id, 77);
		assert.deepEqual(decodeRequest(frame), request);
	}
	for (const reply of replies) {
		const [frame] = cut([encodeReply(2 ** 32 - 1, reply)]);
		assert.equal(frame?.id, 2 ** 32 - 1);
		assert.deepEqual(decodeReply(frame), reply);
	}
});

interface FrameRow {
	readonly to: "engine" | "verifier";
	readonly name: string;
	readonly refused: "" | "frame" | "value" | "length";
	readonly fields: string;
	readonly frame: string;
}

/** As vectors/README.md writes the values of a frame. */
function fieldsText(value: Request | Reply): string {
	const { fields } = { ...REQUESTS, ...REPLIES }[value.kind];
	const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
	const texts = Object.entries(fields).flatMap(([name, type]: [string, FieldType]) => {
		const field = (value as unknown as Record<string, unknown>)[name];
		if (field === undefined) return [];
		if (type === "gemmPrecision" || type === "fmaPrecision") return `${name}=${PRECISIONS.indexOf(field as never)}`;
		if (type === "what") return `${name}=${WHATS.indexOf(field as never)}`;
		if (type === "attestWhat") return `${name}=${ATTEST_WHATS.indexOf(field as never)}`;
		if (type === "reportPart") return `${name}=${REPORT_PARTS.indexOf(field as never)}`;
		if (field instanceof Uint8Array) return `${name}=${hexOf(field)}`;
		if (typeof field === "string") return `${name}=${hexOf(Buffer.from(field))}`;
		if (Array.isArray(field)) return `${name}=${(field as Place[]).map((p) => `${p.round}:${p.index}`).join(",")}`;
		return `${name}=${Number(field)}`;
	});
	return texts.join(" ");
}

test("every frame of vectors/frames.json is read as it says, or refused", () => {
	const path = new URL("../../../vectors/frames.json", import.meta.url);
	const rows = JSON.parse(readFileSync(path, "utf8")) as FrameRow[];
	const kinds = new Set<string>();
	for (const row of rows) {
		const bytes = Buffer.from(row.frame, "hex");
		const isRequest = row.to === "engine";
		const read = () => {
			const [frame] = cut([bytes], isRequest ? MAX_LENGTH_TO_ENGINE : MAX_LENGTH_TO_VERIFIER);
			return isRequest ? decodeRequest(frame!) : decodeReply(frame!);
		};
		if (row.refused !== "") {
			const codes = row.refused === "length" ? ["FRAME_BAD", "FRAME_TOO_LARGE"] : ["FRAME_BAD"];
			assert.throws(read, (error: { code?: string }) => codes.includes(error.code ?? ""), row.name);
			continue;
		}
		const value = read();
		assert.equal(value.kind, row.name);
		assert.equal(fieldsText(value), row.fields, row.name);
		const again = isRequest ? encodeRequest(0x01020304, value as Request) : encodeReply(0x01020304, value as Reply);
		assert.equal(Buffer.from(again).toString("hex"), row.frame, row.name);
		kinds.add(row.name);
	}
	assert.deepEqual([...kinds].sort(), Object.keys(KIND).sort(), "a good frame of every kind");
});

test("the engine's header and the page follow the table", () => {
	assert.equal(readFileSync(HEADER, "utf8"), frameHeader(), "run node scripts/generate-frames.ts");
	const page = readFileSync(PAGE, "utf8");
	assert.equal(page, framesPage(page), "run node scripts/generate-frames.ts");
});

test("a stream reads the same wherever it is cut", () => {
	const stream = Buffer.concat(replies.map((reply, i) => encodeReply(i, reply)));
	const whole = cut([stream]);
	assert.equal(whole.length, replies.length);
	for (let at = 0; at <= stream.length; at++) {
		assert.deepEqual(cut([stream.subarray(0, at), stream.subarray(at)]), whole);
	}
	assert.deepEqual(cut([...stream].map((byte) => Uint8Array.of(byte))), whole);
	for (let run = 0; run < 200; run++) {
		const chunks: Uint8Array[] = [];
		for (let at = 0; at < stream.length; ) {
			const size = random(100);
			chunks.push(stream.subarray(at, at + size));
			at += size;
		}
		assert.deepEqual(cut(chunks), whole);
	}
});

test("a length outside the limits is refused from its four bytes, for good", () => {
	for (const [length, code] of [
		[0, "FRAME_BAD"],
		[4, "FRAME_BAD"],
		[MAX_LENGTH_TO_VERIFIER + 1, "FRAME_TOO_LARGE"],
		[1 << 30, "FRAME_TOO_LARGE"],
		[2 ** 32 - 1, "FRAME_TOO_LARGE"],
	] as const) {
		const reader = new FrameReader(MAX_LENGTH_TO_VERIFIER);
		assert.throws(() => reader.push(lengthField(length), () => assert.fail("no frame")), frameCode(code));
		assert.equal(reader.heldBytes, 0);
		assert.throws(() => reader.push(encodeReply(1, replies[3]!), () => assert.fail("no frame")), frameCode(code));
	}
	for (const length of [5, MAX_LENGTH_TO_ENGINE]) {
		const frames = cut([lengthField(length), new Uint8Array(length)], MAX_LENGTH_TO_ENGINE);
		assert.equal(frames[0]?.payload.length, length - 5);
	}
	assert.throws(() => cut([lengthField(MAX_LENGTH_TO_ENGINE + 1)], MAX_LENGTH_TO_ENGINE), frameCode("FRAME_TOO_LARGE"));
});

test("an announced length takes no room before its bytes come", () => {
	const reader = new FrameReader(MAX_LENGTH_TO_VERIFIER);
	reader.push(lengthField(MAX_LENGTH_TO_VERIFIER), () => assert.fail("no frame"));
	assert.equal(reader.heldBytes, 4);
	assert.equal(reader.midFrame, true);
	reader.push(new Uint8Array(1000), () => assert.fail("no frame"));
	assert.equal(reader.heldBytes, 1004);
});

const takesTheRest = (fields: Readonly<Record<string, FieldType>>) =>
	Object.values(fields).some((type) => type in REST);

test("a missing or surplus byte, a reserved bit, an unknown word is a bad frame", () => {
	for (const reply of replies) {
		const [frame] = cut([encodeReply(1, reply)]);
		const { payload } = frame!;
		// Texts, echoes and pieces have no fixed size: for those the limits below apply.
		if (takesTheRest(REPLIES[reply.kind].fields)) continue;
		for (let size = 0; size < payload.length; size++) {
			assert.throws(() => decodeReply({ ...frame!, payload: payload.subarray(0, size) }), frameCode("FRAME_BAD"));
		}
		assert.throws(
			() => decodeReply({ ...frame!, payload: Buffer.concat([payload, bytes(1)]) }),
			frameCode("FRAME_BAD"),
		);
	}
	for (const request of requests) {
		const [frame] = cut([encodeRequest(1, request)]);
		const { payload } = frame!;
		if (takesTheRest(REQUESTS[request.kind].fields)) continue;
		assert.throws(() => decodeRequest({ ...frame!, payload: payload.subarray(1) }), frameCode("FRAME_BAD"));
		assert.throws(
			() => decodeRequest({ ...frame!, payload: Buffer.concat([payload, bytes(1)]) }),
			frameCode("FRAME_BAD"),
		);
	}
	const bad = (kind: number, payload: Uint8Array) =>
		assert.throws(() => decodeReply({ kind, id: 1, payload }), frameCode("FRAME_BAD"));
	bad(0x8c, bytes(0));
	bad(KIND.bytes, bytes(0));
	bad(KIND.bytes, new Uint8Array((1 << 20) + 1));
	bad(KIND.metric, new Uint8Array(10 + 8192 + 1));
	bad(KIND.plan, new Uint8Array(24).fill(0xff));
	bad(KIND.reading, bytes(0));
	bad(KIND.hello, Uint8Array.of(1, 0));
	bad(KIND.done, Uint8Array.of(0, 0, 0, 0, 2));
	bad(KIND.pong, bytes(65));
	bad(KIND.claim, new Uint8Array(64 * 1024 + 1).fill(0x20));
	bad(KIND.claim, Uint8Array.of(0xff));
	bad(KIND.error, new Uint8Array(2 + 1025).fill(0x20));
	bad(KIND.ready, Buffer.from("assay-engine\x01\x00"));
	bad(KIND.ready, Buffer.from("assay-enginE\x01\x000.1.0"));
	bad(KIND.ready, Buffer.from(`assay-engine\x01\x00${"v".repeat(65)}`));
	const worse = (kind: number, payload: Uint8Array) =>
		assert.throws(() => decodeRequest({ kind, id: 1, payload }), frameCode("FRAME_BAD"));
	worse(KIND.ready, bytes(0));
	worse(KIND.open, new Uint8Array(12));
	worse(KIND.open, Uint8Array.of(1, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, ...new Uint8Array(8)));
	worse(KIND.stream, Uint8Array.of(1, 0, 0, 0, 0, 0, 1, 0, ...new Uint8Array(40)));
	worse(KIND.copy, Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 1, ...new Uint8Array(36)));
	worse(KIND.ping, bytes(65));
});

test("random payloads never do worse than a bad frame", () => {
	for (let run = 0; run < scaled(20_000); run++) {
		// Half of them of a kind that exists, of a size that may fit.
		const kinds = Object.values(KIND);
		const frame = {
			kind: random(2) ? kinds[random(kinds.length)]! : random(256),
			id: u32(),
			payload: bytes(random(80)),
		};
		if (random(4) === 0) frame.payload.fill(0, 4);
		if (random(4) === 0) frame.payload.fill(0, 5, 8);
		for (const decode of [decodeReply, decodeRequest]) {
			try {
				const value = decode(frame) as Reply & Request;
				const again = decode === decodeReply ? encodeReply(frame.id, value) : encodeRequest(frame.id, value);
				assert.deepEqual(Buffer.from(again), Buffer.from(encodeFrame(frame.kind, frame.id, frame.payload)));
			} catch (error) {
				assert.equal((error as { code?: string }).code, "FRAME_BAD");
			}
		}
	}
});

test("what does not fit its field is our own mistake", () => {
	assert.throws(() => encodeRequest(1, { kind: "release", session: -1 }), RangeError);
	assert.throws(() => encodeRequest(2 ** 32, { kind: "release", session: 1 }), RangeError);
	assert.throws(
		() => encodeRequest(1, { kind: "stream", session: 1, reader: 0, newest: 0, passes: 1.5, nonce: bytes(32) }),
		RangeError,
	);
	assert.throws(
		() => encodeRequest(1, { kind: "stream", session: 1, reader: 0, newest: 0, passes: 1, nonce: bytes(31) }),
		RangeError,
	);
	assert.throws(() => encodeRequest(1, { kind: "ping", payload: bytes(65) }), RangeError);
	const places = Array.from({ length: 4097 }, () => ({ round: 0, index: 0 }));
	assert.throws(() => encodeRequest(1, { kind: "open", session: 1, what: "leaves", places }), RangeError);
});
