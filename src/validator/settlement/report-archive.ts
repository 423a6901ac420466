// The leaves behind the roots on chain, as files: our own reports and weights, written before anything is
// sent or signed, and others' as they were found; and what was signed. Kept by epoch, and whoever reads one
// checks it against the chain or a signature: nothing here is believed. A draft, and the reasons behind it,
// become public when the report is revealed: who could read them earlier could commit to a copy.
// docs/epochs.md §4.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import {
	encodeReasons,
	parseReasons,
	type ReasonEntries,
	type ReportReasons,
} from "../../market/epochs/reasons-file.ts";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import type { RewardLeaf, ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { encodeReport, encodeRewards, parseReport, parseRewards } from "../../protocol/chain/leaf-files.ts";
import { encodeStatements, parseStatements, type SignedWeights } from "../../protocol/chain/statements-file.ts";

export type ReportArchive = ReturnType<typeof createReportArchive>;

const PUBLIC =
	/^\/chain\/(\d{1,15})\/(report-0x[0-9a-f]{40}\.json|rewards-0x[0-9a-f]{64}\.json|statements\.json|reasons-0x[0-9a-f]{40}\.json\.gz)$/;

/** A report and its reasons are of an account, rewards of weights' id. */
export type ArchiveKind = "report" | "rewards" | "reasons";

export const archivePath = (epoch: number, kind: ArchiveKind, of: Hex): string =>
	`/chain/${epoch}/${archiveName(kind, of)}`;

/** What was signed of an epoch's weights, as far as a validator knows. */
export const statementsPath = (epoch: number): string => `/chain/${epoch}/${STATEMENTS}`;

const STATEMENTS = "statements.json";
const archiveName = (kind: ArchiveKind, of: Hex): string => `${kind}-${of}.json${kind === "reasons" ? ".gz" : ""}`;

export function createReportArchive(folder: string) {
	const place = (epoch: number, name: string) => join(folder, String(epoch), name);

	const put = (epoch: number, name: string, content: string | Uint8Array | Readable) =>
		writeDurably(place(epoch, name), content);
	const bytes = (epoch: number, name: string) => readIfPresent(place(epoch, name));

	const read = async <T>(
		epoch: number,
		name: string,
		parse: (bytes: Uint8Array) => T | Promise<T>,
	): Promise<T | null> => {
		const found = await bytes(epoch, name);
		return found === null ? null : parse(found);
	};

	return {
		/** What we are about to commit to. Nobody else sees it. */
		putDraft: (epoch: number, validator: Hex, leaves: readonly ScoreLeaf[]) =>
			put(epoch, `draft-${validator}.json`, encodeReport(leaves)),
		draft: (epoch: number, validator: Hex) => read(epoch, `draft-${validator}.json`, parseReport),
		/** Public from here on. */
		putReport: (epoch: number, validator: Hex, leaves: readonly ScoreLeaf[]) =>
			put(epoch, archiveName("report", validator), encodeReport(leaves)),
		report: (epoch: number, validator: Hex) => read(epoch, archiveName("report", validator), parseReport),
		/** By the weights' id: they may be wrong ones. */
		putRewards: (epoch: number, id: Hex, leaves: readonly RewardLeaf[]) =>
			put(epoch, archiveName("rewards", id), encodeRewards(leaves)),
		rewards: (epoch: number, id: Hex) => read(epoch, archiveName("rewards", id), parseRewards),
		putStatements: (epoch: number, statements: readonly SignedWeights[]) =>
			put(epoch, STATEMENTS, encodeStatements(statements)),
		statements: (epoch: number) => read(epoch, STATEMENTS, parseStatements),
		/** Why our own scores are what they are. Not public before `publishReasons`. */
		putReasons: (epoch: number, reasons: ReasonEntries, params: ReportReasons["params"] = null) =>
			put(epoch, OWN_REASONS, zipped(encodeReasons(reasons, params))),
		async publishReasons(epoch: number, validator: Hex): Promise<void> {
			const found = await bytes(epoch, OWN_REASONS);
			if (found !== null) await put(epoch, archiveName("reasons", validator), found);
		},
		/** As they were published, by whomever the file is of. */
		reasonsOf: (epoch: number, validator: Hex) =>
			read(epoch, archiveName("reasons", validator), (found) => parseReasons(found)),
		/** Bytes of a public file, by its name under /chain; null for anything else. */
		async publicFile(path: string): Promise<Uint8Array | null> {
			const [, epoch, name] = PUBLIC.exec(path) ?? [];
			return epoch === undefined ? null : bytes(Number(epoch), name!);
		},
		/** Epochs below this one are no longer needed, but for `keep`. */
		async prune(below: number, keep: number | null = null): Promise<void> {
			const names = await readdir(folder).catch(() => []);
			for (const name of names)
				if (/^\d+$/.test(name) && Number(name) < below && Number(name) !== keep)
					await rm(join(folder, name), { recursive: true, force: true });
		},
	};
}

const OWN_REASONS = "reasons.json.gz";

/** Piece by piece. Not pipe(): an error while reading would leave whoever writes waiting for ever. */
export const zipped = (text: AsyncIterable<string>): Readable => pipeline(Readable.from(text), createGzip(), () => {});
