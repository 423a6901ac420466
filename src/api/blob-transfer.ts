// Blobs there and back over the API, docs/jobs.md §12: for customers and providers, of files or bytes in memory, a MiB or two at a time however large they
// are. An upload that is cut goes on where the server has it; a download is checked by the blob's tree before anybody sees it, and goes on with what is
// on disk. Not for browsers.
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { sleep } from "../platform/abortable.ts";
import { foldPieces, PIECE_BYTES, pieceBytes, pieceCount, pieceRoot } from "../platform/blob-tree.ts";
import { syncFolder } from "../platform/durable-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes } from "../protocol/bytes/bytes.ts";
import { codes } from "../protocol/codes.ts";
import type { BlobName } from "../protocol/network/job-spec.ts";
import type { ApiClient } from "./create-client.ts";

type UploadApi = Pick<ApiClient, "beginBlob" | "putBlob">;
type DownloadApi = Pick<ApiClient, "getBlob" | "getJobBlob">;

/** A file, or bytes in memory; those of a function are made when their turn has come. */
export type BlobSource = { readonly path: string } | { readonly bytes: Uint8Array | (() => Uint8Array) };

export interface TransferOptions {
	readonly signal?: AbortSignal;
	/** Bytes that are there, as they come. */
	readonly onProgress?: (bytes: number, size: number) => void;
	/** How long a server may be away, or refuse for being busy, before it is given up. Default 10 minutes. */
	readonly patienceMs?: number;
	/** Waits between tries; tests do not. */
	readonly sleepMs?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
}

const PATIENCE_MS = 10 * 60_000;
const LONGEST_WAIT_MS = 10_000;
/** Refusals that time may end; whatever was acknowledged stays. */
const PASSING = ["API_UNREACHABLE", "NOT_READY", "RATE_LIMITED", "STORE_UNREACHABLE", "STORE_TIMEOUT"];
/** Refusals after which the server is asked where the upload stands; more of them in a row than this are no accident. */
const MOVED = ["BLOB_OFFSET", "BLOB_UNKNOWN"];
const MOST_MOVES = 8;

/** The name of a blob, and the roots of its pieces that fold to it. */
export async function nameBlob(source: BlobSource): Promise<{ blob: BlobName; roots: readonly Uint8Array[] }> {
	return await withPieces(source, async (size, read) => {
		const roots: Uint8Array[] = [];
		for (let i = 0; i < pieceCount(size); i++) roots.push(await pieceRoot(await read(i)));
		return { blob: { root: bytesToHex(foldPieces(roots)), size }, roots };
	});
}

/** Resolves when the server holds it for the caller. Throws what it refuses; BLOB_WRONG also when the file changed meanwhile. */
export async function uploadBlob(api: UploadApi, source: BlobSource, options: TransferOptions = {}): Promise<BlobName> {
	const { blob, roots } = await nameBlob(source);
	const { root, size } = blob;
	const calls = { ...(options.signal && { signal: options.signal }) };
	const list = concatBytes(...roots);
	const patience = createPatience(options);
	await withPieces(source, async (_, read) => {
		const begin = () =>
			patience.until(
				async () => (await api.beginBlob({ params: { root }, query: { size }, body: list }, calls)).offset,
			);
		let offset = await begin();
		let moves = 0;
		while (offset < size) {
			options.onProgress?.(offset, size);
			const at = offset / PIECE_BYTES;
			const body = await read(at);
			// Signed as what it was when it was named.
			const blobName = `${bytesToHex(roots[at]!)}-${body.length}`;
			try {
				const next = await api.putBlob({ params: { root }, query: { size, offset }, body }, { ...calls, blobName });
				({ offset } = next);
				moves = 0;
				patience.renew();
			} catch (error) {
				const isMoved = error instanceof AssayError && MOVED.includes(error.code);
				if (isMoved && ++moves > MOST_MOVES) throw error;
				if (!equalBytes(await pieceRoot(body), roots[at]!)) throw wrong(root, "the bytes changed while they were sent");
				// A piece that was cut off may be there all the same.
				if (!isMoved) await patience.wait(error);
				offset = await begin();
			}
		}
	});
	options.onProgress?.(size, size);
	return blob;
}

/** Several, a few at once. Each is read when its turn has come. */
export async function uploadBlobs(
	api: UploadApi,
	sources: readonly BlobSource[],
	options: Omit<TransferOptions, "onProgress"> & { readonly onUploaded?: (blob: BlobName) => void } = {},
): Promise<BlobName[]> {
	const names: BlobName[] = [];
	let next = 0;
	const one = async (): Promise<void> => {
		for (let i = next++; i < sources.length; i = next++) {
			names[i] = await uploadBlob(api, sources[i]!, options);
			options.onUploaded?.(names[i]!);
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, one));
	return names;
}

/** Uploads at once: a server takes 16 of one caller. */
const AT_ONCE = 4;

const wrong = (what: string, why: string) =>
	new AssayError("BLOB_WRONG", `${what}: ${why}`, { hint: codes.BLOB_WRONG.hint });

interface Whence {
	/** A blob of this job; without it, of the caller's own. */
	readonly job?: string;
}

/** Into memory. Throws BLOB_WRONG where the server gave other bytes than the name says. */
export async function fetchBlob(
	api: DownloadApi,
	blob: BlobName,
	options: TransferOptions & Whence = {},
): Promise<Uint8Array> {
	const bytes = new Uint8Array(blob.size);
	await fetchPieces(api, blob, options, { roots: [], put: async (piece, at) => bytes.set(piece, at) });
	return bytes;
}

/** Into a file: durable, and there only when it is whole and right. One that was cut off goes on with what is in `path`.part. */
export async function downloadBlob(
	api: DownloadApi,
	blob: BlobName,
	path: string,
	options: TransferOptions & Whence = {},
): Promise<void> {
	const part = `${path}.part`;
	const roots = await piecesOf(part, blob.size);
	const file = await open(part, roots.length === 0 ? "w" : "r+", 0o600);
	try {
		await fetchPieces(api, blob, options, {
			roots,
			put: async (piece, at) => void (await file.write(piece, 0, piece.length, at)),
		});
		await file.truncate(blob.size);
		await file.sync();
	} catch (error) {
		// What is wrong is wrong again the next time.
		if (error instanceof AssayError && error.code === "BLOB_WRONG") await rm(part, { force: true });
		throw error;
	} finally {
		await file.close();
	}
	await rename(part, path);
	await syncFolder(dirname(path));
}

interface Taker {
	/** Of pieces that are there already. */
	readonly roots: Uint8Array[];
	readonly put: (piece: Uint8Array, at: number) => Promise<void>;
}

async function fetchPieces(
	api: DownloadApi,
	{ root, size }: BlobName,
	options: TransferOptions & Whence,
	{ roots, put }: Taker,
): Promise<void> {
	const { job, onProgress, signal } = options;
	const calls = { ...(signal && { signal }) };
	const patience = createPatience(options);
	const get = (first: number, length: number): Promise<Uint8Array> => {
		const query = { size, first, length };
		if (job === undefined) return api.getBlob({ params: { root }, query }, calls);
		return api.getJobBlob({ params: { id: job, root }, query }, calls);
	};
	while (roots.length < pieceCount(size)) {
		const [first, length] = [roots.length * PIECE_BYTES, pieceBytes(size, roots.length)];
		onProgress?.(first, size);
		const piece = await patience.until(() => get(first, length));
		if (piece.length !== length) throw wrong(root, `${piece.length} bytes where ${length} were asked for`);
		roots.push(await pieceRoot(piece));
		await put(piece, first);
		patience.renew();
	}
	if (bytesToHex(foldPieces(roots)) !== root) throw wrong(root, "the bytes that came are not those that it names");
	onProgress?.(size, size);
}

/** Roots of the whole pieces that a file holds; none when it is not there. */
async function piecesOf(path: string, size: number): Promise<Uint8Array[]> {
	const found = await stat(path).catch(() => null);
	const whole = found === null ? 0 : Math.min(Math.floor(found.size / PIECE_BYTES), pieceCount(size) - 1);
	if (whole === 0) return [];
	return await withPieces({ path }, async (_, read) => {
		const roots: Uint8Array[] = [];
		for (let i = 0; i < whole; i++) roots.push(await pieceRoot(await read(i)));
		return roots;
	});
}

async function withPieces<T>(
	source: BlobSource,
	act: (size: number, read: (piece: number) => Promise<Uint8Array>) => Promise<T>,
): Promise<T> {
	if ("bytes" in source) {
		const bytes = typeof source.bytes === "function" ? source.bytes() : source.bytes;
		return await act(bytes.length, async (i) => bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES));
	}
	const file = await open(source.path, "r");
	try {
		const { size } = await file.stat();
		return await act(size, async (i) => {
			const bytes = new Uint8Array(pieceBytes(size, i));
			const { bytesRead } = await file.read(bytes, 0, bytes.length, i * PIECE_BYTES);
			if (bytesRead === bytes.length) return bytes;
			throw wrong(source.path, "it became shorter while it was read");
		});
	} finally {
		await file.close();
	}
}

/** Waits out what passes, longer each time, as long as there is patience; `renew` when something was achieved. */
function createPatience({ patienceMs = PATIENCE_MS, sleepMs = sleep, signal }: TransferOptions) {
	let waitedMs = 0;
	let tries = 0;
	async function wait(error: unknown): Promise<void> {
		signal?.throwIfAborted();
		if (!(error instanceof AssayError) || !PASSING.includes(error.code) || waitedMs >= patienceMs) throw error;
		const told = (error.cause as { retryAfterS?: number } | undefined)?.retryAfterS ?? 0;
		const ms = Math.min(LONGEST_WAIT_MS, Math.max(told * 1000, 100 * 2 ** tries));
		tries = Math.min(tries + 1, 10);
		waitedMs += ms;
		await sleepMs(ms, signal);
		signal?.throwIfAborted();
	}
	return {
		wait,
		renew(): void {
			waitedMs = 0;
			tries = 0;
		},
		async until<T>(act: () => Promise<T>): Promise<T> {
			for (;;) {
				try {
					return await act();
				} catch (error) {
					await wait(error);
				}
			}
		},
	};
}
