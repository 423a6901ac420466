// Weights that validators have signed, with their signatures, as the public file of an epoch: what validators
// exchange until a quorum has signed the same. Written and read here and nowhere else. Hostile bytes: whose a
// signature is, and whether weights are right, is for the reader to find out. docs/epochs.md §4.
import type { Weights, WeightsSignature } from "./epoch-shapes.ts";
import { isHex } from "./leaf-files.ts";

export interface SignedWeights {
	readonly weights: Weights;
	readonly signatures: readonly WeightsSignature[];
}

export const MAX_STATEMENTS = 8;
const MAX_SIGNATURES = 64;
/** A statement has some 500 bytes, a signature 190. */
export const MAX_STATEMENTS_BYTES = MAX_STATEMENTS * (1024 + MAX_SIGNATURES * 256);

export const encodeStatements = (statements: readonly SignedWeights[]): string =>
	JSON.stringify({
		version: 1,
		statements: statements.slice(0, MAX_STATEMENTS).map(({ weights: w, signatures }) => ({
			weights: [String(w.epoch), w.base, String(w.set), String(w.count), String(w.totalWeight), String(w.paid), w.root],
			signatures: signatures.slice(0, MAX_SIGNATURES).map(({ signer, signature }) => [signer, signature]),
		})),
	});

/** Null for whatever is no such file. */
export function parseStatements(bytes: Uint8Array): readonly SignedWeights[] | null {
	if (bytes.length > MAX_STATEMENTS_BYTES) return null;
	try {
		const found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as {
			version?: unknown;
			statements?: unknown;
		} | null;
		if (found?.version !== 1 || !isList(found.statements, MAX_STATEMENTS)) return null;
		const all = found.statements.map(statementOf);
		return all.every((one) => one !== null) ? all : null;
	} catch {
		return null;
	}
}

function statementOf(value: unknown): SignedWeights | null {
	const { weights, signatures } = (value ?? {}) as { weights?: unknown; signatures?: unknown };
	if (!isList(weights, 7) || !isList(signatures, MAX_SIGNATURES)) return null;
	const [epoch, base, set, count, totalWeight, paid, root] = weights;
	const isWeights =
		isDecimal(epoch, 64) &&
		isHex(base, 64) &&
		isDecimal(set, 64) &&
		isDecimal(count, 32) &&
		isDecimal(totalWeight, 64) &&
		isDecimal(paid, 128) &&
		isHex(root, 64);
	if (!isWeights) return null;
	const signed = signatures.map((row) => {
		const [signer, signature] = isList(row, 2) ? row : [];
		return isHex(signer, 40) && isHex(signature, 130) ? { signer, signature } : null;
	});
	if (!signed.every((one) => one !== null)) return null;
	return {
		weights: {
			epoch: BigInt(epoch),
			base,
			set: BigInt(set),
			count: Number(count),
			totalWeight: BigInt(totalWeight),
			paid: BigInt(paid),
			root,
		},
		signatures: signed,
	};
}

const isList = (value: unknown, most: number): value is readonly unknown[] =>
	Array.isArray(value) && value.length <= most;
const isDecimal = (value: unknown, bits: number): value is string =>
	typeof value === "string" && /^(0|[1-9]\d{0,38})$/.test(value) && BigInt(value) >> BigInt(bits) === 0n;
