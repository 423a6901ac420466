// The confidential guests that an operator allows: a file of docs/attestation.md, or single measurements of
// the command line. What they decide is in verify/attestation/guest-rules.ts.
import { resolve } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";
import { type GuestRule, readGuestRules, ruleOfMeasurement } from "../verify/attestation/guest-rules.ts";
import type { CliIo } from "./command.ts";
import { readInput } from "./evidence-file.ts";
import { text } from "./options.ts";

const MOST_BYTES = 1024 * 1024;
const HINT = "docs/attestation.md shows a list; `assay attest show` prints the measurements of a guest's quote.";

export const guestsOption = text(
	"FILE",
	"confidential guests that are allowed, for level hosted (docs/attestation.md)",
);

/** Null: none are named. Throws GUESTS_BAD and FILE_UNREADABLE. */
export function guestsOf(
	asked: { readonly guests?: string | undefined; readonly guest?: readonly string[] | undefined },
	io: Pick<CliIo, "cwd">,
): readonly GuestRule[] | null {
	const { guests, guest = [] } = asked;
	if (guests === undefined && guest.length === 0) return null;
	return [...(guests === undefined ? [] : readGuests(resolve(io.cwd, guests))), ...guest.map(ruleOfMeasurement)];
}

function readGuests(path: string): readonly GuestRule[] {
	const bytes = readInput(path, MOST_BYTES, HINT);
	const rules = readGuestRules(new TextDecoder().decode(bytes));
	if (typeof rules === "string") throw new AssayError("GUESTS_BAD", `${path} cannot be used: ${rules}`, { hint: HINT });
	return rules;
}
