// A provider's claim as it comes in: hostile. Every hash is computed again from the bytes that it uploaded;
// program, inputs and place are the job's own. Then the job holds the bytes, whatever becomes of the
// provider: without that, nobody signs that they are stored. docs/jobs.md §13.
import { claimOfTerms } from "../../../market/jobs/claim-of-terms.ts";
import { partRange } from "../../../market/jobs/job-rules.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { codes } from "../../../protocol/codes.ts";
import type { JobTerms } from "../../../protocol/network/job.ts";
import type { JobOffer } from "../../../protocol/network/job-offer.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";
import type { JobWork, SizedTensor } from "../../../work/program/job-work.ts";
import { claimHash, resultRootOf, segmentTree, stateHashOf } from "../../../work/trace/commitments.ts";
import type { KeptAttestation } from "./take-rounds.ts";

/** What a provider hands in, and what is kept of it in the claim's row. */
export interface PostedClaim {
	readonly segmentRoot: string;
	readonly resultRoot: string;
	readonly states: BlobName;
	readonly state: readonly BlobName[];
	readonly results: readonly BlobName[];
	/** Signed reports of its devices, docs/attestation.md. */
	readonly rounds?: BlobName | undefined;
}

/** As it is kept. Hashes are 64 hex digits. */
export interface ClaimBody extends PostedClaim {
	/** S that it begins and ends with. */
	readonly first: string;
	readonly last: string;
	/** Absent: nothing came with it. */
	readonly attestation?: KeptAttestation;
}

const refused = (why: string): AssayError => new AssayError("JOB_CLAIM", `the claim is refused: ${why}`);
const bytes32 = (hex: string): Uint8Array => hexToBytes(hex, 32)!;

/** With zeros for chain and escrow where there is none. */
export const claimHashOf = (offer: JobOffer, part: number, posted: PostedClaim): string =>
	bytesToHex(claimHash(claimOfTerms(offer, part, posted)));

/** 32 bytes each. */
function splitStates(bytes: Uint8Array): Uint8Array[] {
	return Array.from({ length: bytes.length / 32 }, (_, i) => bytes.slice(32 * i, 32 * i + 32));
}

/** Throws JOB_CLAIM unless it is a list of so many states that this holder has. */
export async function readStates(blobs: Blobs, holder: string, name: BlobName, count: number): Promise<Uint8Array[]> {
	if (name.size !== 32 * count) throw refused(`${count} states have ${32 * count} bytes, not ${name.size}`);
	return splitStates(await blobs.read(holder, name, 0, name.size));
}

function mustBeSizes(what: string, named: readonly BlobName[], wanted: readonly SizedTensor[]): void {
	if (named.length !== wanted.length)
		throw refused(`the program has ${wanted.length} ${what} tensors, not ${named.length}`);
	for (const [i, { tensor, size }] of wanted.entries())
		if (named[i]!.size !== size) throw refused(`tensor ${tensor} has ${size} bytes, not ${named[i]!.size}`);
}

/** `begin`: S that the part must begin with. The provider holds all blobs that it names. */
export async function checkClaim(
	blobs: Blobs,
	holder: string,
	{
		work,
		terms,
		part,
		begin,
	}: { readonly work: JobWork; readonly terms: JobTerms; readonly part: number; readonly begin: string },
	posted: PostedClaim,
): Promise<ClaimBody> {
	const { first, count } = partRange(terms, part);
	mustBeSizes("state", posted.state, work.state);
	mustBeSizes("result", posted.results, work.results);
	const states = await readStates(blobs, holder, posted.states, count + 1);
	if (bytesToHex(segmentTree(states).root) !== posted.segmentRoot)
		throw refused("its states do not lead to its segment root");
	if (bytesToHex(states[0]!) !== begin) throw refused("it begins at another state");
	const roots = (names: readonly BlobName[]) => names.map(({ root }) => bytes32(root));
	const last = stateHashOf(work.program, first + count, roots(posted.state), roots(posted.results));
	if (bytesToHex(last) !== bytesToHex(states.at(-1)!)) throw refused("its last state is not that of its tensors");
	if (bytesToHex(resultRootOf(work.program, roots(posted.results))) !== posted.resultRoot)
		throw refused("its result root is not that of its results");
	return { ...posted, first: begin, last: bytesToHex(last) };
}

/** The job has them from now on. Throws BLOB_UNKNOWN for what was not uploaded. */
export async function keepClaim(blobs: Blobs, from: string, to: string, claim: PostedClaim): Promise<void> {
	const all = [claim.states, ...claim.state, ...claim.results].map(({ root, size }) => ({ root, size }));
	if ((await blobs.shareAll(from, all, to)).length > 0)
		throw new AssayError("BLOB_UNKNOWN", "this holder has no such blob", { hint: codes.BLOB_UNKNOWN.hint });
}
