// How long a program takes, from its shapes alone: the one model that `job plan`, quotes, time limits and
// hosts reckon with. docs/workloads.md §8. Times are those of an NVIDIA H200, by what they follow there, so
// that another device's are had from what it has proven. In integers: a validator and a provider must find
// the same. Not here: the least time, which no device goes below (program/job-work.ts).
import { bytesOf, elementCount, type Interval } from "../operators/tensor-type.ts";
import {
	LIMITS,
	type MapOp,
	type MatmulOp,
	type Op,
	type Operand,
	type Phase,
	type Program,
	SOURCES,
} from "../program/shapes.ts";
import { mapWeight, turnsOf } from "./instruction-weight.ts";
import { kernelsOf } from "./kernels.ts";

/** Whole nanoseconds on an H200, at most 2^53 − 1. */
export interface WorkTime {
	/** By products of byte planes: follows int8 operations. */
	readonly productsNs: number;
	/** By memory: follows bytes a second. */
	readonly memoryNs: number;
	/** By instructions of maps and sums, and by hashing: follows 32-bit operations. */
	readonly instructionsNs: number;
	/** Kernel after kernel, and each segment's own: the same anywhere. */
	readonly startsNs: number;
}

export interface ProgramTime {
	/** The init phase: segment 0, hashed at its end. */
	readonly init: WorkTime;
	/** Every other segment. */
	readonly segment: WorkTime;
}

/** What a device does a second, by data sheet or proven. */
export interface Rates {
	readonly int8OpsPerS: number;
	readonly bytesPerS: number;
	/** 0 or absent: not known; it counts as what its int8 figure is of the reference's. */
	readonly int32OpsPerS?: number;
}

/** What probes of that H200 proved (bench/results/h200-2026-11-17-probes.json). */
export const PROVEN_H200: Required<Rates> = {
	int8OpsPerS: 1_317_000_000_000_000,
	int32OpsPerS: 31_600_000_000_000,
	bytesPerS: 4_270_000_000_000,
};

// Fitted to what an H200 took: bench/results/h200-*-{pictures,programs,training,inference,cost}.json.
/** Multiplications of bytes a second: 0.75 of the data sheet's int8 peak; of a product of few rows 0.2. */
const MULTIPLICATIONS_A_US = 742_000_000n;
const THIN_MULTIPLICATIONS_A_US = 198_000_000n;
/**
 * Each pair of planes besides: products of small matrices fill no card, and take as long as larger ones. What
 * waits for a card is not longer on a slow one, nor on a CPU.
 */
const PLANES_PS = 3_700_000n;
const BYTES_A_US = 4_300_000n;
const WEIGHT_A_US = 28_000_000n;
const HASHED_A_US = 800_000n;
/** Of a kernel's two times the shorter one hides behind the longer one but for that share. */
const SEEN_TENTHS = 3n;
const KERNEL_PS = 2_600_000n;
const SEGMENT_PS = 20_000_000n;
/** What a read here and there counts where the operand is longer than a card's cache. */
const FAR_BYTES = 5n;
const CACHE_BYTES = 32n << 20n;

const PS_A_US = 1_000_000n;
const upTo = (value: bigint, by: bigint): bigint => (value + by - 1n) / by;
const sizeOf = ({ type, dims }: Pick<Operand, "type" | "dims">): bigint =>
	BigInt(elementCount(dims)) * BigInt(bytesOf(type));

const HALVES = [1n << 7n, 1n << 15n, 1n << 23n];
/** Byte planes that an operand's interval needs. */
function planesOf({ lo, hi }: Interval): bigint {
	const planes = HALVES.findIndex((half) => lo >= -half && hi < half);
	return planes < 0 ? 4n : BigInt(planes + 1);
}

/** Picoseconds, as the fields of WorkTime. */
interface Picoseconds {
	products: bigint;
	memory: bigint;
	instructions: bigint;
	starts: bigint;
}

/** What one kernel does. */
interface Load {
	bytes: bigint;
	weight: bigint;
	/** Numbers of operands, by source. */
	readonly read: Set<number>;
}

/** Fewer multiplications than that do not go to tensor cores. */
const MIN_PRODUCT = 2n ** 21n;
const WEIGHT_A_MULTIPLICATION = 4n;
/** Dims of a tile; what is left of the last one is computed all the same. */
const TILE = [64, 64, 32] as const;

/** Few rows, of which reading the other operand is most: read as it lies (engine/src/cuda/work/fuse.cpp). */
function isThin({ operands, output }: MatmulOp): boolean {
	const [a, b] = operands;
	return output.dims[1]! <= 64 && a!.type === "i16" && bytesOf(b!.type) <= 2 && a!.dims[2]! % 16 === 0;
}

/**
 * Picoseconds of its multiplications. What it splits is added to the bytes, how long it waits to the starts.
 */
function productPs(op: MatmulOp, planes: readonly bigint[], load: Load, sum: Picoseconds): bigint {
	const [batch, rows, columns] = op.output.dims as [number, number, number];
	const terms = op.operands[0]!.dims[2]!;
	const each = BigInt(elementCount(op.output.dims)) * BigInt(terms);
	const both = planes[0]! * planes[1]!;
	if (each < MIN_PRODUCT) {
		load.weight += WEIGHT_A_MULTIPLICATION * each;
		return 0n;
	}
	if (isThin(op)) return upTo(each * both * PS_A_US, THIN_MULTIPLICATIONS_A_US);
	for (const [i, { dims }] of op.operands.entries()) load.bytes += (BigInt(elementCount(dims)) * planes[i]!) / 2n;
	const whole = [rows, columns, terms].reduce(
		(all, dim, i) => all * BigInt(Math.ceil(dim / TILE[i]!) * TILE[i]!),
		BigInt(batch),
	);
	sum.starts += both * PLANES_PS;
	return upTo(whole * both * PS_A_US, MULTIPLICATIONS_A_US);
}

/** Bytes that a map reads of an operand: no more than it asks for; and what it reads anywhere, each time. */
function readByMap(op: MapOp, operand: number): { readonly near: bigint; readonly far: bigint } {
	const of = op.operands[operand]!;
	const last = of.dims.findLastIndex((dim) => dim > 1);
	const count = BigInt(elementCount(op.output.dims));
	let [near, far] = [0, 0];
	const { before, body, after } = op.code;
	for (const [section, times] of [[before, 1] as const, [body, turnsOf(op)] as const, [after, 1] as const])
		for (const one of section)
			if (one.op === "load" && one.operand === operand) {
				if (last >= 0 && one.place[last]!.register !== null) far += times;
				else near += times;
			}
	const size = sizeOf(of);
	const isCached = size <= CACHE_BYTES;
	const asked = BigInt(isCached ? near + far : near) * count * BigInt(bytesOf(of.type));
	return { near: asked < size ? asked : size, far: isCached ? 0n : BigInt(far) * count * FAR_BYTES };
}

function addOp(op: Op, intervals: (of: Operand) => Interval, load: Load, sum: Picoseconds): void {
	if (op.operator === "map") load.weight += mapWeight(op);
	else if (op.operator === "matmul") sum.products += productPs(op, op.operands.map(intervals).map(planesOf), load, sum);
	else load.weight += BigInt(elementCount(op.operands[0]!.dims)) * (op.operator === "reduce" ? 2n : 8n);
}

function phasePs({ tensors, ...program }: Program, phase: Phase): Picoseconds {
	const ops = program[phase];
	const kernels = kernelsOf(ops);
	const intervalOf = ({ source, index }: Operand): Interval => (source === "op" ? ops[index]!.output : tensors[index]!);
	const isRead = new Set<number>();
	for (const [n, op] of ops.entries())
		for (const { source, index } of op.operands)
			if (source === "op" && kernels[index] !== kernels[n]) isRead.add(index);
	const sum: Picoseconds = { products: 0n, memory: 0n, instructions: 0n, starts: 0n };
	const loads = new Map<number, Load>();
	for (const [n, op] of ops.entries()) {
		const kernel = kernels[n]!;
		const load = loads.get(kernel) ?? { bytes: 0n, weight: 0n, read: new Set() };
		loads.set(kernel, load);
		if (op.target !== null || isRead.has(n) || op.operator === "matmul") load.bytes += sizeOf(op.output);
		for (const [i, operand] of op.operands.entries()) {
			const name = SOURCES.indexOf(operand.source) * LIMITS.ops + operand.index;
			if (operand.source === "op" && kernels[operand.index] === kernel) continue;
			const { near, far } = op.operator === "map" ? readByMap(op, i) : { near: sizeOf(operand), far: 0n };
			load.bytes += load.read.has(name) ? far : near + far;
			load.read.add(name);
		}
		addOp(op, intervalOf, load, sum);
	}
	for (const { bytes, weight } of loads.values()) {
		const [memory, instructions] = [upTo(bytes * PS_A_US, BYTES_A_US), upTo(weight * PS_A_US, WEIGHT_A_US)];
		const isMemory = memory > instructions;
		sum.memory += isMemory ? memory : (memory * SEEN_TENTHS) / 10n;
		sum.instructions += isMemory ? (instructions * SEEN_TENTHS) / 10n : instructions;
		sum.starts += KERNEL_PS;
	}
	return sum;
}

const MAX_NS = BigInt(Number.MAX_SAFE_INTEGER);
const wholeNs = (ps: bigint): number => {
	const ns = upTo(ps, 1000n);
	return Number(ns < MAX_NS ? ns : MAX_NS);
};

/** A phase `times` over, and the state after it. */
function segmentTime({ products, memory, instructions, starts }: Picoseconds, times: bigint, state: bigint): WorkTime {
	return {
		productsNs: wholeNs(products * times),
		memoryNs: wholeNs(memory * times),
		instructionsNs: wholeNs(instructions * times + upTo(state * PS_A_US, HASHED_A_US)),
		startsNs: wholeNs(starts * times + SEGMENT_PS),
	};
}

export function programTime(program: Program): ProgramTime {
	const state = program.tensors
		.filter(({ kind }) => kind === "state" || kind === "result")
		.reduce((sum, one) => sum + sizeOf(one), 0n);
	return {
		init: segmentTime(phasePs(program, "init"), 1n, state),
		segment: segmentTime(phasePs(program, "step"), BigInt(program.k), state),
	};
}

/** Nanoseconds there; no figure counts as less than one. */
export function nsOn(time: WorkTime, on: Rates, reference: Required<Rates> = PROVEN_H200): bigint {
	const scaled = (ns: number, here: number, there: number): bigint =>
		upTo(BigInt(ns) * BigInt(Math.floor(there)), BigInt(Math.max(1, Math.floor(here))));
	const int32 = on.int32OpsPerS ?? 0;
	return (
		scaled(time.productsNs, on.int8OpsPerS, reference.int8OpsPerS) +
		scaled(time.memoryNs, on.bytesPerS, reference.bytesPerS) +
		(int32 > 0
			? scaled(time.instructionsNs, int32, reference.int32OpsPerS)
			: scaled(time.instructionsNs, on.int8OpsPerS, reference.int8OpsPerS)) +
		BigInt(time.startsNs)
	);
}

/** Several, one after the other. */
export function sumOfTimes(...parts: readonly (readonly [times: number, time: WorkTime])[]): WorkTime {
	const sum = (field: keyof WorkTime): number =>
		wholeNs(1000n * parts.reduce((all, [times, time]) => all + BigInt(times) * BigInt(time[field]), 0n));
	return {
		productsNs: sum("productsNs"),
		memoryNs: sum("memoryNs"),
		instructionsNs: sum("instructionsNs"),
		startsNs: sum("startsNs"),
	};
}

/** Work that is told in int8 operations at a device's proven speed, as that of proofs. */
export const timeOfInt8 = (ops: number): WorkTime => ({
	productsNs: wholeNs(upTo(BigInt(Math.ceil(ops)) * 10n ** 12n, BigInt(PROVEN_H200.int8OpsPerS))),
	memoryNs: 0,
	instructionsNs: 0,
	startsNs: 0,
});
