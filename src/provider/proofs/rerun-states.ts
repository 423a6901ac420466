// The states of a job before each of its segments, for whoever proves some of them: run again on one's own
// engine, from the nearest state below that is known. That is one's own, or one that the job's worker claimed
// and gave; else the start. What came out lies in a folder. Not here: the proof, and whether a claimed state
// was true.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, writeDurably } from "../../platform/durable-file.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { bytesToHex, concatBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, bytesToElements, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program } from "../../work/program/shapes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { numbersOf } from "../jobs/run-part.ts";
import type { ClaimedStates } from "./claimed-states.ts";
import { openGiven, type ProofEngine, stateOf, type WorkToProve } from "./order.ts";

interface Known {
	/** S, 64 hex digits. */
	readonly hash: string;
	/** Everything before it was run here, from the start. */
	readonly isOwn: boolean;
}

/** Every state tensor before a segment, in the program's order, as one file. */
function stateFiles(program: Program, folder: string) {
	const sizes = numbersOf(program, "state").map((i) => {
		const { type, dims } = program.tensors[i]!;
		return elementCount(dims) * bytesOf(type);
	});
	const pathOf = (segment: number) => join(folder, `state-${segment}.bin`);
	return {
		async write(segment: number, state: readonly Uint8Array[]): Promise<void> {
			await makeFolder(folder);
			await writeDurably(pathOf(segment), concatBytes(...state));
		},
		async read(segment: number): Promise<Uint8Array[]> {
			const bytes = new Uint8Array(await readFile(pathOf(segment)));
			let from = 0;
			return sizes.map((size) => {
				from += size;
				return bytes.slice(from - size, from);
			});
		},
	};
}

/** Segments are counted over the whole job; of segment 0, which begins with zeros, nothing is told. */
export function rerunStates(of: WorkToProve, engine: ProofEngine, folder: string, claimed: ClaimedStates | null) {
	const { program } = of;
	const tensors = numbersOf(program, "state");
	const known = new Map<number, Known>();
	const oneAtATime = createMutex();
	let session: ReturnType<typeof openGiven> | null = null;
	/** The segment that the session stands before. */
	let at = 0;
	let ran = 0;
	let offered = claimed;
	const files = stateFiles(of.program, folder);

	async function keep(segment: number, state: readonly Uint8Array[], what: Known): Promise<void> {
		await files.write(segment, state);
		known.set(segment, what);
	}

	const nearestKnown = (segment: number): number =>
		[...known.keys()].reduce((best, one) => (one <= segment && one > best ? one : best), 0);

	/** The nearest state below; 0: the start. */
	async function nearest(segment: number): Promise<number> {
		const own = nearestKnown(segment);
		const near = offered?.nearest(segment) ?? 0;
		const found = near > own ? await offered!.before(near) : null;
		if (found === null) return own;
		await keep(near, found.state, { hash: found.hash, isOwn: false });
		return near;
	}

	async function close(): Promise<void> {
		await (await session?.catch(() => null))?.release().catch(() => {});
		session = null;
		at = 0;
	}

	/** The session stands before the segment, with a state that is known. */
	async function stand(segment: number) {
		if (at !== segment && segment === 0) await close();
		session ??= openGiven(of, engine);
		const running = await session;
		if (at !== segment)
			for (const [i, bytes] of (await files.read(segment)).entries()) await running.write(tensors[i]!, bytes);
		at = segment;
		return running;
	}

	/** Runs on until the state before the segment lies in the folder. */
	async function reach(segment: number): Promise<void> {
		if (known.has(segment)) return;
		const from = await nearest(segment);
		const running = await stand(at > from && at <= segment ? at : from);
		while (at < segment) {
			const isOwn = at === 0 || known.get(at)!.isOwn;
			let hash = "";
			await running.run({
				...{ first: at, count: 1 },
				onSegment: ({ stateRoots, resultRoots }) => {
					hash = bytesToHex(stateHashOf(program, at + 1, stateRoots, resultRoots));
				},
			});
			at += 1;
			ran += 1;
			await keep(at, await stateOf(running, program), { hash, isOwn });
		}
	}

	return {
		/** Every state tensor, in the program's order. */
		async weightsBefore(segment: number): Promise<readonly Elements[]> {
			await oneAtATime.run(() => reach(segment));
			return (await files.read(segment)).map((bytes, i) => {
				const { type, dims } = program.tensors[tensors[i]!]!;
				return bytesToElements(bytes, type, elementCount(dims))!;
			});
		},
		/** 64 hex digits. */
		async stateBefore(segment: number): Promise<string> {
			await oneAtATime.run(() => reach(segment));
			return known.get(segment)!.hash;
		},
		/** Whether the state before a segment rests on what a worker claimed. */
		isClaimed: (segment: number): boolean => known.get(segment)?.isOwn === false,
		/** What was claimed is false: from now on everything is run from the start. */
		distrust: () =>
			oneAtATime.run(async () => {
				offered = null;
				for (const [segment, { isOwn }] of known) if (!isOwn) known.delete(segment);
				await close();
			}),
		/** Segments that were run here. */
		ran: () => ran,
		close,
	};
}
