// Public files behind an epoch's roots as a browser reads them: leaves of reports and weights, reasons of scores. Hostile bytes: null for whatever is none.

import { readScoreReport, type ScoreReport } from "../../src/market/epochs/score-report.ts";
import type { Explanation } from "../../src/market/scores/explanation.ts";
import type { ScoreLeaf, WeightLeaf } from "../../src/protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, toHex } from "../../src/protocol/chain/hex.ts";

const MAX_UNPACKED_BYTES = 200_000_000;

function rowsOf(bytes: Uint8Array): readonly (readonly unknown[])[] | null {
	try {
		const { leaves } = JSON.parse(new TextDecoder().decode(bytes)) as { leaves?: unknown };
		return Array.isArray(leaves) && leaves.every((row) => Array.isArray(row)) ? leaves : null;
	} catch {
		return null;
	}
}

export function reportOf(bytes: Uint8Array): ScoreReport | null {
	const rows = rowsOf(bytes);
	try {
		// Throws for whatever is no leaf.
		return rows === null
			? null
			: readScoreReport(
					rows.map(([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 }) as ScoreLeaf),
				);
	} catch {
		return null;
	}
}

export function weightsOf(bytes: Uint8Array): readonly WeightLeaf[] | null {
	const rows = rowsOf(bytes);
	if (rows === null) return null;
	try {
		return rows.map(([provider, weightPpm, weightBefore, amountBefore]) => ({
			provider: toHex(fromHex(String(provider), 20)),
			weightPpm: Number(weightPpm),
			weightBefore: BigInt(String(weightBefore)),
			amountBefore: BigInt(String(amountBefore)),
		}));
	} catch {
		return null;
	}
}

export async function reasonsOf(bytes: Uint8Array): Promise<Readonly<Record<Hex, Explanation>> | null> {
	try {
		const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip"));
		const parts: Uint8Array<ArrayBuffer>[] = [];
		let size = 0;
		const reader = stream.getReader();
		for (;;) {
			const { value, done } = await reader.read();
			if (done) break;
			size += value.length;
			if (size > MAX_UNPACKED_BYTES) return null;
			parts.push(value);
		}
		const found = JSON.parse(await new Blob(parts).text()) as { reasons?: Record<Hex, Explanation> };
		return typeof found.reasons === "object" && found.reasons !== null ? found.reasons : null;
	} catch {
		return null;
	}
}
