// The leaves behind the roots on chain as public files: a validator's report, and what signed weights give
// each account. Written and read here and nowhere else, by validator, command line and browser. Nothing is
// signed in them: whether leaves are the right ones only their root tells.
import { MAX_REPORT_LEAVES, type RewardLeaf, type ScoreLeaf } from "./epoch-shapes.ts";
import type { Hex } from "./hex.ts";

/** A report of 20,000 providers has 3 MB, weights of as many accounts as much. */
export const MAX_ARCHIVE_BYTES = 32 << 20;

/** Rows instead of objects: a third of the size. */
export const encodeReport = (leaves: readonly ScoreLeaf[]): string =>
	JSON.stringify({
		version: 2,
		leaves: leaves.map(({ provider, scorePpm, evidenceSha256 }) => [provider, scorePpm, evidenceSha256]),
	});

/**
 * With the sums before each leaf, though they follow from the others: in a statement that is wrong they may
 * not.
 */
export const encodeRewards = (leaves: readonly RewardLeaf[]): string =>
	JSON.stringify({
		version: 2,
		leaves: leaves.map(({ account, weightPpm, weightBefore, earned, earnedBefore, total }) => [
			account,
			weightPpm,
			String(weightBefore),
			String(earned),
			String(earnedBefore),
			String(total),
		]),
	});

export const isHex = (value: unknown, digits: number): value is Hex =>
	typeof value === "string" && value.length === digits + 2 && /^0x[0-9a-f]+$/.test(value);
const isU32 = (value: unknown): value is number =>
	typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
const isDecimal = (value: unknown, bits: number): value is string =>
	typeof value === "string" && /^\d{1,39}$/.test(value) && BigInt(value) >> BigInt(bits) === 0n;

/** Hostile bytes: null for whatever is no list of leaves. */
export function parseReport(bytes: Uint8Array): readonly ScoreLeaf[] | null {
	const rows = rowsOf(bytes);
	// One more than a report may have still shows that it is malformed.
	if (rows === null || rows.length > 2 * MAX_REPORT_LEAVES) return null;
	if (!rows.every(([a, b, c]) => isHex(a, 40) && isU32(b) && isHex(c, 64))) return null;
	return rows.map(([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 }) as ScoreLeaf);
}

/** Hostile bytes: null for whatever is no list of leaves. */
export function parseRewards(bytes: Uint8Array): readonly RewardLeaf[] | null {
	const rows = rowsOf(bytes);
	const isRow = ([account, weight, before, ...amounts]: readonly unknown[]) =>
		isHex(account, 40) && isU32(weight) && isDecimal(before, 64) && [0, 1, 2].every((i) => isDecimal(amounts[i], 128));
	if (rows === null || !rows.every(isRow)) return null;
	return rows.map(([account, weightPpm, weightBefore, earned, earnedBefore, total]) => ({
		account: account as Hex,
		weightPpm: weightPpm as number,
		weightBefore: BigInt(weightBefore as string),
		earned: BigInt(earned as string),
		earnedBefore: BigInt(earnedBefore as string),
		total: BigInt(total as string),
	}));
}

function rowsOf(bytes: Uint8Array): readonly (readonly unknown[])[] | null {
	if (bytes.length > MAX_ARCHIVE_BYTES) return null;
	const { version, leaves } = (parseJson(bytes) ?? {}) as { version?: unknown; leaves?: unknown };
	return version === 2 && Array.isArray(leaves) && leaves.every((row) => Array.isArray(row)) ? leaves : null;
}

function parseJson(bytes: Uint8Array): object | null {
	try {
		const found: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
		return typeof found === "object" ? found : null;
	} catch {
		return null;
	}
}
