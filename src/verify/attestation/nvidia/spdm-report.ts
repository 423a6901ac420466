// NVIDIA's SPDM 1.1 measurement report of a GPU or switch: the request with our nonce, then the response,
// whose last 96 bytes sign all before them. Form only; what it means is in device-facts.ts, whether it is
// signed in verify-device.ts.
import { readU16 } from "../../../protocol/bytes/bytes.ts";
import { refuse } from "../verdict.ts";

export interface SpdmReport {
	readonly nonce: Uint8Array;
	/** By index, from 1. */
	readonly blocks: ReadonlyMap<number, Uint8Array>;
	/** By type. */
	readonly opaque: ReadonlyMap<number, Uint8Array>;
	readonly signed: Uint8Array;
	readonly signature: Uint8Array;
}

const REQUEST = 37;
const SIGNATURE = 96;
const MOST_BYTES = 64 * 1024;

const wrong = (where: string, detail: string): never => refuse("ATTEST_FORM", where, detail);

export function readSpdmReport(bytes: Uint8Array, where: string): SpdmReport {
	if (bytes.length > MOST_BYTES || bytes.length < REQUEST + 8 + 34 + SIGNATURE)
		return wrong(where, "not as long as a report");
	const isRequest = bytes[0] === 0x11 && bytes[1] === 0xe0 && bytes[2] === 0x01 && bytes[3] === 0xff && bytes[36] === 0;
	if (!isRequest) return wrong(where, "does not begin with a request for measurements");
	if (bytes[REQUEST] !== 0x11 || bytes[REQUEST + 1] !== 0x60)
		return wrong(where, "no response of measurements follows");
	const count = bytes[REQUEST + 4]!;
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
		blocks: readBlocks(bytes.subarray(record, record + recordLength), count, where),
		opaque: readOpaque(bytes.subarray(opaqueAt + 2, signedTo), where),
		signed: bytes.subarray(0, signedTo),
		signature: bytes.subarray(signedTo),
	};
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

function readOpaque(data: Uint8Array, where: string): Map<number, Uint8Array> {
	const fields = new Map<number, Uint8Array>();
	let at = 0;
	while (at < data.length) {
		if (at + 4 > data.length) return wrong(where, "an opaque field is cut");
		const [type, length] = [readU16(data, at), readU16(data, at + 2)];
		if (at + 4 + length > data.length) return wrong(where, `opaque field ${type} is longer than the data`);
		if (fields.has(type)) return wrong(where, `opaque field ${type} is there twice`);
		fields.set(type, data.subarray(at + 4, at + 4 + length));
		at += 4 + length;
	}
	return fields;
}
