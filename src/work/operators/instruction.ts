// The instructions of `map`, docs/work.md §3: their shapes, their codes and which fields follow. Codec, text
// form and builders all read this table. Not here: what they compute (evaluate.ts), what the checker asks of
// them (program/intervals.ts).

/** Where a load reads along one axis of its operand. */
export interface Place {
	readonly edge: Edge;
	/** A register whose value is added, or null. */
	readonly register: number | null;
	readonly constant: number;
	/** Ascending by `of`, no `times` is 0. */
	readonly terms: readonly Term[];
}

export interface Term {
	/** 0 … 5: coordinate of the output; 6, 7, 8: SEGMENT, STEP, TURN. */
	readonly of: number;
	readonly times: number;
}

/** In the order of their codes. */
export const EDGES = ["inside", "zero", "wrap", "clamp"] as const;
export type Edge = (typeof EDGES)[number];

export const VARIABLE = { segment: 6, step: 7, turn: 8 } as const;

type Unary = "neg" | "abs" | "isqrt" | "bitlen";
type Shift = "shl" | "shr" | "rsh";
type Binary = "add" | "sub" | "mul" | "min" | "max" | "rshv" | "div" | "rdiv" | "eq" | "lt" | "and" | "or" | "xor";
type Ternary = "select" | "clamp";

/** a, b, c are registers. */
export type Arithmetic =
	| { readonly op: Unary; readonly a: number }
	| { readonly op: Shift; readonly a: number; readonly bits: number }
	| { readonly op: Binary; readonly a: number; readonly b: number }
	| { readonly op: Ternary; readonly a: number; readonly b: number; readonly c: number };

export type Instruction =
	| { readonly op: "load"; readonly operand: number; readonly place: readonly Place[] }
	| { readonly op: "const"; readonly value: bigint }
	| { readonly op: "iota"; readonly axis: number }
	| { readonly op: "segment" }
	| { readonly op: "step" }
	| { readonly op: "turn" }
	| { readonly op: "rand"; readonly a: number; readonly domain: number }
	| Arithmetic;

export type OpName = Instruction["op"];
export type Field = "operand" | "place" | "value" | "axis" | "a" | "b" | "c" | "bits" | "domain";

/** Name and fields by code. */
export const INSTRUCTIONS: readonly (readonly [OpName, ...Field[]])[] = [
	["load", "operand", "place"],
	["const", "value"],
	["iota", "axis"],
	["segment"],
	["step"],
	["turn"],
	["rand", "a", "domain"],
	["add", "a", "b"],
	["sub", "a", "b"],
	["mul", "a", "b"],
	["neg", "a"],
	["abs", "a"],
	["min", "a", "b"],
	["max", "a", "b"],
	["shl", "a", "bits"],
	["shr", "a", "bits"],
	["rsh", "a", "bits"],
	["rshv", "a", "b"],
	["div", "a", "b"],
	["rdiv", "a", "b"],
	["isqrt", "a"],
	["bitlen", "a"],
	["eq", "a", "b"],
	["lt", "a", "b"],
	["and", "a", "b"],
	["or", "a", "b"],
	["xor", "a", "b"],
	["select", "a", "b", "c"],
	["clamp", "a", "b", "c"],
];

export const CODE_OF: ReadonlyMap<string, number> = new Map(INSTRUCTIONS.map(([name], code) => [name, code]));

/** Most bits of a fixed shift. */
export const MOST_BITS = 62;
/** What the second operand of rshv may be. */
export const RSHV_BITS = { lo: -31n, hi: 62n } as const;
