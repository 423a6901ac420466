// Reads the JSON of a CLAIM frame (engine/FRAMES.md). The host wrote it: the shape is checked against the one of evidence, and texts
// are made harmless first, so that an odd device name is no reason to refuse a host. Whether a claim is true is for verify/.
import { AssayError } from "../protocol/assay-error.ts";
import type { Claim } from "../protocol/evidence.ts";
import { claimShape } from "../protocol/evidence-shape.ts";
import { safeText } from "../protocol/safe-text.ts";

const HINT = "The engine on the host is not ours or is broken; let assay upload its own.";

/** Throws AssayError CLAIM_BAD. */
export function parseClaim(json: string): Claim {
	let parsed: unknown;
	try {
		// `+ 0` turns −0 into 0: canonical JSON has no −0, and a claim must not be able to spoil the evidence.
		parsed = JSON.parse(json, (_key, value) => {
			if (typeof value === "string") return safeText(value);
			return typeof value === "number" ? value + 0 : value;
		});
	} catch (cause) {
		throw new AssayError("CLAIM_BAD", "the engine's claim is no JSON", { hint: HINT, cause });
	}
	const fault = claimShape(parsed, "claim");
	if (fault)
		throw new AssayError("CLAIM_BAD", `the engine's claim is not well formed: ${fault.where} ${fault.detail}`, {
			hint: HINT,
		});
	const claim = parsed as Claim;
	// The CPU is a device like any other (FRAMES.md), so an honest list is never empty; an empty one would let everything "pass".
	if (claim.devices.length === 0)
		throw new AssayError("CLAIM_BAD", "the engine claims no device at all", { hint: HINT });
	return claim;
}
