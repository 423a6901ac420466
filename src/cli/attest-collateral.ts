// The vendors' files that `assay attest` judges by: one bundle in its folder, made from files that somebody
// brought. Each file gets in by its vendor's signature, and only forwards in time. A release may bring a
// snapshot, which counts until there is a bundle.
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readIfPresent, writeDurably } from "../platform/durable-file.ts";
import { realEnvironment } from "../platform/environment.ts";
import { lockFolder } from "../platform/folder-lock.ts";
import { loadKeyFile } from "../platform/key-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import {
	type Bundle,
	type CollateralItem,
	decodeBundle,
	encodeBundle,
} from "../verify/attestation/collateral/bundle.ts";
import { type Change, mergeItem } from "../verify/attestation/collateral/merge-items.ts";
import { isCollateral, issuersIn, readItem } from "../verify/attestation/collateral/read-item.ts";
import { rereadItems } from "../verify/attestation/collateral/reread-items.ts";
import { kindOfFile } from "../verify/attestation/file-kind.ts";
import type { AttestationSettings } from "../verify/attestation/settings.ts";
import type { CliIo } from "./command.ts";
import { defaultAttestDir, makeDataDir } from "./data-folder.ts";
import { readInput } from "./evidence-file.ts";

const MOST_FILES = 4096;
const MOST_FILE_BYTES = 8 * 1024 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;

const bundlePath = (folder: string): string => join(folder, "collateral.assay");
/** Beside the program in a release; in a checkout there is none. */
const snapshotPath = fileURLToPath(new URL("./collateral.assay", import.meta.url));

/** The bundle of the folder, else the release's snapshot. */
const bundlePaths = (folder: string): readonly string[] => [bundlePath(folder), snapshotPath];

/** Null: there is none. */
export async function loadBundle(folder: string): Promise<Uint8Array | null> {
	for (const path of bundlePaths(folder)) {
		const file = await readIfPresent(path);
		if (file !== null) return new Uint8Array(file);
	}
	return null;
}

/**
 * What a validator judges by: the one file that was named, which must be a bundle, or whatever is in the
 * folder. Throws FILE_UNREADABLE.
 */
export function collateralPaths(named: string | undefined, io: Pick<CliIo, "cwd" | "env">): readonly string[] {
	if (named === undefined) return bundlePaths(defaultAttestDir(io.env));
	const path = resolve(io.cwd, named);
	const hint = "Give a bundle that `assay attest update` made.";
	const decoded = decodeBundle(new Uint8Array(readInput(path, MOST_BYTES, hint)));
	if (decoded.ok) return [path];
	throw new AssayError("FILE_UNREADABLE", `${path} is no bundle: ${decoded.detail}`, { hint });
}

export interface Brought {
	readonly path: string;
	readonly bytes: Uint8Array;
}

/**
 * Files below a folder, by name; links are not followed. Bundles bring what they hold. Throws
 * FILE_UNREADABLE.
 */
export function filesBelow(folder: string): Brought[] {
	const hint =
		"Give a folder with vendors' files: manifests, OCSP answers, lists, Intel's collateral, AMD's chains, bundles.";
	const failed = (detail: string, cause?: unknown) =>
		new AssayError("FILE_UNREADABLE", `cannot read ${folder}: ${detail}`, { hint, cause });
	let names: string[] = [];
	try {
		const found = readdirSync(folder, { recursive: true, withFileTypes: true });
		names = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
	} catch (cause) {
		throw failed((cause as Error).message, cause);
	}
	if (names.length > MOST_FILES) throw failed(`${names.length} files; at most ${MOST_FILES} are read`);
	let left = MOST_BYTES;
	const brought = names.sort().map((path) => {
		const bytes = new Uint8Array(readInput(path, Math.min(left, MOST_FILE_BYTES), hint));
		left -= bytes.length;
		return { path, bytes };
	});
	return opened(brought);
}

export interface UpdateResult {
	readonly items: number;
	readonly madeAt: string;
	/** Files by what became of them. */
	readonly counts: Readonly<Record<Change | "refused" | "passed over", number>>;
	/** Vendors' files that did not get in, with the reason. */
	readonly refused: readonly Refused[];
}

function opened(brought: readonly Brought[]): Brought[] {
	return brought.flatMap((one) => {
		const decoded = kindOfFile(one.bytes) === "collateral bundle" ? decodeBundle(one.bytes) : null;
		if (!decoded?.ok) return [one];
		return decoded.bundle.items.map(({ id, bytes }) => ({ path: `${one.path}: ${id}`, bytes }));
	});
}

function oldBundle(file: Uint8Array | null, folder: string): Bundle {
	if (file === null) return { items: [], madeAtS: 0, key: "" };
	const decoded = decodeBundle(file);
	if (decoded.ok) return decoded.bundle;
	const hint = "Move the file away; the next update makes a new one.";
	throw new AssayError("FILE_UNREADABLE", `${bundlePath(folder)} is no bundle: ${decoded.detail}`, { hint });
}

/**
 * Puts vendors' files into the folder's bundle. `bring` is called twice and told what is at hand: the second
 * time it may ask about what the first time brought. `chains`: evidence whose certificates issued some of it.
 */
export async function updateBundle(
	folder: string,
	bring: (items: readonly CollateralItem[]) => readonly Brought[] | Promise<readonly Brought[]>,
	chains: readonly Uint8Array[],
	settings: AttestationSettings,
): Promise<UpdateResult> {
	await makeDataDir(folder);
	const lock = await lockFolder(folder);
	if (lock === null)
		throw new AssayError("FILE_UNWRITABLE", `another update of ${folder} is under way`, { hint: "Wait for its end." });
	try {
		const { randomBytes } = realEnvironment();
		const path = join(folder, "collateral.key");
		const elsewhere = "Set ASSAY_HOME to";
		const signer = await loadKeyFile({ path, name: "the key of the collateral", elsewhere, randomBytes });
		const old = oldBundle(await loadBundle(folder), folder);
		// ATTACK: the index of somebody else's bundle may say anything.
		const { kept } = old.key === signer.key ? { kept: old.items } : rereadItems(old.items, chains, settings);
		const merged = { items: kept, counts: noChanges(), refused: [] as Refused[] };
		for (let pass = 0; pass < 2; pass++) mergeInto(merged, await bring(merged.items), chains, settings);
		const madeAtS = Math.max(old.madeAtS, Math.floor(settings.atMs / 1000));
		if (merged.counts.new + merged.counts.renewed > 0) {
			await writeDurably(bundlePath(folder), encodeBundle(merged.items, madeAtS, signer));
		}
		const { items, ...told } = merged;
		return { items: items.length, madeAt: new Date(madeAtS * 1000).toISOString(), ...told };
	} finally {
		await lock.release();
	}
}

const noChanges = () => ({ new: 0, renewed: 0, same: 0, older: 0, full: 0, refused: 0, "passed over": 0 });
type Refused = { readonly file: string; readonly code: string; readonly detail: string };

function mergeInto(
	merged: { items: readonly CollateralItem[]; counts: ReturnType<typeof noChanges>; refused: Refused[] },
	files: readonly Brought[],
	chains: readonly Uint8Array[],
	settings: AttestationSettings,
): void {
	const pool = [...files.map(({ bytes }) => bytes), ...merged.items.map(({ bytes }) => bytes), ...chains];
	const issuers = files.length === 0 ? [] : issuersIn(pool, settings);
	const { counts, refused } = merged;
	for (const { path, bytes } of files) {
		if (!isCollateral(bytes)) {
			counts["passed over"] += 1;
			continue;
		}
		const { item, verdict } = readItem(bytes, issuers, settings);
		if (item === null) {
			counts.refused += 1;
			refused.push({ file: path, code: verdict.code ?? "", detail: verdict.detail });
			continue;
		}
		const fetchedAtS = Math.floor(settings.atMs / 1000);
		const { items, change } = mergeItem(merged.items, { ...item, fetchedAtS, source: path.slice(-500), bytes });
		merged.items = items;
		counts[change] += 1;
	}
}
