// Amounts of tokens (and of the chain's own coin) as people write them: 18 decimals, shown with up to six
// digits.
import { usageError } from "../options.ts";

const UNIT = 10n ** 18n;

/** Whole tokens with up to six digits, cut. */
export function formatTokens(amount: bigint): string {
	const fraction = String(((amount % UNIT) * 1_000_000n) / UNIT)
		.padStart(6, "0")
		.replace(/0+$/, "");
	return `${amount / UNIT}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Of millionths, as validators reckon. */
export const formatMicros = (micros: number): string => formatTokens(BigInt(micros) * (UNIT / 1_000_000n));

export function parseTokens(given: string): bigint {
	const found = /^(\d{1,12})(?:\.(\d{1,18}))?$/.exec(given);
	const amount = found === null ? 0n : BigInt(found[1]!) * UNIT + BigInt((found[2] ?? "").padEnd(18, "0"));
	if (amount === 0n) throw usageError(`an amount of tokens is a number above 0, not '${given}'`);
	return amount;
}
