// Expressions for the code of a `map`: what one writes down to get instructions, docs/work.md §8. Nothing is
// computed here; compile-map.ts turns an expression into a map's sections.
import { AssayError } from "../../protocol/assay-error.ts";
import { type Edge, type OpName, VARIABLE } from "../operators/instruction.ts";
import type { Interval } from "../operators/tensor-type.ts";
import type { Output, Source } from "../program/shapes.ts";

/** Something that ops can read. */
export interface Value extends Output {
	readonly source: Source;
	readonly index: number;
}

/** The same elements with other dims. */
export function view(value: Value, ...dims: readonly number[]): Value {
	const count = (all: readonly number[]) => all.reduce((a, b) => a * b, 1);
	if (count(dims) !== count(value.dims))
		throw new AssayError("PROGRAM_SHAPE", `[${value.dims.join(",")}] cannot be seen as [${dims.join(",")}]`);
	return { ...value, dims };
}

export type Number64 = number | bigint;
export type Operandish = Expression | Number64;

export interface Loop {
	readonly turns: number;
	readonly carried: readonly (Interval & { readonly from: Expression })[];
	/** Set once the body has been written. */
	next: readonly Expression[];
}

/**
 * What an expression is made of; `loop` and `slot` say which carried value it is, inside its loop or after
 * it.
 */
export interface Node {
	readonly op: OpName | "carried" | "last";
	readonly args: readonly Expression[];
	readonly value?: bigint;
	readonly bits?: number;
	readonly axis?: number;
	readonly domain?: number;
	readonly from?: Value;
	readonly places?: readonly Index[];
	readonly loop?: Loop;
	readonly slot?: number;
}

export class Expression {
	readonly node: Node;

	constructor(node: Node) {
		this.node = node;
	}

	#with(op: OpName, ...rest: readonly Operandish[]): Expression {
		return new Expression({ op, args: [this, ...rest.map(constant)] });
	}

	#shift(op: OpName, bits: number): Expression {
		return bits === 0 ? this : new Expression({ op, args: [this], bits });
	}

	add(other: Operandish): Expression {
		return this.#with("add", other);
	}
	sub(other: Operandish): Expression {
		return this.#with("sub", other);
	}
	mul(other: Operandish): Expression {
		return this.#with("mul", other);
	}
	neg(): Expression {
		return this.#with("neg");
	}
	abs(): Expression {
		return this.#with("abs");
	}
	min(other: Operandish): Expression {
		return this.#with("min", other);
	}
	max(other: Operandish): Expression {
		return this.#with("max", other);
	}
	shl(bits: number): Expression {
		return this.#shift("shl", bits);
	}
	shr(bits: number): Expression {
		return this.#shift("shr", bits);
	}
	rsh(bits: number): Expression {
		return this.#shift("rsh", bits);
	}
	rshv(bits: Operandish): Expression {
		return this.#with("rshv", bits);
	}
	div(other: Operandish): Expression {
		return this.#with("div", other);
	}
	rdiv(other: Operandish): Expression {
		return this.#with("rdiv", other);
	}
	isqrt(): Expression {
		return this.#with("isqrt");
	}
	bitlen(): Expression {
		return this.#with("bitlen");
	}
	eq(other: Operandish): Expression {
		return this.#with("eq", other);
	}
	lt(other: Operandish): Expression {
		return this.#with("lt", other);
	}
	and(other: Operandish): Expression {
		return this.#with("and", other);
	}
	or(other: Operandish): Expression {
		return this.#with("or", other);
	}
	xor(other: Operandish): Expression {
		return this.#with("xor", other);
	}
	/** This ≠ 0 ? yes : no. */
	select(yes: Operandish, no: Operandish): Expression {
		return this.#with("select", yes, no);
	}
	clamp(lo: Operandish, hi: Operandish): Expression {
		return this.#with("clamp", lo, hi);
	}
	/** A random word of the job's seed, by this value, the step and the domain. */
	rand(domain: number): Expression {
		return new Expression({ op: "rand", args: [this], domain });
	}
}

export function constant(value: Operandish): Expression {
	return value instanceof Expression ? value : new Expression({ op: "const", args: [], value: BigInt(value) });
}

export const segment = new Expression({ op: "segment", args: [] });
export const step = new Expression({ op: "step", args: [] });
export const turn = new Expression({ op: "turn", args: [] });

/**
 * A place along one axis: a whole number, multiples of coordinates and counters, at most one register; and
 * its edge.
 */
export class Index {
	readonly constant: number;
	readonly terms: ReadonlyMap<number, number>;
	readonly register: Expression | null;
	readonly edge: Edge;

	constructor(
		constant: number,
		terms: ReadonlyMap<number, number>,
		register: Expression | null,
		edge: Edge = "inside",
	) {
		this.constant = constant;
		this.terms = terms;
		this.register = register;
		this.edge = edge;
	}

	plus(other: Indexish): Index {
		const { constant, terms, register } = index(other);
		if (this.register !== null && register !== null)
			throw new AssayError("PROGRAM_SHAPE", "a place has one register at most; add the two before");
		const sum = new Map(this.terms);
		for (const [of, times] of terms) sum.set(of, (sum.get(of) ?? 0) + times);
		return new Index(this.constant + constant, sum, this.register ?? register, this.edge);
	}

	times(factor: number): Index {
		if (this.register !== null) throw new AssayError("PROGRAM_SHAPE", "a register in a place is multiplied before");
		const terms = new Map([...this.terms].map(([of, times]) => [of, times * factor]));
		return new Index(this.constant * factor, terms, null, this.edge);
	}

	/** What is read outside is zero; or the other end follows; or the nearest element. */
	zero(): Index {
		return new Index(this.constant, this.terms, this.register, "zero");
	}
	wrap(): Index {
		return new Index(this.constant, this.terms, this.register, "wrap");
	}
	clamp(): Index {
		return new Index(this.constant, this.terms, this.register, "clamp");
	}

	/** The coordinate as a value; of a coordinate alone. */
	value(): Expression {
		const [[axis, times] = [-1, 0], ...others] = this.terms;
		if (
			axis < 0 ||
			axis >= VARIABLE.segment ||
			times !== 1 ||
			others.length > 0 ||
			this.constant !== 0 ||
			this.register
		)
			throw new AssayError("PROGRAM_SHAPE", "only a coordinate is a value by itself");
		return new Expression({ op: "iota", args: [], axis });
	}
}

export type Indexish = Index | Expression | number;

const COUNTERS: ReadonlyMap<OpName, number> = new Map([
	["segment", VARIABLE.segment],
	["step", VARIABLE.step],
	["turn", VARIABLE.turn],
]);

export function index(from: Indexish): Index {
	if (from instanceof Index) return from;
	if (typeof from === "number") return new Index(from, new Map(), null);
	const counter = COUNTERS.get(from.node.op as OpName);
	return counter === undefined ? new Index(0, new Map(), from) : new Index(0, new Map([[counter, 1]]), null);
}

export const axis = (number: number): Index => new Index(0, new Map([[number, 1]]), null);

/** The element of `from` at these places, one for each axis. */
export function at(from: Value, ...places: readonly Indexish[]): Expression {
	if (places.length !== from.dims.length)
		throw new AssayError("PROGRAM_SHAPE", `${places.length} places for ${from.dims.length} axes`);
	const all = places.map(index);
	return new Expression({ op: "load", args: all.flatMap(({ register }) => register ?? []), from, places: all });
}

/**
 * Runs `body` n times; gives the carried values after the last turn. Each is clamped to its interval whenever
 * it is set.
 */
export function repeat(
	turns: number,
	carried: readonly { readonly from: Operandish; readonly lo: Number64; readonly hi: Number64 }[],
	body: (...values: Expression[]) => readonly Operandish[],
): Expression[] {
	const loop: Loop = {
		turns,
		carried: carried.map(({ from, lo, hi }) => ({ from: constant(from), lo: BigInt(lo), hi: BigInt(hi) })),
		next: [],
	};
	const slots = (op: "carried" | "last") => carried.map((_, slot) => new Expression({ op, args: [], loop, slot }));
	loop.next = body(...slots("carried")).map(constant);
	if (loop.next.length !== carried.length)
		throw new AssayError("PROGRAM_SHAPE", `a body gives ${loop.next.length} of ${carried.length} carried values`);
	return slots("last");
}
