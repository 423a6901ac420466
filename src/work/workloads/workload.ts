// What a job computes: a program, everything that it is given, and how to read what comes out. Made from a
// job file by build-workload.ts; run by an engine or by program/run-program.ts. Not here: who runs it, how it
// is verified, what it costs.
import type { Shape } from "../../protocol/bytes/shape.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";

export interface WorkloadMetric {
	/** Of a metric tensor of the program. */
	readonly name: string;
	readonly label: string;
	readonly unit: string;
	read(elements: Elements): number;
}

/** A file that the customer takes home. */
export interface WorkloadFile {
	/** Relative to the run's folder: `picture.png`, `frames/0012.png`. */
	readonly name: string;
	/** State and result tensors that it is made of. */
	readonly tensors: readonly string[];
	/** Also made whenever a state is saved: how far the work is. */
	readonly isPreview: boolean;
	make(elements: (tensor: string) => Elements): Uint8Array | Promise<Uint8Array>;
}

export interface Workload {
	readonly program: Program;
	/** 32 bytes. */
	readonly seed: Uint8Array;
	/** Every constant and input, by name. */
	readonly given: Readonly<Record<string, Elements>>;
	/** T; segment 0 (init) comes before. */
	readonly segments: number;
	readonly metrics: readonly WorkloadMetric[];
	readonly files: readonly WorkloadFile[];
	/** What the customer should know before it runs; each a sentence. */
	readonly notes?: readonly string[];
}

/** The bytes of a file that the job names, relative to the job file. */
export type Files = (name: string) => Promise<Uint8Array> | Uint8Array;

/** Called between pieces of long work: whoever serves others, or may be told to stop, waits or throws. */
export type Pause = () => Promise<void>;

/** One kind of job file; kinds.ts has them all. */
export interface WorkloadKind<Spec> {
	/** The fields; which of them must be there is `required`. */
	readonly shape: Shape<unknown>;
	readonly required: readonly string[];
	/** The field that says how long the job is: what `--steps` replaces. */
	readonly length: string;
	/**
	 * A job that has this shape. Fills in what was left out and checks what no field shows by itself; throws
	 * AssayError.
	 */
	read(json: unknown, seed: Uint8Array): Spec;
	build(spec: Spec, files: Files, pause: Pause): Promise<Workload>;
}
