// Cases for the judges of one element: random programs and programs at the bounds of docs/work.md, run by
// src/work; of any op of any step an element, a lie about it, and what shows the lie; and changes of all
// that. All chance comes from `draw`.
import { philoxKey } from "../../../src/protocol/hash/philox.ts";
import { mixedSample, mlpSample, type Sample } from "../../../src/work/builder/samples.test-kit.ts";
import {
	bytesOf,
	type Elements,
	elementCount,
	intervalOf,
	type TensorType,
} from "../../../src/work/operators/tensor-type.ts";
import type { CheckedProgram } from "../../../src/work/program/check-program.ts";
import { sumShapeFault } from "../../../src/work/program/check-sums.ts";
import { decodeOp } from "../../../src/work/program/decode.ts";
import { encodeOp, encodeProgram } from "../../../src/work/program/encode.ts";
import { orThrow } from "../../../src/work/program/fault.ts";
import { openProgram, sealProgram } from "../../../src/work/program/open-program.ts";
import { createMachine } from "../../../src/work/program/run-program.ts";
import type { MapOp } from "../../../src/work/program/shapes.ts";
import { accuse, ownTensor } from "../../../src/work/trace/accuse.ts";
import { type Contradiction, judgeElement, type Words } from "../../../src/work/trace/judge.ts";
import { sectionsOf } from "../../../src/work/trace/layout.ts";
import { traceSegment } from "../../../src/work/trace/run-trace.ts";
import { LEAF_BYTES, leafCount, leafOf, rootOfLeaf, tensorTree } from "../../../src/work/trace/tensor-tree.ts";
import { createSpanTranscript, createTranscript } from "../../../src/work/trace/transcript.ts";
import { longProgram } from "../../../tests/work/long-maps.test-kit.ts";
import {
	givenTo,
	instructionProgram,
	isRunnable,
	placeProgram,
	sumProgram,
} from "../../../tests/work/near-bounds.test-kit.ts";
import { programBytes } from "../../../vectors/naive-work.ts";
import { type Draw, randomProgram } from "../../../vectors/work-programs.ts";
import { type Asked, caseOf } from "../disputes.test-kit.ts";
import type { JudgeCall, JudgeFound } from "./judge-batch.test-kit.ts";

export interface Case {
	readonly what: string;
	/** `opLeaf`: what the program has in place of the op's own leaf. */
	readonly asked: Asked & { readonly opLeaf?: Uint8Array | undefined };
	readonly words: Words;
	readonly shown: Contradiction;
}

/** One op of one step, as it ran. */
export interface RanOp extends Asked {
	/** Number in its phase. */
	readonly number: number;
	readonly elements: readonly Elements[];
	readonly result: Elements;
}

const SEGMENTS = 3;

export interface AnyProgram {
	readonly checked: CheckedProgram;
	readonly given: Sample["given"];
}

const SAMPLES = [mlpSample, mixedSample, () => mixedSample(3)];

/** The samples first, then any program that may run. */
export function anyProgram(number: number, draw: Draw, seed: Uint8Array): AnyProgram {
	if (number < SAMPLES.length) {
		const { program, given } = SAMPLES[number]!();
		return { checked: orThrow(sealProgram(program)), given };
	}
	for (;;) {
		const kind = draw(8);
		const near = [instructionProgram, placeProgram, sumProgram, longProgram][kind];
		const bytes =
			near === undefined
				? Uint8Array.from(programBytes(randomProgram(draw, seed, kind < 6)))
				: encodeProgram(near(draw));
		const opened = openProgram(bytes);
		if (opened.ok && isRunnable(opened.value.program))
			return { checked: opened.value, given: givenTo(opened.value.program, seed) };
	}
}

export function ranOps({ checked, given }: AnyProgram, seed: Uint8Array): RanOp[] {
	const { program } = checked;
	const machine = createMachine(checked, seed, given);
	const found: RanOp[] = [];
	for (let segment = 0; segment < SEGMENTS; segment++)
		traceSegment(machine, ({ step, op: number, inputs, output }, elements, result) => {
			const op = program[segment === 0 ? "init" : "step"][number]!;
			found.push({ op, number, segment, step, k: program.k, seed, inputs, output, element: 0, elements, result });
		});
	return found;
}

/** Another number of 64 bits: a neighbour, an end, anything. */
function otherNumber(draw: Draw, from: bigint, type: TensorType = "i64"): bigint {
	const { lo, hi } = intervalOf(type);
	const wide = (BigInt(draw(2 ** 32)) << 32n) | BigInt(draw(2 ** 32));
	const list = [from ^ 1n, from + 1n, from - 1n, lo, hi, 0n, -from, lo + (wide % (hi - lo + 1n))];
	const told = list[draw(list.length)]!;
	return told === from || told < lo || told > hi ? from ^ 1n : told;
}

const leafBytesWith = (bytes: Uint8Array, type: TensorType, at: number, value: bigint): Uint8Array => {
	const size = bytesOf(type);
	const copy = bytes.slice();
	for (let i = 0; i < size; i++) copy[at * size + i] = Number((value >> BigInt(8 * i)) & 255n);
	return copy;
};

/** Its section and name. */
function instructionAt(op: MapOp, register: number): string {
	const { bodyFrom, afterFrom } = sectionsOf(op);
	const [section, first] =
		register < bodyFrom
			? (["before", 0] as const)
			: register < afterFrom
				? (["body", bodyFrom] as const)
				: (["after", afterFrom] as const);
	return `${section} ${op.code[section][register - first]!.op}`;
}

/**
 * A lie about an element, and what shows it; then the honest words with the same shown, where that says
 * something.
 */
export function lieAbout(run: RanOp, draw: Draw): Case[] {
	const { op, elements, segment, step, k, seed, result } = run;
	const moment = { segment, step, k, key: philoxKey(seed) };
	const byteLength = result.byteLength;
	const tree = tensorTree(result);
	const isFilling = draw(40) === 0 && byteLength % LEAF_BYTES !== 0;
	const element = isFilling ? 0 : draw(result.length);
	const own = BigInt(result[element]!);
	const { type } = op.output;
	const told = otherNumber(draw, own, type);
	const place = leafOf(element, type);
	const leaf = isFilling ? leafCount(byteLength) - 1 : place.leaf;
	const path = tree.path(leaf);
	const bytes = isFilling ? tree.leaf(leaf).slice() : leafBytesWith(tree.leaf(leaf), type, place.at, told);
	if (isFilling) bytes[(byteLength % LEAF_BYTES) + draw(LEAF_BYTES - (byteLength % LEAF_BYTES))] = 1 + draw(255);
	const output = rootOfLeaf(bytes, leaf, byteLength, path)!;
	const honest = createTranscript(op, element, moment, elements);
	// The number that is false, if any is but the first; of spans any; now and then the first is not the
	// output's.
	const [at, spanAt, isValue] = [draw(honest.length + 1), draw(40), draw(20) === 0];
	const ask = (one: number, turns: readonly number[]) => {
		if (turns.length > 0) {
			const said = [...createSpanTranscript(op as MapOp, one, moment, elements, turns)];
			if (spanAt < said.length) said[spanAt] = otherNumber(draw, said[spanAt]!);
			return said;
		}
		const said = honest.with(0, isValue ? own : told);
		return at > 0 && at < said.length ? said.with(at, otherNumber(draw, said[at]!)) : said;
	};
	// A span is asked for once: what it says must not change.
	const found = accuse(
		{ op, moment, inputs: elements.map(ownTensor), output: ownTensor(result) },
		leaf,
		{ bytes, path },
		ask,
	)!;
	const { words, contradiction: shown } = found;
	const which = shown.kind === "instruction" ? ` ${instructionAt(op as MapOp, shown.register)}` : "";
	const what = `${op.operator}${"reduction" in op ? ` ${op.reduction}` : ""} ${shown.kind}${which}`;
	const lie: Case = { what, asked: { ...run, element: found.element, output }, words, shown };
	if (words.path !== undefined || shown.kind === "value" || shown.kind === "filling") return [lie];
	return [
		lie,
		{ ...lie, what: `${what}, honest`, asked: { ...lie.asked, output: run.output }, words: { transcript: honest } },
	];
}

export const callOf = ({ asked, words, shown }: Case): JudgeCall => caseOf(asked, words, shown);

/** What src/work and the checks around it say: docs/jobs.md §7. */
export function judgedHere({ asked, words, shown }: Case): JudgeFound {
	const phase = asked.segment === 0 ? "init" : "step";
	const decoded = decodeOp(asked.opLeaf ?? encodeOp(asked.op, phase));
	if (!decoded.ok || decoded.value.phase !== phase) return { refused: "op" };
	const { op } = decoded.value;
	if (op.operator !== "map" && sumShapeFault(op) !== null) return { refused: "op" };
	const { element, segment, step, k, seed, inputs, output } = asked;
	// Nothing is said of a filling, and so of no element.
	if (shown.kind === "filling" && (element > 0 || words.path !== undefined)) return { refused: "words" };
	const judged = judgeElement(
		{ op, element, moment: { segment, step, k, key: philoxKey(seed) }, inputs, output },
		words,
		shown,
	);
	return judged.convicts ? { said: judged.said, right: judged.right } : { refused: judged.reason };
}

/** Bytes with something else in them. */
export function otherBytes(draw: Draw, from: Uint8Array): Uint8Array {
	const kind = draw(8);
	if (kind === 0) return from.slice(0, draw(from.length));
	if (kind === 1) return Uint8Array.from([...from, draw(256)]);
	const copy = from.slice();
	const at = draw(copy.length);
	copy[at] = [copy[at]! ^ (1 << draw(8)), copy[at]! + 1, 0, 255][draw(4)]!;
	if (copy[at] === from[at]) copy[at]! ^= 1;
	return copy;
}

/** A path with another node, one more or one less. */
function otherPath(draw: Draw, path: readonly Uint8Array[]): Uint8Array[] {
	const kind = draw(3);
	if (kind === 0 || path.length === 0) return [...path, new Uint8Array(32).fill(draw(256))];
	if (kind === 1) return path.slice(0, -1);
	const at = draw(path.length);
	return path.map((node, i) => (i === at ? node.map((byte, j) => (j === 7 ? byte ^ 1 : byte)) : node));
}

const leavesIn = (shown: Contradiction) =>
	"leaves" in shown ? shown.leaves : "leaf" in shown && shown.leaf !== null ? [shown.leaf] : [];

function withLeaf(
	shown: Contradiction,
	at: number,
	leaf: { bytes: Uint8Array; path: readonly Uint8Array[] },
): Contradiction {
	if ("leaves" in shown) return { ...shown, leaves: shown.leaves.with(at, leaf) };
	return { ...shown, leaf } as Contradiction;
}

/**
 * The case with one thing of it changed: a byte of the op's leaf (in a program that has it so), a leaf, a
 * path, a transcript, a place, a root.
 */
export function changed(one: Case, draw: Draw): Case {
	const { asked, words, shown } = one;
	const as = (how: string, more: Partial<Case>): Case => ({ ...one, ...more, what: `${one.what}, other ${how}` });
	const leaves = leavesIn(shown);
	const leaf = leaves.length > 0 ? draw(leaves.length) : 0;
	const kind = draw(12);
	if (kind < 4) {
		const phase = asked.segment === 0 ? "init" : "step";
		return as("op leaf", { asked: { ...asked, opLeaf: otherBytes(draw, encodeOp(asked.op, phase)) } });
	}
	if (kind === 4 && leaves.length > 0) {
		const bytes = leaves[leaf]!.bytes.slice();
		bytes[draw(bytes.length)]! ^= 1 << draw(8);
		return as("leaf", { shown: withLeaf(shown, leaf, { ...leaves[leaf]!, bytes }) });
	}
	if (kind === 5 && leaves.length > 0) {
		const path = otherPath(draw, leaves[leaf]!.path);
		return as("path", { shown: withLeaf(shown, leaf, { ...leaves[leaf]!, path }) });
	}
	if (kind === 6) return as("place", otherPlace(one, draw));
	if (kind === 7) {
		const operand = draw(asked.inputs.length + 1);
		const root = new Uint8Array(32).fill(7);
		if (operand === asked.inputs.length) return as("output", { asked: { ...asked, output: root } });
		return as("input", { asked: { ...asked, inputs: asked.inputs.map((own, i) => (i === operand ? root : own)) } });
	}
	if (kind === 8) return as("moment", { asked: { ...asked, segment: asked.segment === 0 ? 0 : asked.segment + 1 } });
	return as("transcript", { words: otherTranscript(words, draw) });
}

function otherPlace({ asked, words, shown }: Case, draw: Draw): Partial<Case> {
	const kind = draw(3);
	if (kind === 0) {
		const count = elementCount(asked.op.output.dims);
		return { asked: { ...asked, element: [draw(count), count, count + 7][draw(3)]! } };
	}
	if (kind === 1 && words.path !== undefined && words.path.length > 0) {
		const at = draw(words.path.length);
		return {
			words: { ...words, path: words.path.map((turn, i) => (i === at ? (turn + 1 + draw(33)) % 65536 : turn)) },
		};
	}
	if (shown.kind === "chunk") return { shown: { ...shown, chunk: shown.chunk + 1 - 2 * draw(2) } };
	if (shown.kind === "instruction")
		return { shown: { ...shown, register: Math.abs(shown.register + 1 - 2 * draw(2)) } };
	return { shown: { kind: (["start", "turn", "end"] as const)[draw(3)]! } };
}

function otherTranscript(words: Words, draw: Draw): Words {
	const { transcript, marked } = words;
	const change = (list: readonly bigint[]) => {
		const kind = draw(6);
		if (kind === 0) return list.slice(0, -1);
		if (kind === 1 || list.length === 0) return [...list, BigInt(draw(3))];
		const at = draw(list.length);
		return list.with(at, otherNumber(draw, list[at]!));
	};
	const kind = draw(marked === undefined ? 8 : 3);
	if (kind === 1 && marked !== undefined)
		return { ...words, marked: { ...marked, transcript: change(marked.transcript) } };
	// One that is not needed, one that is missing, or one of another span.
	if (kind === 2)
		return { ...words, marked: { depth: (marked?.depth ?? -1) + 1, transcript: marked?.transcript ?? transcript } };
	return { ...words, transcript: change(transcript) };
}
