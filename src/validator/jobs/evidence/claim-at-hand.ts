// A claim as the evidence is gathered for it: what was claimed, by whom, of which job; the program and
// everything it is given, from the job's blobs. Nothing of it is the claimant's to choose but roots and
// states: those are checked when it claims.
import type { Contracts } from "../../../chain/contracts/contracts.ts";
import type { JobTerms } from "../../../chain/contracts/job-escrow.ts";
import type { Call } from "../../../chain/sending/sign.ts";
import { inSlices } from "../../../platform/in-slices.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { codes } from "../../../protocol/codes.ts";
import type { JobQuestion, SaidAnswer } from "../../../protocol/network/job-question.ts";
import type { BlobName, JobSpec } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";
import type { Store } from "../../../store/open-store.ts";
import type { StateRoots } from "../../../verify/optimistic/answers.ts";
import type { Ask } from "../../../verify/optimistic/questions.ts";
import type { JobAtHand } from "../../../verify/optimistic/search.ts";
import { bytesOf, elementCount } from "../../../work/operators/tensor-type.ts";
import { orThrow } from "../../../work/program/fault.ts";
import { openProgramSteps } from "../../../work/program/open-program.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { claimHash, type JobClaim } from "../../../work/trace/commitments.ts";
import type { OwnEngine } from "./own-engine.ts";

/** Of all state and result tensors, in the program's order. */
export interface StateBlobs {
	readonly state: readonly BlobName[];
	readonly results: readonly BlobName[];
}

export interface ClaimAtHand {
	/** 64 hex digits. */
	readonly job: string;
	readonly spec: JobSpec;
	readonly part: number;
	readonly attempt: number;
	/** The claimant's key, and its account on the chain. */
	readonly provider: string;
	readonly account: Hex | null;
	/** On the chain; null without one. */
	readonly escrow: JobTerms | null;
	readonly claim: JobClaim;
	/** S_first … S_{first + segments}. */
	readonly states: readonly Uint8Array[];
	/** The end of the part before, which the job holds; null in part 0. */
	readonly begin: StateBlobs | null;
	/** The state that it ends with, and who holds it; absent: nobody here. */
	readonly end?: StateBlobs & { readonly holder: string };
}

/** Who is asked. */
interface Asked {
	readonly provider: string;
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
}

export interface EvidenceMeans {
	readonly blobs: Pick<Blobs, "read" | "linkTo" | "share" | "release">;
	/** A folder on the disk of the blobs. */
	readonly scratch: string;
	readonly engine: OwnEngine | null;
	readonly answers: Store["jobAnswers"];
	/** Over the agent's link. Throws when nobody answers, or refuses. */
	ask(to: Asked, question: string): Promise<SaidAnswer>;
	/** How long one that is busy or away is asked again, and how often. */
	readonly patienceMs: number;
	readonly askEveryMs: number;
	readonly nowMs: () => number;
	/** Between two tries. Rejects once this process is being stopped. */
	readonly sleep: (ms: number) => Promise<void>;
	readonly chain: EvidenceChain | null;
	/** Told of every question to a claimant, with the length of its answer; null: none came. */
	readonly onAsked?: (claim: string, question: JobQuestion, bytes: number | null) => void;
	/** Another way to a claimant that does not answer; absent: none. */
	readonly road?: (claim: ClaimAtHand, program: Program, ask: Ask) => Ask;
	/**
	 * Answers by that road may take hours: called before each wait. Whoever holds an engine adds how to let go
	 * of its memory.
	 */
	readonly beforeWaits?: Set<() => Promise<void>>;
}

export interface EvidenceChain {
	readonly contracts: Contracts;
	/** Who accuses. */
	readonly account: Hex;
	/** Keeps salts of announcements from whoever reads the pool. */
	readonly secret: Uint8Array;
	/** Mined when it resolves, with its hash. Throws CHAIN_REFUSED where the contract refuses. */
	send(call: Call): Promise<Hex>;
}

/** Who holds the blobs of a job. */
export const holderOfJob = (job: string): string => `job-${job}`;

export const hashOfClaim = ({ claim }: Pick<ClaimAtHand, "claim">): string => bytesToHex(claimHash(claim));

/** By what its first words are kept. */
export const wordsOf = (at: Pick<ClaimAtHand, "claim" | "provider">) => ({
	claim: hashOfClaim(at),
	provider: at.provider,
});

/** The program as the job's blob has it. Throws BLOB_UNKNOWN, PROGRAM_…. */
export async function jobAtHand({ blobs }: Pick<EvidenceMeans, "blobs">, claim: ClaimAtHand): Promise<JobAtHand> {
	const { program: blob, seed, given } = claim.spec;
	const bytes = await blobs.read(holderOfJob(claim.job), blob, 0, blob.size);
	// Its ops are needed here, so a thread is no help: to hand a program over takes as long as to open it.
	const { program } = orThrow(await inSlices(openProgramSteps(bytes)));
	const inputRoots = program.tensors.flatMap(({ kind }, i) => {
		if (kind !== "input") return [];
		const found = given.find(({ tensor }) => tensor === i);
		if (found === undefined)
			throw new AssayError("JOB_STATE", `the job names no input ${i}`, { hint: codes.JOB_STATE.hint });
		return [hexToBytes(found.root, 32)!];
	});
	return { program, seed: hexToBytes(seed, 32)!, inputRoots };
}

/** What the blobs of these roots are called. */
export function stateBlobs(program: Program, roots: StateRoots): StateBlobs {
	const named = (kind: "state" | "result", all: readonly Uint8Array[]): BlobName[] =>
		program.tensors
			.filter((one) => one.kind === kind)
			.map(({ type, dims }, i) => ({ root: bytesToHex(all[i]!), size: elementCount(dims) * bytesOf(type) }));
	return { state: named("state", roots.state), results: named("result", roots.results) };
}

export const rootsOfBlobs = ({ state, results }: StateBlobs): StateRoots => ({
	state: state.map(({ root }) => hexToBytes(root, 32)!),
	results: results.map(({ root }) => hexToBytes(root, 32)!),
});
