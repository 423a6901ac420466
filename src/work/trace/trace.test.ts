// Traces, transcripts and the judge: honest ones hold together and convict nobody; one changed number,
// wherever it stands, is found and convicts; and nothing else that is shown does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { philoxKey } from "../../protocol/hash/philox.ts";
import { mixedSample, mlpSample, numbersFrom, type Sample } from "../builder/samples.test-kit.ts";
import { createElements, type Elements } from "../operators/tensor-type.ts";
import { decodeOp } from "../program/decode.ts";
import { encodeOp } from "../program/encode.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine, type Machine } from "../program/run-program.ts";
import type { Op, Phase } from "../program/shapes.ts";
import { type Ask, accuse, type OwnRun, ownTensor } from "./accuse.ts";
import type { TraceLeaf } from "./commitments.ts";
import { type Contradiction, judgeElement, type Question, type ShownLeaf, type Words } from "./judge.ts";
import { chunkEnds, sectionsOf, spanOf } from "./layout.ts";
import { endOrigin, type Origin, operandOrigins } from "./origins.ts";
import { machineState, traceSegment } from "./run-trace.ts";
import { type TensorTree, tensorRoot, tensorTree } from "./tensor-tree.ts";
import {
	createSpanTranscript,
	createTranscript,
	decodeTranscript,
	encodeTranscript,
	type Transcript,
} from "./transcript.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 200 - i);
const hex = bytesToHex;

interface Traced extends Omit<OwnRun, "inputs" | "output"> {
	readonly inputs: readonly Elements[];
	readonly output: Elements;
	readonly phase: Phase;
	readonly leaf: TraceLeaf;
}

/** All ops of segments 0 and 1. */
function traced({ program, given }: Sample): { readonly machine: Machine; readonly runs: Traced[] } {
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	const runs: Traced[] = [];
	for (const phase of ["init", "step"] as const) {
		const segment = machine.next;
		traceSegment(machine, (leaf, inputs, output) => {
			// The judge gets the op from its leaf alone.
			const { op } = orThrow(decodeOp(encodeOp(program[phase][leaf.op]!, phase)));
			const moment = { segment, step: leaf.step, k: program.k, key: philoxKey(SEED) };
			runs.push({ op, phase, leaf, moment, inputs, output });
		});
	}
	return { machine, runs };
}

const own = (run: Traced): OwnRun => ({
	...run,
	inputs: run.inputs.map(ownTensor),
	output: ownTensor(run.output),
});

const SAMPLES: readonly [string, Sample][] = [
	["MLP", mlpSample()],
	["mixed", mixedSample()],
	["few turns", mixedSample(3)],
];

const questionOf = ({ op, moment, leaf }: Traced, element: number, output = leaf.output): Question => ({
	op,
	moment,
	element,
	inputs: leaf.inputs,
	output,
});

function changed(elements: Elements, at: number): Elements {
	const copy = elements.slice();
	if (copy instanceof BigInt64Array) copy[at] = copy[at]! ^ 1n;
	else copy[at] = copy[at]! ^ 1;
	return copy;
}

test("the roots of a trace are wired as the page says", () => {
	for (const [name, { program, given }] of SAMPLES) {
		const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
		for (const phase of ["init", "step", "step"] as const) {
			const start = machine.tensors.map((elements) => hex(tensorRoot(elements)));
			const { leaves } = traceSegment(machine);
			const rootOf = (origin: Origin): string => {
				if (origin.from === "op")
					return hex(leaves.find(({ step, op }) => step === origin.step && op === origin.op)!.output);
				const { type } = program.tensors[origin.tensor]!;
				if (origin.from === "zero")
					return hex(tensorRoot(createElements(type, machine.tensors[origin.tensor]!.length)));
				return start[origin.tensor]!;
			};
			for (const { step, op, inputs } of leaves)
				assert.deepEqual(
					operandOrigins(program, phase, step, op).map(rootOf),
					inputs.map(hex),
					`${name} ${step} ${op}`,
				);
			for (const [i, { kind }] of program.tensors.entries())
				if (kind === "state" || kind === "result")
					assert.equal(
						rootOf(endOrigin(program, phase, i)),
						hex(tensorRoot(machine.tensors[i]!)),
						`${name} tensor ${i}`,
					);
		}
	}
});

test("state hashes differ by segment and by every state and result tensor", () => {
	const { program, given } = mixedSample();
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	const seen = new Set([hex(machineState(machine))]);
	for (let i = 0; i < 3; i++) {
		machine.runSegment();
		seen.add(hex(machineState(machine)));
	}
	const state = new Map(program.tensors.map((_, i) => [i, machine.tensors[i]!]));
	for (const [i, { kind }] of program.tensors.entries()) {
		if (kind !== "state" && kind !== "result") continue;
		machine.restore(machine.next, new Map([[i, changed(state.get(i)!, 0)]]));
		seen.add(hex(machineState(machine)));
		machine.restore(machine.next, state);
	}
	assert.equal(seen.size, 4 + 3);
});

const trees = new WeakMap<Elements, TensorTree>();
function leafOf(elements: Elements, leaf: number): ShownLeaf {
	const tree = trees.get(elements) ?? tensorTree(elements);
	trees.set(elements, tree);
	return { bytes: tree.leaf(leaf), path: tree.path(leaf) };
}

/** Everything that can be shown against a transcript, with leaves of the honest tensors. */
function* allShown({ op, inputs, output }: Traced, element: number): Generator<Contradiction> {
	const leaves = (elements: Elements) => Math.ceil(elements.byteLength / 1024);
	for (let leaf = 0; leaf < leaves(output); leaf++) {
		yield { kind: "value", leaf: leafOf(output, leaf) };
		yield { kind: "filling", leaf: leafOf(output, leaf) };
	}
	if (op.operator === "map") {
		yield { kind: "end" };
		yield { kind: "start" };
		yield { kind: "turn" };
		for (let register = -1; register <= sectionsOf(op).end; register++) {
			yield { kind: "instruction", register, leaf: null };
			for (const elements of inputs)
				for (let leaf = 0; leaf < leaves(elements); leaf++)
					yield { kind: "instruction", register, leaf: leafOf(elements, leaf) };
		}
	} else
		for (let chunk = 0; chunk < chunkEnds(op, element).length; chunk++)
			for (let a = 0; a < leaves(inputs[0]!); a++) {
				if (inputs.length === 1) yield { kind: "chunk", chunk, leaves: [leafOf(inputs[0]!, a)] };
				else
					for (let b = 0; b < leaves(inputs[1]!); b++)
						yield { kind: "chunk", chunk, leaves: [leafOf(inputs[0]!, a), leafOf(inputs[1]!, b)] };
			}
}

test("nothing that can be shown convicts an honest transcript", () => {
	let shown = 0;
	for (const [name, sample] of SAMPLES) {
		const draw = numbersFrom(7);
		for (const run of traced(sample).runs) {
			const { op, moment, inputs } = run;
			// The first element of the map with turns has a load outside its operand.
			const element = op.operator === "map" && op.code.turns > 0 ? 0 : draw(run.output.length);
			const transcript = createTranscript(op, element, moment, inputs);
			assert.deepEqual(decodeTranscript(encodeTranscript(transcript)), transcript);
			assert.equal(transcript[0], BigInt(run.output[element]!));
			const words: Words[] = [{ transcript }];
			if (op.operator === "map" && op.code.turns > 0) words.push(...turnWords(run, element, transcript));
			for (const one of words)
				for (const contradiction of allShown(run, element)) {
					shown += 1;
					const judged = judgeElement(questionOf(run, element), one, contradiction);
					assert.equal(judged.convicts, false, `${name} ${op.operator} ${contradiction.kind}`);
				}
		}
	}
	assert.ok(shown > 2000, String(shown));
});

/** Words down to some turns of the element: the first, one inside, the last. */
function turnWords({ op, moment, inputs }: Traced, element: number, transcript: Transcript): Words[] {
	assert.ok(op.operator === "map");
	const last =
		op.code.turns === 70
			? [
					[0, 0, 0],
					[3, 1, 1],
					[7, 6],
				]
			: [[0], [1], [2]];
	return last.flatMap((path) => {
		const words = { transcript: createSpanTranscript(op, element, moment, inputs, path), path };
		const spans = path.map((_, i) => createSpanTranscript(op, element, moment, inputs, path.slice(0, i + 1)));
		return [words, ...[transcript, ...spans].map((one, depth) => ({ ...words, marked: { depth, transcript: one } }))];
	});
}

/** What a liar says: honest but for the number at `place` of the transcript that `path` names. */
function liar(
	run: Traced,
	lie: { readonly path: readonly number[]; readonly place: number },
	claimed: bigint | null,
): Ask {
	const { op, moment, inputs } = run;
	return (element, path) => {
		const honest =
			path.length === 0
				? createTranscript(op, element, moment, inputs)
				: createSpanTranscript(op as Op & { operator: "map" }, element, moment, inputs, path);
		const said = [...honest];
		if (path.length === 0 && claimed !== null) said[0] = claimed;
		if (path.join() === lie.path.join() && lie.place < said.length) said[lie.place] = said[lie.place]! ^ 1n;
		return said;
	};
}

function sectionIn(op: Op, shown: Contradiction): string {
	if (op.operator !== "map" || shown.kind !== "instruction") return "";
	const { bodyFrom, afterFrom } = sectionsOf(op);
	return shown.register < bodyFrom ? " before" : shown.register < afterFrom ? " body" : " after";
}

test("one changed element in any op is found and convicts, however the liar explains it", () => {
	const kinds = new Set<string>();
	for (const [name, sample] of SAMPLES) {
		const draw = numbersFrom(11);
		for (const run of traced(sample).runs) {
			const element = draw(run.output.length);
			const output = changed(run.output, element);
			const tree = tensorTree(output);
			const leaf = Math.floor((element * output.BYTES_PER_ELEMENT) / 1024);
			const shown = { bytes: tree.leaf(leaf), path: tree.path(leaf) };
			const length = createTranscript(run.op, element, run.moment, run.inputs).length;
			const places = Array.from({ length: Math.min(length, 40) }, (_, i) => (i < 20 ? i : length - 1 - (i - 20)));
			for (const place of new Set([...places, length])) {
				// Place 0 twice changed is the honest value: it contradicts the leaf.
				const ask = liar(run, { path: [], place }, BigInt(output[element]!));
				const found = accuse(own(run), leaf, shown, ask)!;
				assert.equal(found.element, element);
				kinds.add(`${run.op.operator} ${found.contradiction.kind}${sectionIn(run.op, found.contradiction)}`);
				const question = questionOf(run, element, tree.root);
				assert.equal(judgeElement(question, found.words, found.contradiction).convicts, true, `${name} ${place}`);
			}
		}
	}
	for (const kind of [
		"matmul chunk",
		"reduce chunk",
		"scatter_add chunk",
		"map end",
		"map turn",
		"map instruction before",
		"map instruction after",
		"map value",
	])
		assert.ok(kinds.has(kind), kind);
});

test("a lie inside the turns is found, also in an instruction of one turn; only the span with the mark is shown with it", () => {
	const run = traced(mixedSample()).runs.find(({ op }) => op.operator === "map" && op.code.turns > 0)!;
	const { op } = run;
	assert.ok(op.operator === "map");
	const element = 13;
	const output = changed(run.output, element);
	const tree = tensorTree(output);
	const shown = { bytes: tree.leaf(0), path: tree.path(0) };
	const { before, carried } = op.code;
	const { bodyFrom, afterFrom } = sectionsOf(op);
	for (const [place, kind] of [
		[0, "instruction"],
		[before.length, "start"],
		[bodyFrom, "instruction"],
		[afterFrom - 1, "instruction"],
		[afterFrom, "turn"],
	] as const) {
		// A false mark makes the accuser go down; there the liar changes one number more.
		const top = 1 + before.length + 2 * carried.length;
		const ask: Ask = (one, path) => {
			const said = [...liar(run, { path: [], place: top }, BigInt(output[element]!))(one, path)];
			if (path.length > 0 && spanOf(op, path)!.turns === 1 && place < said.length) said[place] = said[place]! ^ 1n;
			if (path.length === 1 && kind === "turn") said[0] = said[0]! ^ 1n;
			return said;
		};
		const found = accuse(own(run), 0, shown, ask)!;
		assert.deepEqual(found.words.path, kind === "turn" ? [2, 0, 1] : [2, 4]);
		const question = questionOf(run, element, tree.root);
		assert.equal(judgeElement(question, found.words, found.contradiction).convicts, true, `${place}`);
		assert.equal(found.contradiction.kind, kind);
		// With another span, or with none where one is needed, nothing is shown.
		const { marked, ...others } = found.words;
		assert.equal(marked !== undefined, kind !== "instruction");
		const wrong: Words[] = [
			...(marked === undefined ? [] : [others]),
			...[0, 1, 2]
				.filter((depth) => depth !== marked?.depth)
				.map((depth) => ({
					...{ ...others, marked: { depth, transcript: ask(element, found.words.path!.slice(0, depth)) } },
				})),
		];
		for (const words of wrong) {
			const judged = judgeElement(question, words, found.contradiction);
			assert.ok(!judged.convicts && judged.reason === "words", `${kind} ${words.marked?.depth}`);
		}
	}
});

test("bytes after the end of a tensor that are not zero convict", () => {
	const run = traced(mlpSample()).runs[0]!;
	const tree = tensorTree(run.output);
	const bytes = tree.leaf(0);
	bytes[1023] = 1;
	assert.ok(run.output.byteLength < 1024);
	const filled = tensorTree(new Int8Array(bytes));
	const found = accuse(own(run), 0, { bytes, path: [] }, () => assert.fail("nothing is asked"))!;
	assert.equal(found.contradiction.kind, "filling");
	assert.equal(judgeElement(questionOf(run, 0, filled.root), found.words, found.contradiction).convicts, true);
	assert.equal(judgeElement(questionOf(run, 0), found.words, found.contradiction).convicts, false);
});

const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));

/** Every field of what is shown, changed: none of it may convict. */
function* tampered(
	question: Question,
	words: Words,
	shown: Contradiction,
): Generator<[field: string, question: Question, words: Words, shown: Contradiction]> {
	const leaves = "leaves" in shown ? shown.leaves : "leaf" in shown && shown.leaf !== null ? [shown.leaf] : [];
	const withLeaves = (all: readonly ShownLeaf[]): Contradiction =>
		("leaves" in shown ? { ...shown, leaves: all } : { ...shown, leaf: all[0] ?? null }) as Contradiction;
	for (const [i, { bytes, path }] of leaves.entries()) {
		const put = (leaf: ShownLeaf) => withLeaves(leaves.map((one, n) => (n === i ? leaf : one)));
		yield ["leaf byte", question, words, put({ bytes: flipped(bytes, 0), path })];
		yield ["leaf's last byte", question, words, put({ bytes: flipped(bytes, 1023), path })];
		yield ["leaf length", question, words, put({ bytes: bytes.subarray(0, 1023), path })];
		yield ["path longer", question, words, put({ bytes, path: [...path, new Uint8Array(32)] })];
		if (path.length > 0) {
			yield ["path node", question, words, put({ bytes, path: [flipped(path[0]!, 31), ...path.slice(1)] })];
			yield ["path shorter", question, words, put({ bytes, path: path.slice(1) })];
			yield ["path node length", question, words, put({ bytes, path: [path[0]!.subarray(1), ...path.slice(1)] })];
		}
	}
	if (leaves.length > 0) {
		const isOutput = shown.kind === "value" || shown.kind === "filling";
		if (isOutput) yield ["output root", { ...question, output: flipped(question.output, 3) }, words, shown];
		else yield ["input roots", { ...question, inputs: question.inputs.map((root) => flipped(root, 3)) }, words, shown];
		if (shown.kind === "chunk") {
			yield ["one leaf more", question, words, withLeaves([...leaves, leaves[0]!])];
			yield ["one leaf less", question, words, withLeaves(leaves.slice(1))];
		}
	}
	if (question.inputs.length > 0)
		yield ["root missing", { ...question, inputs: question.inputs.slice(1) }, words, shown];
	else yield ["a root", { ...question, inputs: [question.output] }, words, shown];
	for (const element of [-1, 0.5, Number.NaN, 2 ** 41]) yield ["element", { ...question, element }, words, shown];
	if (shown.kind === "filling") return;
	yield ["transcript shorter", question, { ...words, transcript: words.transcript.slice(0, -1) }, shown];
	yield ["transcript longer", question, { ...words, transcript: [...words.transcript, 0n] }, shown];
	if (shown.kind === "chunk")
		for (const chunk of [-1, 0.5, Number.NaN, 10_000]) yield ["chunk", question, words, { ...shown, chunk }];
	if (shown.kind === "instruction") {
		for (const register of [-1, 0.5, Number.NaN, 300]) yield ["register", question, words, { ...shown, register }];
		yield [
			"leaf given or not",
			question,
			words,
			{ ...shown, leaf: shown.leaf === null ? { bytes: new Uint8Array(1024), path: [] } : null },
		];
	}
	const { path, marked } = words;
	if (path === undefined) {
		yield ["path of nothing", question, { ...words, path: [0] }, shown];
		yield ["span of nothing", question, { ...words, marked: { depth: 0, transcript: words.transcript } }, shown];
		return;
	}
	yield ["no path", question, { ...words, path: [] }, shown];
	yield ["path too deep", question, { ...words, path: [...path, 0] }, shown];
	yield ["path too short", question, { ...words, path: path.slice(0, -1) }, shown];
	yield ["part", question, { ...words, path: [99, ...path.slice(1)] }, shown];
	yield ["part", question, { ...words, path: [-1, ...path.slice(1)] }, shown];
	if (marked === undefined) {
		yield ["span", question, { ...words, marked: { depth: 0, transcript: words.transcript } }, shown];
		return;
	}
	yield ["no span", question, { transcript: words.transcript, path }, shown];
	yield ["depth", question, { ...words, marked: { ...marked, depth: marked.depth + 1 } }, shown];
	yield ["span longer", question, { ...words, marked: { ...marked, transcript: [...marked.transcript, 0n] } }, shown];
}

test("a tamper list: whatever field of a conviction is changed, it convicts no longer", () => {
	const fields = new Map<string, number>();
	for (const [name, sample] of SAMPLES.slice(0, 2)) {
		const draw = numbersFrom(23);
		for (const run of traced(sample).runs) {
			const element = draw(run.output.length);
			const output = changed(run.output, element);
			const tree = tensorTree(output);
			const leaf = Math.floor((element * output.BYTES_PER_ELEMENT) / 1024);
			const length = createTranscript(run.op, element, run.moment, run.inputs).length;
			for (const place of new Set([0, 1, length - 1, length, Math.floor(length / 2)])) {
				const ask = liar(run, { path: [], place }, BigInt(output[element]!));
				const { words, contradiction } = accuse(
					own(run),
					leaf,
					{ bytes: tree.leaf(leaf), path: tree.path(leaf) },
					ask,
				)!;
				const question = questionOf(run, element, tree.root);
				assert.equal(judgeElement(question, words, contradiction).convicts, true);
				for (const [field, ...changedWords] of tampered(question, words, contradiction)) {
					assert.equal(
						judgeElement(...changedWords).convicts,
						false,
						`${name} ${run.op.operator} ${contradiction.kind}: ${field}`,
					);
					fields.set(field, (fields.get(field) ?? 0) + 1);
				}
			}
		}
	}
	assert.ok(fields.size >= 22, [...fields.keys()].join());
});
