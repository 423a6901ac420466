// Leaves of other validators' reports and proposals, from the address that each wrote on chain. Hostile: parsed and bounded here, and whoever asks compares them
// with the root on chain.
import type { ChainClient } from "../../chain/chain-client.ts";
import type { ContractAddresses } from "../../chain/deploy.ts";
import { readAccount } from "../../chain/registry.ts";
import type { ScoreLeaf } from "../../market/score-report.ts";
import type { Hex } from "../../market/sorted-openings.ts";
import type { WeightLeaf } from "../../market/weight-proposal.ts";
import { archivePath, MOST_ARCHIVE_BYTES, parseReport, parseWeights } from "./report-archive.ts";

export interface LeafFetcher {
	report(epoch: number, validator: Hex): Promise<readonly ScoreLeaf[] | null>;
	weights(epoch: number, proposer: Hex): Promise<readonly WeightLeaf[] | null>;
}

const FETCH_WITHIN_MS = 20_000;

export function createLeafFetcher(
	client: ChainClient,
	at: ContractAddresses,
	onFailure: (from: Hex, error: unknown) => void,
): LeafFetcher {
	async function fetchFile(epoch: number, kind: "report" | "weights", from: Hex): Promise<Uint8Array | null> {
		const { endpoint } = await readAccount(client, at, from);
		if (!/^https?:\/\//.test(endpoint)) return null;
		try {
			// The address is whatever its owner wrote: no redirects, no more bytes than a report can have.
			const url = new URL(archivePath(epoch, kind, from), endpoint);
			const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(FETCH_WITHIN_MS) });
			if (!response.ok || response.body === null) return null;
			const chunks: Uint8Array[] = [];
			let size = 0;
			for await (const chunk of response.body) {
				size += chunk.length;
				if (size > MOST_ARCHIVE_BYTES) return null;
				chunks.push(chunk);
			}
			return Buffer.concat(chunks);
		} catch (error) {
			onFailure(from, error);
			return null;
		}
	}
	return {
		async report(epoch, validator) {
			const bytes = await fetchFile(epoch, "report", validator);
			return bytes === null ? null : parseReport(bytes);
		},
		async weights(epoch, proposer) {
			const bytes = await fetchFile(epoch, "weights", proposer);
			return bytes === null ? null : parseWeights(bytes);
		},
	};
}
