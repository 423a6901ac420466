// Trained weights as a safetensors file: what the customer takes home.
import { writeSafetensors } from "../formats/safetensors.ts";
import { type Elements, elementCount } from "../operators/tensor-type.ts";
import type { WorkloadWeight } from "./workload.ts";

/** `elements`: of a state tensor, by name. */
export function weightsFile(weights: readonly WorkloadWeight[], elements: (tensor: string) => Elements): Uint8Array {
	return writeSafetensors(
		weights.map(({ name, tensor, first, dims, scale }) => {
			const from = elements(tensor).subarray(first, first + elementCount(dims));
			return { name, dims, values: Float32Array.from(from as Int32Array, (value) => Number(value) / scale) };
		}),
	);
}
