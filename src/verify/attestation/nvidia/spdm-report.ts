// NVIDIA's SPDM 1.1 measurement report of a GPU or switch: the request with our nonce, then the response,
// whose last 96 bytes sign all before them. `readFrame` finds the nonce, the contents and the signature;
// `openFrame` reads the contents. Their opaque data has two layouts. Form only; what it means is in
// device-facts.ts, whether it is signed in verify-device.ts.
import { bytesToUtf8, readU16 } from "../../../protocol/bytes/bytes.ts";
import { cannotTell, wrong } from "../verdict.ts";

export interface SpdmFrame {
	readonly nonce: Uint8Array;
	/** The number of blocks that the response announces. */
	readonly count: number;
	readonly record: Uint8Array;
	readonly opaqueData: Uint8Array;
	readonly signed: Uint8Array;
	readonly signature: Uint8Array;
}

export interface SpdmReport {
	readonly nonce: Uint8Array;
	/** By index, from 1. */
	readonly blocks: ReadonlyMap<number, Uint8Array>;
	/** By type. */
	readonly opaque: ReadonlyMap<number, Uint8Array>;
	/** Security version numbers among the opaque fields, by type; the first layout marks none as such. */
	readonly svns: ReadonlyMap<number, bigint>;
	/** Format of the opaque data, e.g. "NVDAOD 2.0.0"; null for the first layout, which has no header. */
	readonly format: string | null;
	readonly signed: Uint8Array;
	readonly signature: Uint8Array;
}

const REQUEST = 37;
const SIGNATURE = 96;
const MOST_BYTES = 64 * 1024;

export const readSpdmReport = (bytes: Uint8Array, where: string): SpdmReport =>
	openFrame(readFrame(bytes, where), where);

export function readFrame(bytes: Uint8Array, where: string): SpdmFrame {
	if (bytes[0] !== 0x11 || bytes[1] !== 0xe0)
		cannotTell(where, "it does not begin as an SPDM 1.1 report of measurements, the only kind that is read here");
	if (bytes.length > MOST_BYTES || bytes.length < REQUEST + 8 + 34 + SIGNATURE)
		return wrong(where, "not as long as a report");
	const isRequest = bytes[2] === 0x01 && bytes[3] === 0xff && bytes[36] === 0;
	if (!isRequest) return wrong(where, "does not begin with a request for measurements");
	if (bytes[REQUEST] !== 0x11 || bytes[REQUEST + 1] !== 0x60)
		return wrong(where, "no response of measurements follows");
	const recordLength = bytes[REQUEST + 5]! | (bytes[REQUEST + 6]! << 8) | (bytes[REQUEST + 7]! << 16);
	const record = REQUEST + 8;
	const opaqueAt = record + recordLength + 32;
	if (opaqueAt + 2 + SIGNATURE > bytes.length) return wrong(where, "the measurements are longer than the report");
	const opaqueLength = readU16(bytes, opaqueAt);
	if (opaqueAt + 2 + opaqueLength + SIGNATURE !== bytes.length)
		return wrong(where, "lengths do not add up to the report's");
	const signedTo = bytes.length - SIGNATURE;
	return {
		nonce: bytes.subarray(4, 36),
		count: bytes[REQUEST + 4]!,
		record: bytes.subarray(record, record + recordLength),
		opaqueData: bytes.subarray(opaqueAt + 2, signedTo),
		signed: bytes.subarray(0, signedTo),
		signature: bytes.subarray(signedTo),
	};
}

/** What the device has signed. */
export function openFrame(frame: SpdmFrame, where: string): SpdmReport {
	const { nonce, signed, signature } = frame;
	const blocks = readBlocks(frame.record, frame.count, where);
	return { nonce, blocks, ...readOpaque(frame.opaqueData, where), signed, signature };
}

function readBlocks(record: Uint8Array, count: number, where: string): Map<number, Uint8Array> {
	const blocks = new Map<number, Uint8Array>();
	let at = 0;
	while (at < record.length) {
		if (at + 7 > record.length) return wrong(where, "a measurement block is cut");
		const index = record[at]!;
		const size = readU16(record, at + 2);
		const length = readU16(record, at + 5);
		if (record[at + 1] !== 1 || size !== length + 3) return wrong(where, `block ${index} is no DMTF measurement`);
		if (at + 7 + length > record.length) return wrong(where, `block ${index} is longer than the record`);
		if (index === 0 || blocks.has(index)) return wrong(where, `block ${index} is there twice, or has no index`);
		blocks.set(index, record.subarray(at + 7, at + 7 + length));
		at += 7 + length;
	}
	return blocks.size === count ? blocks : wrong(where, `${blocks.size} blocks where ${count} are announced`);
}

/**
 * The second layout begins with this magic, a profile (u16), then major, minor, patch and padding, one byte
 * each. Its fields say the kind of their value besides: {type u16, kind u16, size u16, bytes}. The numbers of
 * the types are those of the first layout.
 */
const MAGIC = "NVDAOD";
const HEADER = 12;
const MAJOR = 2;
/** In the first layout this field says the version. */
const VERSION_FIELD = 34;
/** The kind of value that SPDM calls a raw security version number. */
const RAW_SVN = 0x87;

type Opaque = Pick<SpdmReport, "opaque" | "svns" | "format">;

function readOpaque(data: Uint8Array, where: string): Opaque {
	if (bytesToUtf8(data.subarray(0, MAGIC.length)) !== MAGIC) {
		const fields = readFields(data, 0, 0, where);
		const version = numberOf(fields.opaque.get(VERSION_FIELD) ?? new Uint8Array(0));
		if (version === null || version > MAJOR)
			cannotTell(where, `opaque data of version ${version} is newer than this release`);
		return { ...fields, format: null };
	}
	if (data.length < HEADER) return wrong(where, "the header of the opaque data is cut");
	const [major, minor, patch, padding] = data.subarray(8, HEADER);
	const profile = readU16(data, 6);
	const format = `${MAGIC} ${major}.${minor}.${patch}`;
	if (profile !== 0 || major !== MAJOR || padding !== 0)
		cannotTell(where, `the opaque data has the format ${format}, profile ${profile}, which this release does not know`);
	return { ...readFields(data, HEADER, 2, where), format };
}

/** `kindBytes`: how many bytes say the kind of a field's value. */
function readFields(data: Uint8Array, from: number, kindBytes: 0 | 2, where: string): Omit<Opaque, "format"> {
	const opaque = new Map<number, Uint8Array>();
	const svns = new Map<number, bigint>();
	const head = 4 + kindBytes;
	let at = from;
	while (at < data.length) {
		if (at + head > data.length) return wrong(where, "an opaque field is cut");
		const [type, length] = [readU16(data, at), readU16(data, at + 2 + kindBytes)];
		if (at + head + length > data.length) return wrong(where, `opaque field ${type} is longer than the data`);
		if (opaque.has(type)) return wrong(where, `opaque field ${type} is there twice`);
		const value = data.subarray(at + head, at + head + length);
		const svn = kindBytes === 2 && readU16(data, at + 2) === RAW_SVN ? numberOf(value) : null;
		if (svn !== null) svns.set(type, svn);
		opaque.set(type, value);
		at += head + length;
	}
	return { opaque, svns };
}

/** Little-endian, at most eight bytes; null: longer. */
const numberOf = (bytes: Uint8Array): bigint | null =>
	bytes.length > 8 ? null : bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
