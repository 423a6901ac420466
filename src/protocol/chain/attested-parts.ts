// A TDX quote and Intel's collateral in the shapes that the contract Attestations takes: docs/attestation.md,
// "On a chain". Types alone: the verifier cuts evidence into them, the chain's door sends them.
import type { Hex } from "./hex.ts";

/** Something that was signed on P-256; s is the lower one of two. */
export interface SignedPart {
	readonly body: Hex;
	readonly r: Hex;
	readonly s: Hex;
}

/** A point of P-256. */
export interface CurvePoint {
	readonly x: Hex;
	readonly y: Hex;
}

export interface SvnLevel {
	readonly svn: number;
	readonly isAccepted: boolean;
}

/** Times in seconds since 1970. */
export interface ChainTcbInfo {
	readonly fmspc: Hex;
	readonly pceId: Hex;
	readonly evaluation: number;
	readonly from: bigint;
	readonly until: bigint;
	readonly modules: readonly {
		readonly version: number;
		readonly signer: Hex;
		readonly attributes: Hex;
		readonly mask: Hex;
		readonly levels: readonly SvnLevel[];
	}[];
	readonly levels: readonly {
		readonly sgx: Hex;
		readonly tdx: Hex;
		readonly pceSvn: number;
		readonly isAccepted: boolean;
	}[];
}

export interface ChainQeIdentity {
	readonly evaluation: number;
	readonly from: bigint;
	readonly until: bigint;
	readonly misc: Hex;
	readonly miscMask: Hex;
	readonly attributes: Hex;
	readonly mask: Hex;
	readonly signer: Hex;
	readonly product: number;
	readonly levels: readonly SvnLevel[];
}

export interface CertificatePart {
	readonly signed: SignedPart;
	readonly key: CurvePoint;
}

export interface QuoteParts {
	/** Header and body. */
	readonly quote: SignedPart;
	readonly key: CurvePoint;
	/** By which the contract knows the key with this TDX module. */
	readonly id: Hex;
	readonly bind: Hex;
	readonly set: Hex;
	/** Keccak of all that is measured: MRTD, configuration, owner, registers. */
	readonly guest: Hex;
	readonly pck: SignedPart;
	/** Null: the quote does not have three certificates. */
	readonly authority: CertificatePart | null;
	readonly qe: SignedPart;
	readonly qeAuth: Hex;
	readonly teeTcbSvn: Hex;
	readonly seam: Hex;
}

export interface CollateralParts {
	readonly signer: CertificatePart;
	readonly tcbInfo: SignedPart;
	readonly identity: SignedPart;
	readonly rootList: SignedPart;
	readonly pckList: SignedPart;
	/** As the contract reads the two texts. */
	readonly readInfo: ChainTcbInfo;
	readonly readIdentity: ChainQeIdentity;
}
