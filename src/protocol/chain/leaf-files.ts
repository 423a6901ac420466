// The leaves behind the roots on chain as public files: a validator's signed report, a proposal's weights. Written and read
// here and nowhere else, by validator, command line and browser. Whether leaves are the right ones only their root tells.
import type { ScoreLeaf, WeightLeaf } from "./epoch-shapes.ts";
import type { Hex } from "./hex.ts";

/** Leaves as a validator gives them out, with its EIP-712 ScoreReport signature; null where the file has none: nobody believes it then. */
export interface SignedLeaves {
	readonly leaves: readonly ScoreLeaf[];
	readonly signature: Hex | null;
}

/** A report of 20,000 providers has 3 MB. */
export const MAX_ARCHIVE_BYTES = 32 << 20;

/** Rows instead of objects: a third of the size. */
export const encodeReport = (leaves: readonly ScoreLeaf[], signature: Hex | null): string =>
	JSON.stringify({
		version: 1,
		...(signature === null ? {} : { signature }),
		leaves: leaves.map(({ provider, scorePpm, evidenceSha256 }) => [provider, scorePpm, evidenceSha256]),
	});

export const encodeWeights = (leaves: readonly WeightLeaf[]): string =>
	JSON.stringify({
		version: 1,
		leaves: leaves.map(({ provider, weightPpm, weightBefore, amountBefore }) => [
			provider,
			weightPpm,
			String(weightBefore),
			String(amountBefore),
		]),
	});

const isHex = (value: unknown, digits: number): value is Hex =>
	typeof value === "string" && value.length === digits + 2 && /^0x[0-9a-f]+$/.test(value);
const isU32 = (value: unknown): value is number =>
	typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
const isDecimal = (value: unknown, bits: number): value is string =>
	typeof value === "string" && /^\d{1,39}$/.test(value) && BigInt(value) >> BigInt(bits) === 0n;

/** Hostile bytes: null for whatever is no list of leaves. The signature has a signature's shape; whose it is, is for the caller to check. */
export function parseSignedReport(bytes: Uint8Array): SignedLeaves | null {
	const found = fileOf(bytes);
	if (found === null) return null;
	const { rows, signature } = found;
	if (!rows.every(([a, b, c]) => isHex(a, 40) && isU32(b) && isHex(c, 64))) return null;
	const leaves = rows.map(
		([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 }) as ScoreLeaf,
	);
	return { leaves, signature: isHex(signature, 130) ? signature : null };
}

export function parseWeights(bytes: Uint8Array): readonly WeightLeaf[] | null {
	const rows = fileOf(bytes)?.rows ?? null;
	if (rows === null || !rows.every(([a, b, c, d]) => isHex(a, 40) && isU32(b) && isDecimal(c, 64) && isDecimal(d, 128)))
		return null;
	return rows.map(([provider, weightPpm, weightBefore, amountBefore]) => ({
		provider: provider as Hex,
		weightPpm: weightPpm as number,
		weightBefore: BigInt(weightBefore as string),
		amountBefore: BigInt(amountBefore as string),
	}));
}

function fileOf(bytes: Uint8Array): { rows: readonly (readonly unknown[])[]; signature: unknown } | null {
	if (bytes.length > MAX_ARCHIVE_BYTES) return null;
	const found = parseJson(bytes) as { leaves?: unknown; signature?: unknown } | null;
	const { leaves, signature } = found ?? {};
	return Array.isArray(leaves) && leaves.every((row) => Array.isArray(row)) ? { rows: leaves, signature } : null;
}

function parseJson(bytes: Uint8Array): object | null {
	try {
		const found: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
		return typeof found === "object" ? found : null;
	} catch {
		return null;
	}
}
