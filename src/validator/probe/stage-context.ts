// What the stages and warm-ups of one probe share: the engine, the secret, the clock, and what has been
// recorded so far.
import type { EngineClient } from "../../engine/client/create-engine-client.ts";
import type { Answer, RunOptions } from "../../engine/client/engine-answers.ts";
import type { Beacon } from "../../protocol/probe/challenge-seed.ts";
import { coveredBytes } from "../../protocol/probe/challenge-shape.ts";
import type { ChallengeSpec, DroppedTry, GemmSpec, Reading, TrainSpec } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import type { ProbeEvent } from "./probe-event.ts";
import type { ProviderWord, StageReceipts } from "./provider-word.ts";
import type { HeldTraining } from "./run-training.ts";

export interface StageContext {
	readonly client: EngineClient;
	readonly secret: Uint8Array;
	readonly beacon: Beacon;
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	readonly onEvent: (event: ProbeEvent) => void;
	readonly deadlines: { readonly openMs: number; readonly releaseMs: number; readonly answerMs: number | null };
	/** Recorded challenges of the stages before; a stage appends its own. */
	readonly answered: AnsweredChallenge[];
	/** What devices said of themselves while stages ran, in the order it came. */
	readonly readings: Reading[];
	/** Tries of stages that were asked again. */
	readonly dropped: DroppedTry[];
	/** Sessions that the engine still holds, by challenge number. */
	readonly held: Set<number>;
	/** Training runs whose traces are not opened yet, by challenge number. */
	readonly trained: Map<number, HeldTraining>;
	/** Null where the host gives none. */
	readonly word: ProviderWord | null;
	readonly onCommitted?: OnCommitted;
}

/** A gemm whose roots are all there; nothing of it has been opened. */
export interface CommittedGemm {
	readonly challenge: number;
	readonly spec: GemmSpec;
	readonly seed: Uint8Array;
	readonly roots: readonly Uint8Array[];
}

/**
 * Told of a stage's gemms after all their roots, before any place to open is, with the host's receipts; null:
 * it gave no answer.
 */
export type OnCommitted = (committed: readonly CommittedGemm[], receipts: StageReceipts | null) => void;

type Unsampled<S> = S extends unknown ? Omit<S, "samples"> : never;

/** Sends a run to the engine, recorded or not. A stream or copy runs over its gemm's session. */
export function sendRun(
	client: EngineClient,
	run: Unsampled<Exclude<ChallengeSpec, TrainSpec>>,
	session: number,
	seed: Uint8Array,
	options: RunOptions,
): Promise<Answer> {
	const { device } = run;
	if (run.kind === "stream") {
		const { newest, passes } = run;
		return client.stream({ session: run.of + 1, reader: device, newest, passes, nonce: seed }, options);
	}
	if (run.kind === "chase")
		return client.chase({ session: run.of + 1, newest: run.newest, intervals: run.intervals, nonce: seed }, options);
	if (run.kind === "copy")
		return client.copy({ session: run.of + 1, device, newest: run.newest, nonce: seed }, options);
	if (run.kind === "gemm") {
		const { precision, m, n, k, rounds, keep } = run;
		return client.gemm({ session, device, precision, m, n, k, rounds, keep, seed }, options);
	}
	const { precision, lanes, steps, rounds } = run;
	return client.fma({ session, device, precision, lanes, steps, rounds, seed }, options);
}

/** Bytes of one pass over the newest kept products of a recorded gemm. */
export function bytesOfPass(
	context: StageContext,
	{ of: index, newest }: { readonly of: number; readonly newest: number },
): number {
	const of = context.answered[index];
	return of?.spec.kind === "gemm" ? coveredBytes(of.spec, of.roots.length, newest) : 0;
}
