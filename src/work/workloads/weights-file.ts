// Trained weights as a safetensors file: what the customer takes home.
import { writeSafetensors } from "../formats/safetensors.ts";
import { elementCount } from "../operators/tensor-type.ts";
import type { WorkloadFile } from "./workload.ts";

/** Elements of a state tensor, from `first`, as floats: value = element / scale. */
export interface WorkloadWeight {
	readonly name: string;
	readonly tensor: string;
	readonly first: number;
	readonly dims: readonly number[];
	readonly scale: number;
}

export function weightsFile(weights: readonly WorkloadWeight[], name = "weights.safetensors"): WorkloadFile {
	return {
		name,
		tensors: [...new Set(weights.map(({ tensor }) => tensor))],
		isPreview: false,
		make: (elements) =>
			writeSafetensors(
				weights.map(({ name: weight, tensor, first, dims, scale }) => {
					const from = elements(tensor).subarray(first, first + elementCount(dims));
					const values = Float32Array.from(from as Int32Array, (value) => Number(value) / scale);
					return { name: weight, dims, values };
				}),
			),
	};
}
