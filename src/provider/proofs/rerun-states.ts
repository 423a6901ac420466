// The states of a job before each of its segments, for whoever proves some of them: the job is run again from its start on one's own engine, as far as somebody asks, and what came out lies in a
// folder. Running is a small part of what proving costs, so nobody has to be asked for checkpoints. Not here: the proof.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, writeDurably } from "../../platform/durable-file.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { bytesToHex, concatBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, bytesToElements, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { openGiven, type ProofEngine, stateOf, type WorkToProve } from "./order.ts";

/** Segments are counted over the whole job; of segment 0, which begins with zeros, nothing is told. */
export function rerunStates(of: WorkToProve, engine: ProofEngine, folder: string) {
	const { program } = of;
	const states = program.tensors.filter(({ kind }) => kind === "state");
	const hashes = new Map<number, string>();
	const oneAtATime = createMutex();
	let session: ReturnType<typeof openGiven> | null = null;
	let next = 0;
	const pathOf = (segment: number) => join(folder, `state-${segment}.bin`);

	/** Runs on until the state before the segment lies in the folder. */
	async function reach(segment: number): Promise<void> {
		await makeFolder(folder);
		session ??= openGiven(of, engine);
		const running = await session;
		while (next < segment) {
			await running.run({
				...{ first: next, count: 1 },
				onSegment: ({ stateRoots, resultRoots }) =>
					hashes.set(next + 1, bytesToHex(stateHashOf(program, next + 1, stateRoots, resultRoots))),
			});
			next += 1;
			await writeDurably(pathOf(next), concatBytes(...(await stateOf(running, program))));
		}
	}

	return {
		/** Every state tensor, in the program's order. */
		async weightsBefore(segment: number): Promise<readonly Elements[]> {
			await oneAtATime.run(() => reach(segment));
			const bytes = new Uint8Array(await readFile(pathOf(segment)));
			let at = 0;
			return states.map(({ type, dims }) => {
				const size = elementCount(dims) * bytesOf(type);
				at += size;
				return bytesToElements(bytes.slice(at - size, at), type, elementCount(dims))!;
			});
		},
		/** 64 hex digits. */
		async stateBefore(segment: number): Promise<string> {
			await oneAtATime.run(() => reach(segment));
			return hashes.get(segment)!;
		},
		async close(): Promise<void> {
			await (await session?.catch(() => null))?.release().catch(() => {});
			session = null;
		},
	};
}
