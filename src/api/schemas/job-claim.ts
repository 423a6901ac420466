// Claims, questions about them and fraud files in the API, docs/jobs.md §14. Public; what an auditor could
// copy is told once nobody audits any more.
import * as z from "zod/mini";
import { integer, note } from "./base.ts";
import { jobEscrow, jobSpec, jobTerms, kept } from "./job.ts";
import { atMs, chainHex, code, count, hex32, json, paging, providerId, said, sha256, text } from "./primitives.ts";
import { attestation } from "./verdict.ts";

const blobName = z.object({ root: hex32("Root of its tree"), size: integer(1) });
const state = z.enum(["stored", "claimed", "checked", "paid", "fallen"]);

export const byClaim = z.strictObject({ hash: hex32("Hash of the claim") });
export const claimsQuery = z.strictObject({
	job: z.optional(hex32("Name of a job")),
	provider: z.optional(providerId),
	state: z.optional(state),
	...paging,
});

export const jobClaim = z.object({
	hash: hex32("Hash of the claim"),
	job: hex32("Name of the job"),
	part: integer(0),
	attempt: integer(1),
	provider: providerId,
	state: note(state, "stored: its bytes are here; fallen: convicted, or built on one that was"),
	atMs,
	segmentRoot: hex32("Root of its list of states"),
	resultRoot: hex32("Root of its results"),
	first: hex32("S that it begins with"),
	ends: note(
		z.nullable(
			z.object({
				last: hex32("S that it ends with"),
				states: note(blobName, "All its S, 32 bytes each"),
				state: z.array(blobName),
				results: z.array(blobName),
			}),
		),
		"Null while somebody runs it again: an auditor must have nothing to copy",
	),
	attestation: note(
		z.nullable(
			z.extend(attestation, {
				fault: note(z.nullable(z.object({ code, where: said, detail: said })), "What is false in it; null: nothing"),
				file: note(z.nullable(sha256), "The reports with all that they are judged by, as evidence"),
			}),
		),
		"What its devices signed at both ends; null: nothing came with it",
	),
});

export const claimCase = z.object({
	...jobClaim.shape,
	spec: jobSpec,
	terms: jobTerms,
	escrow: note(z.nullable(jobEscrow), "Null: nothing is paid on a chain"),
	account: z.nullable(chainHex(20, "The claimant's, as it was drawn")),
	firstSegment: note(count, "First segment of the part, counted over the whole job"),
	segments: integer(1),
	begin: note(z.nullable(kept), "The state before it, in the program's order; null: zeros, segment 0"),
});

export const askBody = z.strictObject({
	question: note(text(4096).check(z.minLength(1)), "Canonical JSON, docs/jobs.md §14; a state is not told here"),
});
export const claimAnswer = z.object({
	answer: note(z.string(), "One page, as hex"),
	signature: note(z.nullable(z.string()), "The claimant's, of a first word: docs/chain.md §12"),
});

export const byFraud = z.strictObject({ hash: hex32("SHA-256 of the fraud file") });
export const fraudsQuery = z.strictObject({
	job: z.optional(hex32("Name of a job")),
	accused: z.optional(providerId),
	...paging,
});
export const fraud = z.object({
	hash: hex32("SHA-256 of the fraud file"),
	claim: hex32("Hash of the claim that it kills"),
	job: hex32("Name of the job"),
	part: integer(0),
	attempt: integer(1),
	accused: providerId,
	atMs,
	body: note(json, "What was found, in words"),
});
