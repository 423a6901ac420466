// A tensor from a session's store. A root does not tell a length: tensors of 128 and of 1,024 zero bytes have
// one root, and the store one file for both (docs/work.md §1). Where the file has another length than the
// tensor, its bytes are cut or filled with zeros and written; the root decides. The same is done with bytes
// that the caller has and the store has not.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program } from "../../work/program/shapes.ts";
import type { WorkSession } from "./work-session.ts";

/** The bytes that have this root, in the store or elsewhere; null when there are none. */
export type ReadBlob = (root: string) => Promise<Uint8Array | null>;

/** Throws what LOAD throws, and TENSOR_ROOT. */
export async function loadTensor(
	session: WorkSession,
	program: Program,
	tensor: number,
	root: Uint8Array,
	readBlob: ReadBlob,
): Promise<void> {
	try {
		return await session.load(tensor, root);
	} catch (error) {
		if (!(error instanceof AssayError && ["TENSOR_SIZE", "BLOB_MISSING"].includes(error.code))) throw error;
		const blob = await readBlob(bytesToHex(root));
		const { type, dims, name } = program.tensors[tensor]!;
		const bytes = new Uint8Array(elementCount(dims) * bytesOf(type));
		if (blob === null) throw error;
		bytes.set(blob.subarray(0, bytes.length));
		await session.write(tensor, bytes).catch((wrong: unknown) => {
			// What is in the file is none of this tensor's: its length said so.
			throw wrong instanceof AssayError && wrong.code === "TENSOR_RANGE" ? error : wrong;
		});
		if (equalBytes(await session.root(tensor), root)) return;
		throw codedError("TENSOR_ROOT", `${name} has another root than the store's file is named by`, { cause: error });
	}
}
