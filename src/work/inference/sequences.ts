// The sequences of a job: all of them as rows of one tensor, those of a batch by the number of the segment.
// Segment j has the sequences from batch·(j − 1) on. batch-invariance.ts knows these two places.
import { at, type Index, index, segment, type Value } from "../builder/expression.ts";
import type { Net } from "./numbers.ts";

/** [rows, columns], filled up with 0. */
export function paddedRows(all: readonly ArrayLike<number>[], rows: number, columns: number): Int32Array {
	const elements = new Int32Array(rows * columns);
	for (const [i, one] of all.entries()) elements.set(one, i * columns);
	return elements;
}

/** So many sequences as whole batches. */
export const wholeBatches = (count: number, batch: number): number => Math.ceil(count / batch) * batch;

export interface Prompts {
	/** [sequences, prompt]. */
	readonly prompts: Value;
	/** [sequences]. */
	readonly lengths: Value;
}

export interface PromptShape {
	/** A multiple of the batch. */
	readonly sequences: number;
	readonly batch: number;
	/** Tokens of the longest prompt. */
	readonly prompt: number;
}

export const declarePrompts = ({ b, of }: Net, { sequences, prompt }: PromptShape): Prompts => ({
	prompts: b.tensor("input", "prompts", "i32", [sequences, prompt], 0, of.vocabulary - 1),
	lengths: b.tensor("input", "lengths", "i32", [sequences], 1, prompt),
});

/** Elements of both; rows that fill up the last batch have one token, 0. */
export function promptElements({ sequences, prompt }: PromptShape, all: readonly ArrayLike<number>[]) {
	const lengths = Int32Array.from({ length: sequences }, (_, i) => all[i]?.length ?? 1);
	return { prompts: paddedRows(all, sequences, prompt), lengths };
}

/** Which sequence is at this place of the batch. */
export const sequenceAt = (batch: number, i: Index): Index => i.plus(index(segment).times(batch)).plus(-batch).clamp();

/** Where a sequence is in the batch; outside, what is read is 0. */
const placeOf = (batch: number, n: Index): Index => n.plus(index(segment).times(-batch)).plus(batch).zero();

/** A value of the batch, by the number of the sequence: 0 for sequences of other batches. */
export const ofBatch = (batch: number, x: Value, n: Index, ...places: readonly Index[]) =>
	at(x, placeOf(batch, n), ...places);

/** [batch]: 1 each, so that 0 tells the sequences of other batches. */
export const presence = ({ s, batch }: Net, lengths: Value): Value =>
	s.map([batch], (i) => at(lengths, sequenceAt(batch, i!)).min(1));
