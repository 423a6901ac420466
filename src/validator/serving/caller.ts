// Who a caller is, in the words of the journal, and what is theirs.
import type { Caller } from "../../api/route.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobSummary } from "../../store/jobs/job-rows.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { isParty } from "../jobs/blobs/blob-holders.ts";

/** A key, a token's id, or nobody. */
export function actorOf(caller: Caller): string {
	return caller.key ?? (caller.tokenId === null ? "nobody" : `token:${caller.tokenId}`);
}

export function isAdmin(caller: Caller): boolean {
	return caller.role === "admin";
}

/** Throws CALLER_OTHER unless the caller is an admin or speaks for `key`. */
export function requireOwner(caller: Caller, key: string): void {
	if (!isAdmin(caller) && caller.key !== key)
		throw new AssayError("CALLER_OTHER", "this belongs to somebody else", {
			hint: "Use the credentials of its owner, or those of an admin.",
		});
}

/**
 * Whether a caller may read what a job holds. Whoever wants to run an optimistic job again, or to prove a zk
 * job, must be able to: once somebody claimed a part of it, its inputs are for everyone with a key, and so
 * are its claims as they are released.
 */
export function mayReadJob({ customer, record }: Pick<JobSummary, "customer" | "record">, caller: Caller): boolean {
	if (isAdmin(caller) || customer === actorOf(caller)) return true;
	if (methodOf(record.terms.method).isOpen && record.parts.some(({ claim }) => claim !== null)) return true;
	return caller.key !== null && isParty(record, caller.key);
}
