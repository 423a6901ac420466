// What shows how far a workload is, from the tensors that a provider's heartbeat names: a picture, the text so far. Proves nothing. Pure.
import { bytesToElements, elementCount } from "../operators/tensor-type.ts";
import type { Workload } from "./workload.ts";

/** Files that show how far a workload is, from the tensors of a preview; null where they need others. */
export function previewFiles({
	program,
	files,
}: Workload): ((of: ReadonlyMap<number, Uint8Array>) => Promise<readonly [string, Uint8Array][]>) | null {
	const shown = files.filter(({ isPreview }) => isPreview);
	if (shown.length === 0) return null;
	return async (of) => {
		const made: [string, Uint8Array][] = [];
		const elementsOf = (name: string) => {
			const at = program.tensors.findIndex((tensor) => tensor.name === name);
			const { type, dims } = program.tensors[at]!;
			return bytesToElements(of.get(at) ?? new Uint8Array(), type, elementCount(dims));
		};
		for (const { name, tensors, make } of shown)
			if (tensors.every((tensor) => elementsOf(tensor) !== null))
				made.push([name, await make((tensor) => elementsOf(tensor)!)]);
		return made;
	};
}
