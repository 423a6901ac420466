// What a probe tells while it runs: for progress on a screen or in a log. Nothing here is evidence.
import type { ChallengeSpec, End, HostClaim, Reading } from "../../protocol/probe/evidence.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";

export type ProbeEvent =
	/** The engine answered; everything in the claim is what the host says of itself. */
	| { readonly kind: "claim"; readonly claim: HostClaim; readonly rttUs: number }
	| { readonly kind: "warm-up"; readonly name: string }
	| {
			readonly kind: "stage";
			readonly stage: number;
			readonly name: string;
			/** `challenge` counts as in the evidence. */
			readonly challenges: readonly { readonly challenge: number; readonly spec: ChallengeSpec }[];
	  }
	| {
			readonly kind: "root";
			readonly challenge: number;
			readonly spec: ChallengeSpec;
			/** Rounds or passes so far; of 0 for a run without a fixed end. */
			readonly done: number;
			readonly of: number;
			/** Since the challenge was sent: op/s for gemm and fma, B/s for stream. */
			readonly perS: number;
			readonly elapsedMs: number;
	  }
	| { readonly kind: "answered"; readonly challenge: number; readonly end: End; readonly detail: string }
	/** What a device says of itself while a challenge runs: a claim. */
	| { readonly kind: "reading"; readonly reading: Reading }
	/** The engine had no room; the stage is dropped and asked again, smaller. */
	| { readonly kind: "too-big"; readonly name: string }
	| { readonly kind: "opened"; readonly challenge: number; readonly openings: number; readonly end: End }
	| { readonly kind: "checking"; readonly bytes: number }
	| { readonly kind: "verdict"; readonly verdict: Verdict };
