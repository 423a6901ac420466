// A job of toy sessions cut into parts, for tests of evidence: who claims them answers questions from a run's
// folder, as a provider does; a validator has its blobs and an engine of its own. Real: blobs, folders,
// questions, answers, signatures. Not here: the agent's link, the keeper.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Cheat } from "../../../engine/client/toy-work-session.test-kit.ts";
import { foldPieces, PIECE_BYTES, pieceRoot } from "../../../platform/blob-tree.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { readQuestion, type SaidAnswer } from "../../../protocol/network/job-question.ts";
import type { BlobName, JobSpec } from "../../../protocol/network/job-spec.ts";
import { type Answerer, createAnswerer } from "../../../provider/jobs/answer-questions.ts";
import { toyOpener, toyRun, toyWorkload } from "../../../provider/jobs/toy-run.test-kit.ts";
import { type BlobStore, openBlobStore } from "../../../store/blobs/blob-store.ts";
import { readRunFolder } from "../../../store/runs/run-folder.ts";
import type { Sample } from "../../../work/builder/samples.test-kit.ts";
import { rootBytes } from "../../../work/runs/journal.ts";
import { claimHash, resultRootOf, segmentTree } from "../../../work/trace/commitments.ts";
import { specOfWorkload } from "../../../work/workloads/spec-of-workload.ts";
import { type OpenedRun, openRun } from "../open-run.ts";
import { type ClaimAtHand, type EvidenceMeans, holderOfJob, stateBlobs } from "./claim-at-hand.ts";
import { memoryAnswers } from "./memory-answers.ts";
import type { OwnEngine } from "./own-engine.ts";

export const JOB = "ab".repeat(32);

async function hashed(bytes: Uint8Array) {
	const pieces: Uint8Array[] = [];
	for (let at = 0; at < Math.max(1, bytes.length); at += PIECE_BYTES)
		pieces.push(await pieceRoot(bytes.subarray(at, at + PIECE_BYTES)));
	return { pieces, root: foldPieces(pieces) };
}

export async function putBlob(blobs: BlobStore, holder: string, bytes: Uint8Array): Promise<BlobName> {
	const { pieces, root } = await hashed(bytes);
	const blob = { root: bytesToHex(root), size: bytes.length };
	let at = await blobs.begin(holder, blob, pieces);
	while (at < bytes.length) at = await blobs.put(holder, blob, at, bytes.subarray(at, at + PIECE_BYTES));
	return blob;
}

export const toyEngine = (cheat?: Cheat): OwnEngine => ({
	...{ mostBytes: 2 ** 30, mostMs: 600_000 },
	start: async (storePath) => ({ open: toyOpener(storePath, cheat), device: 0, close: async () => {} }),
});

/** Somebody that ran the whole job, truly or not. */
export interface Runner {
	readonly run: OpenedRun;
	readonly cheat: Cheat | undefined;
	readonly sample: Sample;
	readonly segments: number;
}

export async function runnerOf(scratch: string, sample: Sample, last: number, cheat?: Cheat): Promise<Runner> {
	const path = mkdtempSync(join(scratch, "run-"));
	await toyRun(path, { sample, segments: last, ...(cheat && { cheat }) });
	return { run: await openRun(readRunFolder(path)), cheat, sample, segments: last + 1 };
}

/** The end of segment `before` − 1 as names of blobs; null at the start. */
export const endOf = ({ run }: Runner, before: number) => {
	const line = run.journal.segments[before - 1];
	return line === undefined
		? null
		: stateBlobs(run.program, { state: rootBytes(line.state), results: rootBytes(line.results) });
};

/** Gives a holder the state before a segment. */
export async function giveState(blobs: BlobStore, holder: string, of: Runner, before: number): Promise<void> {
	const names = endOf(of, before);
	for (const blob of [...(names?.state ?? []), ...(names?.results ?? [])]) await putNamed(blobs, holder, of, blob);
}

async function putNamed(blobs: BlobStore, holder: string, { run }: Runner, { root, size }: BlobName): Promise<void> {
	const bytes = new Uint8Array(size);
	bytes.set((await run.readBlob(root))!.subarray(0, size));
	await putBlob(blobs, holder, bytes);
}

export async function specOf({ sample, segments }: Pick<Runner, "sample" | "segments">) {
	return specOfWorkload(toyWorkload(sample, segments - 1), {
		...{ title: "toy", kind: "program", method: { name: "sampled", count: 1 } },
		rootOf: async (bytes) => (await hashed(bytes)).root,
	});
}

export interface OnChain extends Pick<ClaimAtHand, "account" | "escrow"> {
	readonly where: Pick<ClaimAtHand["claim"], "chainId" | "escrow" | "job">;
	readonly sign: (claim: Hex, answer: { readonly question: Hex; readonly answerHash: Hex }) => Promise<Hex>;
}

const NOWHERE = { chainId: 0n, escrow: new Uint8Array(20), job: BigInt(`0x${JOB}`) };

/** The claim of one part of so many segments, from its first on. */
export function claimOf(of: Runner, spec: JobSpec, part: number, first: number, count: number, chain?: OnChain) {
	const { run } = of;
	const states = run.states.slice(first, first + count + 1);
	const results = run.journal.segments[first + count - 1]!.results;
	const at: ClaimAtHand = {
		...{ job: JOB, spec, part, attempt: 1, provider: "cd".repeat(32) },
		...{ account: chain?.account ?? null, escrow: chain?.escrow ?? null },
		claim: {
			...run.claim,
			...(chain?.where ?? NOWHERE),
			...{ part, first, segments: count, segmentRoot: segmentTree(states).root },
			resultRoot: resultRootOf(run.program, rootBytes(results)),
		},
		...{ states, begin: endOf(of, first) },
	};
	return at;
}

/** Where its first words about a claim, or an audit, stand. */
export const bookOf = ({ run }: Runner, claim = "audit"): string => join(run.path, `answers-${claim}.jsonl`);

/** What a provider that made the claim, or an audit of some of it, answers with. */
export function answererOf(
	blobs: BlobStore,
	of: Runner,
	{ first, states, holder, claim }: { first: number; states: ClaimAtHand["states"]; holder: string; claim?: string },
	chain?: OnChain,
): Answerer {
	const { run, cheat } = of;
	const bookPath = bookOf(of, claim);
	return createAnswerer({
		run: {
			...run,
			kept: run.kept,
			rootsBefore: (segment) => {
				const line = run.journal.segments[segment - 1]!;
				return { state: rootBytes(line.state), results: rootBytes(line.results) };
			},
		},
		...{ open: toyOpener(run.storePath, cheat), device: 0, first, states, bookPath },
		sign: chain === undefined || claim === undefined ? null : (answer) => chain.sign(`0x${claim}`, answer),
		upload: async (named) => {
			for (const blob of named) await putNamed(blobs, holder, of, blob);
		},
	});
}

export interface ToyNetwork {
	readonly blobs: BlobStore;
	readonly means: EvidenceMeans;
	/** By provider, and by the audit that it is asked about. */
	readonly answerers: Map<string, Pick<Answerer, "answer">>;
	/** All that was asked. */
	readonly asked: string[];
}

export const partyName = (provider: string, audit: number | null): string => `${provider}/${audit ?? "claim"}`;

/** A validator that has the job's blobs. `more` replaces means. */
export async function toyNetwork(
	scratch: string,
	job: Pick<Runner, "sample" | "segments">,
	more: Partial<EvidenceMeans> = {},
): Promise<ToyNetwork & { readonly spec: JobSpec }> {
	const folder = mkdtempSync(join(scratch, "net-"));
	const blobs = await openBlobStore(join(folder, "blobs"));
	const { spec, blobs: given } = await specOf(job);
	for (const { bytes } of given) await putBlob(blobs, holderOfJob(JOB), bytes());
	const answerers: ToyNetwork["answerers"] = new Map();
	const asked: string[] = [];
	const ask = async (to: { readonly provider: string }, question: string): Promise<SaidAnswer> => {
		asked.push(question);
		return answerers.get(partyName(to.provider, readQuestion(question).audit))!.answer(question);
	};
	let nowMs = 0;
	const means: EvidenceMeans = {
		...{ blobs, scratch: join(folder, "scratch"), engine: toyEngine(), answers: memoryAnswers(), ask, chain: null },
		...{ patienceMs: 1000, askEveryMs: 100, nowMs: () => nowMs },
		sleep: async (ms) => {
			nowMs += ms;
		},
		...more,
	};
	return { blobs, means, answerers, asked, spec };
}

/** Who made the claim answers for it from now on. */
export function letAnswer(net: ToyNetwork, of: Runner, at: ClaimAtHand, chain?: OnChain): Answerer {
	const { provider, states, claim } = at;
	const made = answererOf(
		net.blobs,
		of,
		{ first: claim.first, states, holder: provider, claim: bytesToHex(claimHash(claim)) },
		chain,
	);
	net.answerers.set(partyName(provider, null), made);
	return made;
}

export const flipHex = (text: string): string =>
	bytesToHex(hexToBytes(text)!.map((byte, i) => (i === 0 ? byte ^ 1 : byte)));
