// Claims, questions about them and fraud files in the API, docs/jobs.md §14. Public; what an auditor could
// copy is told once nobody audits any more.
import * as z from "zod";
import { jobEscrow, jobSpec, jobTerms, kept } from "./job.ts";
import { atMs, chainHex, code, count, json, paging, providerId, said, sha256, text } from "./primitives.ts";
import { attestation } from "./verdict.ts";

const hex32 = (what: string) =>
	z
		.string()
		.regex(/^[0-9a-f]{64}$/)
		.describe(`${what}, 64 lower-case hex digits`);
const blobName = z.object({ root: hex32("Root of its tree"), size: z.int().min(1) });
const state = z.enum(["stored", "claimed", "checked", "paid", "fallen"]);

export const byClaim = z.strictObject({ hash: hex32("Hash of the claim") });
export const claimsQuery = z.strictObject({
	job: hex32("Name of a job").optional(),
	provider: providerId.optional(),
	state: state.optional(),
	...paging,
});

export const jobClaim = z.object({
	hash: hex32("Hash of the claim"),
	job: hex32("Name of the job"),
	part: z.int().min(0),
	attempt: z.int().min(1),
	provider: providerId,
	state: state.describe("stored: its bytes are here; fallen: convicted, or built on one that was"),
	atMs,
	segmentRoot: hex32("Root of its list of states"),
	resultRoot: hex32("Root of its results"),
	first: hex32("S that it begins with"),
	ends: z
		.object({
			last: hex32("S that it ends with"),
			states: blobName.describe("All its S, 32 bytes each"),
			state: z.array(blobName),
			results: z.array(blobName),
		})
		.nullable()
		.describe("Null while somebody runs it again: an auditor must have nothing to copy"),
	attestation: attestation
		.extend({
			fault: z.object({ code, where: said, detail: said }).nullable().describe("What is false in it; null: nothing"),
			file: sha256.nullable().describe("The reports with all that they are judged by, as evidence"),
		})
		.nullable()
		.describe("What its devices signed at both ends; null: nothing came with it"),
});

export const claimCase = z.object({
	...jobClaim.shape,
	spec: jobSpec,
	terms: jobTerms,
	escrow: jobEscrow.nullable().describe("Null: nothing is paid on a chain"),
	account: chainHex(20, "The claimant's, as it was drawn").nullable(),
	firstSegment: count.describe("First segment of the part, counted over the whole job"),
	segments: z.int().min(1),
	begin: kept.nullable().describe("The state before it, in the program's order; null: zeros, segment 0"),
});

export const askBody = z.strictObject({
	question: text(4096).min(1).describe("Canonical JSON, docs/jobs.md §14; a state is not told here"),
});
export const claimAnswer = z.object({
	answer: z.string().describe("One page, as hex"),
	signature: z.string().nullable().describe("The claimant's, of a first word: docs/chain.md §12"),
});

export const byFraud = z.strictObject({ hash: hex32("SHA-256 of the fraud file") });
export const fraudsQuery = z.strictObject({
	job: hex32("Name of a job").optional(),
	accused: providerId.optional(),
	...paging,
});
export const fraud = z.object({
	hash: hex32("SHA-256 of the fraud file"),
	claim: hex32("Hash of the claim that it kills"),
	job: hex32("Name of the job"),
	part: z.int().min(0),
	attempt: z.int().min(1),
	accused: providerId,
	atMs,
	body: json.describe("What was found, in words"),
});
