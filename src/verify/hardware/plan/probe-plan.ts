// The words between a plan (which decides) and run-probe.ts (which acts): steps going out, what was seen
// coming back. Shapes only. A plan is a pure function of the claim and of what was seen so far; it never
// touches a link or a clock. Page: docs/hardware-proof.md; the choices themselves are in plan-probe.ts.
import type {
	ChallengeSpec,
	CopySpec,
	End,
	FmaSpec,
	GemmSpec,
	HostClaim,
	StreamSpec,
} from "../../../protocol/probe/evidence.ts";

/**
 * A short run that is not recorded: it sizes the challenges and nothing else, so a lie in it only hurts the
 * liar's figures.
 */
export type WarmUp =
	/** `passes` of a stream over what it kept; 0 for none. */
	| (Omit<GemmSpec, "keep" | "samples"> & { readonly passes: number })
	| Omit<FmaSpec, "samples">
	/** Over the newest kept products of challenge `of`, which is still held; `device` reads. */
	| Omit<StreamSpec, "samples">
	/** To the disk `device`; a copy that is recorded later replaces it. */
	| Omit<CopySpec, "samples">;

export type Step =
	| { readonly act: "warm-up"; readonly name: string; readonly runs: readonly WarmUp[] }
	| {
			/**
			 * All of a stage's challenges are sent in the same instant, one a device; opened when all have
			 * committed.
			 */
			readonly act: "stage";
			readonly name: string;
			readonly specs: readonly ChallengeSpec[];
			/** For the whole answer of one challenge, its last root included. */
			readonly deadlineMs: number;
			/** Sustained runs (rounds 0) are stopped after this time. */
			readonly stopAfterMs?: number;
			/** An engine's `no_memory` drops the stage from the record and lets the plan ask for less. */
			readonly mayShrink?: boolean;
			/** While it runs, its devices are asked this often what they say of themselves (READ). */
			readonly readEveryMs?: number;
			/**
			 * Devices whose sessions the next stages still need (true: all); what others hold is released after
			 * opening.
			 */
			readonly hold?: true | readonly number[];
	  }
	/**
	 * Of these devices, or of all. Nobody waits for it when `isAside`: what comes next is asked of other
	 * devices.
	 */
	| { readonly act: "release"; readonly name: string; readonly devices?: readonly number[]; readonly isAside?: boolean }
	| { readonly act: "finish" };

export interface WarmUpSeen {
	readonly run: WarmUp;
	/** Operations a second between the first and the last root; 0 when it did not end well. */
	readonly opsPerS: number;
	/** Bytes a second of the stream passes or the copy, 0 without. */
	readonly bytesPerS: number;
	/** Between the first and the last root: too short a span says too little. */
	readonly spanS: number;
}

export interface ChallengeSeen {
	readonly spec: ChallengeSpec;
	readonly end: End;
	/** From sending to the last root, on the verifier's clock. */
	readonly seconds: number;
	readonly roots: number;
}

/**
 * What has happened so far, in order. A recorded challenge's place in `challenges` is its number in the
 * evidence.
 */
export interface Seen {
	readonly claim: HostClaim;
	/** Median echo of the engine. */
	readonly rttUs: number;
	/** Names of the steps done. */
	readonly steps: readonly string[];
	readonly warmUps: readonly WarmUpSeen[];
	readonly challenges: readonly ChallengeSeen[];
	/** Challenges refused with `no_memory` in a stage that was dropped. */
	readonly tooBig: readonly ChallengeSpec[];
	/** The only devices that are to be asked; null: all. */
	readonly only?: readonly number[] | null;
}

export type Plan = (seen: Seen) => Step;

/** Multiply-adds count as two operations, as everybody counts them. */
export function opsOfRound(
	spec: Pick<GemmSpec, "kind" | "m" | "n" | "k"> | Pick<FmaSpec, "kind" | "lanes" | "steps">,
): number {
	return spec.kind === "gemm" ? 2 * spec.m * spec.n * spec.k : 2 * spec.lanes * spec.steps;
}

/** Of one kept product. */
export const roundBytes = ({ m, n }: Pick<GemmSpec, "m" | "n">): number => 2 * m * n;
