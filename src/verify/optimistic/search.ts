// From two claims about one job to one contradiction, docs/jobs.md §6: first segment, first trace leaf, first
// tensor leaf, one element, one number of its transcript. One side is the accuser's own run; the other
// answers for itself, and every answer is held against what it committed to. Pure: questions go out through
// `Answers`. What it ends with is a fraud file; judge-fraud.ts says whether it convicts. Others call
// nextQuestion.
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { philoxKey } from "../../protocol/hash/philox.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Op, Program } from "../../work/program/shapes.ts";
import { type Accusation, accuse } from "../../work/trace/accuse.ts";
import { stateHashOf, type TraceLeaf } from "../../work/trace/commitments.ts";
import type { ShownLeaf } from "../../work/trace/judge.ts";
import { spanLength, spanOf, transcriptLength } from "../../work/trace/layout.ts";
import { lazily, lazyTensor, settle } from "../../work/trace/lazy-tensor.ts";
import { endOrigin, type Origin, operandOrigins } from "../../work/trace/origins.ts";
import { leafCount, rootOfLeaf, zeroRoot } from "../../work/trace/tensor-tree.ts";
import { encodeTranscript, type Transcript } from "../../work/trace/transcript.ts";
import {
	type Answers,
	type AskedTree,
	askedLeaf,
	askedOutput,
	askedTrace,
	NO_WRITER,
	noAnswer,
	type OpPlace,
	phaseOf,
	type StateRoots,
	stepsOf,
} from "./answers.ts";
import type { ElementShown, OriginShown } from "./fraud/fraud-file.ts";
import { hexes, ProgramParts, traceShown } from "./fraud/show-parts.ts";

export interface JobAtHand {
	readonly program: Program;
	readonly seed: Uint8Array;
	/** Of the input tensors, in the program's order. */
	readonly inputRoots: readonly Uint8Array[];
}

/** The first segment after which two runs of one job differ; null: they are equal; −1: before the first. */
export function firstOtherSegment(a: readonly Uint8Array[], b: readonly Uint8Array[]): number | null {
	const found = a.findIndex((state, i) => !equalBytes(state, b[i]!));
	return found < 0 ? null : found - 1;
}

/** What S_segment commits to, by the accused's own word: it must fold to it. */
async function rootsOf({ program }: JobAtHand, answers: Answers, segment: number): Promise<StateRoots> {
	const roots = await answers.stateRoots(segment);
	const counts = (["state", "result"] as const).map(
		(kind) => program.tensors.filter((one) => one.kind === kind).length,
	);
	const isShaped = roots.state.length === counts[0] && roots.results.length === counts[1];
	const said = answers.states[segment - answers.claim.first]!;
	if (!isShaped || !equalBytes(stateHashOf(program, segment, roots.state, roots.results), said))
		throw noAnswer(`the roots that came for S_${segment} do not lead to it`);
	return roots;
}

/**
 * Both must be claims about the same segments of the same job. Null: nothing separates them. Throws
 * NO_ANSWER.
 */
export async function searchClaim(job: JobAtHand, own: Answers, accused: Answers): Promise<Uint8Array | null> {
	const parts = new ProgramParts(job.program);
	const { claim } = accused;
	const index = firstOtherSegment(own.states, accused.states);
	if (index === null) {
		if (equalBytes(own.claim.resultRoot, claim.resultRoot)) return null;
		const last = claim.first + claim.segments;
		const state = parts.state(accused, last, await rootsOf(job, own, last));
		return parts.file(claim, last - 1, null, { kind: "result", state }, []);
	}
	if (index < 0) return falseStart(job, parts, accused);
	return searchSegment(job, own, accused, claim.first + index);
}

/**
 * One segment that both begin in the same state. Null: not even its trace differs, nor what it ends in.
 * Throws NO_ANSWER.
 */
export async function searchSegment(
	job: JobAtHand,
	own: Answers,
	accused: Answers,
	segment: number,
): Promise<Uint8Array | null> {
	const parts = new ProgramParts(job.program);
	const ops = job.program[phaseOf(segment)].length;
	const count = stepsOf(job.program, segment) * ops;
	const after = ({ states, claim }: Answers) => states[segment + 1 - claim.first]!;
	const isSameEnd = equalBytes(after(own), after(accused));
	if (count === 0) return isSameEnd ? null : falseEnd(job, parts, own, accused, segment, null);
	const root = await accused.traceRoot(segment);
	if (root.length !== 32) throw noAnswer("no root of a trace came");
	const trace = askedTrace(accused, segment, root, count);
	const ownRoot = await own.traceRoot(segment);
	if (equalBytes(ownRoot, root)) {
		return isSameEnd ? null : falseEnd(job, parts, own, accused, segment, trace);
	}
	const at = await trace.firstOther(askedTrace(own, segment, ownRoot, count));
	const place = { segment, step: Math.floor(at / ops), op: at % ops };
	const op = job.program[phaseOf(segment)][place.op]!;
	const leaf = await askedLeaf(accused, trace, place, at, op.operands.length);
	const path = await trace.path(at);
	const search: Search = { job, parts, own, accused, trace, place, op, leaf, shown: traceShown(leaf, path) };
	const mine = await own.traceLeaf(place);
	const operand = leaf.inputs.findIndex((one, i) => !equalBytes(one, mine.inputs[i]!));
	return operand < 0 ? falseElement(search) : falseWire(search, operand);
}

interface Search {
	readonly job: JobAtHand;
	readonly parts: ProgramParts;
	readonly own: Answers;
	readonly accused: Answers;
	readonly trace: AskedTree;
	readonly place: OpPlace;
	readonly op: Op;
	/** The accused's. */
	readonly leaf: TraceLeaf;
	readonly shown: ReturnType<typeof traceShown>;
}

async function falseStart(job: JobAtHand, parts: ProgramParts, accused: Answers): Promise<Uint8Array> {
	const { first } = accused.claim;
	if (first !== 0) throw noAnswer(`two claims about segments from ${first} on begin with different states`);
	const roots = await rootsOf(job, accused, 0);
	const state = parts.state(accused, 0, roots);
	for (const which of ["state", "result"] as const) {
		const own = which === "state" ? roots.state : roots.results;
		const tensors = [...job.program.tensors.entries()].filter(([, { kind }]) => kind === which);
		for (const [i, [tensor, { type, dims }]] of tensors.entries()) {
			if (equalBytes(own[i]!, zeroRoot(elementCount(dims) * bytesOf(type)))) continue;
			const { path, leaf } = parts.tensor(tensor);
			const root = parts.root(which, own, tensor);
			return parts.file(accused.claim, 0, null, { kind: "start", of: which, state, root, path }, [leaf]);
		}
	}
	throw noAnswer("the first state differs in no tensor");
}

/**
 * Trace and S_j agree with one's own, S_{j+1} does not: a tensor's root there is not what the trace, or S_j,
 * gives.
 */
async function falseEnd(
	job: JobAtHand,
	parts: ProgramParts,
	own: Answers,
	accused: Answers,
	segment: number,
	trace: AskedTree | null,
): Promise<Uint8Array> {
	const [said, right] = [await rootsOf(job, accused, segment + 1), await rootsOf(job, own, segment + 1)];
	const state = parts.state(accused, segment + 1, said);
	for (const which of ["state", "result"] as const) {
		const [theirs, mine] = which === "state" ? [said.state, right.state] : [said.results, right.results];
		const other = theirs.findIndex((root, i) => !equalBytes(root, mine[i]!));
		if (other < 0) continue;
		const numbers = job.program.tensors.flatMap(({ kind }, i) => (kind === which ? [i] : []));
		const tensor = numbers[other]!;
		const root = parts.root(which, theirs, tensor);
		const from = endOrigin(job.program, phaseOf(segment), tensor);
		if (from.from === "op" && trace !== null) {
			const { leaf: written, shown: writer } = parts.op(phaseOf(segment), from.op);
			const at = from.step * job.program[phaseOf(segment)].length + from.op;
			const mine = await own.traceLeaf({ segment, step: from.step, op: from.op });
			const leaf = traceShown(mine, await trace.path(at));
			const fault = { kind: "end", of: which, state, root, origin: { from: "op", leaf, writer } } as const;
			return parts.file(accused.claim, segment, trace.root, fault, [written]);
		}
		const lie = await falseWriter(parts, accused, segment, tensor);
		if (lie !== null) return lie;
		const before = await rootsOf(job, own, segment);
		const origin: OriginShown = {
			...{ from: "state", whole: true, state: parts.state(accused, segment, before) },
			root: parts.root(which, which === "state" ? before.state : before.results, tensor),
		};
		return parts.file(accused.claim, segment, null, { kind: "end", of: which, state, root, origin }, [parts.bytes]);
	}
	throw noAnswer(`S_${segment + 1} differs in no tensor`);
}

/** No op writes the tensor; who says that one does is convicted by the program. Null: it says so, too. */
async function falseWriter(
	parts: ProgramParts,
	accused: Answers,
	segment: number,
	tensor: number,
): Promise<Uint8Array | null> {
	const said = await accused.writer(segment, tensor);
	if (said === NO_WRITER) return null;
	const phase = phaseOf(segment);
	const named = said < parts.program[phase].length ? parts.op(phase, said) : null;
	const fault = { kind: "writer", tensor, said, op: named?.shown ?? null } as const;
	return parts.file(accused.claim, segment, null, fault, named === null ? [] : [named.leaf]);
}

/** Where an operand's root must come from, with what shows it; all of it agrees with one's own. */
async function shownOrigin(search: Search, operand: number): Promise<{ origin: OriginShown; attached: Uint8Array[] }> {
	const { job, parts, own, accused, trace, place } = search;
	const { segment, step, op } = place;
	const phase = phaseOf(segment);
	const from: Origin = operandOrigins(job.program, phase, step, op)[operand]!;
	const { source } = search.op.operands[operand]!;
	if (from.from === "op") {
		const at = from.step * job.program[phase].length + from.op;
		const mine = await own.traceLeaf({ segment, step: from.step, op: from.op });
		const leaf = traceShown(mine, await trace.path(at));
		if (source === "op") return { origin: { from: "op", leaf, writer: null }, attached: [] };
		const { shown: writer, leaf: written } = parts.op(phase, from.op);
		return { origin: { from: "op", leaf, writer }, attached: [written] };
	}
	if (from.from === "given" && source === "constant") {
		const { path, leaf } = parts.tensor(from.tensor);
		return { origin: { from: "constant", path }, attached: [leaf] };
	}
	if (from.from === "given") {
		const root = parts.root("input", job.inputRoots, from.tensor);
		return { origin: { from: "input", seed: bytesToHex(job.seed), root }, attached: [] };
	}
	const whole = step > 0;
	const attached = whole ? [parts.bytes] : [];
	if (from.from === "zero") return { origin: { from: "zero", whole }, attached };
	const roots = await rootsOf(job, own, segment);
	const state = parts.state(accused, segment, roots);
	return { origin: { from: "state", whole, state, root: parts.root("state", roots.state, from.tensor) }, attached };
}

async function falseWire(search: Search, operand: number): Promise<Uint8Array> {
	const { parts, accused, place, trace, shown } = search;
	const { shown: op, leaf } = parts.op(phaseOf(place.segment), place.op);
	const { origin, attached } = await shownOrigin(search, operand);
	if ("whole" in origin && origin.whole) {
		const lie = await falseWriter(parts, accused, place.segment, search.op.operands[operand]!.index);
		if (lie !== null) return lie;
	}
	const fault = { kind: "wire", op, leaf: shown, operand, origin } as const;
	return parts.file(accused.claim, place.segment, trace.root, fault, [leaf, ...attached]);
}

/** The first leaf of the output that differs, as the accused shows it. */
async function otherLeaf({ own, accused, place, op, leaf }: Search): Promise<{ number: number; shown: ShownLeaf }> {
	const byteLength = elementCount(op.output.dims) * bytesOf(op.output.type);
	const count = leafCount(byteLength);
	const theirs = askedOutput(accused, place, leaf.output, count);
	const mine = askedOutput(own, place, (await own.traceLeaf(place)).output, count);
	const number = await theirs.firstOther(mine);
	const { bytes } = await accused.leaf(place, "output", number);
	const shown = { bytes, path: await theirs.path(number) };
	const found = rootOfLeaf(bytes, number, byteLength, shown.path);
	if (found === null || !equalBytes(found, leaf.output)) throw noAnswer(`leaf ${number} is not in the op's output`);
	return { number, shown };
}

async function falseElement(search: Search): Promise<Uint8Array> {
	const { job, parts, own, accused, trace, place, op, shown: leafShown } = search;
	const { number, shown } = await otherLeaf(search);
	const moment = { segment: place.segment, step: place.step, k: job.program.k, key: philoxKey(job.seed) };
	const run = {
		...{ op, moment },
		inputs: op.operands.map(({ type }, i) => lazyTensor(type, (leaf) => own.leaf(place, i, leaf))),
		output: lazyTensor(op.output.type, (leaf) => own.leaf(place, "output", leaf)),
	};
	const asked = lazily(
		(of: { readonly element: number; readonly path: readonly number[] }) => transcriptOf(search, of.element, of.path),
		({ element, path }) => `${element} ${path.join()}`,
	);
	const found = await settle(() => accuse(run, number, shown, (element, path) => asked({ element, path })));
	if (found === null) throw noAnswer("the output's leaf differs in no element");
	const { shown: opShown, leaf } = parts.op(phaseOf(place.segment), place.op);
	const { words, contradiction, leaves } = shownAccusation(found);
	const fault: ElementShown = {
		...{ kind: "element", op: opShown, leaf: leafShown, seed: bytesToHex(job.seed) },
		...{ inputs: parts.tree("input", job.inputRoots), element: found.element, turns: found.words.path ?? [] },
		...{ marked: found.words.marked?.depth ?? null, contradiction },
	};
	return parts.file(accused.claim, place.segment, trace.root, fault, [leaf, ...words, ...leaves]);
}

async function transcriptOf(
	{ accused, place, op }: Search,
	element: number,
	path: readonly number[],
): Promise<Transcript> {
	const said = await accused.transcript(place, element, path);
	const span = op.operator === "map" && path.length > 0 ? spanOf(op, path) : null;
	const length = op.operator === "map" && span !== null ? spanLength(op, span.turns) : transcriptLength(op, element);
	if (said.length !== length || said.some((one) => BigInt.asIntN(64, one) !== one))
		throw noAnswer(`what came for element ${element} is no transcript of it`);
	return said;
}

function shownAccusation({ words, contradiction }: Accusation): {
	readonly words: Uint8Array[];
	readonly contradiction: ElementShown["contradiction"];
	readonly leaves: readonly Uint8Array[];
} {
	const spoken = [words.transcript, ...(words.marked ? [words.marked.transcript] : [])].map(encodeTranscript);
	const made = (one: ElementShown["contradiction"], leaves: readonly ShownLeaf[]) => ({
		...{ words: spoken, contradiction: one, leaves: leaves.map(({ bytes }) => bytes) },
	});
	switch (contradiction.kind) {
		case "value":
		case "filling":
			return made({ kind: contradiction.kind, path: hexes(contradiction.leaf.path) }, [contradiction.leaf]);
		case "chunk": {
			const { chunk, leaves } = contradiction;
			return made({ kind: "chunk", chunk, paths: leaves.map(({ path }) => hexes(path)) }, leaves);
		}
		case "instruction": {
			const { register, leaf } = contradiction;
			return made({ kind: "instruction", register, path: leaf && hexes(leaf.path) }, leaf === null ? [] : [leaf]);
		}
		case "start":
		case "turn":
		case "end":
			return made({ kind: contradiction.kind }, []);
	}
}
