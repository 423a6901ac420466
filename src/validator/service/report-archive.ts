// The leaves behind the roots on chain, as files: our own reports and proposals, written before anything is sent, and others' as they were found. A file is kept
// by epoch, kind and account, and whoever reads one checks it against the chain: nothing here is believed. Everything in it is public.
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Explanation } from "../../market/explanation.ts";
import type { ScoreLeaf } from "../../market/score-report.ts";
import type { Hex } from "../../market/sorted-openings.ts";
import type { WeightLeaf } from "../../market/weight-proposal.ts";

export interface ReportArchive {
	putReport(epoch: number, validator: Hex, leaves: readonly ScoreLeaf[]): Promise<void>;
	report(epoch: number, validator: Hex): Promise<readonly ScoreLeaf[] | null>;
	/** By proposer: it may be a wrong one. */
	putWeights(epoch: number, proposer: Hex, leaves: readonly WeightLeaf[]): Promise<void>;
	weights(epoch: number, proposer: Hex): Promise<readonly WeightLeaf[] | null>;
	/** Why our own scores are what they are, by provider's account. */
	putReasons(epoch: number, reasons: Readonly<Record<Hex, Explanation>>): Promise<void>;
	reasons(epoch: number): Promise<Readonly<Record<Hex, Explanation>> | null>;
	/** Bytes of a public file, by its name under /chain; null for anything else. */
	publicFile(path: string): Promise<Uint8Array | null>;
	/** Epochs below this one are no longer needed. */
	prune(below: number): Promise<void>;
}

/** A report of 20,000 providers has 3 MB. */
export const MOST_ARCHIVE_BYTES = 32 << 20;
const PUBLIC = /^\/chain\/(\d{1,15})\/(report|weights)-(0x[0-9a-f]{40})\.json$/;

export const archivePath = (epoch: number, kind: "report" | "weights", account: Hex): string =>
	`/chain/${epoch}/${kind}-${account}.json`;

export function createReportArchive(folder: string): ReportArchive {
	const place = (epoch: number, name: string) => join(folder, String(epoch), name);

	async function put(epoch: number, name: string, bytes: string | Uint8Array): Promise<void> {
		await mkdir(join(folder, String(epoch)), { recursive: true, mode: 0o700 });
		const path = place(epoch, name);
		const file = await open(`${path}.new`, "w", 0o600);
		try {
			await file.writeFile(bytes);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(`${path}.new`, path);
	}

	async function bytes(epoch: number, name: string): Promise<Buffer | null> {
		try {
			return await readFile(place(epoch, name));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
			throw error;
		}
	}

	return {
		putReport: (epoch, validator, leaves) => put(epoch, `report-${validator}.json`, encodeReport(leaves)),
		async report(epoch, validator) {
			const found = await bytes(epoch, `report-${validator}.json`);
			return found === null ? null : parseReport(found);
		},
		putWeights: (epoch, proposer, leaves) => put(epoch, `weights-${proposer}.json`, encodeWeights(leaves)),
		async weights(epoch, proposer) {
			const found = await bytes(epoch, `weights-${proposer}.json`);
			return found === null ? null : parseWeights(found);
		},
		async putReasons(epoch, reasons) {
			await put(epoch, "reasons.json.gz", await promisify(gzip)(JSON.stringify(reasons)));
		},
		async reasons(epoch) {
			const found = await bytes(epoch, "reasons.json.gz");
			return found === null ? null : JSON.parse(String(await promisify(gunzip)(found)));
		},
		async publicFile(path) {
			const [, epoch, kind, account] = PUBLIC.exec(path) ?? [];
			return epoch === undefined ? null : bytes(Number(epoch), `${kind}-${account}.json`);
		},
		async prune(below) {
			const names = await readdir(folder).catch(() => []);
			for (const name of names)
				if (/^\d+$/.test(name) && Number(name) < below) await rm(join(folder, name), { recursive: true, force: true });
		},
	};
}

/** Rows instead of objects: a third of the size. */
const encodeReport = (leaves: readonly ScoreLeaf[]): string =>
	JSON.stringify({
		version: 1,
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

/** Hostile bytes: null for whatever is no list of leaves. Whether they are the right ones only their root tells. */
export function parseReport(bytes: Uint8Array): readonly ScoreLeaf[] | null {
	const rows = rowsOf(bytes);
	if (rows === null || !rows.every(([a, b, c]) => isHex(a, 40) && isU32(b) && isHex(c, 64))) return null;
	return rows.map(([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 }) as ScoreLeaf);
}

export function parseWeights(bytes: Uint8Array): readonly WeightLeaf[] | null {
	const rows = rowsOf(bytes);
	if (rows === null || !rows.every(([a, b, c, d]) => isHex(a, 40) && isU32(b) && isDecimal(c, 64) && isDecimal(d, 128)))
		return null;
	return rows.map(([provider, weightPpm, weightBefore, amountBefore]) => ({
		provider: provider as Hex,
		weightPpm: weightPpm as number,
		weightBefore: BigInt(weightBefore as string),
		amountBefore: BigInt(amountBefore as string),
	}));
}

function rowsOf(bytes: Uint8Array): readonly (readonly unknown[])[] | null {
	if (bytes.length > MOST_ARCHIVE_BYTES) return null;
	try {
		const { leaves } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as { leaves?: unknown };
		return Array.isArray(leaves) && leaves.every((row) => Array.isArray(row)) ? leaves : null;
	} catch {
		return null;
	}
}
