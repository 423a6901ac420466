// The leaves behind the roots on chain, as files: our own reports and proposals, written before anything is
// sent, and others' as they were found. A file is kept by epoch, kind and account, and whoever reads one
// checks it against the chain: nothing here is believed. A draft, and the reasons behind it, become public
// when the report is revealed and signed: who could read them earlier could commit to a copy. docs/epochs.md
// §4.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import type { ScoreLeaf, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { encodeReasons, parseReasons, type ReasonEntries, type ReportReasons } from "./reasons-file.ts";

/** Leaves with their validator's EIP-712 ScoreReport signature. Null: unsigned, and worth nothing. */
export interface SignedLeaves {
	readonly leaves: readonly ScoreLeaf[];
	readonly signature: Hex | null;
}

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

/** A report of 20,000 providers has 3 MB. */
export const MAX_ARCHIVE_BYTES = 32 << 20;
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
			return found === null ? null : parseReport(found);
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
		putReasons: (epoch, reasons, params = null) => put(epoch, OWN_REASONS, encodeReasons(reasons, params)),
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

/** Rows instead of objects: a third of the size. */
const encodeReport = (leaves: readonly ScoreLeaf[], signature: Hex | null): string =>
	JSON.stringify({
		version: 1,
		...(signature === null ? {} : { signature }),
		leaves: leaves.map(({ provider, scorePpm, evidenceSha256 }) => [provider, scorePpm, evidenceSha256]),
	});

const encodeWeights = (leaves: readonly WeightLeaf[]): string =>
	JSON.stringify({
		version: 1,
		leaves: leaves.map(({ provider, weightPpm, weightBefore, amountBefore }) => [
			provider,
			weightPpm,
			String(weightBefore),
			String(amountBefore),
		]),
	});

const isHex = (value: unknown, digits: number): value is Hex =>
	typeof value === "string" && value.length === digits + 2 && /^0x[0-9a-f]+$/.test(value);
const isU32 = (value: unknown): value is number =>
	typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
const isDecimal = (value: unknown, bits: number): value is string =>
	typeof value === "string" && /^\d{1,39}$/.test(value) && BigInt(value) >> BigInt(bits) === 0n;

/** Hostile bytes: null for anything but a list of leaves. Only their root tells whether they are right. */
const parseReport = (bytes: Uint8Array): readonly ScoreLeaf[] | null => parseSignedReport(bytes)?.leaves ?? null;

/** The signature has a signature's shape; whose it is, is for the caller to check. */
export function parseSignedReport(bytes: Uint8Array): SignedLeaves | null {
	const found = fileOf(bytes);
	if (found === null) return null;
	const { rows, signature } = found;
	if (!rows.every(([a, b, c]) => isHex(a, 40) && isU32(b) && isHex(c, 64))) return null;
	const leaves = rows.map(
		([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 }) as ScoreLeaf,
	);
	return { leaves, signature: isHex(signature, 130) ? signature : null };
}

export function parseWeights(bytes: Uint8Array): readonly WeightLeaf[] | null {
	const rows = fileOf(bytes)?.rows ?? null;
	if (rows === null || !rows.every(([a, b, c, d]) => isHex(a, 40) && isU32(b) && isDecimal(c, 64) && isDecimal(d, 128)))
		return null;
	return rows.map(([provider, weightPpm, weightBefore, amountBefore]) => ({
		provider: provider as Hex,
		weightPpm: weightPpm as number,
		weightBefore: BigInt(weightBefore as string),
		amountBefore: BigInt(amountBefore as string),
	}));
}

function fileOf(bytes: Uint8Array): { rows: readonly (readonly unknown[])[]; signature: unknown } | null {
	if (bytes.length > MAX_ARCHIVE_BYTES) return null;
	const found = parseJson(bytes) as { leaves?: unknown; signature?: unknown } | null;
	const { leaves, signature } = found ?? {};
	return Array.isArray(leaves) && leaves.every((row) => Array.isArray(row)) ? { rows: leaves, signature } : null;
}

function parseJson(bytes: Uint8Array): object | null {
	try {
		const found: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
		return typeof found === "object" ? found : null;
	} catch {
		return null;
	}
}
