// Blobs over the API: bytes by tree root and size, in pieces of at most 1 MiB. Page: docs/jobs.md §12.
import * as z from "zod";
import { count, paging, sha256 } from "./primitives.ts";

/** Pieces, lists of roots, and what one read gives. */
export const MOST_PIECE_BYTES = 1 << 20;
const MOST_BYTES = 2 ** 35;

const root = sha256.describe("Root of the blob's tree, 64 lower-case hex digits");
const size = z.int().min(1).max(MOST_BYTES).describe("The blob's size in bytes");
const offset = z.int().min(0).max(MOST_BYTES);
/** For processes of one validator: whose blob it is, when it is not the caller's. Admins only. */
const holder = z
	.string()
	.regex(/^[0-9a-z-]{1,80}$/)
	.optional()
	.describe("Whose it is, when not the caller's (admins)");

export const piece = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "bytes are needed").describe("Bytes");
export const byRoot = z.strictObject({ root });
export const byJobAndRoot = z.strictObject({ id: sha256.describe("Name of a job, 64 lower-case hex digits"), root });
export const blobQuery = z.strictObject({ size, holder });
export const putQuery = z.strictObject({ size, offset, holder });
const range = { first: offset.default(0), length: z.int().min(1).max(MOST_PIECE_BYTES).default(MOST_PIECE_BYTES) };
export const readQuery = z.strictObject({ size, ...range, holder });
export const jobReadQuery = z.strictObject({ size, ...range });
export const shareQuery = z.strictObject({ size, holder, to: z.string().regex(/^[0-9a-z-]{1,80}$/) });
export const heldQuery = z.strictObject({ holder, ...paging });

export const blob = z.object({ root, size }).meta({ id: "Blob" });
export const uploaded = z.object({ offset: count.describe("Where to go on; the blob's size when it is whole") });
