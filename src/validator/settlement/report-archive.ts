// The leaves behind the roots on chain, as files: our own reports and proposals, written before anything is
// sent, and others' as they were found. A file is kept by epoch, kind and account, and whoever reads one
// checks it against the chain: nothing here is believed. A draft, and the reasons behind it, become public
// when the report is revealed and signed: who could read them earlier could commit to a copy. docs/epochs.md
// §4.
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
import type { ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { encodeReport, encodeWeights, parseSignedReport, parseWeights } from "../../protocol/chain/leaf-files.ts";

export type ReportArchive = ReturnType<typeof createReportArchive>;

const PUBLIC = /^\/chain\/(\d{1,15})\/((?:report|weights)-0x[0-9a-f]{40}\.json|reasons-0x[0-9a-f]{40}\.json\.gz)$/;

export type ArchiveKind = "report" | "weights" | "reasons";

export const archivePath = (epoch: number, kind: ArchiveKind, account: Hex): string =>
	`/chain/${epoch}/${archiveName(kind, account)}`;

const archiveName = (kind: ArchiveKind, account: Hex): string =>
	`${kind}-${account}.json${kind === "reasons" ? ".gz" : ""}`;

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
	const signedReport = (epoch: number, validator: Hex) =>
		read(epoch, archiveName("report", validator), parseSignedReport);

	return {
		/** What we are about to commit to. Nobody else sees it. */
		putDraft: (epoch: number, validator: Hex, leaves: readonly ScoreLeaf[]) =>
			put(epoch, `draft-${validator}.json`, encodeReport(leaves, null)),
		draft: async (epoch: number, validator: Hex) =>
			(await read(epoch, `draft-${validator}.json`, parseSignedReport))?.leaves ?? null,
		/** Public from here on. */
		putReport: (epoch: number, validator: Hex, leaves: readonly ScoreLeaf[], signature: Hex | null) =>
			put(epoch, archiveName("report", validator), encodeReport(leaves, signature)),
		report: async (epoch: number, validator: Hex) => (await signedReport(epoch, validator))?.leaves ?? null,
		signedReport,
		/** By proposer: it may be a wrong one. */
		putWeights: (epoch: number, proposer: Hex, leaves: readonly WeightLeaf[]) =>
			put(epoch, archiveName("weights", proposer), encodeWeights(leaves)),
		weights: (epoch: number, proposer: Hex) => read(epoch, archiveName("weights", proposer), parseWeights),
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
		/** Epochs below this one are no longer needed. */
		async prune(below: number): Promise<void> {
			const names = await readdir(folder).catch(() => []);
			for (const name of names)
				if (/^\d+$/.test(name) && Number(name) < below) await rm(join(folder, name), { recursive: true, force: true });
		},
	};
}

const OWN_REASONS = "reasons.json.gz";

/** Piece by piece. Not pipe(): an error while reading would leave whoever writes waiting for ever. */
export const zipped = (text: AsyncIterable<string>): Readable => pipeline(Readable.from(text), createGzip(), () => {});
