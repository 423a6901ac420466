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
import {
	encodeReport,
	encodeWeights,
	parseSignedReport,
	parseWeights,
	type SignedLeaves,
} from "../../protocol/chain/leaf-files.ts";

export interface ReportArchive {
	/** What we are about to commit to. Nobody else sees it. */
	putDraft(epoch: number, validator: Hex, leaves: readonly ScoreLeaf[]): Promise<void>;
	draft(epoch: number, validator: Hex): Promise<readonly ScoreLeaf[] | null>;
	/** Public from here on. */
	putReport(epoch: number, validator: Hex, leaves: readonly ScoreLeaf[], signature: Hex | null): Promise<void>;
	report(epoch: number, validator: Hex): Promise<readonly ScoreLeaf[] | null>;
	signedReport(epoch: number, validator: Hex): Promise<SignedLeaves | null>;
	/** By proposer: it may be a wrong one. */
	putWeights(epoch: number, proposer: Hex, leaves: readonly WeightLeaf[]): Promise<void>;
	weights(epoch: number, proposer: Hex): Promise<readonly WeightLeaf[] | null>;
	/** Why our own scores are what they are. Not public before `publishReasons`. */
	putReasons(epoch: number, reasons: ReasonEntries, params?: ReportReasons["params"]): Promise<void>;
	publishReasons(epoch: number, validator: Hex): Promise<void>;
	/** As they were published, by whomever the file is of. */
	reasonsOf(epoch: number, validator: Hex): Promise<ReportReasons | null>;
	/** Bytes of a public file, by its name under /chain; null for anything else. */
	publicFile(path: string): Promise<Uint8Array | null>;
	/** Epochs below this one are no longer needed. */
	prune(below: number): Promise<void>;
}

const PUBLIC = /^\/chain\/(\d{1,15})\/((?:report|weights)-0x[0-9a-f]{40}\.json|reasons-0x[0-9a-f]{40}\.json\.gz)$/;

export type ArchiveKind = "report" | "weights" | "reasons";

export const archivePath = (epoch: number, kind: ArchiveKind, account: Hex): string =>
	`/chain/${epoch}/${archiveName(kind, account)}`;

const archiveName = (kind: ArchiveKind, account: Hex): string =>
	`${kind}-${account}.json${kind === "reasons" ? ".gz" : ""}`;

export function createReportArchive(folder: string): ReportArchive {
	const place = (epoch: number, name: string) => join(folder, String(epoch), name);

	const put = (epoch: number, name: string, content: string | Uint8Array | Readable) =>
		writeDurably(place(epoch, name), content);
	const bytes = (epoch: number, name: string) => readIfPresent(place(epoch, name));

	const signedReport = async (epoch: number, validator: Hex) => {
		const found = await bytes(epoch, archiveName("report", validator));
		return found === null ? null : parseSignedReport(found);
	};

	return {
		putDraft: (epoch, validator, leaves) => put(epoch, `draft-${validator}.json`, encodeReport(leaves, null)),
		async draft(epoch, validator) {
			const found = await bytes(epoch, `draft-${validator}.json`);
			return found === null ? null : (parseSignedReport(found)?.leaves ?? null);
		},
		putReport: (epoch, validator, leaves, signature) =>
			put(epoch, archiveName("report", validator), encodeReport(leaves, signature)),
		report: async (epoch, validator) => (await signedReport(epoch, validator))?.leaves ?? null,
		signedReport,
		putWeights: (epoch, proposer, leaves) => put(epoch, archiveName("weights", proposer), encodeWeights(leaves)),
		async weights(epoch, proposer) {
			const found = await bytes(epoch, archiveName("weights", proposer));
			return found === null ? null : parseWeights(found);
		},
		putReasons: (epoch, reasons, params = null) => put(epoch, OWN_REASONS, zipped(encodeReasons(reasons, params))),
		async publishReasons(epoch, validator) {
			const found = await bytes(epoch, OWN_REASONS);
			if (found !== null) await put(epoch, archiveName("reasons", validator), found);
		},
		async reasonsOf(epoch, validator) {
			const found = await bytes(epoch, archiveName("reasons", validator));
			return found === null ? null : parseReasons(found);
		},
		async publicFile(path) {
			const [, epoch, name] = PUBLIC.exec(path) ?? [];
			return epoch === undefined ? null : bytes(Number(epoch), name!);
		},
		async prune(below) {
			const names = await readdir(folder).catch(() => []);
			for (const name of names)
				if (/^\d+$/.test(name) && Number(name) < below) await rm(join(folder, name), { recursive: true, force: true });
		},
	};
}

const OWN_REASONS = "reasons.json.gz";

/** Piece by piece. Not pipe(): an error while reading would leave whoever writes waiting for ever. */
export const zipped = (text: AsyncIterable<string>): Readable => pipeline(Readable.from(text), createGzip(), () => {});
