// The prefill program of a description, built on a thread of its own: a large model's takes a second or two,
// and this thread has the sockets and the API.
import { inSlices } from "../../../platform/in-slices.ts";
import { startThread, threadFile } from "../../../platform/thread-file.ts";
import { type Generation, prefillProgram } from "../../../work/inference/generate-program.ts";
import { encodeProgram } from "../../../work/program/encode.ts";
import { orThrow } from "../../../work/program/fault.ts";
import { openProgramSteps, sealProgram } from "../../../work/program/open-program.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { mustGenerate } from "../check-generation.ts";

export interface PrefillWish {
	readonly of: Generation;
	/** Of the program that generates so. */
	readonly root: Uint8Array;
}

export interface BuiltPrefill {
	readonly program: Program;
	readonly bytes: Uint8Array;
}

/**
 * ATTACK: the description is a customer's; whatever it takes more than this is run again as any other window.
 */
const MOST_MS = 60_000;
const MOST_MIB = 1024;

/**
 * Its bytes. Throws CLAIM_ROOT where the program of this root does not generate so, and what builders throw.
 */
export function buildHere({ of, root }: PrefillWish): Uint8Array {
	mustGenerate(of, root);
	return encodeProgram(orThrow(sealProgram(prefillProgram(of).program)).program);
}

function buildApart(file: URL, wish: PrefillWish): Promise<Uint8Array | null> {
	const worker = startThread(file, { workerData: wish, resourceLimits: { maxOldGenerationSizeMb: MOST_MIB } });
	return new Promise((resolve) => {
		const end = (bytes: Uint8Array | null) => {
			clearTimeout(timer);
			void worker.terminate();
			resolve(bytes);
		};
		const timer = setTimeout(end, MOST_MS, null);
		worker.on("message", end);
		worker.on("error", () => end(null));
		worker.on("exit", () => end(null));
	});
}

/** Null: it describes another program, or none. */
export async function buildPrefill(wish: PrefillWish): Promise<BuiltPrefill | null> {
	try {
		const file = threadFile("prefill-thread", import.meta.url);
		const bytes = file === null ? buildHere(wish) : await buildApart(file, wish);
		return bytes && { program: orThrow(await inSlices(openProgramSteps(bytes))).program, bytes };
	} catch {
		return null;
	}
}
