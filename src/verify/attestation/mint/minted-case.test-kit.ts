// What a minted case is: a name, the code it must have (null: valid), and how it is judged.
import type { AttestationSettings } from "../settings.ts";
import type { AttestationVerdict } from "../verdict.ts";

export interface MintedCase {
	readonly name: string;
	readonly code: string | null;
	readonly at: string;
	readonly judge: (settings: AttestationSettings) => AttestationVerdict;
	/** Of quotes: what is judged, for those who judge it elsewhere. */
	readonly evidence?: () => { readonly quote: Uint8Array; readonly collateral: Uint8Array };
}

/** Most are judged at noon of this day. */
const NOON = "2025-06-20T12:00:00Z";

export const minted = (
	name: string,
	code: string | null,
	at: string | undefined,
	judge: MintedCase["judge"],
): MintedCase => ({
	name,
	code,
	at: at ?? NOON,
	judge,
});
