// Jobs of a thousand steps for whole disputes, and the place of the lie in each. Light: bench/card-claim.ts
// runs them on a machine that has nothing but the engine.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { LiePlace } from "../../src/engine/lying-engine.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { elementCount } from "../../src/work/operators/tensor-type.ts";
import type { Op } from "../../src/work/program/shapes.ts";
import { buildWorkload } from "../../src/work/workloads/build-workload.ts";
import { readJob } from "../../src/work/workloads/read-job.ts";
import type { Workload } from "../../src/work/workloads/workload.ts";

const SAMPLES = resolve(import.meta.dirname, "..", "..", "samples");
const SEED = "0x0000000000000000000000000000000000000000000000000000000000000001";

/**
 * A job file of a thousand steps each, and the operator whose output is wrong in one of them. `each`: what a
 * step of its program counts for.
 */
export const KINDS = {
	training: {
		operator: "matmul",
		each: 1,
		job: {
			...{ workload: "train", model: { kind: "mlp", sizes: [64, 128, 128, 16] }, data: { generated: 4096 } },
			...{ optimizer: { kind: "exact-sgd", shift: 9 }, order: "cube", batch: 64, steps: 1000, stepsPerSegment: 25 },
		},
	},
	generation: {
		operator: "matmul",
		each: 1,
		job: {
			...{ workload: "infer", model: "tiny-llama/", weights: "i16", output: "text", new: 22, batch: 1 },
			sampling: { kind: "seeded", temperature: 0.7 },
		},
	},
	render: {
		operator: "map",
		each: 1,
		job: {
			...{ workload: "render", scene: "scenes/cornell.json", size: [12, 12], bounces: 3 },
			...{ passes: 1000, passesPerSegment: 25 },
		},
	},
	simulation: {
		operator: "map",
		each: 25,
		job: {
			...{ workload: "simulate", kind: "life", size: [32, 32], rule: "B3/S23", initial: { density: 0.3 } },
			...{ steps: 1000, frames: 0, stepsPerSegment: 25 },
		},
	},
} as const satisfies Readonly<
	Record<string, { readonly operator: Op["operator"]; readonly each: number; readonly job: object }>
>;
export type Kind = keyof typeof KINDS;

export async function workloadOfKind(kind: Kind, scratch: string): Promise<Workload> {
	const prompts = join(scratch, "prompts.txt");
	writeFileSync(prompts, Array.from({ length: 25 }, (_, i) => `And the LORD said ${i}\n`).join(""));
	const { job } = KINDS[kind];
	const more = kind === "generation" ? { prompts: { text: prompts } } : {};
	const files = (name: string): Uint8Array => {
		try {
			return readFileSync(resolve(SAMPLES, name));
		} catch {
			throw new AssayError("FILE_UNREADABLE", `there is no ${name}`);
		}
	};
	return buildWorkload(readJob({ ...job, ...more, seed: SEED }), files);
}

/** One element of one op in the middle of the job. */
export function placeOfLie(kind: Kind, { program, segments }: Workload): Required<LiePlace> {
	const { operator } = KINDS[kind];
	const ops = program.step.flatMap((op, i) => (op.operator === operator && op.output.lo < op.output.hi ? [i] : []));
	const isState = (op: number) => program.tensors[program.step[op]!.target ?? -1]?.kind === "state";
	// The last product makes a gradient or the next token; of maps one that writes a state. Others may give
	// what is rounded away.
	const op = operator === "map" ? ops.findLast(isState)! : ops.at(-1)!;
	const element = elementCount(program.step[op]!.output.dims) >> 1;
	return { segment: Math.ceil(0.6 * segments), step: program.k >> 1, op, element, isFar: true };
}
