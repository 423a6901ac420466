// A claim as it comes in: taken when every hash follows from the bytes, and refused for each thing that does
// not, by that check alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { JobTerms } from "../../../protocol/network/job.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";
import { mixedSample } from "../../../work/builder/samples.test-kit.ts";
import { bytesOf, elementCount } from "../../../work/operators/tensor-type.ts";
import type { JobWork } from "../../../work/program/job-work.ts";
import { resultRootOf, segmentTree, stateHashOf } from "../../../work/trace/commitments.ts";
import { checkClaim, keepClaim, type PostedClaim } from "./take-claim.ts";

const { program } = mixedSample();
const sized = (kind: string) =>
	program.tensors.flatMap(({ dims, type, ...one }, tensor) =>
		one.kind === kind ? [{ tensor, size: elementCount(dims) * bytesOf(type) }] : [],
	);
const work = { program, state: sized("state"), results: sized("result") } as unknown as JobWork;
const terms = { segments: 6, parts: 2 } as JobTerms;
const PART = 1;
const hash = (n: number): string => n.toString(16).padStart(64, "0");
const BEGIN = hash(77);
const bytes32 = (hex: string): Uint8Array => hexToBytes(hex, 32)!;

/** Blobs of one holder, in memory. */
function blobsWith(states: Uint8Array) {
	const shared: string[] = [];
	const blobs = {
		read: async (holder: string) => {
			assert.equal(holder, "provider");
			return states;
		},
		async shareAll(_: string, names: readonly BlobName[], to: string) {
			shared.push(...names.map(({ root }) => `${root} ${to}`));
			return [];
		},
	} as unknown as Blobs;
	return { blobs, shared };
}

/** A claim that is right in all; `change` is made before its roots are computed. */
function claimOf(change: (states: string[]) => void = () => {}) {
	const name = ({ size }: { readonly size: number }, i: number): BlobName => ({ root: hash(1000 + size + i), size });
	const [state, results] = [work.state.map(name), work.results.map(name)];
	const roots = (names: readonly BlobName[]) => names.map(({ root }) => bytes32(root));
	const last = bytesToHex(stateHashOf(program, 6, roots(state), roots(results)));
	const states = [BEGIN, hash(1), hash(2), last];
	change(states);
	const list = states.map(bytes32);
	const posted: PostedClaim = {
		...{ state, results, states: { root: hash(5), size: 32 * states.length } },
		segmentRoot: bytesToHex(segmentTree(list).root),
		resultRoot: bytesToHex(resultRootOf(program, roots(results))),
	};
	return { posted, ...blobsWith(Buffer.concat(list)), last };
}

const of = { work, terms, part: PART, begin: BEGIN };
async function refuses(
	words: RegExp,
	{ posted, blobs }: ReturnType<typeof claimOf>,
	change: Partial<PostedClaim> = {},
): Promise<void> {
	await assert.rejects(checkClaim(blobs, "provider", of, { ...posted, ...change }), (error) => {
		assert.ok(error instanceof AssayError && error.code === "JOB_CLAIM", String(error));
		assert.match(error.message, words);
		return true;
	});
}

test("the sample has what is looked at", () => {
	assert.ok(work.state.length > 0 && work.results.length > 0);
});

test("a claim whose hashes all follow is taken, with where it begins and ends; then the job holds every blob", async () => {
	const { posted, blobs, last, shared } = claimOf();
	assert.deepEqual(await checkClaim(blobs, "provider", of, posted), { ...posted, first: BEGIN, last });
	await keepClaim(blobs, "provider", "job", posted);
	const all = [posted.states, ...posted.state, ...posted.results];
	assert.deepEqual(
		shared,
		all.map(({ root }) => `${root} job`),
	);
});

test("nobody says that a job holds what its provider did not upload", async () => {
	const { posted, blobs } = claimOf();
	const without = { ...blobs, shareAll: async () => [posted.state[0]!] } as unknown as Blobs;
	await assert.rejects(keepClaim(without, "provider", "job", posted), { code: "BLOB_UNKNOWN" });
});

test("tensors: as many as the program has, each of its size", async () => {
	const right = claimOf();
	const { state, results } = right.posted;
	await refuses(/state tensors, not/, right, { state: state.slice(1) });
	await refuses(/result tensors, not/, right, { results: [...results, results[0]!] });
	const larger = (names: readonly BlobName[]) => names.with(0, { ...names[0]!, size: names[0]!.size + 1 });
	await refuses(/bytes, not/, right, { state: larger(state) });
	await refuses(/bytes, not/, right, { results: larger(results) });
});

test("states: one more than segments; they lead to the segment root, begin where the part begins, and end with the tensors", async () => {
	await refuses(
		/4 states have 128 bytes, not 160/,
		claimOf((states) => states.push(states.at(-1)!)),
	);
	await refuses(/do not lead to its segment root/, claimOf(), { segmentRoot: hash(9) });
	await refuses(
		/begins at another state/,
		claimOf((states) => {
			states[0] = hash(78);
		}),
	);
	await refuses(
		/last state is not that of its tensors/,
		claimOf((states) => {
			states[3] = hash(79);
		}),
	);
});

test("results: the root is that of the results", async () => {
	await refuses(/result root is not that of its results/, claimOf(), { resultRoot: hash(9) });
});
