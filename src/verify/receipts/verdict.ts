// The verdict on a receipt of a zkVM: that a program, named by its image, ran to its end and gave these
// public bytes.
import type { Code } from "../../protocol/codes.ts";
import type { Finding } from "../../protocol/probe/verdict.ts";

export type ReceiptSystem = "risc0-groth16" | "sp1-groth16" | "sp1-plonk";

/** Hex without 0x. */
export interface Receipt {
	readonly system: ReceiptSystem;
	/** Selector and proof. */
	readonly proof: string;
	/** Image id, or vkey: 64 digits. */
	readonly program: string;
	/** The journal, or the public values. */
	readonly values: string;
	/** The version that the file says; null: the selector's. */
	readonly version: string | null;
}

export type ReceiptVerdict =
	| {
			readonly status: "valid";
			readonly system: ReceiptSystem;
			readonly release: string;
			readonly program: string;
			readonly values: string;
			readonly findings: readonly Finding[];
	  }
	| { readonly status: "invalid"; readonly code: Code; readonly detail: string };

export const invalid = (code: Code, detail: string): ReceiptVerdict => ({ status: "invalid", code, detail });

export type ReleaseStatus = "current" | "retired" | "unreleased";

/**
 * A retired release proves nothing against whoever knows its fault; one that never came out was promised by
 * nobody.
 */
export function releaseFindings(status: ReleaseStatus, release: string): Finding[] {
	if (status === "current") return [];
	if (status === "retired")
		return [{ code: "RELEASE_RETIRED", detail: `${release} was retired by its makers: false proofs may pass` }];
	return [{ code: "RELEASE_UNRELEASED", detail: `${release} never came out: it lies between two releases` }];
}
