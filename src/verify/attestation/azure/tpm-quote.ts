// A quote of a TPM 2.0 (TPMS_ATTEST, big-endian): the nonce it was given and a digest of the registers (PCRs)
// that were selected.
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { cannotTell, refuse } from "../verdict.ts";

export interface TpmQuote {
	readonly extraData: Uint8Array;
	/** Numbers of the PCRs in the digest, rising. */
	readonly selected: readonly number[];
	readonly digest: Uint8Array;
}

const PCRS = 24;
const SHA256 = 0x000b;
const wrong = (detail: string): never => refuse("ATTEST_FORM", "tpm_quote", detail);

export function readTpmQuote(bytes: Uint8Array): TpmQuote {
	let at = 0;
	const take = (length: number): Uint8Array => {
		if (at + length > bytes.length) wrong("the quote ends before its last part");
		at += length;
		return bytes.subarray(at - length, at);
	};
	const number = (length: number): number => take(length).reduce((sum, byte) => sum * 256 + byte, 0);
	const sized = (): Uint8Array => take(number(2));
	if (number(4) !== 0xff544347 || number(2) !== 0x8018) return wrong("not a quote that a TPM made");
	sized(); // the signer's name
	const extraData = sized();
	take(17 + 8); // clock, firmware version
	if (number(4) !== 1 || number(2) !== SHA256)
		return cannotTell("tpm_quote", "other registers than one selection of SHA-256");
	const select = take(number(1));
	if (select.length !== PCRS / 8) return wrong("a selection that is not of 24 registers");
	const digest = sized();
	if (at !== bytes.length) return wrong("something follows the quote");
	const selected = Array.from({ length: PCRS }, (_, i) => i).filter((i) => ((select[i >> 3]! >> (i & 7)) & 1) === 1);
	return { extraData, selected, digest };
}

/** Whether these registers give the quote's digest. */
export function arePcrsQuoted(quote: TpmQuote, pcrs: readonly Uint8Array[]): boolean {
	if (pcrs.length !== PCRS || pcrs.some((pcr) => pcr.length !== 32)) return false;
	return equalBytes(sha256(concatBytes(...quote.selected.map((i) => pcrs[i]!))), quote.digest);
}
