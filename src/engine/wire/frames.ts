// The codec of engine/FRAMES.md, both directions: the verifier encodes requests and decodes replies, a toy
// engine the reverse. Pure: bytes in, values out. It judges shapes only (sizes, fixed bytes, UTF-8); whether
// a reply fits what was asked is the client's business, and whether it is true is verify/'s. What the frames
// are is frame-table.ts; the stream is cut by frame-reader.ts.
import { utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { FMA_PRECISIONS, GEMM_PRECISIONS } from "../../protocol/maths/precision.ts";
import { badFrame, FieldReader, FieldWriter, type Frame } from "./frame-fields.ts";
import {
	ATTEST_WHATS,
	type FieldType,
	type FieldValues,
	HASH_BYTES,
	KIND,
	MAGIC,
	MAX_PLACES,
	type Place,
	REPLIES,
	REPORT_PARTS,
	REQUESTS,
	REST,
	type Reply,
	type Request,
	WHATS,
} from "./frame-table.ts";

export function encodeFrame(kind: number, id: number, payload: Uint8Array): Uint8Array {
	return new FieldWriter()
		.uint(4, 5 + payload.length)
		.uint(1, kind)
		.uint(4, id)
		.raw(payload)
		.bytes();
}

export function encodeRequest(id: number, request: Request): Uint8Array {
	return encodeFrame(KIND[request.kind], id, payloadOf(REQUESTS[request.kind].fields, request));
}

export function encodeReply(id: number, reply: Reply): Uint8Array {
	return encodeFrame(KIND[reply.kind], id, payloadOf(REPLIES[reply.kind].fields, reply));
}

/** Throws FRAME_BAD for an unknown kind, a missing or surplus byte, a reserved byte that is not 0. */
export function decodeRequest(frame: Frame): Request {
	const name = requestNames.get(frame.kind);
	if (name === undefined) throw badFrame(`kind ${frame.kind} is no request`);
	return { kind: name, ...valuesIn(REQUESTS[name].fields, frame.payload) } as Request;
}

/** Throws FRAME_BAD for an unknown kind and for any payload that is not exactly as FRAMES.md says. */
export function decodeReply(frame: Frame): Reply {
	const name = replyNames.get(frame.kind);
	if (name === undefined) throw badFrame(`kind ${frame.kind} is no reply`);
	return { kind: name, ...valuesIn(REPLIES[name].fields, frame.payload) } as Reply;
}

const namesByKind = <K extends keyof typeof KIND>(table: Record<K, unknown>): ReadonlyMap<number, K> =>
	new Map((Object.keys(table) as K[]).map((name) => [KIND[name], name]));
const requestNames = namesByKind(REQUESTS);
const replyNames = namesByKind(REPLIES);

type Fields = Readonly<Record<string, FieldType>>;

function payloadOf(fields: Fields, values: object): Uint8Array {
	const to = new FieldWriter();
	for (const [name, type] of Object.entries(fields)) {
		const codec: Codec<unknown> = CODECS[type];
		codec.write(to, (values as Record<string, unknown>)[name]);
	}
	return to.bytes();
}

function valuesIn(fields: Fields, payload: Uint8Array): Record<string, unknown> {
	const from = new FieldReader(payload);
	const values: Record<string, unknown> = {};
	for (const [name, type] of Object.entries(fields)) {
		const codec: Codec<unknown> = CODECS[type];
		const value = codec.read(from);
		if (value !== undefined) values[name] = value;
	}
	// What stands at the end of the payload, though its length stood at its place.
	for (const [name, value] of Object.entries(values)) if (value instanceof Later) values[name] = from.raw(value.size);
	return from.end(values);
}

/** A field whose bytes come after all others. */
class Later {
	readonly size: number;
	constructor(size: number) {
		this.size = size;
	}
}

interface Codec<T> {
	write(to: FieldWriter, value: T): void;
	/** Undefined: bytes that are always the same. */
	read(from: FieldReader): T | Later | undefined;
}

const uint = (size: 2 | 4 | 8): Codec<number> => ({
	write: (to, value) => to.uint(size, value),
	read: (from) => (size === 2 ? from.u16() : size === 4 ? from.u32() : from.u64()),
});
const zeros = (count: number): Codec<undefined> => ({
	write: (to) => to.raw(new Uint8Array(count)),
	read: (from) => from.zeros(count),
});
/** A word by its number, counted from `first`. */
const word = <T>(words: readonly T[], what: string, first = 0): Codec<T> => ({
	write: (to, value) => to.uint(1, words.includes(value) ? first + words.indexOf(value) : -1),
	read: (from) => from.pick(words, from.u8() - first, what),
});
const sized = (unit: number): Codec<Uint8Array> => ({
	write: (to, value) => to.uint(2, value.length / unit).later(value),
	read: (from) => new Later(from.u16() * unit),
});
const bytes = ({ min, max }: { readonly min: number; readonly max: number }): Codec<Uint8Array> => ({
	write: (to, value) => to.raw(atMost(value, max)),
	read(from) {
		const value = from.rest(max);
		if (value.length < min) throw badFrame("the payload is too short");
		return value;
	},
});
const text = ({ min, max }: { readonly min: number; readonly max: number }): Codec<string> => ({
	write: (to, value) => to.raw(atMost(utf8ToBytes(value), max)),
	read(from) {
		const value = from.text(max);
		if (value.length < min) throw badFrame("a text is missing");
		return value;
	},
});

/** What does not fit is our own mistake. */
function atMost(value: Uint8Array, max: number): Uint8Array {
	if (value.length > max) throw new RangeError(`${value.length} bytes, at most ${max} are allowed`);
	return value;
}

const magic = utf8ToBytes(MAGIC);

const CODECS: { readonly [T in FieldType]: Codec<T extends keyof FieldValues ? FieldValues[T] : undefined> } = {
	u16: uint(2),
	u32: uint(4),
	u64: uint(8),
	hash: { write: (to, value) => to.hash(value), read: (from) => from.raw(HASH_BYTES) },
	gemmPrecision: word(GEMM_PRECISIONS, "precision"),
	fmaPrecision: word(FMA_PRECISIONS, "precision", GEMM_PRECISIONS.length),
	what: word(WHATS, "what"),
	flag: word([false, true], "flag"),
	places: {
		write(to, places) {
			if (places.length > MAX_PLACES) throw new RangeError(`${places.length} places in one OPEN`);
			to.uint(4, places.length);
			for (const { round, index } of places) to.uint(4, round).uint(4, index);
		},
		read(from) {
			const count = from.u32();
			if (count < 1 || count > MAX_PLACES) throw badFrame(`${count} places in one OPEN`);
			const places: Place[] = [];
			for (let i = 0; i < count; i++) places.push({ round: from.u32(), index: from.u32() });
			return places;
		},
	},
	leaf: sized(1),
	path: sized(HASH_BYTES),
	pingBytes: bytes(REST.pingBytes),
	versionText: text(REST.versionText),
	claimText: text(REST.claimText),
	messageText: text(REST.messageText),
	programBytes: bytes(REST.programBytes),
	pieceBytes: bytes(REST.pieceBytes),
	metricBytes: bytes(REST.metricBytes),
	rootBytes: bytes(REST.rootBytes),
	reportBytes: bytes(REST.reportBytes),
	planBytes: bytes(REST.planBytes),
	pointBytes: bytes(REST.pointBytes),
	attestWhat: word(ATTEST_WHATS, "what"),
	reportPart: word(REPORT_PARTS, "part"),
	magic: {
		write: (to) => to.raw(magic),
		read(from) {
			if (from.raw(magic.length).some((byte, i) => byte !== magic[i])) throw badFrame(`READY lacks \`${MAGIC}\``);
		},
	},
	zeros1: zeros(1),
	zeros2: zeros(2),
	zeros3: zeros(3),
};
