// A program of the customer's own as a job: `"workload": "program"`, its bytes or text, and arrays for what
// it is given.

import { int, oneOf, type Shape, type Typed } from "../../../protocol/bytes/shape.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readNpy } from "../../formats/npy.ts";
import { writeNpy } from "../../formats/write-npy.ts";
import { createElements, type Elements, elementCount, elementsToBytes } from "../../operators/tensor-type.ts";
import { orThrow } from "../../program/fault.ts";
import { sealProgram } from "../../program/open-program.ts";
import { readProgram } from "../../program/read-program.ts";
import { LIMITS, type Program, type Tensor } from "../../program/shapes.ts";
import { file, partial, seed, wrongField } from "../job-fields.ts";
import type { Files, Workload, WorkloadFile, WorkloadKind } from "../workload.ts";

export interface ProgramSpec {
	readonly workload: "program";
	readonly program: string;
	/** Tensor name to file. */
	readonly inputs: Readonly<Record<string, string>>;
	readonly segments: number;
	readonly seed: Uint8Array;
}

const inputs: Shape<Readonly<Record<string, string>>> = (value, where) => {
	if (typeof value !== "object" || value === null || Array.isArray(value))
		return { where, detail: "must be an object: tensor name to file" };
	for (const [name, path] of Object.entries(value)) {
		const found = file(path, `${where}.${name.slice(0, 64)}`);
		if (found !== null) return found;
	}
	return null;
};

const shape = partial({
	workload: oneOf("program"),
	program: file,
	inputs,
	segments: int(1, LIMITS.segment),
	seed,
});

/** An array's numbers as elements of a tensor: whole, inside its interval, as many as it has. */
function elementsFor({ name, type, dims, lo, hi }: Tensor, path: string, bytes: Uint8Array): Elements {
	const { values } = readNpy(bytes, path);
	const elements = createElements(type, elementCount(dims));
	if (values.length !== elements.length)
		throw codedError("TENSOR_SIZE", `${path} has ${values.length} numbers, ${name} ${elements.length}`);
	for (let i = 0; i < elements.length; i++) {
		const value = values[i]!;
		if ((typeof value === "number" && !Number.isInteger(value)) || value < lo || value > hi)
			throw codedError("TENSOR_RANGE", `element ${i} of ${path} is ${value}; ${name} holds ${lo}..${hi}`);
		if (elements instanceof BigInt64Array) elements[i] = BigInt(value);
		else elements[i] = Number(value);
	}
	return elements;
}

/** Results are written by every run; a program of one's own leaves its state, too. */
const stateFiles = ({ tensors }: Program): WorkloadFile[] =>
	tensors
		.filter(({ kind }) => kind === "state")
		.map(({ name, type, dims }) => ({
			name: `state/${name}.npy`,
			tensors: [name],
			isPreview: false,
			make: (elements) => writeNpy(type, dims, elementsToBytes(elements(name))),
		}));

async function build(spec: ProgramSpec, files: Files): Promise<Workload> {
	const { program } = orThrow(sealProgram(readProgram(await files(spec.program))));
	const wanted = program.tensors.filter(({ kind }) => kind === "constant" || kind === "input");
	const given: Record<string, Elements> = {};
	for (const tensor of wanted) {
		const path = Object.hasOwn(spec.inputs, tensor.name) ? spec.inputs[tensor.name] : undefined;
		if (path === undefined) throw wrongField(`inputs.${tensor.name}`, "is missing");
		given[tensor.name] = elementsFor(tensor, path, await files(path));
	}
	const surplus = Object.keys(spec.inputs).find((name) => !Object.hasOwn(given, name));
	if (surplus !== undefined) throw wrongField("inputs", "names a tensor that the program is not given");
	const metrics = program.tensors
		.filter(({ kind }) => kind === "metric")
		.map(({ name }) => ({ name, label: name, unit: "", read: (elements: Elements) => Number(elements[0]!) }));
	return { program, seed: spec.seed, given, segments: spec.segments, metrics, files: stateFiles(program) };
}

export const programKind: WorkloadKind<ProgramSpec> = {
	shape,
	required: ["program", "segments"],
	length: "segments",
	read(json, key) {
		const { program, segments, inputs: held = {} } = json as Typed<typeof shape>;
		return { workload: "program", program: program!, inputs: held, segments: segments!, seed: key };
	},
	build,
};
