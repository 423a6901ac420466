// The list of a draw as bytes: 32 of each provider's id, four of its weight. Other lists stay in the draw's
// body as they are.
import type { Json } from "../../protocol/bytes/canonical-json.ts";

const ENTRY_BYTES = 36;

/** Null: no list of providers and weights, or one that would not come back as it is. */
export function packList(list: Json | undefined): Buffer | null {
	if (!Array.isArray(list)) return null;
	const bytes = Buffer.alloc(ENTRY_BYTES * list.length);
	for (let i = 0; i < list.length; i++) {
		const entry = (list[i] ?? {}) as Record<string, Json>;
		const { provider, weightPpm } = entry;
		const isPlain = typeof provider === "string" && provider.length === 64 && Object.keys(entry).length === 2;
		const isWeight = Number.isInteger(weightPpm) && (weightPpm as number) >= 0 && (weightPpm as number) < 2 ** 32;
		if (!isPlain || !isWeight) return null;
		const written = bytes.write(provider, ENTRY_BYTES * i, "hex");
		if (written !== 32 || provider !== provider.toLowerCase()) return null;
		bytes.writeUInt32LE(weightPpm as number, ENTRY_BYTES * i + 32);
	}
	return bytes;
}

export function unpackList(bytes: Buffer): { readonly provider: string; readonly weightPpm: number }[] {
	return Array.from({ length: bytes.length / ENTRY_BYTES }, (_, i) => ({
		provider: bytes.toString("hex", ENTRY_BYTES * i, ENTRY_BYTES * i + 32),
		weightPpm: bytes.readUInt32LE(ENTRY_BYTES * i + 32),
	}));
}
