// Strict DER: definite lengths in their shortest form, tags below 31, one spelling for booleans, integers and
// object identifiers, nothing left over. Elements are read one by one by whoever knows their schema, so
// nesting costs no recursion.
import { bytesToHex, bytesToUtf8 } from "../../../protocol/bytes/bytes.ts";
import { utcMs } from "../bytes.ts";
import { wrong } from "../verdict.ts";

export const TAG = {
	boolean: 0x01,
	integer: 0x02,
	bitString: 0x03,
	octetString: 0x04,
	oid: 0x06,
	enumerated: 0x0a,
	utf8: 0x0c,
	printable: 0x13,
	teletex: 0x14,
	ia5: 0x16,
	utcTime: 0x17,
	generalTime: 0x18,
	sequence: 0x30,
	set: 0x31,
} as const;

export interface Der {
	readonly tag: number;
	/** Without tag and length. */
	readonly value: Uint8Array;
	/** With them. */
	readonly whole: Uint8Array;
	readonly where: string;
}

/** Reads elements from the front. */
export class DerReader {
	readonly #bytes: Uint8Array;
	readonly #where: string;
	#at = 0;

	constructor(bytes: Uint8Array, where: string) {
		this.#bytes = bytes;
		this.#where = where;
	}

	get isAtEnd(): boolean {
		return this.#at === this.#bytes.length;
	}

	/** The tag of the next element; -1 at the end. */
	get tag(): number {
		return this.#bytes[this.#at] ?? -1;
	}

	next(tag?: number): Der {
		const start = this.#at;
		const found = this.tag;
		if (found < 0) return wrong(this.#where, "DER ends where an element is due");
		if (tag !== undefined && found !== tag) return wrong(this.#where, `DER tag ${found} where ${tag} is due`);
		if ((found & 0x1f) === 0x1f || found === 0) return wrong(this.#where, "a DER tag that is not in use");
		let from = start + 2;
		let length = this.#bytes[start + 1] ?? 0x80;
		if (length >= 0x80) {
			const count = length & 0x7f;
			if (count === 0 || count > 3 || from + count > this.#bytes.length)
				return wrong(this.#where, "a DER length that is not definite");
			length = 0;
			for (let i = 0; i < count; i++) length = length * 256 + this.#bytes[from + i]!;
			from += count;
			if (length < 0x80 || length < 256 ** (count - 1))
				return wrong(this.#where, "a DER length that is not the shortest");
		}
		const end = from + length;
		if (end > this.#bytes.length) return wrong(this.#where, "a DER element is longer than what holds it");
		this.#at = end;
		const { value, whole } = { value: this.#bytes.subarray(from, end), whole: this.#bytes.subarray(start, end) };
		return { tag: found, value, whole, where: this.#where };
	}

	/** The next element if it has this tag. */
	optional(tag: number): Der | null {
		return this.tag === tag ? this.next(tag) : null;
	}

	end(): void {
		if (!this.isAtEnd) wrong(this.#where, "DER goes on where it should end");
	}
}

/** The one element that the bytes are. */
export function derOf(bytes: Uint8Array, where: string, tag?: number): Der {
	const reader = new DerReader(bytes, where);
	const der = reader.next(tag);
	reader.end();
	return der;
}

export const inside = ({ value, where }: Der): DerReader => new DerReader(value, where);

/** All elements inside, each with this tag where one is given; at most `most`. */
export function itemsOf(der: Der, tag?: number, most = 100_000): Der[] {
	const reader = inside(der);
	const items: Der[] = [];
	while (!reader.isAtEnd) {
		if (items.length === most) return wrong(der.where, `more than ${most} elements`);
		items.push(reader.next(tag));
	}
	return items;
}

export function oidOf(der: Der): string {
	const { value, where } = der;
	if (der.tag !== TAG.oid || value.length === 0 || value.length > 32) return wrong(where, "no object identifier");
	const arcs: number[] = [];
	let arc = 0;
	for (let i = 0; i < value.length; i++) {
		const byte = value[i]!;
		if (arc === 0 && byte === 0x80) return wrong(where, "an object identifier that is not the shortest");
		arc = arc * 128 + (byte & 0x7f);
		if (arc > 2 ** 40) return wrong(where, "an object identifier that is too large");
		if (byte >= 0x80) {
			if (i === value.length - 1) return wrong(where, "an object identifier that does not end");
			continue;
		}
		if (arcs.length === 0) {
			const first = Math.min(2, Math.floor(arc / 40));
			arcs.push(first, arc - 40 * first);
		} else arcs.push(arc);
		arc = 0;
	}
	return arcs.join(".");
}

/** The bytes of an integer, most significant first, in its shortest form. */
export function integerBytes(der: Der): Uint8Array {
	const { value, where } = der;
	if (der.tag !== TAG.integer && der.tag !== TAG.enumerated) return wrong(where, "no integer");
	const [first, second] = [value[0], value[1]];
	if (first === undefined) return wrong(where, "an integer without bytes");
	if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80)))
		return wrong(where, "an integer that is not the shortest");
	return value;
}

/** An integer of 0 to 2^31 − 1. */
export function smallInteger(der: Der): number {
	const bytes = integerBytes(der);
	if (bytes.length > 4 || bytes[0]! >= 0x80) return wrong(der.where, "an integer that is out of range");
	return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** Serial numbers as lower-case hex, without the sign's zero byte. */
export function serialHex(der: Der): string {
	const bytes = integerBytes(der);
	if (bytes.length > 21 || bytes[0]! >= 0x80) return wrong(der.where, "a serial number that is too long or negative");
	return bytesToHex(bytes[0] === 0 && bytes.length > 1 ? bytes.subarray(1) : bytes);
}

export function booleanOf(der: Der): boolean {
	const byte = der.value[0];
	if (der.tag !== TAG.boolean || der.value.length !== 1 || (byte !== 0 && byte !== 0xff))
		return wrong(der.where, "no boolean");
	return byte === 0xff;
}

/** A bit string of whole bytes. */
export function bitsOf(der: Der): Uint8Array {
	if (der.tag !== TAG.bitString || der.value[0] !== 0) return wrong(der.where, "no bit string of whole bytes");
	return der.value.subarray(1);
}

export function textOf(der: Der): string {
	if (![TAG.utf8, TAG.printable, TAG.teletex, TAG.ia5].includes(der.tag as never) || der.value.length > 1024)
		return wrong(der.where, "no text");
	return bytesToUtf8(der.value) ?? wrong(der.where, "text that is not UTF-8");
}

export function timeOf(der: Der): number {
	const text = bytesToUtf8(der.value) ?? "";
	const pattern =
		der.tag === TAG.utcTime ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/ : /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
	const parts = der.tag === TAG.utcTime || der.tag === TAG.generalTime ? pattern.exec(text) : null;
	if (parts === null) return wrong(der.where, "no time in UTC");
	const [years, month, day, hour, minute, second] = parts.slice(1).map(Number);
	const year = der.tag === TAG.generalTime ? years! : years! + (years! < 50 ? 2000 : 1900);
	return utcMs(year, month!, day!, hour!, minute!, second!) ?? wrong(der.where, "no such time");
}
