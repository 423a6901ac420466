// Evidence files for an audit, by their hashes: from folders of this machine, else from the API of the
// validator that names them. Hostile: bounded here, judged by whoever asked for them.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { sleep } from "../../platform/abortable.ts";
import { fetchBounded } from "../../platform/bounded-fetch.ts";
import { MAX_FILE_BYTES } from "../../protocol/probe/container.ts";

const FETCH_WITHIN_MS = 60_000;
/** A validator's API lets one address read so often; then it asks for patience. */
const PAUSE_MS = 1000;
const ATTEMPTS = 5;

export function readEvidenceFrom(options: {
	readonly contracts: Contracts;
	readonly folders: readonly string[];
	readonly isFetched: boolean;
}): (sha256: string, validator: `0x${string}`) => Promise<Uint8Array | null> {
	const endpoints = new Map<string, string>();
	async function endpointOf(validator: `0x${string}`): Promise<string> {
		const known = endpoints.get(validator) ?? (await readAccount(options.contracts, validator)).endpoint;
		endpoints.set(validator, known);
		return known;
	}
	return async (sha256, validator) => {
		if (!/^[0-9a-f]{64}$/.test(sha256)) return null;
		for (const folder of options.folders) {
			// As a data folder has them, or one beside the other.
			for (const name of [join(sha256.slice(0, 2), sha256.slice(2)), sha256, `${sha256}.assay`]) {
				const found = await readOrNull(join(folder, name));
				if (found !== null) return found;
			}
		}
		const endpoint = options.isFetched ? await endpointOf(validator) : "";
		if (!/^https?:\/\//.test(endpoint)) return null;
		for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
			const url = new URL(`/v1/evidence/${sha256}`, endpoint);
			const limits = { mostBytes: MAX_FILE_BYTES, withinMs: FETCH_WITHIN_MS };
			try {
				return await fetchBounded(url, limits);
			} catch {
				await sleep((attempt + 1) * PAUSE_MS);
			}
		}
		return null;
	};
}

async function readOrNull(path: string): Promise<Uint8Array | null> {
	try {
		return await readFile(path);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return null;
		throw error;
	}
}
