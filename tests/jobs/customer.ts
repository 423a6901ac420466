// What a customer does, for simulations: asks for a quote, funds it, hands the job in, waits until it is
// over. The job is the small sample of src/work.
import { randomBytes } from "node:crypto";
import { uploadBlob } from "../../src/api/blob-transfer.ts";
import type { ApiClient } from "../../src/api/create-client.ts";
import { approveJobsCall, fundJobCall, jobCost } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { ChainAccount } from "../../src/chain/sending/sign.ts";
import { foldPieces, PIECE_BYTES, pieceRoot } from "../../src/platform/blob-tree.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import type { JobSpec } from "../../src/protocol/network/job-spec.ts";
import { toyWorkload } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { specOfWorkload } from "../../src/work/workloads/spec-of-workload.ts";
import type { JobMarket } from "./job-market.ts";

/** Segments of the toy job, segment 0 counted. */
export const TOY_SEGMENTS = 8;

async function rootOf(bytes: Uint8Array): Promise<Uint8Array> {
	const roots: Uint8Array[] = [];
	for (let at = 0; at < Math.max(1, bytes.length); at += PIECE_BYTES)
		roots.push(await pieceRoot(bytes.subarray(at, at + PIECE_BYTES)));
	return foldPieces(roots);
}

export async function toyJob(method: JobMethod, { title = "toy", segments = TOY_SEGMENTS } = {}) {
	const workload = toyWorkload(mlpSample(), segments - 1);
	return specOfWorkload(workload, { title, kind: "program", method, rootOf });
}

export interface Customer {
	readonly client: ApiClient;
	readonly account: ChainAccount;
}

/** Uploads what the job needs. */
export async function upload({ client }: Customer, { blobs }: Awaited<ReturnType<typeof toyJob>>): Promise<void> {
	for (const { bytes } of blobs) await uploadBlob(client, { bytes: bytes() });
}

export async function quote({ client, account }: Customer, spec: JobSpec) {
	const salt = bytesToHex(randomBytes(32));
	return client.quoteJob({
		body: { spec: spec as never, mostMicros: null, account: account.address.toLowerCase() as never, salt },
	});
}

/** The job's name. `onFunded` is told what it may cost at most. */
export async function submit(
	{ contracts }: JobMarket,
	customer: Customer,
	spec: JobSpec,
	onFunded: (most: bigint) => void = () => {},
): Promise<string> {
	const { offer } = await quote(customer, spec);
	const terms = jobTermsFromText(offer.escrow!.terms);
	await sendCall(contracts.client, customer.account, approveJobsCall(contracts, jobCost(terms)));
	await sendCall(contracts.client, customer.account, fundJobCall(contracts, terms));
	onFunded(jobCost(terms));
	await customer.client.submitJob({ body: { spec: spec as never, offer } });
	return offer.id;
}
