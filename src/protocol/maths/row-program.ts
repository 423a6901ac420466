// Starts the WebAssembly program of row-program.wat: the inner loops in which a verifier spends most of its
// time. gemm-element.ts falls back to plain JavaScript where it cannot run; tests hold the two together.
import { quickenHashes } from "../hash/tagged-hash.ts";
import { ROW_PROGRAM_CODE } from "./row-program-code.ts";

/** The longest row that the program's memory holds. As long as any row may be. */
export const MAX_PROGRAM_K = 65536;

/** Addresses and counts are bytes and entries of `memory`; row-program.wat says what each function does. */
export interface RowProgram {
	blocks(k0: number, k1: number, block: number, domain: number, out: number, count: number): void;
	bytes(from: number, out: number, k: number): void;
	small(from: number, out: number, k: number): void;
	wide(from: number, out: number, k: number): void;
	dot(a: number, b: number, k: number): number;
	readonly memory: WebAssembly.Memory;
}

let compiled: WebAssembly.Module | null | undefined;

/**
 * A program with memory of its own; null where there is no WebAssembly, no vectors, or a page's policy
 * forbids it.
 */
export function startRowProgram(): RowProgram | null {
	try {
		if (compiled === null) return null;
		if (compiled === undefined) {
			compiled = new WebAssembly.Module(rowProgramBytes());
			quickenHashes(); // who checks products checks paths too
		}
		return new WebAssembly.Instance(compiled).exports as unknown as RowProgram;
	} catch {
		compiled = null;
		return null;
	}
}

export function rowProgramBytes(): Uint8Array<ArrayBuffer> {
	return Uint8Array.from(atob(ROW_PROGRAM_CODE), (character) => character.charCodeAt(0));
}
