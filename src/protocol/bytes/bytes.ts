// Bytes: hex, little-endian integers, joining, comparing. Nothing that knows what the bytes mean.
// Written without Node's Buffer so that the same code runs in a browser.

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function bytesToHex(bytes: Uint8Array): string {
	let hex = "";
	for (const byte of bytes) hex += HEX[byte];
	return hex;
}

/** By character code: its value, or 255 for what is no lower-case hex digit. */
const DIGIT = new Uint8Array(128).fill(255);
for (let digit = 0; digit < 16; digit++) DIGIT[digit.toString(16).charCodeAt(0)] = digit;

/**
 * Lower-case hex only, so that one value has one spelling; anything else gives null. `length` in bytes, when
 * it is known.
 */
export function hexToBytes(hex: string, length?: number): Uint8Array | null {
	if (hex.length % 2 !== 0 || (length !== undefined && hex.length !== 2 * length)) return null;
	const bytes = new Uint8Array(hex.length / 2);
	for (let i = 0; i < bytes.length; i++) {
		const high = DIGIT[hex.charCodeAt(2 * i)] ?? 255;
		const low = DIGIT[hex.charCodeAt(2 * i + 1)] ?? 255;
		if ((high | low) > 15) return null;
		bytes[i] = (high << 4) | low;
	}
	return bytes;
}

export function u32(value: number): Uint8Array {
	const bytes = new Uint8Array(4);
	writeU32(bytes, 0, value);
	return bytes;
}

export function writeU16(bytes: Uint8Array, at: number, value: number): void {
	bytes[at] = value;
	bytes[at + 1] = value >>> 8;
}

export function writeU32(bytes: Uint8Array, at: number, value: number): void {
	bytes[at] = value;
	bytes[at + 1] = value >>> 8;
	bytes[at + 2] = value >>> 16;
	bytes[at + 3] = value >>> 24;
}

/** `value` is a safe integer, so the upper word has 21 bits at most. */
export function writeU64(bytes: Uint8Array, at: number, value: number): void {
	writeU32(bytes, at, value >>> 0);
	writeU32(bytes, at + 4, Math.floor(value / 0x1_0000_0000));
}

export function readU16(bytes: Uint8Array, at: number): number {
	return bytes[at]! | (bytes[at + 1]! << 8);
}

export function readU32(bytes: Uint8Array, at: number): number {
	return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/** May pass 2^53 on hostile bytes: check with Number.isSafeInteger before use. */
export function readU64(bytes: Uint8Array, at: number): number {
	return readU32(bytes, at + 4) * 0x1_0000_0000 + readU32(bytes, at);
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
	let length = 0;
	for (const part of parts) length += part.length;
	const joined = new Uint8Array(length);
	let at = 0;
	for (const part of parts) {
		joined.set(part, at);
		at += part.length;
	}
	return joined;
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
	if (a.length !== b.length) return false;
	for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
	return true;
}

export function utf8ToBytes(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}

/**
 * Null when the bytes are not UTF-8. A byte order mark is kept as a character: dropping it would give one
 * text two spellings.
 */
export function bytesToUtf8(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		return null;
	}
}
