// Hands in what a part came to: states, final state and results as blobs, then the claim, then its
// transaction, then the claim again so that the validator sees it on chain. Done again from any point it is
// the same claim: nothing here depends on what was sent before.
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { TRANSFERS_AT_ONCE } from "../../api/blob-transfer.ts";
import { sleep } from "../../platform/abortable.ts";
import { readIfPresent } from "../../platform/durable-file.ts";
import { someAtOnce } from "../../platform/some-at-once.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program } from "../../work/program/shapes.ts";
import { type RunClaim, readClaim } from "../../work/runs/claim-file.ts";
import { readJournal, rootBytes } from "../../work/runs/journal.ts";
import { numbered, rootsTree, segmentTree } from "../../work/trace/commitments.ts";
import { wholeRounds } from "./attest-part.ts";
import type { ClaimShown, JobChain } from "./job-chain.ts";
import type { AskedPart, ClaimReply, JobDesk, PartOffer } from "./job-desk.ts";
import { numbersOf } from "./run-part.ts";

const MOST_LOOKS = 60;
const LOOK_MS = 1000;
const ZEROS: Hex = `0x${"0".repeat(64)}`;

export interface HandIn {
	readonly desk: Pick<JobDesk, "upload" | "claim" | "answerAudit">;
	readonly chain: JobChain | null;
	readonly asked: AskedPart;
	readonly offer: PartOffer;
	readonly program: Program;
	/** The folder of the run, which has ended. */
	readonly path: string;
	readonly signal: AbortSignal;
}

/** Blobs of a run's store, each cut or filled with zeros to its size (docs/jobs.md §2), a few at once. */
export async function uploadStored(
	desk: Pick<JobDesk, "upload">,
	path: string,
	blobs: readonly BlobName[],
	signal: AbortSignal,
): Promise<void> {
	const once = new Map(blobs.map((blob) => [`${blob.root}/${blob.size}`, blob]));
	await someAtOnce(once.values(), TRANSFERS_AT_ONCE, (blob) => uploadOne(desk, path, blob, signal));
}

async function uploadOne(
	desk: Pick<JobDesk, "upload">,
	path: string,
	blob: BlobName,
	signal: AbortSignal,
): Promise<void> {
	const file = join(path, "store", blob.root);
	const handle = await open(file, "r");
	try {
		const { size } = await handle.stat();
		const bytes = size === blob.size ? null : Buffer.alloc(blob.size);
		if (bytes !== null) await handle.read(bytes, 0, Math.min(size, blob.size), 0);
		const { root } = await desk.upload(bytes === null ? { path: file } : { bytes }, signal);
		if (root !== blob.root) throw codedError("BLOB_CUT", `${file} has other bytes than it is named by`);
	} finally {
		await handle.close();
	}
}

const uploadStates = async ({ desk, path, signal }: HandIn): Promise<BlobName> =>
	desk.upload({ bytes: await readFile(join(path, "states.bin")) }, signal);

/** What an auditor computed. */
export async function handInAudit(work: HandIn): Promise<void> {
	await work.desk.answerAudit(work.asked, await uploadStates(work));
}

/**
 * The hash of the claim. Throws AssayError; CLAIM_ROOT when the validator's claim is another than ours: then
 * nothing was sent to the chain.
 */
export async function handInClaim(work: HandIn): Promise<string> {
	const { desk, chain, asked, offer, program, path, signal } = work;
	const run = readClaim(await readFile(join(path, "claim.json")), await readFile(join(path, "states.bin")));
	const line = readJournal(bytesToUtf8(await readFile(join(path, "journal.jsonl"))) ?? "")!.segments.at(-1)!;
	const sizes = (kind: "state" | "result") =>
		numbersOf(program, kind).map((i) => elementCount(program.tensors[i]!.dims) * bytesOf(program.tensors[i]!.type));
	const blobs = (roots: readonly string[], kind: "state" | "result"): BlobName[] =>
		sizes(kind).map((size, i) => ({ root: roots[i]!, size }));
	const [state, results] = [blobs(line.state, "state"), blobs(line.results, "result")];
	await uploadStored(desk, path, [...state, ...results], signal);
	const { claim, hash } = run;
	const signed = wholeRounds(await readIfPresent(join(path, "rounds.bin")));
	const body = {
		...(signed && { rounds: await desk.upload({ bytes: signed }, signal) }),
		...{ segmentRoot: bytesToHex(claim.segmentRoot), resultRoot: bytesToHex(claim.resultRoot) },
		...{ states: await uploadStates(work), state, results },
	};
	const own = bytesToHex(hash);
	const reply = await desk.claim(asked, body);
	mustBeOurs(reply, own);
	if (chain === null || reply.state !== "running") return own;
	if (offer.escrow === null || reply.stored === null)
		throw new AssayError("API_REPLY_BAD", "the validator signed nothing that says that it holds the result");
	await chain.claim(offer.escrow.terms, asked.part, shownClaim(run, line.state, program, offer.previous), reply.stored);
	// The validator's node may be a moment behind ours.
	for (let tries = 0; ; tries++) {
		const again = await desk.claim(asked, body);
		mustBeOurs(again, own);
		if (again.state !== "running") return own;
		if (tries === MOST_LOOKS)
			throw new AssayError("CHAIN_UNREACHABLE", "the validator does not see our claim on chain", {
				hint: "It is sent again; the claim itself stands on chain.",
			});
		await sleep(LOOK_MS, signal);
	}
}

function mustBeOurs(reply: ClaimReply, own: string): void {
	if (reply.claim !== own) throw codedError("CLAIM_ROOT", `the validator names our claim ${reply.claim}, it is ${own}`);
}

/** First and last state with their paths, as the contract checks them. */
function shownClaim(
	{ claim, states }: RunClaim,
	lastState: readonly string[],
	program: Program,
	previous: string | null,
): ClaimShown {
	const tree = segmentTree(states);
	return {
		...{ segmentRoot: toHex(claim.segmentRoot), resultRoot: toHex(claim.resultRoot), first: toHex(states[0]!) },
		firstPath: tree.path(0).map(toHex),
		lastStates: toHex(rootsTree(numbered(program, "state", rootBytes(lastState))).root),
		lastPath: tree.path(states.length - 1).map(toHex),
		previous: previous === null ? ZEROS : toHex(hexToBytes(previous, 32)!),
	};
}
