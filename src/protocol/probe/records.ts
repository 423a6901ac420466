// Root and opening records: the binary attachments of an evidence file, exactly as they came over the wire.
//   root     u32 index ‖ u64 atUs ‖ 32 root
//   opening  u32 round ‖ u32 index ‖ u16 leaf bytes ‖ u16 path nodes ‖ leaf ‖ path (32 bytes each, bottom up)
// Decoding never throws; a record cut short or a byte too many gives null, with the record's number.
import { readU16, readU32, readU64, writeU16, writeU32, writeU64 } from "../bytes/bytes.ts";

const HASH_BYTES = 32;
const ROOT_RECORD_BYTES = 4 + 8 + HASH_BYTES;
const OPENING_HEAD_BYTES = 4 + 4 + 2 + 2;
/**
 * No tree of this protocol is deeper than 43. A hostile path beyond this is not taken apart: it is wrong at
 * 65 nodes as well.
 */
const MAX_PATH_NODES = 65;

export interface RootRecord {
	readonly index: number;
	/** When the chunk that completed its frame was read, on the verifier's clock. */
	readonly atUs: number;
	readonly root: Uint8Array;
}

export interface OpeningRecord {
	readonly round: number;
	readonly index: number;
	readonly leaf: Uint8Array;
	readonly path: readonly Uint8Array[];
}

export type RecordsResult<T> =
	| { readonly ok: true; readonly records: readonly T[] }
	| { readonly ok: false; readonly record: number; readonly detail: string };

export function encodeRoots(records: readonly RootRecord[]): Uint8Array {
	const bytes = new Uint8Array(records.length * ROOT_RECORD_BYTES);
	records.forEach((record, i) => {
		const at = i * ROOT_RECORD_BYTES;
		writeU32(bytes, at, record.index);
		writeU64(bytes, at + 4, record.atUs);
		bytes.set(record.root, at + 12);
	});
	return bytes;
}

export function decodeRoots(bytes: Uint8Array): RecordsResult<RootRecord> {
	const records: RootRecord[] = [];
	for (let at = 0; at < bytes.length; at += ROOT_RECORD_BYTES) {
		if (at + ROOT_RECORD_BYTES > bytes.length)
			return { ok: false, record: records.length, detail: "a root record is cut short" };
		const atUs = readU64(bytes, at + 4);
		if (!Number.isSafeInteger(atUs)) return { ok: false, record: records.length, detail: "a time beyond all clocks" };
		records.push({ index: readU32(bytes, at), atUs, root: bytes.subarray(at + 12, at + ROOT_RECORD_BYTES) });
	}
	return { ok: true, records };
}

export function encodeOpenings(records: readonly OpeningRecord[]): Uint8Array {
	let length = 0;
	for (const record of records) length += OPENING_HEAD_BYTES + record.leaf.length + HASH_BYTES * record.path.length;
	const bytes = new Uint8Array(length);
	let at = 0;
	for (const record of records) {
		writeU32(bytes, at, record.round);
		writeU32(bytes, at + 4, record.index);
		writeU16(bytes, at + 8, record.leaf.length);
		writeU16(bytes, at + 10, record.path.length);
		bytes.set(record.leaf, at + OPENING_HEAD_BYTES);
		at += OPENING_HEAD_BYTES + record.leaf.length;
		for (const node of record.path) {
			bytes.set(node, at);
			at += HASH_BYTES;
		}
	}
	return bytes;
}

export function decodeOpenings(bytes: Uint8Array): RecordsResult<OpeningRecord> {
	const records: OpeningRecord[] = [];
	const cut = (): RecordsResult<OpeningRecord> => ({
		ok: false,
		record: records.length,
		detail: "an opening record is cut short",
	});
	let at = 0;
	while (at < bytes.length) {
		if (at + OPENING_HEAD_BYTES > bytes.length) return cut();
		const leafEnd = at + OPENING_HEAD_BYTES + readU16(bytes, at + 8);
		const end = leafEnd + HASH_BYTES * readU16(bytes, at + 10);
		if (end > bytes.length) return cut();
		const path: Uint8Array[] = [];
		const pathEnd = Math.min(end, leafEnd + HASH_BYTES * MAX_PATH_NODES);
		for (let node = leafEnd; node < pathEnd; node += HASH_BYTES) path.push(bytes.subarray(node, node + HASH_BYTES));
		records.push({
			round: readU32(bytes, at),
			index: readU32(bytes, at + 4),
			leaf: bytes.subarray(at + OPENING_HEAD_BYTES, leafEnd),
			path,
		});
		at = end;
	}
	return { ok: true, records };
}
