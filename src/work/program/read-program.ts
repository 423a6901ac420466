// A program from a file that a person names: bytes as docs/work.md §6 has them, or the text form of §8.
// Whether it may run is not asked here.
import { decodeProgram } from "./decode.ts";
import { MAGIC } from "./encode.ts";
import { orThrow } from "./fault.ts";
import { parseProgram } from "./parse-text.ts";
import type { Program } from "./shapes.ts";

/** Bytes begin with a word that no text begins with. Throws AssayError. */
export function readProgram(file: Uint8Array): Program {
	const isBytes = MAGIC.every((byte, i) => file[i] === byte);
	return isBytes ? orThrow(decodeProgram(file)) : parseProgram(new TextDecoder().decode(file));
}
