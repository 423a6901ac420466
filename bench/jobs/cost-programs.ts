// Programs that the model of the work (docs/workloads.md §8) is held against, for a card to run: those of a
// hostile customer, and random ones. Prints what the model takes each for: of the init phase, and of a step,
// as the engine's `bench program FILE…` times it.
//   node bench/jobs/cost-programs.ts FOLDER        environment: RANDOM (how many, 40 unless given)
//   build/engine/linux-x64/bench --quick program FOLDER/*.bin
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileNameOf, HOSTILE, randomWork } from "../../src/work/cost/priced-programs.test-kit.ts";
import { nsOn, PROVEN_H200, programTime } from "../../src/work/cost/work-time.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { sealProgram } from "../../src/work/program/open-program.ts";
import type { Program } from "../../src/work/program/shapes.ts";
import { quickNumbers } from "../../vectors/work-programs.ts";

const [folder = ""] = process.argv.slice(2);
if (folder === "") throw new Error("usage: node bench/jobs/cost-programs.ts FOLDER");
mkdirSync(folder, { recursive: true });

function put(name: string, program: Program): void {
	const sealed = sealProgram(program);
	if (!sealed.ok) throw new Error(`${name}: ${JSON.stringify(sealed)}`);
	writeFileSync(join(folder, `${name}.bin`), encodeProgram(program));
	const { init, segment } = programTime(program);
	const ms = (ns: bigint, times: number) => (Number(ns) / 1e6 / times).toFixed(4).padStart(10);
	console.log(
		`${name.padEnd(56)} init ${ms(nsOn(init, PROVEN_H200), 1)} ms  step ${ms(nsOn(segment, PROVEN_H200), program.k)} ms`,
	);
}

for (const [name, build] of Object.entries(HOSTILE)) put(fileNameOf(name), build());
const draw = quickNumbers("work whose time is modelled");
for (let n = 0; n < Number(process.env.RANDOM ?? 40); n++) put(`random-${n}`, randomWork(draw));
