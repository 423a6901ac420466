// Sessions that prove a segment of training over an engine's frames (engine/FRAMES.md, "Proofs"): plan, data,
// weights and powers go in, points and the proof come out. What comes out is believed by nobody before
// verify/zk has seen it.
import type { Conversation } from "./conversation.ts";
import { GivingSession, openGiving, type Watched } from "./giving-session.ts";

/** What GIVE names. */
export const GIVEN = { features: 0, labels: 1, powers: 2, weights: 3 } as const;

export interface OpenProof {
	readonly device: number;
	/** encodePlan. */
	readonly plan: Uint8Array;
}

/** All throw AssayError. */
export interface ProveSession {
	/**
	 * Whole, once: features (i16), labels (i32), powers (x ‖ y, big-endian), weights of a link
	 * (GIVEN.weights + link; i32 or i64, as the plan says); after the last link's, where commitments shall
	 * hide what is in them, a blinder for each chunk of each group (scalars).
	 */
	give(number: number, bytes: Uint8Array): Promise<void>;
	/**
	 * Runs the segment; the points of features, labels, weights before and after, 64 bytes each. Null: it was
	 * stopped.
	 */
	commit(of: { readonly seed: Uint8Array; readonly firstStep: number } & Watched): Promise<Uint8Array | null>;
	prove(of: { readonly statement: Uint8Array } & Watched): Promise<Uint8Array | null>;
	/**
	 * The next segment of a run (docs/zk.md §13), all but its opening; then its weights are forgotten, and
	 * those of the next one can be given.
	 */
	provePart(of: { readonly statement: Uint8Array; readonly nonce: Uint8Array } & Watched): Promise<Uint8Array | null>;
	/**
	 * What a run proof ends with: the mask, the fold of all parts since the last one, and their opening.
	 * `secret`: what the mask follows from; zeros for none.
	 */
	fold(of: { readonly secret: Uint8Array } & Watched): Promise<Uint8Array | null>;
	release(): Promise<void>;
}

export type OpenProveSession = (proof: OpenProof) => Promise<ProveSession>;

class EngineProveSession extends GivingSession implements ProveSession {
	commit({ seed, firstStep, ...watched }: Parameters<ProveSession["commit"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "commit", session: this.session, firstStep, seed }, watched);
	}

	prove({ statement, ...watched }: Parameters<ProveSession["prove"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "prove", session: this.session, statement }, watched);
	}

	provePart({ statement, nonce, ...watched }: Parameters<ProveSession["provePart"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "part", session: this.session, statement, nonce }, watched);
	}

	fold({ secret, ...watched }: Parameters<ProveSession["fold"]>[0]): Promise<Uint8Array | null> {
		return this.ask({ kind: "fold", session: this.session, secret }, watched);
	}
}

/** `session` is a name that this link does not use yet. */
export async function openProveSession(
	talk: Conversation,
	session: number,
	{ device, plan }: OpenProof,
): Promise<ProveSession> {
	await openGiving(talk, { kind: "prover", session, device, plan });
	return new EngineProveSession(talk, session);
}
