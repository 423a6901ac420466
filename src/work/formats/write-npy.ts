// Writes a tensor as an array file of NumPy (.npy, version 1), little-endian, C order. npy.ts reads them.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, type TensorType } from "../operators/tensor-type.ts";

const HEAD = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0);
/** Numbers begin at a multiple of it. */
const ALIGNED = 64;

/** `bytes`: of the elements, as docs/work.md §1 has them; of floats, little-endian too. */
export function writeNpy(type: TensorType | "f32" | "f64", dims: readonly number[], bytes: Uint8Array): Uint8Array {
	const descr = type === "f32" ? "<f4" : type === "f64" ? "<f8" : type === "i8" ? "|i1" : `<i${bytesOf(type)}`;
	const shape = dims.length === 1 ? `${dims[0]},` : dims.join(", ");
	const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
	const used = HEAD.length + 2 + 1;
	const header = new TextEncoder().encode(
		`${text.padEnd(Math.ceil((text.length + used) / ALIGNED) * ALIGNED - used)}\n`,
	);
	return concatBytes(HEAD, Uint8Array.of(header.length & 255, header.length >> 8), header, bytes);
}
