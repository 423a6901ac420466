// What devices signed, as it counts for attested jobs: of a host by its last probe, of a claim by its rounds.
// Under roots of our own mint it counts only where the operator of a trial network said so: anybody can sign
// there.
import type { AttestedLevel, CountedAttestation } from "../../../protocol/probe/verdict.ts";

export interface SignedLevel {
	readonly attested: AttestedLevel;
	/** Under roots of our own: it shows nothing to strangers. */
	readonly isSimulated: boolean;
}

export const NOT_SIGNED: SignedLevel = { attested: "none", isSimulated: false };

/**
 * A device that counts for another provider shows nothing here, nor does what is false: then the level is
 * none already.
 */
export function signedLevel(signed: CountedAttestation | null, takesSimulated: boolean): SignedLevel {
	if (signed === null) return NOT_SIGNED;
	const { isSimulated, level, shown, elsewhere } = signed;
	if (!isSimulated) return { attested: level, isSimulated };
	return { attested: takesSimulated && elsewhere.length === 0 ? shown : "none", isSimulated };
}
