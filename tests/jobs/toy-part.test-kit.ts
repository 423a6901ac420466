// The work of a toy provider of jobs, for tests of the market: fetched over real routes, done by src/work's
// own machine in memory, and told as a claim.
import { fetchBlob, uploadBlob } from "../../src/api/blob-transfer.ts";
import type { ApiClient } from "../../src/api/create-client.ts";
import type { PartOffer } from "../../src/api/types.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { BlobName } from "../../src/protocol/network/job-spec.ts";
import { bytesToElements, type Elements, elementCount, elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import { openProgram } from "../../src/work/program/open-program.ts";
import { createMachine, type Machine } from "../../src/work/program/run-program.ts";
import type { TensorKind } from "../../src/work/program/shapes.ts";
import { resultRootOf, segmentTree, stateHashOf } from "../../src/work/trace/commitments.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";

export type Place = "offered" | "accepted" | "segment" | "ran" | "stored" | "claimed" | "answered";

export interface RunOptions {
	/** Called at each place; whatever it throws ends the part there. */
	readonly at?: (place: Place, offer: PartOffer) => Promise<void> | void;
	/** Segments from one sign of life to the next; 1 where nothing is said. */
	readonly beatEvery?: number;
	/** Changes what an honest worker would compute, from this segment on (of the whole job). */
	readonly lieFrom?: (offer: PartOffer) => number | null;
}

/** What one part or audit came to. */
export interface Ran {
	readonly states: Uint8Array[];
	/** Bytes of state and result tensors before each segment of the part, and after the last. */
	readonly kept: { readonly state: Uint8Array[]; readonly results: Uint8Array[] }[];
	readonly machine: Machine;
}

/** Of tensors' bytes. */
export function rootsOf(
	tensors: readonly { readonly type: Parameters<typeof bytesToElements>[1]; readonly dims: readonly number[] }[],
	all: readonly Uint8Array[],
) {
	return all.map((bytes, i) => tensorRoot(bytesToElements(bytes, tensors[i]!.type, elementCount(tensors[i]!.dims))!));
}

async function fetchElements(
	client: ApiClient,
	offer: PartOffer,
	tensor: { type: never; dims: readonly number[] },
	blob: BlobName,
): Promise<Elements> {
	// What only this provider holds is its own.
	const bytes = await fetchBlob(client, blob, { job: offer.id }).catch(() => fetchBlob(client, blob, {}));
	return bytesToElements(bytes, tensor.type, elementCount(tensor.dims))!;
}

export async function run(client: ApiClient, offer: PartOffer, o: RunOptions): Promise<Ran> {
	const { spec, first, count } = offer;
	const checked = orThrow(openProgram(await fetchBlob(client, spec.program, { job: offer.id })));
	const { tensors } = checked.program;
	const given: Record<string, Elements> = {};
	for (const { tensor, root, size } of spec.given)
		given[tensors[tensor]!.name] = await fetchElements(client, offer, tensors[tensor] as never, { root, size });
	const machine = createMachine(checked, hexToBytes(spec.seed, 32)!, given);
	const numbers = (kind: TensorKind) => tensors.flatMap((one, i) => (one.kind === kind ? [i] : []));
	if (offer.begin !== null) {
		const state = new Map<number, Elements>();
		for (const [kind, blobs] of [["state", offer.begin.state] as const, ["result", offer.begin.results] as const])
			for (const [i, tensor] of numbers(kind).entries())
				state.set(tensor, await fetchElements(client, offer, tensors[tensor] as never, blobs[i]!));
		machine.restore(first, state);
	}
	const bytesOfKind = (kind: TensorKind) => numbers(kind).map((tensor) => elementsToBytes(machine.tensors[tensor]!));
	const rootsOfKind = (kind: TensorKind) => numbers(kind).map((tensor) => tensorRoot(machine.tensors[tensor]!));
	const states: Uint8Array[] = [];
	const kept: Ran["kept"] = [];
	const keep = (before: number) => {
		states.push(stateHashOf(checked.program, before, rootsOfKind("state"), rootsOfKind("result")));
		kept.push({ state: bytesOfKind("state"), results: bytesOfKind("result") });
	};
	keep(first);
	const lieFrom = o.lieFrom?.(offer) ?? null;
	for (let segment = first; segment < first + count; segment++) {
		machine.runSegment();
		if (lieFrom !== null && segment >= lieFrom) lie(machine, numbers("state")[0]!);
		keep(segment + 1);
		await o.at?.("segment", offer);
		if (offer.audit === null && (segment + 1 - first) % (o.beatEvery ?? 1) === 0) {
			const body = {
				attempt: offer.attempt,
				done: segment + 1 - first,
				metrics: [{ step: segment, values: [segment] }],
				previews: [],
			};
			const { go } = await client.beatPart({ params: { id: offer.id, part: offer.part }, body });
			if (!go) throw new Error("told to stop");
		}
	}
	return { states, kept, machine };
}

/** One number is another; the program goes on from there. */
function lie(machine: Machine, tensor: number): void {
	const elements = machine.tensors[tensor]!;
	const { lo, hi } = machine.checked.program.tensors[tensor]!;
	const now = BigInt(elements[0]!);
	const told = now < hi ? now + 1n : now - 1n < lo ? now : now - 1n;
	if (elements instanceof BigInt64Array) elements[0] = told;
	else elements[0] = Number(told);
}

export async function claimBody(
	client: ApiClient,
	attempt: number,
	states: BlobName,
	{ states: list, kept, machine }: Ran,
) {
	const { program } = machine.checked;
	const last = kept.at(-1)!;
	const put = async (all: readonly Uint8Array[]) => {
		const names: BlobName[] = [];
		for (const bytes of all) names.push(await uploadBlob(client, { bytes }));
		return names;
	};
	const results = rootsOf(
		program.tensors.filter(({ kind }) => kind === "result"),
		last.results,
	);
	return {
		...{ attempt, states, state: await put(last.state), results: await put(last.results) },
		segmentRoot: bytesToHex(segmentTree(list).root),
		resultRoot: bytesToHex(resultRootOf(program, results)),
	};
}
