// A workload as it is handed to strangers, docs/jobs.md §13: the spec of its job, and the blobs that it
// names. The job file itself stays at home: how files are made of what comes back is the customer's own
// business.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { JobMethod } from "../../protocol/network/job.ts";
import type { BlobName, JobSpec } from "../../protocol/network/job-spec.ts";
import { GENERATION_FILE } from "../inference/generation-file.ts";
import { createElements, elementCount, elementsAsBytes } from "../operators/tensor-type.ts";
import { encodeProgram } from "../program/encode.ts";
import type { Workload, WorkloadMetric } from "./workload.ts";

/** Bytes that the job needs, each once. */
export interface SpecBlob extends BlobName {
	/** Not to be changed. */
	readonly bytes: () => Uint8Array;
}

export interface SpecOptions {
	readonly title: string;
	/** Of the job file. */
	readonly kind: string;
	readonly method: JobMethod;
	/** The tree's root; large tensors are hashed by the platform's own hash. */
	readonly rootOf: (bytes: Uint8Array) => Promise<Uint8Array>;
}

const MOST_METRICS = 32;
const MOST_PREVIEWS = 8;

/**
 * The number by which a metric's one element is multiplied; null where it is read in another way: then no
 * curve is shown while strangers work. Found by what the reading gives for two values.
 */
function scaleOf({ program }: Workload, { name, read }: WorkloadMetric): number | null {
	const tensor = program.tensors.find((one) => one.name === name && one.kind === "metric");
	if (tensor === undefined || elementCount(tensor.dims) !== 1) return null;
	const readOf = (value: number): number => {
		const elements = createElements(tensor.type, 1);
		if (elements instanceof BigInt64Array) elements[0] = BigInt(value);
		else elements[0] = value;
		return read(elements);
	};
	const scale = readOf(1);
	const isProduct = Number.isFinite(scale) && readOf(0) === 0 && Math.abs(readOf(100) - 100 * scale) <= 1e-9 * scale;
	return isProduct && scale > 0 ? scale : null;
}

/** Tensors of the files that show how far the work is. */
function previewTensors({ program, files }: Workload): number[] {
	const names = new Set(files.filter(({ isPreview }) => isPreview).flatMap(({ tensors }) => tensors));
	return program.tensors.flatMap(({ name, kind }, i) =>
		names.has(name) && (kind === "state" || kind === "result") ? [i] : [],
	);
}

function noTensor(): never {
	throw new Error("it is made of no tensor");
}

export async function specOfWorkload(
	workload: Workload,
	{ title, kind, method, rootOf }: SpecOptions,
): Promise<{ readonly spec: JobSpec; readonly blobs: readonly SpecBlob[] }> {
	const { program, given, seed, segments, metrics, files } = workload;
	const blobs = new Map<string, SpecBlob>();
	const add = async (bytes: () => Uint8Array): Promise<BlobName> => {
		const held = bytes();
		const name = { root: bytesToHex(await rootOf(held)), size: held.length };
		blobs.set(`${name.root}/${name.size}`, { ...name, bytes });
		return name;
	};
	const code = encodeProgram(program);
	const file = await add(() => code);
	const tensors: (BlobName & { readonly tensor: number })[] = [];
	for (const [tensor, { kind: of, name }] of program.tensors.entries())
		if (of === "constant" || of === "input")
			tensors.push({ tensor, ...(await add(() => elementsAsBytes(given[name]!))) });
	const previews = previewTensors(workload);
	const described = files.find(({ name, tensors: of }) => name === GENERATION_FILE && of.length === 0);
	const generation = described && (await described.make(noTensor));
	const generated = generation && (await add(() => generation));
	return {
		spec: {
			...{ format: "assay-job", version: 1, title, kind, program: file, seed: bytesToHex(seed), given: tensors },
			segments: segments + 1,
			metrics: metrics
				.flatMap((metric) => {
					const scale = scaleOf(workload, metric);
					const { name, label, unit } = metric;
					return scale === null ? [] : [{ tensor: name, label, unit, scale: String(scale) }];
				})
				.slice(0, MOST_METRICS),
			// Of more than that nothing is shown before the end: a preview is made of all its tensors.
			previews: previews.length > MOST_PREVIEWS ? [] : previews,
			method,
			...(generated && { generation: generated }),
		},
		blobs: [...blobs.values()],
	};
}
