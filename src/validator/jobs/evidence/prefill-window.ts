// A window of generated text run again by prefill, docs/inference.md §10: all tokens of a batch at once, from
// what the claim says was generated, instead of one after the other. What comes out are the states that a
// re-run would give, so everybody else goes on as with any window. Where something does not fit (the
// description, the tokens, one of them), nothing comes out, and the window is run again as any other: a lie
// is proven by that, never by prefill.
//
// Only the validator does this. An auditor would have to be given the tokens, and one that is lazy would have
// its answer in them.
import { setImmediate } from "node:timers/promises";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { JobAtHand } from "../../../verify/optimistic/search.ts";
import { type Generation, placesOf } from "../../../work/inference/generate-program.ts";
import { MOST_BYTES, readGeneration } from "../../../work/inference/generation-file.ts";
import { bytesToElements } from "../../../work/operators/tensor-type.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { firstState, stateHashOf } from "../../../work/trace/commitments.ts";
import { tensorRoot } from "../../../work/trace/tensor-tree.ts";
import { beginPrefill, noiseOf, rightTokens } from "../check-generation.ts";
import { type BuiltPrefill, buildPrefill } from "./build-prefill.ts";
import { type ClaimAtHand, type EvidenceMeans, holderOfJob, jobAtHand } from "./claim-at-hand.ts";
import { givenOf, mustBeSmall, type PartWindow, withOwnEngine } from "./own-run.ts";

const MOST_TOKEN_BYTES = 2 ** 26;
/** Numbers in a table of rotations. */
const MOST_TABLE = 2 ** 22;
/** A layer has more ops than that. */
const LEAST_OPS = 8;

/**
 * ATTACK: a description is its customer's word, and building a program from it takes memory and time: first
 * what costs nothing is held against the program that is there.
 */
function isOfProgram(of: Generation, { tensors, k, step }: Program): boolean {
	const { layers, headWidth, vocabulary } = of.architecture;
	const tokens = tensors.find(({ name, kind }) => name === "tokens" && kind === "state");
	return (
		tokens !== undefined &&
		tokens.dims.join() === `${of.sequences},${of.fresh}` &&
		tokens.hi === BigInt(vocabulary - 1) &&
		placesOf(of) === k &&
		LEAST_OPS * layers <= step.length &&
		k * headWidth <= MOST_TABLE
	);
}

interface Built extends BuiltPrefill {
	readonly of: Generation;
}

/** Null: it describes another program, or none. */
async function build(description: Uint8Array, root: Uint8Array, program: Program): Promise<Built | null> {
	const of = readGeneration(description);
	const made = isOfProgram(of, program) ? await buildPrefill({ of, root }) : null;
	return made && { ...made, of };
}

/**
 * By the names of what they are made of: a large model's take a second, and every window needs them. Also
 * those that are being built.
 */
const built = new BoundedMap<string, Promise<Built | null>>(4);

async function builtOf(
	{ blobs }: EvidenceMeans,
	{ job, claim }: ClaimAtHand,
	{ program }: JobAtHand,
	blob: BlobName,
): Promise<Built | null> {
	if (blob.size > MOST_BYTES) return null;
	const name = `${bytesToHex(claim.program)}/${blob.root}/${blob.size}`;
	const known = built.get(name);
	if (known !== undefined) return known;
	const description = await blobs.read(holderOfJob(job), blob, 0, blob.size);
	const made = build(description, claim.program, program).catch(() => null);
	built.set(name, made);
	return made;
}

/** Of the whole job, as the claim ends; null where they are too many, or nobody here has them. */
async function saidTokens({ blobs }: EvidenceMeans, { end }: ClaimAtHand, { program }: JobAtHand) {
	const at = program.tensors.filter(({ kind }) => kind === "state").findIndex(({ name }) => name === "tokens");
	const blob = end?.state[at];
	if (blob === undefined || blob.size > MOST_TOKEN_BYTES) return null;
	const tokens = bytesToElements(await blobs.read(end!.holder, blob, 0, blob.size), "i32", blob.size / 4) as Int32Array;
	const { lo, hi } = program.tensors.find(({ name }) => name === "tokens")!;
	return tokens.every((token) => token >= lo && token <= hi) ? tokens : null;
}

/**
 * S before the window and after each of its segments, if these are the tokens: those of batches that are
 * done, zeros after.
 */
async function statesOf(
	program: Program,
	of: Generation,
	tokens: Int32Array,
	noise: Uint8Array | null,
	{ first, count }: PartWindow,
): Promise<Uint8Array[]> {
	const row = of.batch * of.fresh;
	const names = program.tensors.filter(({ kind }) => kind === "state").map(({ name }) => name);
	const states: Uint8Array[] = [];
	for (let segment = first; segment <= first + count; segment++) {
		if (segment === 0) {
			states.push(firstState(program));
			continue;
		}
		const soFar = new Int32Array(tokens.length);
		soFar.set(tokens.subarray(0, (segment - 1) * row));
		const roots = names.map((name) => (name === "tokens" ? tensorRoot(soFar) : noise!));
		states.push(stateHashOf(program, segment, roots, []));
		// Many tokens take their time to hash, and others want an answer.
		await setImmediate();
	}
	return states;
}

/** Null: not generated text, or something does not fit. */
export async function statesByPrefill(
	means: EvidenceMeans,
	at: ClaimAtHand,
	window: PartWindow,
	mostMs: number,
): Promise<Uint8Array[] | null> {
	const { generation } = at.spec;
	if (generation === undefined || means.engine === null) return null;
	try {
		const job = await jobAtHand(means, at);
		const made = await builtOf(means, at, job, generation);
		const tokens = made && (await saidTokens(means, at, job));
		return made && tokens && (await prefill(means, at, job, { ...made, tokens, window, mostMs }));
	} catch {
		// A wrong description, an engine that cannot: the window is run again as any other.
		return null;
	}
}

async function prefill(
	means: EvidenceMeans,
	at: ClaimAtHand,
	job: JobAtHand,
	{
		of,
		program,
		bytes,
		tokens,
		window,
		mostMs,
	}: Built & {
		readonly tokens: Int32Array;
		readonly window: PartWindow;
		readonly mostMs: number;
	},
): Promise<Uint8Array[] | null> {
	mustBeSmall(means, program);
	const first = at.claim.first + window.first;
	const row = of.batch * of.fresh;
	return withOwnEngine(means, givenOf(at), mostMs, async ({ open, device, readBlob }) => {
		const session = await beginPrefill({ run: { ...job, readBlob }, open, device }, { program, bytes }, tokens);
		try {
			const noise = await noiseOf(session, program, of);
			const states = await statesOf(job.program, of, tokens, noise?.root ?? null, { first, count: window.count });
			// What came before the window is what the claim says, or these are not the window's tokens.
			if (!equalBytes(states[0]!, at.states[window.first]!)) return null;
			for (let segment = Math.max(1, first); segment < first + window.count; segment++) {
				const right = await rightTokens(session, program, of, noise, segment - 1);
				if (right.some((token, i) => token !== tokens[(segment - 1) * row + i])) return null;
			}
			return states;
		} finally {
			await session.release().catch(() => {});
		}
	});
}
