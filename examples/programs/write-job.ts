// What every example ends with: its program as text, its inputs as .npy and a job file, in a folder beside
// where it was started. `assay job run NAME/job.json` then runs it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeNpy } from "../../src/work/formats/write-npy.ts";
import { type Elements, elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import { sealProgram } from "../../src/work/program/open-program.ts";
import { printProgram } from "../../src/work/program/print-text.ts";
import type { Program } from "../../src/work/program/shapes.ts";

const SEED = `0x${"00".repeat(31)}01`;

export interface Example {
	readonly name: string;
	readonly program: Program;
	/** Every constant and input, by name. */
	readonly given?: Readonly<Record<string, Elements>>;
	readonly segments: number;
}

/** Checks the program, then writes it. The folder is the first argument, else the example's name. */
export function writeJob({ name, program, given = {}, segments }: Example, folder = process.argv[2] ?? name): void {
	orThrow(sealProgram(program));
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "program.txt"), printProgram(program));
	const inputs: Record<string, string> = {};
	for (const { name: tensor, type, dims } of program.tensors) {
		const elements = given[tensor];
		if (elements === undefined) continue;
		inputs[tensor] = `${tensor}.npy`;
		writeFileSync(join(folder, `${tensor}.npy`), writeNpy(type, dims, elementsToBytes(elements)));
	}
	const job = { workload: "program", program: "program.txt", inputs, segments, seed: SEED };
	writeFileSync(join(folder, "job.json"), `${JSON.stringify(job, null, "\t")}\n`);
	console.log(`assay program check ${join(folder, "program.txt")}\nassay job run ${join(folder, "job.json")}`);
}
