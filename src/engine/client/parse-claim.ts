// The claim of a CLAIM frame, or an AssayError: without a claim there is no probe. claim-codec.ts of the
// protocol reads the hostile JSON; here is only what the start of a conversation asks beyond its shape.
import { AssayError } from "../../protocol/assay-error.ts";
import { parseClaim as decodeClaim } from "../../protocol/probe/claim-codec.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";

const HINT = "The engine on the host is not ours or is broken; let assay upload its own.";

/** Throws AssayError CLAIM_BAD. */
export function parseClaim(json: string): HostClaim {
	const result = decodeClaim(json);
	if (!result.ok) {
		throw new AssayError(result.code, `the engine's claim is not well formed: ${result.where}: ${result.detail}`, {
			hint: HINT,
		});
	}
	// The CPU is a device like any other (FRAMES.md), so an honest list is never empty; an empty one would let
	// everything "pass".
	if (result.claim.devices.length === 0) {
		throw new AssayError("CLAIM_BAD", "the engine claims no device at all", { hint: HINT });
	}
	// Spelled once more, −0 becomes 0: canonical JSON has no −0, and a host must not be able to spoil the
	// evidence with one.
	return JSON.parse(JSON.stringify(result.claim)) as HostClaim;
}
