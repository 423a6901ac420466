// Routes of blobs: a caller's own, and those of a job for its parties. Page: docs/jobs.md §12.
import type { BinaryReply, Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import type { Standing } from "../../store/blobs/guest-room.ts";
import { callerHolder, jobHolder } from "../jobs/blobs/blob-holders.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { isAdmin, mayReadJob } from "./caller.ts";

/** A process of ours says whom it was asked by. Throws CALLER_OTHER where somebody else does. */
function addressFor(caller: Caller, named: string | undefined, address: string): string {
	if (named === undefined) return address;
	if (isAdmin(caller)) return named;
	throw new AssayError("CALLER_OTHER", "only a validator's own processes name an address", {
		hint: "Leave it out: your address is seen.",
	});
}

/** Throws CALLER_OTHER where somebody else's are asked for. */
function holderFor(caller: Caller, named: string | undefined): string {
	if (named === undefined) return callerHolder(caller);
	if (isAdmin(caller)) return named;
	throw new AssayError("CALLER_OTHER", "only a validator's own processes name a holder", {
		hint: "Leave the holder out: your own blobs are yours by your key.",
	});
}

/** What a holder is where room is shared: what it has to do here counts, never what it says of itself. */
async function standingOf({ jobs }: Pick<ValidatorContext["store"], "jobs">, holder: string): Promise<Standing> {
	// Tokens are the operator's gift; everything else may be anybody's key.
	return holder.startsWith("token-") ? "customer" : await jobs.standingOf(holder);
}

const reply = (bytes: Uint8Array): BinaryReply => ({ bytes, sizeBytes: bytes.length, sha256: null });

export function blobHandlers({ store, blobs }: Pick<ValidatorContext, "store" | "blobs">) {
	const named = (params: { readonly root: string }, query: { readonly size: number }): BlobName => ({
		root: params.root,
		size: query.size,
	});
	return {
		async beginBlob({ params, query, body, caller, address }) {
			if (body.length % 32 !== 0)
				throw new AssayError("BLOB_TREE", "the body is the roots of the pieces, 32 bytes each", {
					hint: "Send the roots of the blob's pieces of 1 MiB, in order.",
				});
			const pieces = Array.from({ length: body.length / 32 }, (_, i) => body.subarray(32 * i, 32 * i + 32));
			const holder = holderFor(caller, query.holder);
			const guest = { from: addressFor(caller, query.from, address), standing: await standingOf(store, holder) };
			return { offset: await blobs.begin(holder, named(params, query), pieces, guest) };
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
			const options = { after: query.cursor ?? null, limit: query.limit };
			const { rows, next } = await blobs.list(holderFor(caller, query.holder), options);
			return { rows, cursor: next };
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
