// A transcript of Poseidon, docs/zk.md §13: six lanes, the first of which no message is added to. Over
// numbers or wires.
import type { Field } from "../field.ts";
import type { Dialogue } from "../sumcheck.ts";
import { permute } from "./poseidon.ts";

const LANES = 6;
const RATE = LANES - 1;
/** Of the first message. */
const NAME = 0x6173736179n;

export interface PoseidonDialogue<F> extends Dialogue<F> {
	absorb(kind: number, list: readonly F[]): void;
	/** What everything absorbed so far comes to. */
	digest(): F;
}

/** `next`: the scalars of the proof, one after the other. */
export function createPoseidonDialogue<F>(field: Field<F>, next: () => F): PoseidonDialogue<F> {
	let state = Array.from({ length: LANES }, (_, i) => field.of(i === 0 ? NAME : 0n));
	let drawn = 0;
	const dialogue: PoseidonDialogue<F> = {
		field,
		absorb(kind, list) {
			// Kind and length, so that no two lists of messages are one.
			state[0] = field.sum([state[0]!, field.of(BigInt(kind) * 2n ** 32n + BigInt(list.length))]);
			for (let at = 0; at < list.length; at += RATE) {
				const block = list.slice(at, at + RATE);
				state = permute(
					field,
					state.map((lane, i) => (i > 0 && i <= block.length ? field.sum([lane, block[i - 1]!]) : lane)),
				);
			}
			drawn = 0;
		},
		message(kind, count) {
			const list = Array.from({ length: count }, next);
			dialogue.absorb(kind, list);
			return list;
		},
		challenge() {
			if (drawn === RATE) {
				state = permute(field, state);
				drawn = 0;
			}
			drawn++;
			return state[drawn]!;
		},
		digest: () => state[0]!,
	};
	return dialogue;
}
