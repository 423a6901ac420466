// Who a caller is, in the words of the journal, and what is theirs.
import type { Caller } from "../../api/route.ts";
import { AssayError } from "../../protocol/assay-error.ts";

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
