// States that the workers of a job claimed, for a prover that does not want to run everything before its
// segment: the nearest one below is asked for through the validator, and fetched. Everything comes from
// strangers: it must be what the claim on chain commits to, and has the size that the program says. That it
// is also true only proofs show, docs/zk.md §12.
import { fetchBlob } from "../../api/blob-transfer.ts";
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { claimCommitment, readJobPart } from "../../chain/contracts/job-escrow.ts";
import { claimOfTerms } from "../../market/jobs/claim-of-terms.ts";
import { partRange } from "../../market/jobs/job-rules.ts";
import { checkpointEvery } from "../../market/jobs/proof-checkpoints.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { ANSWER_PAGE_BYTES, type JobQuestion, questionText } from "../../protocol/network/job-question.ts";
import { noAnswer } from "../../verify/optimistic/answers.ts";
import { answerLength, RemoteAnswers } from "../../verify/optimistic/questions.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program } from "../../work/program/shapes.ts";
import { claimHash, segmentTree, stateHashOf } from "../../work/trace/commitments.ts";
import type { OrderedJob, ProverApi } from "./provable-jobs.ts";

interface ClaimedState {
	/** S before the segment, 64 hex digits. */
	readonly hash: string;
	/** Every state tensor, in the program's order. */
	readonly state: readonly Uint8Array[];
}

export interface ClaimedStates {
	/** The segment before which a state may be had, at most this one; 0: none. */
	nearest(segment: number): number;
	/** Null: nobody gives it. */
	before(segment: number): Promise<ClaimedState | null>;
}

/** Whoever gives nothing, or something else, is asked no more. */
const MOST_FAILED = 2;
/** How long a validator may be away: to run from the start may be faster. */
const PATIENCE_MS = 30_000;

export function claimedStates(
	api: ProverApi,
	contracts: Contracts,
	{ job, terms }: OrderedJob,
	program: Program,
): ClaimedStates {
	const id = job.toString(16).padStart(64, "0");
	const whence = { job: id, patienceMs: PATIENCE_MS };
	const { chainId, jobEscrow } = contracts.addresses;
	const offer = {
		...{ id, escrow: { chainId, contract: jobEscrow } },
		terms: {
			...{ program: terms.program.slice(2), inputs: terms.inputs.slice(2) },
			...{ segments: Number(terms.segments), parts: terms.parts },
		},
	};
	const partOf = (segment: number): number => Math.floor(segment / partRange(offer.terms, 0).count);
	const rangeOf = (part: number) => {
		const { first, count } = partRange(offer.terms, part);
		return { first, segments: count };
	};
	const states = program.tensors.filter(({ kind }) => kind === "state");
	const opened = new Map<number, ReturnType<typeof openPart>>();
	let failed = 0;

	/** What the claim of a part says, which is the one that stands on chain. */
	async function openPart(part: number) {
		const { rows } = await api.listClaims({ query: { job: id, limit: 100 } });
		const row = rows.find((one) => one.part === part && one.ends !== null && CLAIMED.includes(one.state));
		if (row === undefined) throw noAnswer(`the validator shows no claim of part ${part + 1}`);
		const claim = claimOfTerms(offer, part, row);
		const hash = bytesToHex(claimHash(claim));
		const { attempt } = await readJobPart(contracts, job, part);
		const kept = await read(contracts, "jobEscrow", "commitmentOf", job, part, attempt);
		const { last, states: list } = row.ends!;
		if (kept !== claimCommitment(hash, last) || list.size !== 32 * (claim.segments + 1))
			throw noAnswer("the claim that the validator shows does not stand on chain");
		const bytes = await fetchBlob(api, list, whence);
		const hashes = Array.from({ length: claim.segments + 1 }, (_, i) => bytes.slice(32 * i, 32 * i + 32));
		if (!equalBytes(segmentTree(hashes).root, claim.segmentRoot))
			throw noAnswer("the list of states is not the claim's");
		const ask = async (question: JobQuestion) => {
			const length = answerLength({ program, ...rangeOf(part) }, question) ?? 0;
			const pages: Uint8Array[] = [];
			for (let page = 0; page * ANSWER_PAGE_BYTES < length; page++) {
				const body = { question: questionText({ ...question, page }) };
				pages.push(hexToBytes((await api.askClaim({ params: { hash }, body })).answer) ?? new Uint8Array());
			}
			return concatBytes(...pages);
		};
		return { hash, hashes, answers: new RemoteAnswers(program, { claim, states: hashes, audit: null }, ask) };
	}

	/** Roots of the state tensors, which lead to the S that was claimed. */
	async function rootsBefore(segment: number): Promise<{ hash: string; roots: readonly string[] }> {
		const part = partOf(segment);
		const found = opened.get(part) ?? openPart(part);
		opened.set(part, found);
		const { hash, hashes, answers } = await found;
		const { first } = rangeOf(part);
		const said = hashes[segment - first]!;
		if (segment > first) {
			const { state } = await answers.uploadedState(segment);
			return { hash: bytesToHex(said), roots: state.map(bytesToHex) };
		}
		const { begin } = await api.getClaimCase({ params: { hash } });
		const roots = (begin?.state ?? []).map(({ root }) => hexToBytes(root, 32)!);
		if (roots.length !== states.length || !equalBytes(stateHashOf(program, segment, roots, []), said))
			throw noAnswer("the part does not begin so");
		return { hash: bytesToHex(said), roots: roots.map(bytesToHex) };
	}

	return {
		nearest(segment) {
			if (failed >= MOST_FAILED) return 0;
			const part = rangeOf(partOf(Math.min(segment, offer.terms.segments - 1)));
			const every = checkpointEvery(program, part);
			const last = Math.min(segment, part.first + part.segments - 1) - part.first;
			return part.first + every * Math.floor(last / every);
		},
		async before(segment) {
			try {
				const { hash, roots } = await rootsBefore(segment);
				const state: Uint8Array[] = [];
				for (const [i, { type, dims }] of states.entries())
					state.push(await fetchBlob(api, { root: roots[i]!, size: elementCount(dims) * bytesOf(type) }, { job: id }));
				return { hash, state };
			} catch (error) {
				if (!(error instanceof AssayError)) throw error;
				failed += 1;
				opened.delete(partOf(segment));
				return null;
			}
		},
	};
}

const CLAIMED: readonly string[] = ["claimed", "checked", "paid"];
