// Routes of blobs: a caller's own, and those of a job for its parties. Page: docs/jobs.md §12.
import type { BinaryReply, Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import { callerHolder, jobHolder } from "../jobs/blobs/blob-holders.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { isAdmin, mayReadJob } from "./caller.ts";

/** Throws CALLER_OTHER where somebody else's are asked for. */
function holderFor(caller: Caller, named: string | undefined): string {
	if (named === undefined) return callerHolder(caller);
	if (isAdmin(caller)) return named;
	throw new AssayError("CALLER_OTHER", "only a validator's own processes name a holder", {
		hint: "Leave the holder out: your own blobs are yours by your key.",
	});
}

const reply = (bytes: Uint8Array): BinaryReply => ({ bytes, sizeBytes: bytes.length, sha256: null });

export function blobHandlers({ store, blobs }: Pick<ValidatorContext, "store" | "blobs">) {
	const named = (params: { readonly root: string }, query: { readonly size: number }): BlobName => ({
		root: params.root,
		size: query.size,
	});
	return {
		async beginBlob({ params, query, body, caller }) {
			if (body.length % 32 !== 0)
				throw new AssayError("BLOB_TREE", "the body is the roots of the pieces, 32 bytes each", {
					hint: "Send the roots of the blob's pieces of 1 MiB, in order.",
				});
			const pieces = Array.from({ length: body.length / 32 }, (_, i) => body.subarray(32 * i, 32 * i + 32));
			return { offset: await blobs.begin(holderFor(caller, query.holder), named(params, query), pieces) };
		},
		async putBlob({ params, query, body, bodyRoot, caller }) {
			const holder = holderFor(caller, query.holder);
			return { offset: await blobs.put(holder, named(params, query), query.offset, body, bodyRoot) };
		},
		async getBlob({ params, query, caller }) {
			const holder = holderFor(caller, query.holder);
			return reply(await blobs.read(holder, named(params, query), query.first, query.length));
		},
		async listBlobs({ query, caller }) {
			const held = (await blobs.held(holderFor(caller, query.holder))).map((blob) => ({
				blob,
				key: `${blob.root}-${blob.size}`,
			}));
			const left = held.filter(({ key }) => query.cursor === undefined || key > query.cursor);
			const shown = left.slice(0, query.limit);
			const last = left.length > shown.length ? shown.at(-1) : undefined;
			return { rows: shown.map(({ blob }) => blob), cursor: last?.key ?? null };
		},
		async releaseBlob({ params, query, caller }) {
			await blobs.release(holderFor(caller, query.holder), named(params, query));
			return named(params, query);
		},
		async shareBlob({ params, query, caller }) {
			await blobs.share(holderFor(caller, query.holder), named(params, query), query.to);
			return named(params, query);
		},
		async getJobBlob({ params, query, caller }) {
			const job = await store.jobs.summary(params.id);
			// Of others a job is unknown, not forbidden: its id must tell nothing.
			if (job === null || !mayReadJob(job, caller))
				throw new AssayError("JOB_UNKNOWN", `there is no job ${params.id} here`);
			return reply(await blobs.read(jobHolder(params.id), named(params, query), query.first, query.length));
		},
	} satisfies Partial<Handlers>;
}
