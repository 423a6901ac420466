// Uploads what a job needs, a few blobs at a time. What the server has is not sent again: it is asked of each
// blob where it stands. Pausing ends the requests that are under way; going on begins with the same question.
import { type UploadApi, uploadPieces } from "../../../src/api/blob-pieces.ts";
import type { JobWork } from "./job-work.ts";
import type { BuiltJob } from "./job-worker.ts";

const AT_ONCE = 4;
/** A network that is away for longer is said so. */
const PATIENCE_MS = 120_000;

export const uploadSize = ({ blobs }: Pick<BuiltJob, "blobs">): number =>
	blobs.reduce((sum, { size }) => sum + size, 0);

export async function uploadJob(
	api: UploadApi,
	work: JobWork,
	{ blobs }: Pick<BuiltJob, "blobs">,
	{ signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (bytes: number) => void },
): Promise<void> {
	const done = new Map<string, number>();
	const hashes = { pieceRoot: (piece: Uint8Array) => work.ask("hash", { piece }) };
	let next = 0;
	const one = async (): Promise<void> => {
		for (let i = next++; i < blobs.length; i = next++) {
			const { root, size, roots } = blobs[i]!;
			const each = Array.from({ length: roots.length / 32 }, (_, at) => roots.subarray(32 * at, 32 * (at + 1)));
			const named = { blob: { root, size }, roots: each, read: (piece: number) => work.ask("piece", { root, piece }) };
			await uploadPieces(api, named, hashes, {
				...{ signal, patienceMs: PATIENCE_MS },
				onProgress: (bytes) => {
					done.set(root, bytes);
					onProgress([...done.values()].reduce((sum, value) => sum + value, 0));
				},
			});
		}
	};
	await Promise.all(Array.from({ length: Math.min(AT_ONCE, blobs.length) }, one));
}
