// `assay program run FILE`: a program with arrays for its inputs, on this machine's engine. Nothing is kept
// but what --out names.
import { join, resolve } from "node:path";
import type { SegmentDone } from "../engine/client/work-session.ts";
import { makeFolder } from "../platform/durable-file.ts";
import { bytesToHex, hexToBytes } from "../protocol/bytes/bytes.ts";
import { writeNpy } from "../work/formats/write-npy.ts";
import { bytesOf, bytesToElements, elementCount, elementsToBytes } from "../work/operators/tensor-type.ts";
import { encodeProgram } from "../work/program/encode.ts";
import { readProgram } from "../work/program/read-program.ts";
import type { Tensor } from "../work/program/shapes.ts";
import { stateHashOf } from "../work/trace/commitments.ts";
import { buildWorkload } from "../work/workloads/build-workload.ts";
import type { CliIo } from "./command.ts";
import { readInput, writeNamedFile } from "./evidence-file.ts";
import { type engineOptions, startJobEngine } from "./job-engine.ts";
import { usageError, type Values } from "./options.ts";
import { printResult } from "./print/print-result.ts";

const MOST_BYTES = 2 ** 31;
/** Elements that are printed of a tensor. */
const SHOWN = 8;

interface Asked extends Values<typeof engineOptions> {
	readonly input: readonly string[] | undefined;
	readonly seed: string;
	readonly segments: number;
	readonly out: string | undefined;
	readonly json: boolean;
}

/** Raw bytes become what an .npy of that tensor holds. */
function arrayOf(tensor: Tensor | undefined, path: string, bytes: Uint8Array): Uint8Array {
	return tensor === undefined || !path.endsWith(".bin") ? bytes : writeNpy(tensor.type, tensor.dims, bytes);
}

export async function runProgramFile(values: Asked, io: CliIo, path: string): Promise<number> {
	const program = readProgram(readInput(resolve(io.cwd, path), MOST_BYTES, "Give a program."));
	const inputs = Object.fromEntries(
		(values.input ?? []).map((one) => {
			const at = one.indexOf("=");
			if (at < 1) throw usageError(`--input takes NAME=FILE, not '${one}'`);
			return [one.slice(0, at), resolve(io.cwd, one.slice(at + 1))] as const;
		}),
	);
	const names = new Map(Object.entries(inputs).map(([name, file]) => [file, name]));
	const spec = {
		workload: "program",
		program: "",
		inputs,
		segments: values.segments,
		seed: hexToBytes(values.seed, 32)!,
	} as const;
	const work = await buildWorkload(spec, (file) => {
		if (file === "") return encodeProgram(program);
		const bytes = readInput(file, MOST_BYTES, "Give an array with --input NAME=FILE.");
		return arrayOf(
			program.tensors.find(({ name }) => name === names.get(file)),
			file,
			bytes,
		);
	});
	const engine = await startJobEngine(values, io, null);
	try {
		const session = await engine.open({ device: engine.device, program: encodeProgram(work.program), seed: work.seed });
		const { tensors } = work.program;
		for (const [i, { kind, name }] of tensors.entries())
			if (kind === "constant" || kind === "input") await session.write(i, elementsToBytes(work.given[name]!));
		const states: string[] = [];
		const onSegment = ({ segment, stateRoots, resultRoots }: SegmentDone) =>
			states.push(bytesToHex(stateHashOf(work.program, segment + 1, stateRoots, resultRoots)));
		await session.run({ first: 0, count: values.segments + 1, signal: io.interrupted, onSegment });
		const lines: string[] = [];
		for (const [i, { kind, name, type, dims }] of tensors.entries()) {
			if (kind !== "state" && kind !== "result") continue;
			const bytes = await session.fetch(i, 0, elementCount(dims) * bytesOf(type));
			const values8 = [...bytesToElements(bytes, type, elementCount(dims))!.subarray(0, SHOWN)];
			const more = elementCount(dims) > SHOWN ? ", …" : "";
			lines.push(`  ${kind} ${name} ${type}[${dims.join(",")}]: ${values8.join(", ")}${more}`);
			if (values.out === undefined) continue;
			const folder = resolve(io.cwd, values.out);
			await makeFolder(folder, 0o755);
			writeNamedFile(join(folder, `${name}.npy`), writeNpy(type, dims, bytes), "--out FOLDER");
		}
		const last = states.at(-1) ?? "";
		return printResult(values, io, { states, plan: session.plan, device: engine.name }, () =>
			[...lines, `  S_${states.length} ${last}`, ""].join("\n"),
		);
	} finally {
		await engine.close();
	}
}
