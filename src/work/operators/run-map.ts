// `map` for a whole tensor: map-machine.ts over blocks of elements, instruction by instruction. Registers whose interval lies below 2^53
// are plain numbers, the others 64-bit ones. Which is which follows from the checker's intervals; the values do not.
import type { MapOp } from "../program/shapes.ts";
import { blockArithmetic, isBitwise } from "./block-arithmetic.ts";
import { evaluate } from "./evaluate.ts";
import { type Arithmetic, type Instruction, VARIABLE } from "./instruction.ts";
import { indexOf, type Moment, randomWord } from "./map-machine.ts";
import { createElements, type Elements, elementCount, type Interval, magnitude } from "./tensor-type.ts";

const BLOCK = 1024;
const SAFE = 2n ** 53n;

type Register = Float64Array | BigInt64Array;

class BlockMachine {
	readonly op: MapOp;
	readonly intervals: readonly Interval[];
	readonly operands: readonly Elements[];
	readonly moment: Moment;
	readonly registers: Register[];
	readonly coordinates: Float64Array[];
	/** Indexes of a load; −1: outside. */
	readonly indexes = new Float64Array(BLOCK);
	/** A body that does not know its turn gives the same for ever once it has changed nothing: such a loop may end there. */
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
		for (let i = 0; i < count; i++) {
			let rest = first + i;
			for (let axis = dims.length - 1; axis >= 0; axis--) {
				const dim = dims[axis]!;
				this.coordinates[axis]![i] = rest % dim;
				rest = Math.floor(rest / dim);
			}
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
		for (let i = 0; i < this.count; i++) {
			const index = this.indexes[i]!;
			const value = index < 0 ? 0 : from[index]!;
			if (out instanceof BigInt64Array) out[i] = BigInt(value);
			else out[i] = Number(value);
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
			const terms = place.terms.filter(({ of }) => of < VARIABLE.segment);
			for (let i = 0; i < this.count; i++) {
				let p = register === null ? base : base + register[i]!;
				for (const { of, times } of terms) p += times * this.coordinates[of]![i]!;
				let isOutside = this.indexes[i]! < 0;
				if (p < 0 || p >= dim) {
					if (place.edge === "inside") throw new RangeError("a load outside its operand: the checker is wrong");
					if (place.edge === "zero") isOutside = true;
					p = place.edge === "wrap" ? ((p % dim) + dim) % dim : p < 0 ? 0 : dim - 1;
				}
				this.indexes[i] = isOutside ? -1 : this.indexes[i]! * dim + p;
			}
		}
	}

	/** What is the same for the whole block; null when the sum may pass 2^53. Around a ring, whole rounds are left out. */
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

	/** Sets the carried registers from others, each clamped; all are read before one is written. True when one has changed. */
	carry(froms: readonly number[]): boolean {
		const { carried, before } = this.op.code;
		const values = froms.map((from) => this.registers[from]!.slice(0, this.count));
		let hasChanged = false;
		for (const [i, { lo, hi }] of carried.entries()) {
			const out = this.registers[before.length + i]!;
			const from = values[i]!;
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
		for (let i = 0; i < machine.count; i++) {
			if (output instanceof BigInt64Array) output[first + i] = BigInt(values[i]!);
			else output[first + i] = Number(values[i]!);
		}
	}
	return output;
}
