// Blobs over the API: bytes by tree root and size, in pieces of at most 1 MiB. Page: docs/jobs.md §12.
import * as z from "zod/mini";
import { integer, matching, note } from "./base.ts";
import { count, paging, sha256 } from "./primitives.ts";

/** Pieces, lists of roots, and what one read gives. */
export const MOST_PIECE_BYTES = 1 << 20;
const MOST_BYTES = 2 ** 35;

const root = note(sha256, "Root of the blob's tree, 64 lower-case hex digits");
const size = note(integer(1, MOST_BYTES), "The blob's size in bytes");
const offset = integer(0, MOST_BYTES);
/** For processes of one validator: whose blob it is, when it is not the caller's. Admins only. */
const holder = note(z.optional(matching(/^[0-9a-z-]{1,80}$/)), "Whose it is, when not the caller's (admins)");

export const piece = note(
	z.custom<Uint8Array>((value) => value instanceof Uint8Array, "bytes are needed"),
	"Bytes",
);
export const byRoot = z.strictObject({ root });
export const byJobAndRoot = z.strictObject({ id: note(sha256, "Name of a job, 64 lower-case hex digits"), root });
/** Of the address that the process was asked from: with it the room of strangers is shared. */
const from = note(z.optional(matching(/^[0-9a-zA-Z.:/%]{0,64}$/)), "Whose address it comes from (admins)");
export const blobQuery = z.strictObject({ size, holder });
export const beginQuery = z.strictObject({ size, holder, from });
export const putQuery = z.strictObject({ size, offset, holder });
const range = { first: z._default(offset, 0), length: z._default(integer(1, MOST_PIECE_BYTES), MOST_PIECE_BYTES) };
export const readQuery = z.strictObject({ size, ...range, holder });
export const jobReadQuery = z.strictObject({ size, ...range });
export const shareQuery = z.strictObject({ size, holder, to: matching(/^[0-9a-z-]{1,80}$/) });
export const heldQuery = z.strictObject({ holder, ...paging });

export const blob = z.object({ root, size }).register(z.globalRegistry, { id: "Blob" });
export const uploaded = z.object({ offset: note(count, "Where to go on; the blob's size when it is whole") });
