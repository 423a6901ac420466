// What shows that a question on the chain could be answered, docs/chain.md §12: the `basis` of `timeout`,
// from what the accused said before. Whoever was silent to such a question is convicted. Pure; the case and
// the transaction are the caller's affair.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { merkleLevels } from "../../protocol/hash/merkle.ts";
import type { ChainQuestion } from "../../protocol/network/chain-question.ts";
import type { Program } from "../../work/program/shapes.ts";
import { type OpPlace, phaseOf } from "./answers.ts";
import { knownOf } from "./chain-road.ts";
import { ProgramParts, traceShown } from "./fraud/show-parts.ts";
import type { Accused } from "./next-question.ts";

const hex = (text: string): Hex => `0x${text}`;
const ZERO = hex("00".repeat(32));

const EMPTY = {
	op: { number: 0, leaf: "0x" as Hex, path: [] as Hex[] },
	leaf: { step: 0, op: 0, inputs: [] as Hex[], output: ZERO, path: [] as Hex[] },
	path: [] as Hex[],
	tensors: [] as Hex[],
};
type Basis = typeof EMPTY;

/** From a node of the list of states to the claim's segment root. */
function listPath(states: readonly Uint8Array[], height: number, index: number): Hex[] {
	const levels = merkleLevels(states, keccakNode).slice(height, -1);
	return levels.flatMap((level, up) => {
		const beside = level[Math.floor(index / 2 ** up) ^ 1];
		return beside === undefined ? [] : [toHex(beside)];
	});
}

/** `question` is one that chainQuestionOf made with these very answers. */
export async function questionBasis(program: Program, accused: Accused, question: ChainQuestion): Promise<Basis> {
	const parts = new ProgramParts(program);
	const known = knownOf(program, accused);
	const { claim, states } = accused;
	const opOf = ({ segment, op }: OpPlace): Basis["op"] => {
		const { shown, leaf } = parts.op(phaseOf(segment), op);
		return { number: shown.number, leaf: toHex(leaf), path: shown.path.map(hex) };
	};
	const indexOf = ({ segment, step, op }: OpPlace) => step * program[phaseOf(segment)].length + op;
	const leafOf = async (place: OpPlace): Promise<Basis["leaf"]> => {
		const trace = await known.traceTree(place.segment);
		const { inputs, output, path } = traceShown(await known.traceLeaf(place), await trace.pathFrom(0, indexOf(place)));
		return { step: place.step, op: place.op, inputs: inputs.map(hex), output: hex(output), path: path.map(hex) };
	};
	switch (question.kind) {
		case "trace":
		case "writer":
			return EMPTY;
		case "roots": {
			const tensors = program.tensors.map((_, i) => toHex(concatBytes(parts.tensor(i).leaf)));
			return { ...EMPTY, path: listPath(states, 0, question.segment - claim.first), tensors };
		}
		case "transcript":
			return { ...EMPTY, op: opOf(question) };
		case "op": {
			const trace = await known.traceTree(question.segment);
			return { ...EMPTY, op: opOf(question), path: (await trace.pathFrom(0, indexOf(question))).map(toHex) };
		}
		case "leaf": {
			const path = await (await known.outputTree(question)).pathFrom(0, question.index);
			return { ...EMPTY, op: opOf(question), leaf: await leafOf(question), path: path.map(toHex) };
		}
		case "nodes": {
			const { height, index } = question;
			if (question.tree === "segments") return { ...EMPTY, path: listPath(states, height, index) };
			if (question.tree === "trace") {
				const path = await (await known.traceTree(question.segment)).pathFrom(height, index);
				return { ...EMPTY, path: path.map(toHex) };
			}
			const path = await (await known.outputTree(question)).pathFrom(height, index);
			return { ...EMPTY, op: opOf(question), leaf: await leafOf(question), path: path.map(toHex) };
		}
	}
}
