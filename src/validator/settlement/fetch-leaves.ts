// Files of other validators: leaves of reports and of weights, what they signed, the reasons behind scores;
// from the address that each wrote on chain. Hostile: bounded in bytes and time and parsed here; whoever asks
// compares them with the root on chain, or checks the signatures.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { parseReasons, type ReportReasons } from "../../market/epochs/reasons-file.ts";
import { fetchBounded } from "../../platform/bounded-fetch.ts";
import type { RewardLeaf, ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { MAX_ARCHIVE_BYTES, parseReport, parseRewards } from "../../protocol/chain/leaf-files.ts";
import { MAX_STATEMENTS_BYTES, parseStatements, type SignedWeights } from "../../protocol/chain/statements-file.ts";
import { archivePath, statementsPath } from "./report-archive.ts";

/** How much is taken of whom. */
export interface FetchFrom {
	readonly from: Hex;
	readonly mostBytes?: number;
	readonly withinMs?: number;
	/** Ends it. */
	readonly signal?: AbortSignal;
}

export type LeafFetcher = ReturnType<typeof createLeafFetcher>;

const FETCH_WITHIN_MS = 20_000;

/**
 * Each is null when the other has none, or more than the bound; and throws when it fails or talks nonsense.
 */
export function createLeafFetcher(contracts: Contracts) {
	async function fetchFile<T>(
		path: string,
		{ from, mostBytes = MAX_ARCHIVE_BYTES, withinMs = FETCH_WITHIN_MS, signal }: FetchFrom,
		parse: (bytes: Uint8Array) => T | Promise<T | null> | null,
	): Promise<T | null> {
		const { endpoint } = await readAccount(contracts, from);
		if (!/^https?:\/\//.test(endpoint)) throw new Error(`${from} has no address on chain`);
		// The address is whatever its owner wrote.
		const bytes = await fetchBounded(new URL(path, endpoint), { mostBytes, withinMs, signal });
		const found = bytes === null ? null : await parse(bytes);
		if (bytes !== null && found === null) throw new Error(`${from} gives something else out as ${path}`);
		return found;
	}
	return {
		/** The leaves of a validator's report, from whoever has them. */
		report: (epoch: number, validator: Hex, from: FetchFrom): Promise<readonly ScoreLeaf[] | null> =>
			fetchFile(archivePath(epoch, "report", validator), from, parseReport),
		rewards: (epoch: number, id: Hex, from: FetchFrom): Promise<readonly RewardLeaf[] | null> =>
			fetchFile(archivePath(epoch, "rewards", id), from, parseRewards),
		statements: (epoch: number, from: FetchFrom): Promise<readonly SignedWeights[] | null> =>
			fetchFile(statementsPath(epoch), { mostBytes: MAX_STATEMENTS_BYTES, ...from }, parseStatements),
		reasons: (epoch: number, validator: Hex, from: FetchFrom = { from: validator }): Promise<ReportReasons | null> =>
			fetchFile(archivePath(epoch, "reasons", validator), from, (bytes) => parseReasons(bytes)),
	};
}
