// Leaves of other validators' reports and proposals, and the reasons behind scores, from the address that
// each wrote on chain. Hostile: parsed and bounded here, and whoever asks compares them with the root on
// chain. A report without its validator's signature is none: who gives out two must be bound by both.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { parseReasons, type ReportReasons } from "../../market/epochs/reasons-file.ts";
import { readScoreReport } from "../../market/epochs/score-report.ts";
import { fetchBounded } from "../../platform/bounded-fetch.ts";
import type { ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { MAX_ARCHIVE_BYTES, parseSignedReport, parseWeights } from "../../protocol/chain/leaf-files.ts";
import { isReportSigned } from "../../protocol/chain/report-signature.ts";
import { type ArchiveKind, archivePath } from "./report-archive.ts";

/** What a validator says of an epoch, by its own signature. */
export interface FetchedReport {
	readonly leaves: readonly ScoreLeaf[];
	readonly signature: Hex;
}

const FETCH_WITHIN_MS = 20_000;

export function createLeafFetcher(contracts: Contracts, onFailure: (from: Hex, error: unknown) => void) {
	async function fetchFile(epoch: number, kind: ArchiveKind, from: Hex): Promise<Uint8Array | null> {
		const { endpoint } = await readAccount(contracts, from);
		if (!/^https?:\/\//.test(endpoint)) return null;
		try {
			// The address is whatever its owner wrote.
			const url = new URL(archivePath(epoch, kind, from), endpoint);
			return await fetchBounded(url, { mostBytes: MAX_ARCHIVE_BYTES, withinMs: FETCH_WITHIN_MS });
		} catch (error) {
			onFailure(from, error);
			return null;
		}
	}
	return {
		async report(epoch: number, validator: Hex): Promise<FetchedReport | null> {
			const bytes = await fetchFile(epoch, "report", validator);
			const found = bytes === null ? null : parseSignedReport(bytes);
			if (found === null) return null;
			const { leaves, signature } = found;
			const root = readScoreReport(leaves).reportRoot;
			if (
				signature !== null &&
				isReportSigned(contracts.addresses, { validator, epoch: BigInt(epoch), root }, signature)
			)
				return { leaves, signature };
			onFailure(validator, new Error(`the report of epoch ${epoch} is not signed by ${validator}`));
			return null;
		},
		async weights(epoch: number, proposer: Hex): Promise<readonly WeightLeaf[] | null> {
			const bytes = await fetchFile(epoch, "weights", proposer);
			return bytes === null ? null : parseWeights(bytes);
		},
		async reasons(epoch: number, validator: Hex): Promise<ReportReasons | null> {
			const bytes = await fetchFile(epoch, "reasons", validator);
			return bytes === null ? null : parseReasons(bytes);
		},
	};
}
