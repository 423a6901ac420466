// `map` for a whole tensor: map-machine.ts over blocks of elements, instruction by instruction. Registers
// whose interval lies below 2^53 are plain numbers, the others 64-bit ones. Which is which follows from the
// checker's intervals; the values do not.
import type { MapOp } from "../program/shapes.ts";
import { blockArithmetic, isBitwise } from "./block-arithmetic.ts";
import { evaluate } from "./evaluate.ts";
import { type Arithmetic, type Edge, type Instruction, VARIABLE } from "./instruction.ts";
import { indexOf, type Moment, randomWord } from "./map-machine.ts";
import { createElements, type Elements, elementCount, type Interval, magnitude } from "./tensor-type.ts";
import { gatherWide, numbersToWide } from "./wide-numbers.ts";

const BLOCK = 1024;
const SAFE = 2n ** 53n;

type Register = Float64Array | BigInt64Array;

function addScaled(to: Float64Array, from: Float64Array, times: number, count: number): void {
	for (let i = 0; i < count; i++) to[i] = to[i]! + times * from[i]!;
}

/** One axis more of each index. */
function foldPlaces(indexes: Float64Array, places: Float64Array, dim: number, edge: Edge, count: number): void {
	for (let i = 0; i < count; i++) {
		let p = places[i]!;
		let isOutside = indexes[i]! < 0;
		if (p < 0 || p >= dim) {
			if (edge === "inside") throw new RangeError("a load outside its operand: the checker is wrong");
			if (edge === "zero") isOutside = true;
			p = edge === "wrap" ? ((p % dim) + dim) % dim : p < 0 ? 0 : dim - 1;
		}
		indexes[i] = isOutside ? -1 : indexes[i]! * dim + p;
	}
}

function gather(from: Exclude<Elements, BigInt64Array>, indexes: Float64Array, out: Float64Array, count: number): void {
	for (let i = 0; i < count; i++) {
		const index = indexes[i]!;
		out[i] = index < 0 ? 0 : from[index]!;
	}
}

/** True when one has changed. */
function clampInto(out: Float64Array, from: Float64Array, lo: number, hi: number, count: number): boolean {
	let hasChanged = false;
	for (let i = 0; i < count; i++) {
		const value = from[i]!;
		const clamped = value < lo ? lo : value > hi ? hi : value;
		if (clamped !== out[i]) hasChanged = true;
		out[i] = clamped;
	}
	return hasChanged;
}

class BlockMachine {
	readonly op: MapOp;
	readonly intervals: readonly Interval[];
	readonly operands: readonly Elements[];
	readonly moment: Moment;
	readonly registers: Register[];
	readonly coordinates: Float64Array[];
	/** Indexes of a load; −1: outside. */
	readonly indexes = new Float64Array(BLOCK);
	/** Along one axis. */
	readonly places = new Float64Array(BLOCK);
	/** Carried values on their way, one array each. */
	readonly carrying: Register[];
	/**
	 * A body that does not know its turn gives the same for ever once it has changed nothing: such a loop may
	 * end there.
	 */
	readonly readsTurn: boolean;
	count = 0;
	turn = 0;

	constructor(op: MapOp, intervals: readonly Interval[], operands: readonly Elements[], moment: Moment) {
		this.op = op;
		this.intervals = intervals;
		this.operands = operands;
		this.moment = moment;
		this.registers = intervals.map((one) =>
			magnitude(one) < SAFE ? new Float64Array(BLOCK) : new BigInt64Array(BLOCK),
		);
		this.carrying = op.code.carried.map(() => new Float64Array(BLOCK));
		this.coordinates = op.output.dims.map(() => new Float64Array(BLOCK));
		this.readsTurn = op.code.body.some(
			(one) =>
				one.op === "turn" ||
				(one.op === "load" && one.place.some(({ terms }) => terms.some(({ of }) => of === VARIABLE.turn))),
		);
	}

	place(first: number, count: number): void {
		this.count = count;
		const { dims } = this.op.output;
		let inner = 1;
		for (let axis = dims.length - 1; axis >= 0; axis--) {
			const dim = dims[axis]!;
			const out = this.coordinates[axis]!;
			let value = Math.floor(first / inner) % dim;
			let phase = first % inner;
			for (let i = 0; i < count; i++) {
				out[i] = value;
				if (++phase < inner) continue;
				phase = 0;
				if (++value === dim) value = 0;
			}
			inner *= dim;
		}
	}

	run(section: readonly Instruction[], first: number): void {
		for (const [i, one] of section.entries()) this.instruction(one, first + i);
	}

	instruction(one: Instruction, number: number): void {
		const out = this.registers[number]!;
		if (one.op === "load") this.load(one, out);
		else if (one.op === "const") this.fill(out, one.value);
		else if (one.op === "iota") (out as Float64Array).set(this.coordinates[one.axis]!);
		else if (one.op === "segment" || one.op === "step") this.fill(out, BigInt(this.moment[one.op]));
		else if (one.op === "turn") this.fill(out, BigInt(this.turn));
		else if (one.op === "rand") {
			const from = this.registers[one.a]!;
			for (let i = 0; i < this.count; i++) out[i] = randomWord(this.moment, BigInt(from[i]!), one.domain);
		} else this.arithmetic(one, out);
	}

	fill(out: Register, value: bigint): void {
		if (out instanceof BigInt64Array) out.fill(value);
		else out.fill(Number(value));
	}

	arithmetic(one: Arithmetic, out: Register): void {
		const numbers = [one.a, "b" in one ? one.b : one.a, "c" in one ? one.c : one.a] as const;
		const [a, b, c] = numbers.map((number) => this.registers[number]!) as [Register, Register, Register];
		const bits = "bits" in one ? one.bits : 0;
		const isSmall = [a, b, c, out].every((register) => register instanceof Float64Array);
		const fits32 = () => numbers.every((number) => magnitude(this.intervals[number]!) < 2n ** 31n);
		if (isSmall && (!isBitwise(one.op) || fits32())) {
			blockArithmetic(one, bits, [a, b, c] as never, out as Float64Array, this.count);
			return;
		}
		for (let i = 0; i < this.count; i++) {
			const value = evaluate(one.op, bits, BigInt(a[i]!), BigInt(b[i]!), BigInt(c[i]!))!;
			if (out instanceof BigInt64Array) out[i] = value;
			else out[i] = Number(value);
		}
	}

	load(one: Instruction & { op: "load" }, out: Register): void {
		this.findIndexes(one);
		const from = this.operands[one.operand]!;
		if (out instanceof Float64Array) {
			if (from instanceof BigInt64Array) gatherWide(from, this.indexes, out, this.count);
			else gather(from, this.indexes, out, this.count);
			return;
		}
		for (let i = 0; i < this.count; i++) {
			const index = this.indexes[i]!;
			out[i] = index < 0 ? 0n : BigInt(from[index]!);
		}
	}

	findIndexes(one: Instruction & { op: "load" }): void {
		const { dims } = this.op.operands[one.operand]!;
		this.indexes.fill(0);
		for (const [axis, place] of one.place.entries()) {
			const dim = dims[axis]!;
			const base = this.placeBase(place, dim);
			const register = place.register === null ? null : this.registers[place.register]!;
			if (base === null || register instanceof BigInt64Array) {
				this.findIndexesSlowly(one);
				return;
			}
			if (register === null) this.places.fill(base, 0, this.count);
			else for (let i = 0; i < this.count; i++) this.places[i] = base + register[i]!;
			for (const { of, times } of place.terms)
				if (of < VARIABLE.segment) addScaled(this.places, this.coordinates[of]!, times, this.count);
			foldPlaces(this.indexes, this.places, dim, place.edge, this.count);
		}
	}

	/**
	 * What is the same for the whole block; null when the sum may pass 2^53. Around a ring, whole rounds are
	 * left out.
	 */
	placeBase(place: (Instruction & { op: "load" })["place"][number], dim: number): number | null {
		let base = BigInt(place.constant);
		let rest = place.register === null ? 0n : magnitude(this.intervals[place.register]!);
		const constants: Readonly<Record<number, number>> = {
			[VARIABLE.segment]: this.moment.segment,
			[VARIABLE.step]: this.moment.step,
			[VARIABLE.turn]: this.turn,
		};
		for (const { of, times } of place.terms) {
			const constant = constants[of];
			if (constant !== undefined) base += BigInt(times) * BigInt(constant);
			else rest += BigInt(Math.abs(times)) * BigInt(this.op.output.dims[of]!);
		}
		if (place.edge === "wrap") base %= BigInt(dim);
		return (base < 0n ? -base : base) + rest < SAFE ? Number(base) : null;
	}

	findIndexesSlowly(one: Instruction & { op: "load" }): void {
		for (let i = 0; i < this.count; i++) {
			const at = { ...this.moment, coordinates: this.coordinates.map((axis) => axis[i]!) };
			const registers = this.registers.map((register) => BigInt(register[i]!));
			const index = indexOf(one.place, this.op.operands[one.operand]!.dims, at, this.turn, registers);
			if (index === null) throw new RangeError("a load outside its operand: the checker is wrong");
			this.indexes[i] = index === "outside" ? -1 : index;
		}
	}

	/**
	 * Sets the carried registers from others, each clamped; all are read before one is written. True when one
	 * has changed.
	 */
	carry(froms: readonly number[]): boolean {
		const { carried, before } = this.op.code;
		for (const [i, from] of froms.entries()) {
			const source = this.registers[from]!;
			const held = this.carrying[i]!;
			if (source instanceof BigInt64Array || held instanceof BigInt64Array) this.carrying[i] = source.slice();
			else held.set(source);
		}
		let hasChanged = false;
		for (const [i, { lo, hi }] of carried.entries()) {
			const out = this.registers[before.length + i]!;
			const from = this.carrying[i]!;
			if (out instanceof Float64Array && from instanceof Float64Array && -SAFE < lo && hi < SAFE) {
				if (clampInto(out, from, Number(lo), Number(hi), this.count)) hasChanged = true;
				continue;
			}
			for (let e = 0; e < this.count; e++) {
				const value = from[e]!;
				const clamped = value < lo ? lo : value > hi ? hi : value;
				const old = out[e];
				if (out instanceof BigInt64Array) out[e] = BigInt(clamped);
				else out[e] = Number(clamped);
				hasChanged ||= out[e] !== old;
			}
		}
		return hasChanged;
	}

	runBlock(): Register {
		const { before, turns, carried, body, after } = this.op.code;
		this.run(before, 0);
		if (turns > 0) {
			const bodyFrom = before.length + carried.length;
			this.carry(carried.map(({ from }) => from));
			const nexts = carried.map(({ next }) => next);
			for (this.turn = 0; this.turn < turns; this.turn++) {
				this.run(body, bodyFrom);
				if (!this.carry(nexts) && !this.readsTurn) break;
			}
			this.turn = 0;
			this.run(after, bodyFrom + body.length);
		}
		return this.registers.at(-1)!;
	}
}

/** `intervals` of the registers, as the checker found them. */
export function runMap(
	op: MapOp,
	intervals: readonly Interval[],
	operands: readonly Elements[],
	moment: Moment,
): Elements {
	const total = elementCount(op.output.dims);
	const output = createElements(op.output.type, total);
	const machine = new BlockMachine(op, intervals, operands, moment);
	for (let first = 0; first < total; first += BLOCK) {
		machine.place(first, Math.min(BLOCK, total - first));
		const values = machine.runBlock();
		if (values instanceof Float64Array) {
			if (output instanceof BigInt64Array) numbersToWide(values, output, first, machine.count);
			else output.set(values.subarray(0, machine.count), first);
		} else
			for (let i = 0; i < machine.count; i++) {
				if (output instanceof BigInt64Array) output[first + i] = values[i]!;
				else output[first + i] = Number(values[i]!);
			}
	}
	return output;
}
