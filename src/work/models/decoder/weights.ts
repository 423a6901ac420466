// Where a decoder's weights come from: an imported model, whose weights stand still (frozen.ts), or
// parameters that learn (trained.ts).
import type { Expression, Index, Value } from "../../builder/expression.ts";
import type { CrossEntropy } from "../softmax.ts";
import type { Matrix } from "./linear.ts";
import type { NormSpec } from "./norm.ts";
import type { WideRows } from "./wide.ts";

export interface StepEnd {
	/** [rows] */
	readonly tokens: Value;
	/** Gradient of the embedded tokens, i32 [rows, width] at 2^24. */
	readonly d: Value;
	/** Of the logits. */
	readonly loss: CrossEntropy;
	/** What the head got. */
	readonly y: WideRows;
}

export interface Weights {
	/** Tensors of these names one below the other; `rows`: as many as these, with zeros after the last. */
	matrix(name: string, parts: readonly string[], rows?: number): Matrix;
	/** Elements at 2^scale, the first `rows` along the first axis. */
	table(name: string, parts: readonly string[], scale: number, rows?: number): Value;
	vector(name: string, parts: readonly string[], scale: number): (column: Index) => Expression;
	gain(name: string): Pick<NormSpec, "gain" | "learn">;
	/** Moves embedding and head at the end of a step; null: they stand still. */
	readonly end: ((of: StepEnd) => void) | null;
}
