// From a job file to the workload that runs. Files come through the caller, who knows where they lie.
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import { readNpy } from "../formats/npy.ts";
import { createElements, type Elements, elementCount } from "../operators/tensor-type.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { readProgram } from "../program/read-program.ts";
import type { Tensor } from "../program/shapes.ts";
import { type Files, type JobSpec, type ProgramSpec, wrongField } from "./read-job.ts";
import { trainWorkload } from "./train-workload.ts";
import type { Workload } from "./workload.ts";

/** An array's numbers as elements of a tensor: whole, inside its interval, as many as it has. */
function elementsFor({ name, type, dims, lo, hi }: Tensor, file: string, bytes: Uint8Array): Elements {
	const { values } = readNpy(bytes, file);
	const elements = createElements(type, elementCount(dims));
	if (values.length !== elements.length)
		throw new AssayError("TENSOR_SIZE", `${file} has ${values.length} numbers, ${name} ${elements.length}`, {
			hint: codes.TENSOR_SIZE.hint,
		});
	for (let i = 0; i < elements.length; i++) {
		const value = values[i]!;
		if ((typeof value === "number" && !Number.isInteger(value)) || value < lo || value > hi)
			throw new AssayError("TENSOR_RANGE", `element ${i} of ${file} is ${value}; ${name} holds ${lo}..${hi}`, {
				hint: codes.TENSOR_RANGE.hint,
			});
		if (elements instanceof BigInt64Array) elements[i] = BigInt(value);
		else elements[i] = Number(value);
	}
	return elements;
}

async function programWorkload(spec: ProgramSpec, files: Files): Promise<Workload> {
	const { program } = orThrow(sealProgram(readProgram(await files(spec.program))));
	const wanted = program.tensors.filter(({ kind }) => kind === "constant" || kind === "input");
	const given: Record<string, Elements> = {};
	for (const tensor of wanted) {
		const file = Object.hasOwn(spec.inputs, tensor.name) ? spec.inputs[tensor.name] : undefined;
		if (file === undefined) throw wrongField(`inputs.${tensor.name}`, "is missing");
		given[tensor.name] = elementsFor(tensor, file, await files(file));
	}
	const surplus = Object.keys(spec.inputs).find((name) => !Object.hasOwn(given, name));
	if (surplus !== undefined) throw wrongField("inputs", "names a tensor that the program is not given");
	const metrics = program.tensors
		.filter(({ kind }) => kind === "metric")
		.map(({ name }) => ({ name, label: name, unit: "", read: (elements: Elements) => Number(elements[0]!) }));
	return { program, seed: spec.seed, given, segments: spec.segments, metrics, weights: [] };
}

export async function buildWorkload(spec: JobSpec, files: Files): Promise<Workload> {
	return await (spec.workload === "program" ? programWorkload(spec, files) : trainWorkload(spec, files));
}
