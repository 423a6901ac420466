// The heavy side of a job in a thread of its own: a job file and its files become a program, its blobs and
// their names; a model's headers are looked at; previews become pictures or text; a result is checked and
// becomes files. Pure rules of src/ on bytes that the page hands over: it has no connection and no key.
import type { BlobHashes } from "../../../src/api/blob-pieces.ts";
import { type AskedJob, checkOffer } from "../../../src/market/jobs/check-offer.ts";
import { checkedClaim, type EndedJob, type NamedResult, resultFiles } from "../../../src/market/jobs/check-result.ts";
import { type JobOrder, readOrder } from "../../../src/market/jobs/read-order.ts";
import { openReplay, type Replay, type ReplayedSegment, type ReplayOf } from "../../../src/market/jobs/replay-claim.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes, hexToBytes } from "../../../src/protocol/bytes/bytes.ts";
import { foldRoots, PIECE_BYTES, pieceCount, pieceRootOf } from "../../../src/protocol/hash/blob-tree.ts";
import { quickenHashes } from "../../../src/protocol/hash/tagged-hash.ts";
import type { JobOffer } from "../../../src/protocol/network/job-offer.ts";
import type { JobSpec } from "../../../src/protocol/network/job-spec.ts";
import type { ProgramTime } from "../../../src/work/cost/work-time.ts";
import { jobModel } from "../../../src/work/imports/open-model.ts";
import { type TensorReport, weightBytes, weightsReport } from "../../../src/work/imports/weights-report.ts";
import { type DescribedProgram, describeProgram } from "../../../src/work/program/describe-program.ts";
import { encodeProgram } from "../../../src/work/program/encode.ts";
import { orThrow } from "../../../src/work/program/fault.ts";
import { openJobWork } from "../../../src/work/program/job-work.ts";
import { openProgram, programRoot, sealProgram } from "../../../src/work/program/open-program.ts";
import { claimText } from "../../../src/work/runs/claim-file.ts";
import { claimHash } from "../../../src/work/trace/commitments.ts";
import { buildWorkload } from "../../../src/work/workloads/build-workload.ts";
import { plainPreviews, previewFiles } from "../../../src/work/workloads/preview-files.ts";
import { readJob } from "../../../src/work/workloads/read-job.ts";
import { type SpecBlob, specOfWorkload } from "../../../src/work/workloads/spec-of-workload.ts";
import type { Workload } from "../../../src/work/workloads/workload.ts";
import { type LookedModel, lookAtModel } from "./look-at-model.ts";

/** Files that were dropped, by the names that the job file calls them. */
export type JobFiles = Readonly<Record<string, Blob>>;

export interface BuiltBlob {
	readonly root: string;
	readonly size: number;
	/** Of its pieces, 32 bytes each. */
	readonly roots: Uint8Array;
}

type Limits = Pick<JobOrder, "mostMicros" | "mostMs" | "hourMicros">;

/** What the page needs of a job that was built. */
export interface BuiltJob {
	readonly spec: JobSpec;
	readonly blobs: readonly BuiltBlob[];
	/** What the job file allows. */
	readonly order: Limits;
	readonly notes: readonly string[];
	/** Names of what the customer takes home. */
	readonly files: readonly string[];
	/** Steps of the program, in all segments; one of them may make many of the job's own steps. */
	readonly programSteps: number;
	/** Null: it is no text that is learned or written. */
	readonly tokensAStep: number | null;
	/** A segment's; the program's memory; what goes from part to part, and to each host. */
	readonly work: {
		/** int8 operations of a segment, at least. */
		readonly ops: number;
		readonly time: ProgramTime;
		readonly peakBytes: number;
		readonly stateBytes: number;
		readonly givenBytes: number;
	};
}

export interface MadeFile {
	readonly name: string;
	readonly bytes: Uint8Array;
}

/** What whole-number weights cost a model. */
export interface Rounding {
	readonly i8Bytes: number;
	readonly i16Bytes: number;
	readonly tensors: readonly TensorReport[];
}

export interface CheckedResult {
	readonly files: readonly MadeFile[];
	readonly claim: string;
	readonly state: string;
	readonly parts: number;
	readonly ofParts: number;
	/** False: the job file is not here, so only plain arrays were made. */
	readonly isWhole: boolean;
}

export interface Asks {
	build(of: { text: string; title: string; files: JobFiles }, tell: Tell): Promise<BuiltJob>;
	piece(of: { root: string; piece: number }): Uint8Array;
	hash(of: { piece: Uint8Array }): Uint8Array;
	fold(of: { roots: readonly Uint8Array[] }): Uint8Array;
	/** Throws where the offer is not of this job. */
	offer(of: OfferOf): null;
	model(of: { files: JobFiles }): Promise<LookedModel>;
	/** Reads every weight of the model in a folder of the job's files. */
	rounding(of: { folder: string; files: JobFiles }, tell: Tell): Promise<Rounding>;
	/** Bytes by the tensor's number; the program, where the job file is not here. */
	preview(of: { tensors: ReadonlyMap<number, Uint8Array>; program: Uint8Array | null }): Promise<readonly MadeFile[]>;
	/** Bytes by the blob's root. */
	result(of: { job: EndedJob; result: NamedResult; held: ReadonlyMap<string, Uint8Array> }): Promise<CheckedResult>;
	/** A part run again here, a segment with each `replayed`. Throws where anything is not the claim's. */
	replay(of: ReplayOf): Omit<Replay, "next">;
	replayed(of: null): ReplayedSegment | null;
	/** Of a program's bytes or text. Throws why it may not run. */
	program(of: { file: Uint8Array }): DescribedProgram;
	/** Of the job that was built. */
	builtProgram(of: null): DescribedProgram;
}

export interface OfferOf {
	readonly offer: JobOffer;
	/** As it was asked for: the built one, with the method that was chosen. */
	readonly spec: JobSpec;
	readonly order: AskedJob["order"];
	readonly payer: { readonly account: string; readonly salt: string } | null;
	/** The time that a part is paid for at least, in this network; where a price an hour was set. */
	readonly leastPaidMs: number | undefined;
}

export type Question = { readonly id: number; readonly ask: keyof Asks; readonly of: unknown };
/** How far a job's building is: files are read, then what is uploaded gets its names. */
export interface Progress {
	readonly what: "reading" | "naming";
	readonly bytes: number;
	readonly ofBytes: number;
}
export type Word =
	| { readonly id: number; readonly progress: Progress }
	| { readonly id: number; readonly ok: true; readonly value: unknown }
	| { readonly id: number; readonly ok: false; readonly code: string; readonly detail: string; readonly hint: string }
	/** A file of the samples that was not handed over. */
	| { readonly need: string };
export type Given = { readonly given: string; readonly bytes: Uint8Array | null };

interface Scope {
	postMessage(word: Word, transfer?: readonly Transferable[]): void;
	onmessage: ((event: MessageEvent<Question | Given>) => void) | null;
}
const scope = globalThis as unknown as Scope;

let replay: Replay | null = null;
let built: { readonly workload: Workload; readonly blobs: ReadonlyMap<string, SpecBlob> } | null = null;
const waiting = new Map<string, ((bytes: Uint8Array | null) => void)[]>();

function askPage(name: string): Promise<Uint8Array | null> {
	return new Promise((resolve) => {
		const asked = waiting.get(name);
		if (asked !== undefined) return void asked.push(resolve);
		waiting.set(name, [resolve]);
		scope.postMessage({ need: name });
	});
}

type Tell = (progress: Progress) => void;
const READ_BYTES = 16 << 20;
/** Less is there before anybody could read how far it is. */
const LEAST_TOLD_BYTES = 16 << 20;

async function readWhole(file: Blob, tell: Tell): Promise<Uint8Array> {
	const bytes = new Uint8Array(file.size);
	for (let at = 0; at < bytes.length; at += READ_BYTES) {
		tell({ what: "reading", bytes: at, ofBytes: bytes.length });
		bytes.set(new Uint8Array(await file.slice(at, at + READ_BYTES).arrayBuffer()), at);
	}
	return bytes;
}

async function fileNamed(files: JobFiles, name: string, tell: Tell): Promise<Uint8Array> {
	const held = Object.hasOwn(files, name) ? files[name]! : null;
	const bytes = held === null ? await askPage(name) : await readWhole(held, tell);
	if (bytes !== null) return bytes;
	throw new AssayError("FILE_UNREADABLE", `the job names ${name.slice(0, 200)}, which is not here`, {
		hint: "Drop that file on the form, or change the name.",
	});
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw new AssayError("JOB_FIELD", `the job is no JSON: ${(cause as Error).message}`, {
			hint: "docs/workloads.md has every field.",
			cause,
		});
	}
}

const hashes: BlobHashes = { pieceRoot: pieceRootOf, foldPieces: foldRoots };

const TOLD_PIECES = 8;

/** Roots of the pieces, by the blob's root: what the upload shows first. */
async function rootsOf(bytes: Uint8Array, known: Map<string, Uint8Array>, tell: Tell): Promise<Uint8Array> {
	const roots: Uint8Array[] = [];
	for (let i = 0; i < pieceCount(bytes.length); i++) {
		if (i % TOLD_PIECES === 0) tell({ what: "naming", bytes: i * PIECE_BYTES, ofBytes: bytes.length });
		roots.push(await hashes.pieceRoot(bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES)));
	}
	const root = await hashes.foldPieces(roots);
	known.set(bytesToHex(root), concatBytes(...roots));
	return root;
}

/** Tokens that a step learns from, or writes. */
function tokensOf(json: unknown): number | null {
	const { workload, model, batch, output } = json as {
		readonly [key: string]: unknown;
		readonly model?: { readonly context?: unknown };
	};
	if (typeof batch !== "number") return null;
	if (workload === "train") return typeof model?.context === "number" ? batch * model.context : null;
	return workload === "infer" && (output ?? "text") === "text" ? batch : null;
}

const asks: Asks = {
	async build({ text, title, files }, tell) {
		built = null;
		const json = parsed(text);
		const workload = await buildWorkload(readJob(json), (name) => fileNamed(files, name, tell));
		// As the validator and every provider will: a program that overflows is refused here, with its place.
		orThrow(sealProgram(workload.program));
		const roots = new Map<string, Uint8Array>();
		const kind = String((json as { readonly workload: unknown }).workload);
		const { method, ...order } = readOrder(json);
		const made = await specOfWorkload(workload, {
			title,
			kind,
			method,
			rootOf: (bytes) => rootsOf(bytes, roots, tell),
		});
		const { ops, time, peakBytes, stateBytes, givenBytes } = openJobWork(made.spec, encodeProgram(workload.program));
		built = { workload, blobs: new Map(made.blobs.map((blob) => [blob.root, blob])) };
		return {
			...{ spec: made.spec, order, notes: workload.notes ?? [], files: workload.files.map(({ name }) => name) },
			blobs: made.blobs.map(({ root, size }) => ({ root, size, roots: roots.get(root)! })),
			programSteps: workload.segments * workload.program.k,
			tokensAStep: tokensOf(json),
			work: { ops, time, peakBytes, stateBytes, givenBytes },
		};
	},
	piece({ root, piece }) {
		// A copy: what is handed over is gone here.
		return mustBeBuilt()
			.blobs.get(root)!
			.bytes()
			.slice(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
	},
	hash: ({ piece }) => pieceRootOf(piece),
	fold: ({ roots }) => foldRoots(roots),
	offer({ offer, spec, order, payer, leastPaidMs }) {
		checkOffer(offer, { workload: mustBeBuilt().workload, spec, order }, payer, leastPaidMs);
		return null;
	},
	model: ({ files }) => lookAtModel(files),
	async rounding({ folder, files }, tell) {
		const model = await jobModel(folder, (name) => fileNamed(files, name, tell));
		const { architecture } = model;
		return {
			...{ i8Bytes: weightBytes(architecture, 8), i16Bytes: weightBytes(architecture, 16) },
			tensors: [...weightsReport(model)],
		};
	},
	async preview({ tensors, program }) {
		if (program !== null) return named(await plainPreviews(orThrow(openProgram(program)).program, tensors));
		const make = built === null ? null : previewFiles(built.workload);
		return make === null ? [] : named(await make(tensors));
	},
	replay(of) {
		replay = openReplay(of);
		const { next: _, ...told } = replay;
		return told;
	},
	replayed: () => replay?.next() ?? null,
	program: ({ file }) => describeProgram(file),
	builtProgram: () => describeProgram(encodeProgram(mustBeBuilt().workload.program)),
	async result({ job, result, held }) {
		const fetch = async ({ root }: { readonly root: string }) => held.get(root)!;
		const { program } = orThrow(openProgram(await fetch(job.spec.program)));
		const { claim, states } = await checkedClaim(job, program, result, fetch);
		const bytes = new Map([...result.state, ...result.results].map(({ tensor, root }) => [tensor, held.get(root)!]));
		const isWhole = built !== null && equalBytes(programRoot(built.workload.program), programRoot(program));
		const files = await resultFiles(program, isWhole ? built!.workload : null, bytes);
		const shown = isWhole ? [] : await plainPreviews(program, bytes);
		return {
			files: [
				...named([...files, ...shown]),
				{ name: "states.bin", bytes: concatBytes(...states) },
				{ name: "claim.json", bytes: new TextEncoder().encode(claimText(claim, hexToBytes(job.spec.seed, 32)!)) },
			],
			...{ claim: bytesToHex(claimHash(claim)), state: bytesToHex(states.at(-1)!), isWhole },
			...{ parts: result.parts.length, ofParts: job.offer.terms.parts },
		};
	},
};

const named = (files: readonly (readonly [string, Uint8Array])[]): MadeFile[] =>
	files.map(([name, bytes]) => ({ name, bytes }));

function mustBeBuilt(): NonNullable<typeof built> {
	if (built === null) throw new AssayError("JOB_FIELD", "no job was built here");
	return built;
}

// This thread has a policy of its own, which allows it.
quickenHashes();

scope.onmessage = async ({ data }) => {
	if ("given" in data) {
		for (const resolve of waiting.get(data.given) ?? []) resolve(data.bytes);
		waiting.delete(data.given);
		return;
	}
	const { id, ask, of } = data;
	try {
		const tell: Tell = (progress) => progress.ofBytes < LEAST_TOLD_BYTES || scope.postMessage({ id, progress });
		const value = await (asks[ask] as (of: unknown, tell: Tell) => unknown)(of, tell);
		scope.postMessage({ id, ok: true, value }, value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : []);
	} catch (error) {
		const told = error instanceof AssayError ? error : new AssayError("JOB_FIELD", (error as Error).message);
		scope.postMessage({ id, ok: false, code: told.code, detail: told.message, hint: told.hint ?? "" });
	}
};
