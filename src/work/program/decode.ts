// Reads a program, or one op's leaf, from hostile bytes, docs/work.md §6. Whatever decodes, encodes to the
// same bytes again. Not here: whether it may run (check-program.ts).
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { elementCount } from "../operators/tensor-type.ts";
import { ByteReader, Unreadable } from "./byte-reader.ts";
import { readCode } from "./decode-code.ts";
import { drained, OPS_A_SLICE } from "./drained.ts";
import { MAGIC, NO_TARGET, VERSION } from "./encode.ts";
import { type Checked, refuse } from "./fault.ts";
import {
	LIMITS,
	type MapOp,
	NAME,
	OPERATORS,
	type Op,
	type Operand,
	PHASES,
	type Phase,
	type Program,
	REDUCTIONS,
	SOURCES,
	TENSOR_KINDS,
	type Tensor,
} from "./shapes.ts";

function readTensor(reader: ByteReader): Tensor {
	const kind = reader.oneOf(TENSOR_KINDS, "kind of tensor");
	const type = reader.type();
	const dims = reader.dims();
	if (kind === "metric") reader.atMost(elementCount(dims), LIMITS.metricElements, "elements of a metric");
	const interval = reader.interval();
	// Byte by byte, so that no decoding of text can lose one.
	const name = String.fromCharCode(...reader.raw(reader.atMost(reader.u8(), LIMITS.nameBytes, "bytes of a name")));
	if (!NAME.test(name)) reader.malformed("not a name");
	return { kind, name, type, dims, ...interval, root: kind === "constant" ? reader.raw(32) : null };
}

function readOperand(reader: ByteReader): Operand {
	const source = reader.oneOf(SOURCES, "source");
	const index = reader.u16();
	return { source, index, type: reader.type(), dims: reader.dims() };
}

/** A judge of one element gets all this in one transaction, which must not be too dear for anyone. */
function limitJudged(reader: ByteReader, from: number, { operands, code }: Pick<MapOp, "operands" | "code">): void {
	const { before, carried, body, after } = code;
	const registers = before.length + carried.length + body.length + after.length;
	const bytes = reader.at - from + 32 * operands.length + 8 * registers;
	reader.atMost(bytes, LIMITS.judgedBytes, "bytes that a judge of the map gets");
}

function readOp(reader: ByteReader): { readonly op: Op; readonly phase: Phase } {
	const from = reader.at;
	const operator = reader.oneOf(OPERATORS, "operator");
	const phase = reader.oneOf(PHASES, "phase");
	const output = { type: reader.type(), dims: reader.dims(), ...reader.interval() };
	const index = reader.u16();
	const count = reader.atMost(reader.u8(), LIMITS.operands, "operands");
	const operands = Array.from({ length: count }, () => readOperand(reader));
	const common = { output, target: index === NO_TARGET ? null : index, operands };
	if (operator === "map") {
		const code = readCode(reader, output.dims.length, operands);
		limitJudged(reader, from, { operands, code });
		return { op: { operator, ...common, code }, phase };
	}
	if (operator === "reduce")
		return { op: { operator, ...common, reduction: reader.oneOf(REDUCTIONS, "reduction") }, phase };
	return { op: { operator, ...common }, phase };
}

/** What stands before the first leaf: k and how many leaves follow. */
export interface ProgramHead {
	readonly k: number;
	readonly tensors: number;
	readonly init: number;
	readonly step: number;
}

function readHead(reader: ByteReader): ProgramHead {
	if (!equalBytes(reader.raw(MAGIC.length), MAGIC)) reader.malformed("not a program");
	const version = reader.u16();
	if (version !== VERSION) reader.malformed(`version ${version}; this is version ${VERSION}`);
	const k = reader.atMost(reader.u32(), LIMITS.steps, "steps a segment");
	if (k === 0) reader.limit("a segment has at least one step");
	const tensors = reader.atMost(reader.u16(), LIMITS.tensors, "tensors");
	const counts = { init: reader.u16(), step: reader.u16() };
	reader.atMost(counts.init + counts.step, LIMITS.ops, "ops");
	if (counts.step === 0) reader.limit("a step has at least one op");
	return { k, tensors, ...counts };
}

type Place = { phase: Phase; op: number } | { tensor: number } | Record<string, never>;

/** Yields now and then, so that whoever goes through it may let others in. */
function* readProgram(reader: ByteReader, place: Place): Generator<void, Program> {
	if (reader.bytes.length > LIMITS.bytes) reader.limit(`${reader.bytes.length} bytes; ${LIMITS.bytes} is the most`);
	const { k, tensors: tensorCount, ...counts } = readHead(reader);
	const tensors = Array.from({ length: tensorCount }, (_, tensor) => {
		Object.assign(place, { tensor });
		return readTensor(reader);
	});
	Object.assign(place, { tensor: null });
	const ops: Record<Phase, Op[]> = { init: [], step: [] };
	for (const phase of PHASES)
		for (let number = 0; number < counts[phase]; number++) {
			Object.assign(place, { phase, op: number });
			const found = readOp(reader);
			if (found.phase !== phase) reader.malformed(`an op of the ${found.phase} phase among ${phase}`);
			ops[phase].push(found.op);
			if (number % OPS_A_SLICE === 0) yield;
		}
	const program = { k, tensors, ...ops };
	Object.assign(place, { phase: null, op: null });
	if (reader.at !== reader.bytes.length) reader.malformed("bytes follow the last op");
	return program;
}

function unreadable(error: unknown, place: Record<string, never>) {
	if (!(error instanceof Unreadable)) throw error;
	return refuse({ ...place, code: error.code, message: error.message });
}

/** As decodeProgram, a few ops at a time. */
export function* decodeSteps(bytes: Uint8Array): Generator<void, Checked<Program>> {
	const place = {};
	try {
		return { ok: true, value: yield* readProgram(new ByteReader(bytes), place) };
	} catch (error) {
		return unreadable(error, place);
	}
}

export const decodeProgram = (bytes: Uint8Array): Checked<Program> => drained(decodeSteps(bytes));

function attempt<T>(read: () => T): Checked<T> {
	try {
		return { ok: true, value: read() };
	} catch (error) {
		return unreadable(error, {});
	}
}

/** One tensor's leaf, as a judge gets it. */
export function decodeTensor(leaf: Uint8Array): Checked<Tensor> {
	return attempt(() => {
		const reader = new ByteReader(leaf);
		const tensor = readTensor(reader);
		if (reader.at !== leaf.length) reader.malformed("bytes follow the tensor");
		return tensor;
	});
}

/** The 20 bytes before the first leaf. */
export function decodeHead(bytes: Uint8Array): Checked<ProgramHead> {
	return attempt(() => readHead(new ByteReader(bytes)));
}

/** One op's leaf, as a judge gets it. */
export function decodeOp(leaf: Uint8Array): Checked<{ readonly op: Op; readonly phase: Phase }> {
	return attempt(() => {
		const reader = new ByteReader(leaf);
		const found = readOp(reader);
		if (reader.at !== leaf.length) reader.malformed("bytes follow the op");
		return found;
	});
}
