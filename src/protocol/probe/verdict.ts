// The verdict on an evidence file. A value, never an exception; inconclusive is never punished.
// The codes and what they mean are in codes.ts.
import type { Figure } from "./evidence.ts";

/**
 * Something worth telling that is no proof either way (e.g. an engine that answers much later than its host
 * shakes hands).
 */
export interface Finding {
	readonly code: string;
	readonly detail: string;
}

/**
 * With `samples` places checked, a prover that skipped the share f is caught with probability 1 − (1 −
 * f)^samples.
 */
export interface Confidence {
	readonly challenge: number;
	readonly samples: number;
	/** The largest skipped share that would have passed with probability above 1 %. */
	readonly skippedShareAt99: number;
}

/**
 * confirmed: the figures single out the claimed card, or leave it equal only with others that are hardly
 * worth less (identify.ts). consistent: nothing speaks against the claim, but figures are missing or a
 * clearly lesser card would explain them as well. other: another card explains the figures clearly better
 * than the claimed one, or the claimed one would have to be slower or larger than it is known to be; a
 * capped, shared or modified card can look like that, so it is no accusation. unknown: the same, and no other
 * profile explains the figures either. unknown-name: the claimed name is in no profile. unjudged: not a GPU,
 * or nothing was proven. A claim that no machine of that name can make true is no identity but an invalid
 * verdict, CARD_CONTRADICTED.
 */
export type IdentityState = "confirmed" | "consistent" | "other" | "unknown" | "unknown-name" | "unjudged";

/**
 * What is known of a kind of card. measured: an example was probed, and its figures are in bench/results.
 * data-sheets: none was; what honest cards of this kind reach is an estimate.
 */
export type IdentityBasis = "measured" | "data-sheets";

/** What a device proved itself to be, by its figures alone; docs/profiles.md has the cards. */
export interface Identity {
	readonly device: number;
	readonly claimed: string;
	readonly state: IdentityState;
	/**
	 * The profile that is meant: the claimed one if it is among the equals, else the likeliest; null when
	 * nothing fits.
	 */
	readonly profile: string | null;
	/** What `profile` rests on; null without one. */
	readonly basis: IdentityBasis | null;
	/** Best first, shares of the likelihood among all profiles. */
	readonly ranked: readonly { readonly id: string; readonly likelihood: number }[];
	/** Profiles that the figures leave equal. */
	readonly alike: readonly string[];
}

/**
 * Whose word a valid file is worth to those who were not there; docs/hardware-proof.md §9. private: the
 * signer's alone drew the secret, and could have made it all up. countersigned: the host drew a part of the
 * randomness and signed every root; the two together could have made it up. public: the chain fixed what was
 * asked before the work and what was opened after it; nobody could have made it up.
 */
export type Strength = "private" | "countersigned" | "public";

/** Who would have to lie. */
export const WHO_COULD_LIE: Readonly<Record<Strength, string>> = {
	private: "the signer alone could have made it up",
	countersigned: "the signer and the host together could have made it up",
	public: "the work was done between two blocks of the chain; nobody could have made it up",
};

/**
 * genuine: signed by a vendor's device. measured: and its firmware is the vendor's. none: not shown, or
 * simulated roots.
 */
export const ATTESTED_LEVELS = ["none", "genuine", "measured", "hosted"] as const;
export type AttestedLevel = (typeof ATTESTED_LEVELS)[number];

/** A device that signed a report, docs/attestation.md. */
export interface AttestedDevice {
	readonly kind: "gpu" | "switch";
	/** One per card for life. */
	readonly key: string;
	readonly chip: string;
	readonly driver: string | null;
	/** Of a GPU its VBIOS, of a switch its BIOS. */
	readonly firmware: string | null;
	readonly level: AttestedLevel;
}

/** The confidential guest whose CPU named the reports. */
export interface AttestedGuest {
	readonly tee: string;
	readonly measurement: string;
	/** As the vendor's list says; null: no list was at hand. */
	readonly tcb: string | null;
}

/** By which rules it was judged, and as of when: docs/attestation.md, Policy. */
export interface AttestedPolicy {
	/** Of roots, allowed guests, TCB states, floors and ages. */
	readonly hash: string;
	readonly atMs: number;
}

/** What attestation adds to a valid probe. It replaces no figure. */
export interface ProbeAttestation {
	/** What counts: none under simulated roots. */
	readonly level: AttestedLevel;
	/** What would count if the roots were the vendors'. */
	readonly shown: AttestedLevel;
	readonly isSimulated: boolean;
	readonly rounds: number;
	/** Of the last round. */
	readonly devices: readonly AttestedDevice[];
	readonly guest: AttestedGuest | null;
	/** Findings, and what is missing for a higher level. */
	readonly reasons: readonly Finding[];
	/** The host's words on what it has not got. */
	readonly says: readonly string[];
	/** Null or absent: nothing was signed. */
	readonly policy?: AttestedPolicy | null | undefined;
}

/**
 * Why there is no level, where that is because evidence has a format that the verifier does not know. It is
 * the first reason then.
 */
export const unreadAttestation = ({
	shown,
	reasons: [first],
}: Pick<ProbeAttestation, "shown" | "reasons">): Finding | null =>
	shown === "none" && first?.code === "ATTEST_VERSION" ? first : null;

/** What a network makes of it: a device counts for one provider. */
export interface CountedAttestation extends ProbeAttestation {
	/** Devices that count for others, who showed them first; then the level is none. */
	readonly elsewhere: readonly { readonly key: string; readonly providerId: string }[];
}

export type VerdictStatus = Verdict["status"];

export type Verdict =
	| {
			readonly status: "valid";
			readonly figures: readonly Figure[];
			readonly identity: readonly Identity[];
			readonly confidence: readonly Confidence[];
			readonly findings: readonly Finding[];
			readonly strength: Strength;
			readonly signer: string;
			/** The host's key, in a countersigned file. */
			readonly host: string | null;
			readonly probeId: string;
			/** Absent where the engine does not know ATTEST. */
			readonly attestation?: ProbeAttestation;
	  }
	| { readonly status: "invalid"; readonly code: string; readonly where: string; readonly detail: string }
	| { readonly status: "inconclusive"; readonly code: string; readonly where: string; readonly detail: string };
