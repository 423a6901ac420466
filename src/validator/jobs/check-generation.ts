// A check of generated text by prefill, docs/inference.md §10: instead of generating again, token by token,
// the whole of a batch is computed at once from its prompts and the tokens that were said; every sampled
// place must hold the token that follows. Weights are read once instead of once a token. What is between the
// segments follows from the tokens by hashing alone.
import { loadTensor } from "../../engine/client/load-tensor.ts";
import type { OpenWorkSession, WorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { type Generation, generateProgram, placesOf, prefillProgram } from "../../work/inference/generate-program.ts";
import { readGeneration } from "../../work/inference/generation-file.ts";
import { bytesOf, bytesToElements, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { orThrow } from "../../work/program/fault.ts";
import { programRoot, sealProgram } from "../../work/program/open-program.ts";
import { programCost } from "../../work/program/program-cost.ts";
import type { Program } from "../../work/program/shapes.ts";
import { rootBytes, rootsBefore } from "../../work/runs/journal.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import { beginsWithZeros, type OpenedRun } from "./open-run.ts";

export interface CheckGeneration {
	readonly run: OpenedRun;
	/** What the folder says was generated. */
	readonly file: Uint8Array;
	readonly open: OpenWorkSession;
	readonly device: number;
	/** At least so many batches. */
	readonly batches: number;
	/** Draws a whole number below; fresh randomness. */
	readonly draw: (below: number) => number;
	readonly signal?: AbortSignal;
	readonly onBatch?: (batch: number, done: number, of: number) => void;
}

interface WrongToken {
	readonly sequence: number;
	/** Of the tokens that follow its prompt. */
	readonly place: number;
	readonly said: number;
	readonly right: number;
}

export interface CheckedGeneration {
	/** Batches that were computed, of so many. */
	readonly checked: readonly number[];
	readonly batches: number;
	/** Tokens that were compared. */
	readonly tokens: number;
	/** The first in order of sequence and place. */
	readonly wrong: WrongToken | null;
	/** A state that is not what the tokens give; −1: the first. */
	readonly wrongSegment: { readonly segment: number; readonly said: string; readonly right: string } | null;
	/** False when it was stopped before its end. */
	readonly isWhole: boolean;
	/** Bytes that prefill moves, as a share of what generating again would: weights, and what ops write. */
	readonly costShare: number;
	readonly caughtShare: (falseShare: number) => number;
}

const refused = (
	code: "CLAIM_ROOT" | "CLAIM_MALFORMED" | "RUN_INCOMPLETE" | "TENSOR_ROOT",
	message: string,
): AssayError => new AssayError(code, message, { hint: codes[code].hint });

/** Throws CLAIM_ROOT where the program of this root does not generate so. */
export function mustGenerate(of: Generation, program: Uint8Array): void {
	if (!equalBytes(programRoot(generateProgram(of).program), program))
		throw refused("CLAIM_ROOT", "generation.json is not of the claim's program");
}

/**
 * What was generated, if the claim's program is the one that generates so. Throws CLAIM_MALFORMED,
 * CLAIM_ROOT.
 */
function generationOf(run: OpenedRun, file: Uint8Array): Generation {
	const of = readGeneration(file);
	mustGenerate(of, run.claim.program);
	if (run.segments !== of.sequences / of.batch + 1)
		throw refused("CLAIM_MALFORMED", "the claim has another number of batches than its program");
	return of;
}

const numberOf = ({ tensors }: Program, name: string): number => tensors.findIndex((tensor) => tensor.name === name);

/** The tokens after the last segment, as the claim's last S commits to them. */
async function saidTokens(run: OpenedRun): Promise<Int32Array> {
	const { program, segments } = run;
	const states = program.tensors.filter(({ kind }) => kind === "state");
	if (!run.kept.includes(segments))
		throw refused("RUN_INCOMPLETE", "the last state does not lie in the folder; --again runs its segments again");
	const at = states.findIndex(({ name }) => name === "tokens");
	const root = rootBytes(rootsBefore(run.journal, segments)!.state)[at]!;
	const { type, dims, lo, hi } = states[at]!;
	const bytes = new Uint8Array(elementCount(dims) * bytesOf(type));
	bytes.set((await run.readBlob(bytesToHex(root)))!.subarray(0, bytes.length));
	const tokens = bytesToElements(bytes, type, elementCount(dims)) as Int32Array;
	if (!equalBytes(tensorRoot(tokens), root) || tokens.some((token) => token < lo || token > hi))
		throw refused("TENSOR_ROOT", "the tokens in the folder are not those of the claim");
	return tokens;
}

export interface PrefillMeans extends Pick<CheckGeneration, "open" | "device"> {
	readonly run: Pick<OpenedRun, "program" | "seed" | "inputRoots" | "readBlob">;
}

/** A session of the prefill program, with the claim's own inputs and these tokens; segment 0 has run. */
export async function beginPrefill(
	{ run, open, device }: PrefillMeans,
	{ program, bytes }: { readonly program: Program; readonly bytes: Uint8Array },
	tokens: Int32Array,
): Promise<WorkSession> {
	const session = await open({ device, program: bytes, seed: run.seed });
	try {
		const roots = new Map<string, Uint8Array>();
		const inputs = run.program.tensors.filter(({ kind }) => kind === "input");
		for (const [i, { name }] of inputs.entries()) roots.set(name, run.inputRoots[i]!);
		for (const [i, { kind, name, root }] of program.tensors.entries()) {
			if (name === "tokens") await session.write(i, elementsToBytes(tokens));
			else if (kind === "constant" || kind === "input")
				await loadTensor(session, program, i, root ?? roots.get(name)!, run.readBlob);
		}
		await session.run({ first: 0, count: 1 });
		return session;
	} catch (error) {
		await session.release().catch(() => {});
		throw error;
	}
}

interface Noise {
	readonly bytes: Uint8Array;
	readonly root: Uint8Array;
}

/** Of the seed, as segment 0 gave it; null: nothing is drawn. */
export async function noiseOf(session: WorkSession, program: Program, of: Generation): Promise<Noise | null> {
	const draws = numberOf(program, "draws");
	if (draws < 0) return null;
	return { bytes: await session.fetch(draws, 0, 8 * of.sequences * of.fresh), root: await session.root(draws) };
}

/** What each place of a batch should hold, given all that was said before it. */
export async function rightTokens(
	session: WorkSession,
	program: Program,
	of: Generation,
	noise: Noise | null,
	batch: number,
): Promise<Int32Array> {
	const row = of.batch * of.fresh;
	if (noise !== null) await session.write(numberOf(program, "draws"), noise.bytes);
	await session.run({ first: batch + 1, count: 1 });
	const bytes = await session.fetch(numberOf(program, "right"), 0, 4 * row);
	return bytesToElements(bytes, "i32", row) as Int32Array;
}

/**
 * The first S that is not what the tokens give: batches so far, zeros after. `draws`: root of the noise;
 * null: there is none.
 */
function firstFalseState(run: OpenedRun, of: Generation, tokens: Int32Array, draws: Uint8Array | null) {
	if (!beginsWithZeros(run)) return { segment: -1, said: bytesToHex(run.states[0]!), right: "zeros" };
	const soFar = new Int32Array(tokens.length);
	const row = of.batch * of.fresh;
	const names = run.program.tensors.filter(({ kind }) => kind === "state").map(({ name }) => name);
	for (let segment = 0; segment < run.segments; segment++) {
		if (segment > 0) soFar.set(tokens.subarray((segment - 1) * row, segment * row), (segment - 1) * row);
		const roots = names.map((name) => (name === "tokens" ? tensorRoot(soFar) : draws!));
		const right = stateHashOf(run.program, segment + 1, roots, []);
		const said = run.states[segment + 1]!;
		if (!equalBytes(said, right)) return { segment, said: bytesToHex(said), right: bytesToHex(right) };
	}
	return null;
}

function drawnBatches(count: number, wanted: number, draw: (below: number) => number): number[] {
	const left = Array.from({ length: count }, (_, i) => i);
	const drawn: number[] = [];
	while (left.length > 0 && drawn.length < wanted) drawn.push(...left.splice(draw(left.length), 1));
	return drawn.sort((a, b) => a - b);
}

function costShare(of: Generation, run: OpenedRun, prefill: Program): number {
	const moved = (program: Program) => {
		const { bytes, writtenAStep } = programCost(program);
		return bytes.input + writtenAStep;
	};
	return moved(prefill) / (placesOf(of) * moved(run.program));
}

/** Throws CLAIM_…, RUN_INCOMPLETE, TENSOR_ROOT, and what an engine says. */
export async function checkGeneration(asked: CheckGeneration): Promise<CheckedGeneration> {
	const { run, file, batches, draw, signal, onBatch } = asked;
	const of = generationOf(run, file);
	const tokens = await saidTokens(run);
	const { program } = orThrow(sealProgram(prefillProgram(of).program));
	const session = await beginPrefill(asked, { program, bytes: encodeProgram(program) }, tokens);
	const count = of.sequences / of.batch;
	const row = of.batch * of.fresh;
	const checked: number[] = [];
	let wrong: WrongToken | null = null;
	try {
		const noise = await noiseOf(session, program, of);
		const wrongSegment = firstFalseState(run, of, tokens, noise?.root ?? null);
		const chosen = wrongSegment === null ? drawnBatches(count, batches, draw) : [];
		for (const [i, batch] of chosen.entries()) {
			if (wrong !== null || signal?.aborted === true) break;
			onBatch?.(batch, i, chosen.length);
			const right = await rightTokens(session, program, of, noise, batch);
			checked.push(batch);
			const at = right.findIndex((token, place) => token !== tokens[batch * row + place]);
			if (at >= 0)
				wrong = {
					...{ sequence: batch * of.batch + Math.floor(at / of.fresh), place: at % of.fresh },
					...{ said: tokens[batch * row + at]!, right: right[at]! },
				};
		}
		return {
			...{ checked, batches: count, tokens: checked.length * row, wrong, wrongSegment },
			isWhole: wrong !== null || checked.length === chosen.length,
			costShare: costShare(of, run, program),
			caughtShare: (falseShare) =>
				checked.length === count && falseShare > 0 ? 1 : 1 - (1 - Math.min(1, falseShare)) ** checked.length,
		};
	} finally {
		await session.release().catch(() => {});
	}
}
