// What is asked of every guest, whoever's hardware it runs on: the data it was told to bind, and that its
// measurement is allowed.
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { type MeasuredGuest, ruleFor } from "./guest-rules.ts";
import type { AttestationPolicy } from "./settings.ts";
import { refuse } from "./verdict.ts";

/** 64 bytes: the nonce, then the set of reports; or the nonce alone, 32 bytes. Null: not asked. */
export function checkReportData(expected: Uint8Array | null, found: Uint8Array, where: string): void {
	if (expected === null) return;
	const isWhole = expected.length === 64;
	if ((!isWhole && expected.length !== 32) || !equalBytes(expected.subarray(0, 32), found.subarray(0, 32)))
		refuse("NONCE_WRONG", where, "its report data answers another question");
	if (isWhole && !equalBytes(expected.subarray(32), found.subarray(32)))
		refuse("BINDING_WRONG", where, "its report data names another set of reports");
}

export function checkGuestAllowed(guest: MeasuredGuest, policy: AttestationPolicy, where: string): void {
	if (policy.guests !== null && ruleFor(policy.guests, guest) === null)
		refuse("GUEST_OTHER", where, "the guest is not one of those that are allowed");
}
