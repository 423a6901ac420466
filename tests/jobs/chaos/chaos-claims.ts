// Claims for chaos, on a real EVM: each is funded, assigned and claimed by transactions, some of runs with
// one false number. What the processes of watcher and provider must know of them is plain JSON.
import { createHash } from "node:crypto";
import { nameBlob } from "../../../src/api/blob-transfer.ts";
import { type ContractAddresses, type Contracts, callOf } from "../../../src/chain/contracts/contracts.ts";
import {
	approveJobsCall,
	assignPartCall,
	claimPartCall,
	fundJobCall,
	type JobTerms,
	jobIdOf,
	signAssignment,
	signStored,
} from "../../../src/chain/contracts/job-escrow.ts";
import { jobTermsToText } from "../../../src/chain/contracts/job-terms-text.ts";
import { createChainClient } from "../../../src/chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../../src/chain/node/http-rpc.ts";
import { TREASURER } from "../../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../../src/chain/sending/send-call.ts";
import { accountOf, type Call } from "../../../src/chain/sending/sign.ts";
import type { Cheat } from "../../../src/engine/client/toy-work-session.test-kit.ts";
import { bytesToHex, concatBytes } from "../../../src/protocol/bytes/bytes.ts";
import { fromHex, type Hex, toHex } from "../../../src/protocol/chain/hex.ts";
import type { EscrowTermsText } from "../../../src/protocol/network/job-offer.ts";
import type { BlobName, JobSpec } from "../../../src/protocol/network/job-spec.ts";
import { type Runner, runnerOf, specOf } from "../../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { mlpSample } from "../../../src/work/builder/samples.test-kit.ts";
import { rootBytes } from "../../../src/work/runs/journal.ts";
import { claimHash, numbered, rootsTree, segmentTree } from "../../../src/work/trace/commitments.ts";

const UNIT = 10n ** 18n;
export const WATCHER = accountOf(`0x${"d9".repeat(32)}`);
export const PROVIDER = accountOf(`0x${"b0".repeat(32)}`);
export const FALSE_ACCUSER = accountOf(`0x${"fa".repeat(32)}`);
const VALIDATOR = accountOf(`0x${"a1".repeat(32)}`);
export const SAMPLE = mlpSample();
const LAST_SEGMENT = 5;
/** Until which a game may be opened: longer than any chaos. */
export const WINDOW_S = 7200;

export interface ChaosClaim {
	/** 64 hex digits. */
	readonly job: string;
	readonly hash: string;
	readonly terms: EscrowTermsText;
	readonly segmentRoot: string;
	readonly resultRoot: string;
	readonly states: BlobName;
	readonly last: string;
	readonly atMs: number;
	/** Of its provider. */
	readonly run: string;
	readonly cheat: Cheat | null;
}

/** Everything that a process is told. */
export interface ChaosPlan {
	readonly url: string;
	readonly addresses: ContractAddresses;
	readonly spec: JobSpec;
	readonly segments: number;
	readonly blobs: readonly (BlobName & { readonly hex: string })[];
	readonly claims: readonly ChaosClaim[];
	/** Of the watcher. */
	readonly folder: string;
}

/** As others see the chain: over the line, with reorganisations of ten blocks in mind. */
export async function contractsOf({ url, addresses }: Pick<ChaosPlan, "url" | "addresses">): Promise<Contracts> {
	const rpc = withRetries(httpRpc(url), { firstDelayMs: 100, mostDelayMs: 1000 });
	return { client: await createChainClient(rpc, { confirmations: 12, pollMs: 300 }), addresses };
}

const hash = (text: string): Hex => toHex(new Uint8Array(createHash("sha256").update(text).digest()));

/** Coins and tokens for everybody. */
export async function endow(contracts: Contracts, claims: number): Promise<void> {
	const send = (call: Call, from = TREASURER) => sendCall(contracts.client, from, call);
	for (const { address } of [WATCHER, PROVIDER, FALSE_ACCUSER])
		await send({ to: address, data: "0x", value: 10n ** 22n });
	const bonds = BigInt(20 * claims) * UNIT;
	await send(callOf(contracts, "token", "transfer", PROVIDER.address, bonds));
	for (const from of [TREASURER, PROVIDER]) await send(approveJobsCall(contracts, 10n ** 30n), from);
	await send(callOf(contracts, "jobEscrow", "deposit", bonds), PROVIDER);
}

/** Honest runs and false ones, each made once. */
export async function makeRuns(
	folder: string,
	lies: number,
): Promise<{ honest: Runner; liars: readonly (Runner & { cheat: Cheat })[] }> {
	const { program } = SAMPLE;
	const honest = await runnerOf(folder, SAMPLE, LAST_SEGMENT);
	const liars: (Runner & { cheat: Cheat })[] = [];
	for (let i = 0; i < lies; i++) {
		const cheat = { segment: 1 + (i % LAST_SEGMENT), step: i % program.k, op: program.step.length - 1, element: 3 + i };
		liars.push({ ...(await runnerOf(folder, SAMPLE, LAST_SEGMENT, cheat)), cheat });
	}
	return { honest, liars };
}

export async function makeClaim(contracts: Contracts, of: Runner, name: string) {
	const { client, addresses } = contracts;
	const { run, segments, cheat } = of;
	const nowS = Number((await client.viem.getBlock()).timestamp);
	const terms: JobTerms = {
		...{ customer: TREASURER.address, salt: hash(name), spec: hash("spec"), start: toHex(run.states[0]!) },
		...{ program: toHex(run.claim.program), inputs: toHex(run.claim.inputs), seed: toHex(run.seed) },
		...{ segments: BigInt(segments), parts: 1, price: UNIT, fee: UNIT / 50n, audit: UNIT / 5n, bond: 10n * UNIT },
		...{ startBy: BigInt(nowS + 86_400), workSeconds: 1200, windowSeconds: WINDOW_S, checkedSeconds: 600, method: 0 },
		...{ quorum: 1, validators: [VALIDATOR.address] },
	};
	const job = jobIdOf(terms);
	await sendCall(client, TREASURER, fundJobCall(contracts, terms));
	const assignment = { part: 0, attempt: 1, until: terms.startBy, draw: hash("draw") };
	const drawn = await signAssignment(VALIDATOR, contracts, job, PROVIDER.address, assignment);
	await sendCall(client, PROVIDER, assignPartCall(contracts, terms, assignment, [drawn]));
	const where = { chainId: BigInt(addresses.chainId), escrow: fromHex(addresses.jobEscrow.toLowerCase(), 20), job };
	const tree = segmentTree(run.states);
	const { state, results } = run.journal.segments.at(-1)!;
	const resultRoot = rootsTree(numbered(run.program, "result", rootBytes(results))).root;
	const made = { ...run.claim, ...where, part: 0, first: 0, segments, segmentRoot: tree.root, resultRoot };
	const claim = bytesToHex(claimHash(made));
	const stored = await signStored(VALIDATOR, contracts, { job, part: 0, attempt: 1 }, `0x${claim}`);
	const shown = {
		...{ segmentRoot: toHex(tree.root), resultRoot: toHex(resultRoot), first: terms.start, previous: hash("") },
		...{ firstPath: tree.path(0).map(toHex), lastPath: tree.path(segments).map(toHex) },
		lastStates: toHex(rootsTree(numbered(run.program, "state", rootBytes(state))).root),
	};
	await sendCall(client, PROVIDER, claimPartCall(contracts, terms, 0, shown, [stored]));
	const list = concatBytes(...run.states);
	const { blob } = await nameBlob({ bytes: list });
	const told: ChaosClaim = {
		...{ job: job.toString(16).padStart(64, "0"), hash: claim, terms: jobTermsToText(terms), states: blob },
		...{ segmentRoot: bytesToHex(tree.root), resultRoot: bytesToHex(resultRoot), last: bytesToHex(run.states.at(-1)!) },
		...{ atMs: Date.now(), run: run.path, cheat: cheat ?? null },
	};
	return { claim: told, list: { ...blob, hex: bytesToHex(list) } };
}

/** What a watcher of the job downloads, but for lists of states. */
export async function specWithBlobs(of: Runner) {
	const { spec, blobs } = await specOf(of);
	return { spec, blobs: blobs.map(({ root, size, bytes }) => ({ root, size, hex: bytesToHex(bytes()) })) };
}
