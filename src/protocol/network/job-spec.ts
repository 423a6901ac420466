// What a job computes, as its customer hands it in: the program and everything that it is given, named by
// their trees. docs/jobs.md §13. A shape only: whether the program is sound, and what it costs, is found out
// from the program itself. Nothing in it is taken on its word.
import { hex, int, list, object, oneOf, type Typed, text, withOption } from "../bytes/shape.ts";
import { METHOD_NAMES } from "./job.ts";

/** Bytes by the root of their tree and their count, docs/jobs.md §12. */
const blob = object({ root: hex(32), size: int(1, 2 ** 35) });
export type BlobName = Typed<typeof blob>;

const MOST_TENSORS = 4096;

const jobMethod = object({ name: oneOf(...METHOD_NAMES), count: int(0, 64) });

const required = object({
	...{ format: oneOf("assay-job"), version: oneOf(1) },
	/** For people; `kind` is that of the job file. */
	...{ title: text(100), kind: text(32) },
	/** The program's file. */
	program: blob,
	seed: hex(32),
	/** Every constant and every input, ascending by the tensor's number. */
	given: list(object({ tensor: int(0, 0xffff), root: hex(32), size: int(1, 2 ** 35) }), MOST_TENSORS),
	/** Of the whole job, segment 0 counted. */
	segments: int(1, 2 ** 32),
	/** How people read metric tensors of one element: its value × scale. */
	metrics: list(object({ tensor: text(64), label: text(40), unit: text(16), scale: text(32) }), 32),
	/** Tensors that show how far the work is. */
	previews: list(int(0, 0xffff), 8),
	method: jobMethod,
});
/**
 * `generation`: of generated text, what the program was made of (docs/inference.md §10): whoever checks by
 * prefill builds both programs from it.
 */
export const jobSpec = withOption(required, "generation", blob);
export type JobSpec = Typed<typeof jobSpec>;
