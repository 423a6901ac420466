// One device's answer to a roll call on an engine, and its openings later: docs/roll-call.md. The provider
// computes its answer with it, and whoever opens an answer (a validator over a channel, a provider of whom an
// opening is demanded) runs the same again: what an engine computes depends on nothing but the hash of the
// block, the host and the sizes. Judges nothing: verify/roll-call does.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { nextSeed } from "../../protocol/probe/challenge-seed.ts";
import {
	type RollAnswer,
	type RollHost,
	type RollSpec,
	rollChallenges,
	rollNonce,
	rollPlaces,
	rollSeed,
} from "../../protocol/roll-call/roll-call.ts";
import type { Place } from "../wire/frame-table.ts";
import type { EngineClient } from "./create-engine-client.ts";
import type { Ending, OpeningRecord, Within } from "./engine-answers.ts";

export interface RolledAnswer {
	readonly answer: RollAnswer;
	/** Of all rounds; `answer.end` binds them. */
	readonly roots: readonly Uint8Array[];
	/** From the request to the last root of the products, for those who size the next one. */
	readonly gemmUs: number;
}

/** Of each kind of place, in the order drawn. */
export type RolledOpenings = Readonly<Record<keyof ReturnType<typeof rollPlaces>, readonly OpeningRecord[]>>;

/** On device `spec.device`, as session `session`, which stays for openings. Throws ROLL_CALL_FAILED. */
export async function runRollAnswer(
	client: EngineClient,
	session: number,
	{ beta0, host, spec }: { readonly beta0: Uint8Array; readonly host: RollHost; readonly spec: RollSpec },
	within: Within,
): Promise<RolledAnswer> {
	const [{ device, precision, m, n, k, rounds, keep }, { newest, passes }] = rollChallenges(spec);
	const first = rollSeed(beta0, host, spec);
	const made = await client.gemm({ session, device, precision, m, n, k, rounds, keep, seed: first }, within);
	const roots = wholeRoots(made, rounds);
	const end = roots.reduce(nextSeed, first);
	const pass = await client.stream({ session, reader: device, newest, passes, nonce: rollNonce(end) }, within);
	const [last] = wholeRoots(pass, passes);
	return {
		answer: { ...spec, end: bytesToHex(end), last: bytesToHex(last!) },
		roots,
		gemmUs: made.endedAtUs - made.sentAtUs,
	};
}

/** What β₂ draws of an answer that stands in `session`. Throws ROLL_CALL_FAILED. */
export async function openRollAnswer(
	client: EngineClient,
	session: number,
	{ beta2, key, spec }: { readonly beta2: Uint8Array; readonly key: string; readonly spec: RollSpec },
	within: Within,
): Promise<RolledOpenings> {
	const { products, digests, kept } = rollPlaces(beta2, key, spec);
	const open = async (what: "leaves" | "digests", places: readonly Place[]) => {
		const answer = await client.open({ session, what, places }, within);
		mustComplete(answer);
		return answer.openings;
	};
	return {
		products: await open("leaves", products),
		digests: await open("digests", digests),
		kept: await open("leaves", kept),
	};
}

function wholeRoots(
	answer: Parameters<typeof mustComplete>[0] & { roots: readonly { index: number; root: Uint8Array }[] },
	count: number,
) {
	mustComplete(answer);
	const { roots } = answer;
	if (roots.length !== count || roots.some(({ index }, i) => index !== i))
		throw new AssayError("ROLL_CALL_FAILED", "the engine did not give every root once and in order");
	return roots.map(({ root }) => root);
}

function mustComplete({ end, detail }: Ending): void {
	if (end !== "complete") throw new AssayError("ROLL_CALL_FAILED", `the engine ended with ${end}: ${detail}`);
}
