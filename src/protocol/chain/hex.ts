// Hex text as chains write it (0x, lower case), and numbers packed as the EVM packs them. Pure.
import { bytesToHex, hexToBytes } from "../bytes/bytes.ts";

export type Hex = `0x${string}`;

export const toHex = (bytes: Uint8Array): Hex => `0x${bytesToHex(bytes)}`;

/** Throws RangeError for anything but 0x and lower-case hex of that many bytes. */
export function fromHex(value: string, bytes: number): Uint8Array {
	const found = value.startsWith("0x") ? hexToBytes(value.slice(2), bytes) : null;
	if (found === null) throw new RangeError(`not 0x and ${2 * bytes} lower-case hex digits: ${value.slice(0, 80)}`);
	return found;
}

/** `value` as big-endian bytes, as the EVM packs it. */
export function packed(value: bigint | number, bytes: number): Uint8Array {
	const number = BigInt(value);
	if (number < 0n || number >> BigInt(8 * bytes) !== 0n) throw new RangeError(`${value} does not fit ${bytes} bytes`);
	return fromHex(`0x${number.toString(16).padStart(2 * bytes, "0")}`, bytes);
}
