// Texts that carry bytes, read strictly: base64 (also of URLs), hex of either case, PEM blocks. One value has
// one spelling here, but for white space in base64 and the case of hex, which vendors mix. And the times of
// certificates, without a clock.
import { bytesToUtf8, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { refuse } from "./verdict.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < 62; i++) VALUES[ALPHABET.charCodeAt(i)] = i;
VALUES["+".charCodeAt(0)] = 62;
VALUES["-".charCodeAt(0)] = 62;
VALUES["/".charCodeAt(0)] = 63;
VALUES["_".charCodeAt(0)] = 63;

/**
 * Standard or URL alphabet (not both in one text), padding as it must be or none at all, spare bits zero;
 * null otherwise.
 */
export function base64ToBytes(text: string): Uint8Array | null {
	const packed = text.replace(/[ \t\r\n]+/g, "");
	const body = packed.replace(/={1,2}$/, "");
	if (body.length !== packed.length && packed.length % 4 !== 0) return null;
	if (body.length % 4 === 1 || (/[+/]/.test(body) && /[-_]/.test(body))) return null;
	const bytes = new Uint8Array(Math.floor((body.length * 3) / 4));
	let bits = 0;
	let held = 0;
	let at = 0;
	for (let i = 0; i < body.length; i++) {
		const code = body.charCodeAt(i);
		const value = code < 128 ? VALUES[code]! : -1;
		if (value < 0) return null;
		held = ((held << 6) | value) & 0xffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			bytes[at++] = held >> bits;
		}
	}
	return (held & ((1 << bits) - 1)) === 0 ? bytes : null;
}

/** Hex of either case; null otherwise. */
export const anyHexToBytes = (text: string): Uint8Array | null => hexToBytes(text.toLowerCase());

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\r\n]*)-----END CERTIFICATE-----/g;
const MOST_CERTIFICATES = 16;
const MOST_PEM_CHARS = 128 * 1024;

/**
 * The certificates of a PEM text; nothing but white space (and zero bytes at its end) may stand between and
 * around them.
 */
export function pemToDers(text: string, where: string): Uint8Array[] {
	if (text.length > MOST_PEM_CHARS) refuse("ATTEST_FORM", where, "the certificates are longer than any chain");
	if (!/^[\s\0]*$/.test(text.replace(PEM_BLOCK, "")))
		refuse("ATTEST_FORM", where, "something other than certificates in the PEM text");
	const blocks = [...text.matchAll(PEM_BLOCK)];
	if (blocks.length === 0 || blocks.length > MOST_CERTIFICATES)
		refuse("ATTEST_FORM", where, `${blocks.length} certificates in the PEM text`);
	return blocks.map(
		([, body], i) => base64ToBytes(body!) ?? refuse("ATTEST_FORM", `${where}[${i}]`, "the certificate is not base64"),
	);
}

/** A chain as bytes: PEM, or one certificate in DER. */
export function certificatesIn(bytes: Uint8Array, where: string): Uint8Array[] {
	if (bytes[0] === 0x30) return [bytes];
	return pemToDers(bytesToUtf8(bytes) ?? refuse("ATTEST_FORM", where, "neither PEM nor DER"), where);
}

/** Milliseconds since 1970 in UTC; null when there is no such moment. */
export function utcMs(
	year: number,
	month: number,
	day: number,
	hour: number,
	minute: number,
	second: number,
): number | null {
	const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
	const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
	if (days === undefined || day < 1 || day > days || hour > 23 || minute > 59 || second > 59) return null;
	// Days from civil, by Hinnant: years begin in March, eras have 400 of them.
	const y = month <= 2 ? year - 1 : year;
	const era = Math.floor(y / 400);
	const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
	const yearOfEra = y - era * 400;
	const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
	return (((era * 146_097 + dayOfEra - 719_468) * 24 + hour) * 60 + minute) * 60_000 + second * 1000;
}

/** "2025-06-19T10:16:03Z", as Intel writes it; null otherwise. */
export function isoToMs(text: string): number | null {
	const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z$/.exec(text);
	if (parts === null) return null;
	const [year, month, day, hour, minute, second] = parts.slice(1).map(Number);
	return utcMs(year!, month!, day!, hour!, minute!, second!);
}

/** Calendar day of a moment, "2026-06-01". */
export function dayOf(ms: number): string {
	const days = Math.floor(ms / 86_400_000) + 719_468;
	const era = Math.floor(days / 146_097);
	const dayOfEra = days - era * 146_097;
	const yearOfEra = Math.floor(
		(dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
	);
	const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
	const shifted = Math.floor((5 * dayOfYear + 2) / 153);
	const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
	const month = shifted + (shifted < 10 ? 3 : -9);
	const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
	return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
}
