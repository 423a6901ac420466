// Writes the programs of workloads at the sizes that they are measured at, for the engine's `bench program
// FILE…`: generation, its check by prefill, embeddings, a stencil. Their counterparts are
// bench/vendor_inference.py and bench/stencil.cu.
//   node bench/workload-programs.ts FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Generation, generateProgram, prefillProgram } from "../src/work/inference/generate-program.ts";
import { KNOWN } from "../src/work/inference/known-shapes.test-kit.ts";
import { scoreProgram } from "../src/work/inference/score-program.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import type { Program } from "../src/work/program/shapes.ts";
import { buildWorkload } from "../src/work/workloads/build-workload.ts";
import { readJob } from "../src/work/workloads/read-job.ts";

const [folder = ""] = process.argv.slice(2);
if (folder === "") throw new Error("usage: node bench/workload-programs.ts FOLDER");
mkdirSync(folder, { recursive: true });
const put = (name: string, program: Program): void => {
	writeFileSync(join(folder, `${name}.bin`), encodeProgram(program));
	console.log(`${name}: ${program.step.length} ops a step, ${program.k} steps a segment`);
};

const BATCH = 32;
for (const [name, architecture] of Object.entries(KNOWN)) {
	const file = name.toLowerCase().replaceAll(/[ .]/g, "-");
	for (const weights of ["i16", "i8"] as const) {
		if (architecture.family === "bert") {
			const of = { architecture, weights, sequences: BATCH, batch: BATCH, prompt: 128, output: "mean" } as const;
			put(`${file}-${weights}-embed-b32x128`, scoreProgram(of).program);
			continue;
		}
		const of: Generation = {
			...{
				architecture,
				weights,
				sampling: { kind: "greedy" },
				sequences: BATCH,
				batch: BATCH,
				prompt: 32,
				fresh: 256,
			},
		};
		put(`${file}-${weights}-generate-b32`, generateProgram(of).program);
		put(`${file}-${weights}-prefill-b32`, prefillProgram(of).program);
		// Few steps of it, to be compared with itself op by op.
		put(`${file}-${weights}-few-b32`, generateProgram({ ...of, prompt: 2, fresh: 3 }).program);
	}
}

const seed = `0x${"01".repeat(32)}`;
for (const side of [1024, 4096, 8192]) {
	const job = { workload: "simulate", kind: "heat", size: [side, side], steps: 64, rate: 0.2, edge: "wrap", seed };
	put(`heat-${side}`, (await buildWorkload(readJob(job), () => new Uint8Array())).program);
}
