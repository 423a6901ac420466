// Whose blobs are whose, docs/jobs.md §12: a caller's are its key's, a job's are kept under its own name
// whatever its customer does.
import type { Caller } from "../../../api/route.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobRecord } from "../../../protocol/network/job.ts";

export const jobHolder = (job: string): string => `job-${job}`;
/** Answers of auditors, kept from everybody until the claim is there. */
export const auditHolder = (job: string): string => `audit-${job}`;

/** What jobs hold is bounded by what jobs cost; everybody else shares one bounded room. */
export const isGuest = (holder: string): boolean => !/^(job|audit)-/.test(holder);

/** A caller without a key or a token holds nothing. Throws CALLER_OTHER. */
export function callerHolder({ key, tokenId }: Caller): string {
	if (key !== null) return key;
	if (tokenId !== null) return `token-${tokenId}`;
	throw new AssayError("CALLER_OTHER", "nobody's blobs cannot be kept", { hint: "Sign the request, or use a token." });
}

/** Whether a provider has or had a part of the job, or runs some of it again. */
export const isParty = ({ parts }: JobRecord, provider: string): boolean =>
	parts.some(
		(part) =>
			part.provider === provider ||
			part.excluded.includes(provider) ||
			part.audits.some(({ auditor }) => auditor === provider),
	);
