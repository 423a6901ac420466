// Sessions that prove circuits by Groth16 over an engine's frames (engine/FRAMES.md, "Wrapped runs"): a
// circuit, a key of it and what its wires are told go in, the proof comes out. What comes out is believed by
// nobody before verify/ has seen it.
import type { Conversation } from "./conversation.ts";
import { GivingSession, openGiving, type Watched } from "./giving-session.ts";

/**
 * How a key's points are written: x ‖ y, big-endian, imaginary parts first; as snarkjs's .zkey has them; or
 * not at all: a key of secrets that everybody knows.
 */
export const KEY_FORM = { bigEndian: 0, snarkjs: 1, known: 2 } as const;
/** What GIVE names. The ends: α, β, δ; β, γ, δ of the second group; points of 1 and the inputs. */
const WRAP_GIVEN = { circuit: 0, numbers: 1, lists: 2 } as const;

/** Of a circuit and its key: sizes that everything given must have. */
interface WrapSizes {
	readonly inputs: number;
	readonly wires: number;
	/** 2^log2 constraints, inputs and 1 at most. */
	readonly log2: number;
}

export interface OpenWrap extends WrapSizes {
	readonly device: number;
	readonly form: (typeof KEY_FORM)[keyof typeof KEY_FORM];
	/** flatCircuit. */
	readonly circuit: Uint8Array;
}

/** All throw AssayError. */
export interface WrapSession {
	/** A key's lists: ends, a, b1, b2, others, powers. Of a key of known secrets none. */
	giveKey(lists: Iterable<Uint8Array>): Promise<void>;
	/** α, β, γ, δ and the points of 1 and the inputs. Null: it was stopped. */
	key(watched?: Watched): Promise<Uint8Array | null>;
	/**
	 * `numbers`: inputs, then secrets, 32 bytes each; `r`, `s`: scalars that hide them. TENSOR_…, or
	 * bad_request where they are not the circuit's.
	 */
	wrap(
		of: { readonly numbers: Uint8Array; readonly r: Uint8Array; readonly s: Uint8Array } & Watched,
	): Promise<Uint8Array | null>;
	release(): Promise<void>;
}

export type OpenWrapSession = (wrap: OpenWrap) => Promise<WrapSession>;

class EngineWrapSession extends GivingSession implements WrapSession {
	async giveKey(lists: Iterable<Uint8Array>): Promise<void> {
		let number: number = WRAP_GIVEN.lists;
		for (const list of lists) await this.give(number++, list);
	}

	key(watched: Watched = {}): Promise<Uint8Array | null> {
		return this.ask({ kind: "key", session: this.session }, watched);
	}

	async wrap({ numbers, r, s, ...watched }: Parameters<WrapSession["wrap"]>[0]): Promise<Uint8Array | null> {
		await this.give(WRAP_GIVEN.numbers, numbers);
		return this.ask({ kind: "wrap", session: this.session, r, s }, watched);
	}
}

/** `session` is a name that this link does not use yet. */
export async function openWrapSession(
	talk: Conversation,
	session: number,
	{ device, form, inputs, wires, log2, circuit }: OpenWrap,
): Promise<WrapSession> {
	const circuitBytes = circuit.length;
	await openGiving(talk, { kind: "wrapper", session, device, form, inputs, wires, log2, circuitBytes });
	const opened = new EngineWrapSession(talk, session);
	try {
		await opened.give(WRAP_GIVEN.circuit, circuit);
		return opened;
	} catch (error) {
		await opened.release().catch(() => {});
		throw error;
	}
}
