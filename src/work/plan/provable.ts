// Is a program one of the zk profile, docs/training.md §6: an MLP or CNN by exact SGD in the order cube? It
// is when it is, byte for byte, the one that the model makes of the sizes it has; so nothing but sizes is
// believed. Else the first operator that differs is named.
import { AssayError } from "../../protocol/assay-error.ts";
import { type ExactSizes, exactProgram, exactScale, type WeightBits } from "../models/exact-mlp.ts";
import { encodeHead, encodeLeaves } from "../program/encode.ts";
import { LIMITS, type Op, type Phase, type Program, type Tensor } from "../program/shapes.ts";
import { type PlanWindow, patchColumns, windowPlaces } from "./window.ts";

/** What an exact network is made of. */
export interface ExactNetwork extends ExactSizes {
	readonly batch: number;
	/** Steps a segment. */
	readonly steps: number;
	/** 2^m rows of data. */
	readonly rows: number;
	readonly epochs: number;
	/** Bits that products lose. */
	readonly scale: number;
	readonly weightBits: WeightBits;
}

/** What the program's tensors and patches say of it. */
type NetworkSizes = Omit<ExactNetwork, "scale">;

export interface Unprovable {
	readonly code: "PROGRAM_UNPROVABLE";
	readonly message: string;
	/** Where the operator stands that no proof can be about; null: it is not about one operator. */
	readonly phase: Phase | null;
	readonly op: number | null;
}

/** Larger ones are refused before anything is made of them. */
const MOST = { rows: 2 ** 26, epochs: 2 ** 12, layers: 64, patches: 2 ** 22, classes: 2 ** 16 } as const;

export const unprovable = (message: string, phase: Phase | null = null, op: number | null = null): Unprovable => ({
	...{ code: "PROGRAM_UNPROVABLE", message, phase, op },
});

const named = (program: Program, name: string): Tensor | null =>
	program.tensors.find((one) => one.name === name && one.dims.every((dim) => dim > 0)) ?? null;
const isPower = (n: number): boolean => Number.isInteger(Math.log2(n));
const nameOf = (op: Op): string => (op.operator === "reduce" ? `reduce ${op.reduction}` : op.operator);

/** Windows as the maps that make patches say them. */
function windowsOf(program: Program): readonly PlanWindow[] {
	return program.step.flatMap((op) => {
		const load = op.operator === "map" ? op.code.before[0] : undefined;
		const [operand, place] = [op.operands[0], load?.op === "load" ? load.place[1] : undefined];
		if (op.output.dims.length !== 6 || operand?.dims.length !== 4 || place === undefined) return [];
		const [, height, width, channels] = operand.dims as [number, number, number, number];
		const stride = place.terms.find(({ of }) => of === 1)?.times ?? 0;
		const window = { channels, height, width, size: op.output.dims[4]!, stride, pad: -place.constant };
		return stride > 0 && window.pad >= 0 && window.pad < window.size ? [window] : [];
	});
}

/** Sizes as the program says them; whether all else fits them is for the caller to see. */
function sizesOf(program: Program): NetworkSizes | null {
	const [features, labels, order] = ["features", "labels", "order"].map((name) => named(program, name));
	const batch = program.step[0]?.output.dims[0];
	if (!features || !labels || !order || batch === undefined || features.dims.length !== 2) return null;
	const found = windowsOf(program);
	const sizes = [features.dims[1]!];
	let weightBits: WeightBits = 32;
	for (let i = 0; ; i++) {
		const weight = named(program, `layer${i}.weight`);
		if (weight === null) break;
		const window = found[i];
		sizes.push(weight.dims[0]! * (window === undefined ? 1 : windowPlaces(window).places));
		weightBits = weight.type === "i64" ? 64 : 32;
	}
	const [rows, epochs] = [labels.dims[0]!, order.dims[0]!];
	const isSmall = rows <= MOST.rows && epochs <= MOST.epochs && sizes.length <= MOST.layers && batch <= LIMITS.steps;
	if (!isSmall || sizes.length <= found.length || sizes.length < 2) return null;
	if (sizes.some((units) => !(units > 0 && units <= LIMITS.elements))) return null;
	const windows = sizes.slice(1).map((_, i) => found[i] ?? null);
	const kind = { ...(found.length > 0 && { windows }), ...(named(program, "exp") !== null && { isSoftmax: true }) };
	return { sizes, batch, steps: program.k, rows, epochs, weightBits, ...kind };
}

/** By how many bits maps round: one of these is the scale. */
function scalesOf(program: Program): readonly number[] {
	const bits = new Set<number>();
	for (const op of program.step)
		if (op.operator === "map")
			for (const one of op.code.before) if (one.op === "rsh" && one.bits >= exactScale(0)) bits.add(one.bits);
	return [...bits].slice(0, 4);
}

function twinOf(
	{ batch, steps, rows, epochs, weightBits, ...network }: NetworkSizes,
	scale: number,
	type: string,
): Program {
	const labels = type === "i16" ? new Int16Array(rows) : new Int32Array(rows);
	const schedule = {
		batch,
		k: steps,
		steps: (epochs * rows) / batch,
		seed: new Uint8Array(32),
		order: "cube",
	} as const;
	const samples = { features: new Int16Array(0), labels };
	return exactProgram(network, schedule, scale - exactScale(0), samples, weightBits).program;
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
	a !== undefined && b !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);

/** The first thing in which a program is not its twin; null: it is. */
function difference(program: Program, twin: Program): Unprovable | null {
	const [own, its] = [encodeLeaves(program), encodeLeaves(twin)];
	const opAt = own.ops.findIndex((leaf, i) => !isSame(leaf, its.ops[i]));
	if (opAt >= 0) {
		const isInit = opAt < program.init.length;
		const [phase, number] = isInit ? (["init", opAt] as const) : (["step", opAt - program.init.length] as const);
		const op = program[phase][number]!;
		return unprovable(`%${number} of ${phase} (${nameOf(op)}) is not what exact SGD does there`, phase, number);
	}
	if (own.ops.length < its.ops.length) return unprovable("it ends before exact SGD does");
	const tensorAt = own.tensors.findIndex((leaf, i) => !isSame(leaf, its.tensors[i]));
	if (tensorAt >= 0) return unprovable(`the tensor ${program.tensors[tensorAt]!.name} is not that of exact SGD`);
	return isSame(encodeHead(program), encodeHead(twin)) ? null : unprovable("it has fewer tensors than exact SGD");
}

/** Operators that the profile has nowhere. */
function strangerIn(program: Program): Unprovable {
	for (const phase of ["init", "step"] as const)
		for (const [i, op] of program[phase].entries())
			if (op.operator === "scatter_add" || (op.operator === "reduce" && op.reduction !== "sum"))
				return unprovable(`%${i} of ${phase} (${nameOf(op)}) has no proof yet`, phase, i);
	const first = program.step[0];
	if (first === undefined) return unprovable("it has no steps");
	return unprovable(
		`%0 of step (${nameOf(first)}) is not what exact SGD does there: features, labels, order and weights of an MLP are missing`,
		"step",
		0,
	);
}

/** Of a program by a stranger: sizes of which no network can be built have no twin. */
function differenceAt(program: Program, sizes: NetworkSizes, scale: number, type: string): Unprovable | null {
	let twin: Program;
	try {
		twin = twinOf(sizes, scale, type);
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		return unprovable(`no network has its sizes: ${error.message}`);
	}
	return difference(program, twin);
}

/**
 * ATTACK: whoever verifies goes through all patches and classes, in a browser too; a program of a few bytes
 * could name any number of them.
 */
function tooLarge({ sizes, windows, isSoftmax }: NetworkSizes): string | null {
	if (isSoftmax && sizes.at(-1)! > MOST.classes)
		return `${sizes.at(-1)} classes: softmax of at most ${MOST.classes} can be proven`;
	for (const [i, window] of (windows ?? []).entries()) {
		if (window === null) continue;
		const numbers = windowPlaces(window).places * patchColumns(window);
		if (Math.max(numbers, sizes[i]!) > MOST.patches)
			return `layer${i} has ${numbers} numbers in its patches: at most ${MOST.patches} can be proven`;
	}
	return null;
}

export function readExactNetwork(program: Program): ExactNetwork | Unprovable {
	const sizes = sizesOf(program);
	const scales = scalesOf(program);
	if (sizes === null || scales.length === 0) return strangerIn(program);
	const { rows, batch, steps } = sizes;
	for (const [what, n] of Object.entries({ rows, batch, "steps of a segment": steps }))
		if (!isPower(n)) return unprovable(`${n} ${what}: a proof wants a power of two`);
	if (rows % (batch * steps) !== 0)
		return unprovable(`segments of ${batch * steps} rows do not divide an epoch of ${rows}`);
	const odd = (sizes.windows ?? []).findIndex(
		(one, i) => one !== null && !isPower(sizes.sizes[i + 1]! / windowPlaces(one).places),
	);
	if (odd >= 0) return unprovable(`layer${odd} has channels that are no power of two: a proof wants one`);
	const large = tooLarge(sizes);
	if (large !== null) return unprovable(large);
	const type = named(program, "labels")!.type;
	const found = scales.map((scale) => ({ scale, wrong: differenceAt(program, sizes, scale, type) }));
	const right = found.find(({ wrong }) => wrong === null);
	if (right !== undefined) return { ...sizes, scale: right.scale };
	// The twin that the program is like the longest.
	return found.map(({ wrong }) => wrong!).toSorted((a, b) => (b.op ?? 1e9) - (a.op ?? 1e9))[0]!;
}
