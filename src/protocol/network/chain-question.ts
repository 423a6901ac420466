// Questions about a claim as the chain's book of disputes has them, docs/chain.md §12: packed bytes,
// big-endian. A question names all that its answer is checked with: counts, the node that children must fold
// to. Shapes and bytes only; which question comes next is src/verify/optimistic/.
import { concatBytes } from "../bytes/bytes.ts";
import { packed } from "../chain/hex.ts";

/** Where an op ran: in segment 0, the init phase, step 0 alone; its number in its phase. */
export interface OpPlace {
	readonly segment: number;
	readonly step: number;
	readonly op: number;
}

const CHAIN_TREES = ["segments", "trace", "output"] as const;

/**
 * u8 place ‖ for each of up to 16 nodes two bytes from there on, as the asker has it. What it is for:
 * src/verify/optimistic/chain-hint.ts.
 */
export const HINT_BYTES = 33;
interface Hinted {
	readonly hint?: Uint8Array;
}

export type ChainQuestion =
	/** The nodes four levels below the root of a segment's trace of so many leaves. A first word: the root. */
	| ({ readonly kind: "trace"; readonly segment: number; readonly count: number } & Hinted)
	/** So many numbers. A first word. */
	| ({
			readonly kind: "transcript";
			readonly element: number;
			readonly turns: readonly number[];
			readonly numbers: number;
	  } & OpPlace)
	/** Which op of a phase (0: init) writes a tensor. A first word. */
	| { readonly kind: "writer"; readonly phase: number; readonly tensor: number }
	/** The nodes four levels below one, down to height 0. Step and op are 0 but for an op's output. */
	| ({
			readonly kind: "nodes";
			readonly tree: (typeof CHAIN_TREES)[number];
			readonly height: number;
			readonly index: number;
			readonly count: number;
			readonly node: Uint8Array;
	  } & OpPlace &
			Hinted)
	/** Roots of the operands, then nodes four levels below the output's root; that of a trace leaf. */
	| ({ readonly kind: "op"; readonly operands: number; readonly leaves: number; readonly hash: Uint8Array } & OpPlace &
			Hinted)
	/** 1,024 bytes of an op's output. */
	| ({ readonly kind: "leaf"; readonly index: number; readonly count: number; readonly hash: Uint8Array } & OpPlace)
	/** Roots of these tensors, which fold to S of the segment. */
	| {
			readonly kind: "roots";
			readonly segment: number;
			readonly state: Uint8Array;
			readonly states: readonly number[];
			readonly results: readonly number[];
	  };

const QUESTION = 7;
const KINDS = ["trace", "transcript", "writer", "nodes", "op", "leaf", "roots"] as const;

const placed = ({ segment, step, op }: OpPlace): Uint8Array[] => [packed(segment, 8), packed(step, 4), packed(op, 4)];

const hintIn = ({ hint }: Hinted): Uint8Array[] => (hint === undefined ? [] : [hint]);

function fieldsOf(question: ChainQuestion): Uint8Array[] {
	switch (question.kind) {
		case "trace":
			return [packed(question.segment, 8), packed(question.count, 8), ...hintIn(question)];
		case "transcript": {
			const turns = question.turns.map((turn) => packed(turn, 2));
			return [...placed(question), packed(question.element, 8), ...turns, packed(question.numbers, 4)];
		}
		case "writer":
			return [packed(question.phase, 1), packed(question.tensor, 2)];
		case "nodes": {
			const { tree, height, index, count, node } = question;
			const of = packed(CHAIN_TREES.indexOf(tree), 1);
			const where = [...placed(question), packed(height, 1), packed(index, 8), packed(count, 8)];
			return [of, ...where, node, ...hintIn(question)];
		}
		case "op":
			return [
				...[...placed(question), packed(question.operands, 1), packed(question.leaves, 8), question.hash],
				...hintIn(question),
			];
		case "leaf":
			return [...placed(question), packed(question.index, 8), packed(question.count, 8), question.hash];
		case "roots": {
			const { states, results } = question;
			const numbers = [...states, ...results].map((tensor) => packed(tensor, 2));
			return [
				packed(question.segment, 8),
				question.state,
				packed(states.length, 2),
				packed(results.length, 2),
				...numbers,
			];
		}
	}
}

export const encodeChainQuestion = (question: ChainQuestion): Uint8Array =>
	concatBytes(Uint8Array.of(QUESTION, KINDS.indexOf(question.kind)), ...fieldsOf(question));

/** Reads fields from the front; a number beyond what JavaScript counts, or too few bytes, end it. */
class Fields {
	private readonly bytes: Uint8Array;
	private at = 2;

	constructor(bytes: Uint8Array) {
		this.bytes = bytes;
	}

	get left(): number {
		return this.bytes.length - this.at;
	}

	take(count: number): Uint8Array {
		if (this.left < count) throw new RangeError("the question ends early");
		this.at += count;
		return this.bytes.slice(this.at - count, this.at);
	}

	number(bytes: number): number {
		const value = this.take(bytes).reduce((all, byte) => all * 256 + byte, 0);
		if (!Number.isSafeInteger(value)) throw new RangeError("a number is too large");
		return value;
	}

	numbers(count: number): number[] {
		return Array.from({ length: count }, () => this.number(2));
	}

	/** At the end of the question, if there is one. */
	hint(): Hinted {
		return this.left === HINT_BYTES ? { hint: this.take(HINT_BYTES) } : {};
	}

	place(): OpPlace {
		return { segment: this.number(8), step: this.number(4), op: this.number(4) };
	}
}

function read(kind: (typeof KINDS)[number], fields: Fields): ChainQuestion {
	switch (kind) {
		case "trace":
			return { kind, segment: fields.number(8), count: fields.number(8), ...fields.hint() };
		case "transcript": {
			const place = { ...fields.place(), element: fields.number(8) };
			const turns = fields.numbers(Math.max(0, Math.floor((fields.left - 4) / 2)));
			return { kind, ...place, turns, numbers: fields.number(4) };
		}
		case "writer":
			return { kind, phase: fields.number(1), tensor: fields.number(2) };
		case "nodes": {
			const tree = CHAIN_TREES[fields.number(1)];
			if (tree === undefined) throw new RangeError("there is no such tree");
			const place = { ...fields.place(), height: fields.number(1) };
			const [index, count, node] = [fields.number(8), fields.number(8), fields.take(32)];
			return { kind, tree, ...place, index, count, node, ...fields.hint() };
		}
		case "op": {
			const of = { ...fields.place(), operands: fields.number(1), leaves: fields.number(8) };
			return { kind, ...of, hash: fields.take(32), ...fields.hint() };
		}
		case "leaf":
			return { kind, ...fields.place(), index: fields.number(8), count: fields.number(8), hash: fields.take(32) };
		case "roots": {
			const of = { segment: fields.number(8), state: fields.take(32) };
			const [states, results] = [fields.number(2), fields.number(2)];
			return { kind, ...of, states: fields.numbers(states), results: fields.numbers(results) };
		}
	}
}

/** Null: no question that the chain knows. */
export function decodeChainQuestion(bytes: Uint8Array): ChainQuestion | null {
	const kind = KINDS[bytes[1] ?? KINDS.length];
	if (bytes[0] !== QUESTION || kind === undefined) return null;
	try {
		const fields = new Fields(bytes);
		const question = read(kind, fields);
		return fields.left === 0 ? question : null;
	} catch {
		return null;
	}
}

/** The most gas that answering takes, which its asker pays for: Questions.gasOf of the contracts. */
export function answerGas(question: ChainQuestion): number {
	const isHinted = "hint" in question && question.hint !== undefined;
	switch (question.kind) {
		case "trace":
			return isHinted ? 120_000 : 100_000;
		case "transcript":
			return 65_000 + 8 * 60 * question.numbers;
		case "writer":
			return 65_000;
		case "nodes":
			return isHinted ? 115_000 : 80_000;
		case "op":
			return (isHinted ? 125_000 : 85_000) + 32 * 60 * question.operands;
		case "leaf":
			return 85_000;
		case "roots":
			return 60_000 + (32 * 60 + 2 * 60 + 500) * (question.states.length + question.results.length);
	}
}
