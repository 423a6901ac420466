// A validator with its job market and toy workers, for tests: with the embedded chain or without one. And a
// customer that asks, funds and hands in.
import { join } from "node:path";
import { nameBlob, uploadBlob } from "../../src/api/blob-transfer.ts";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import type { Job } from "../../src/api/types.ts";
import type { Contracts } from "../../src/chain/contracts/contracts.ts";
import { approveJobsCall, fundJobCall, jobCost } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import type { ParamOverrides } from "../../src/market/params.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import type { JobOffer } from "../../src/protocol/network/job-offer.ts";
import type { JobSpec } from "../../src/protocol/network/job-spec.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import type { ProbeAttestation } from "../../src/protocol/probe/verdict.ts";
import { toyWorkload } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { chainFolder, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import type { ValidatorSettings } from "../../src/validator/validator-config.ts";
import { mlpSample, type Sample } from "../../src/work/builder/samples.test-kit.ts";
import { specOfWorkload } from "../../src/work/workloads/spec-of-workload.ts";
import type { Workload } from "../../src/work/workloads/workload.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyValidator,
	type ToyValidator,
} from "../validator/toy-agent.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { endow, startToyWorker, type ToyWorker, type WorkerOptions } from "./toy-worker.test-kit.ts";

const UNIT = 10n ** 18n;
export const CUSTOMER = signerOf(90);
export const PAYER = accountOf(`0x${"c1".repeat(32)}`);

/**
 * What is checked is paid a second later. All else is longer than any test: one that has somebody lose a part
 * skips the time by its own clock.
 */
export const QUICK: ParamOverrides = {
	...{ jobAcceptMs: 600_000, jobBeatMs: 6000, jobBeatMisses: 100, jobLeastWorkMs: 1_200_000, jobCheckedMs: 1000 },
	jobWindowMs: 600_000,
};
/**
 * Longer than anybody may be silent; and both together longer than the time to work, when another can be
 * assigned on a chain.
 */
export const [LOST_MS, WORK_MS] = [620_000, 620_000];

/** Of a stage's worker. */
export const workerAccount = (n: number): ChainAccount => accountOf(`0x${(0xb0 + n).toString(16).repeat(32)}`);

export interface Stage {
	readonly validator: ToyValidator;
	readonly chain: { readonly contracts: Contracts; readonly treasurer: ChainAccount } | null;
	readonly data: { readonly path: string };
	readonly customer: ApiClient;
	/** `int8`: how fast it was proven to be; `attestation`: what its devices signed then. */
	worker(
		n: number,
		more?: Partial<WorkerOptions> & { readonly int8?: number; readonly attestation?: ProbeAttestation },
	): Promise<ToyWorker>;
	close(): Promise<void>;
}

export async function openStage(o: {
	readonly hasChain: boolean;
	readonly params?: ParamOverrides;
	readonly settings?: Partial<ValidatorSettings>;
	/** A clock of the test's own, for the validator, its chain, the customer and the workers. */
	readonly nowMs?: () => number;
}): Promise<Stage> {
	const data = makeDataDir();
	const settings: ValidatorSettings = {
		...{ dataDir: data.path, probes: false, params: { ...QUICK, ...o.params }, jobs: { isLoopbackApart: true } },
		...(o.hasChain ? { chain: { epochSeconds: 3600 }, rollCalls: { isOn: false } } : {}),
		...o.settings,
	};
	const clock = o.nowMs === undefined ? {} : { nowMs: o.nowMs };
	const validator = await startToyValidator(settings, clock);
	const workers: ToyWorker[] = [];
	const close = async () => {
		for (const worker of workers) await worker.close();
		await validator.stop();
		await data.remove();
	};
	const chain = await (o.hasChain ? openChain(validator, data.path) : Promise.resolve(null)).catch(async (error) => {
		await close();
		throw error;
	});
	const customer = createApiClient({ baseUrl: validator.url, signer: CUSTOMER, ...clock });
	return {
		...{ validator, chain, customer, data, close },
		async worker(n, { int8 = 1e9, attestation, ...more } = {}) {
			const account = workerAccount(n);
			if (chain !== null) await endow(chain.contracts, chain.treasurer, account, 0n, 1000n * UNIT);
			const worker = await startToyWorker({
				...{ url: validator.url, signer: signerOf(100 + n), ...clock },
				...(chain && { chain: { contracts: chain.contracts, account } }),
				...more,
			});
			workers.push(worker);
			await eventually(async () => (await validator.store.providers.get(worker.id)) !== null);
			await prove(validator.store, worker.id, { int8, ...(attestation && { attestation }) });
			return worker;
		},
	};
}

async function openChain(validator: ToyValidator, path: string) {
	const folder = chainFolder(path);
	const client = await createChainClient(httpRpc(validator.chain!.url), { confirmations: 1, pollMs: 20 });
	const contracts: Contracts = { client, addresses: (await readContracts(join(folder, "contracts.json")))! };
	const treasurer = (await treasurerOf({ folder, isEmbedded: true }))!;
	await endow(contracts, treasurer, PAYER, 10_000n * UNIT, 0n);
	return { contracts, treasurer };
}

export interface Order {
	readonly method: JobMethod;
	readonly sample?: Sample;
	/** Beside segment 0. */
	readonly segments?: number;
	/** In place of a sample. */
	readonly workload?: Workload;
	readonly salt?: string;
	readonly mostMicros?: number | null;
	/** Of a zk job: what is said on chain once it is funded. */
	readonly onFunded?: (offer: JobOffer) => Promise<void>;
	/** Before that. */
	readonly onOffered?: (offer: JobOffer) => Promise<void>;
}

export async function specOf({ method, sample = mlpSample(), segments = 5, workload }: Order) {
	return specOfWorkload(workload ?? toyWorkload(sample, segments), {
		...{ title: "a toy job", kind: "program", method },
		rootOf: async (bytes) => hexToBytes((await nameBlob({ bytes })).blob.root, 32)!,
	});
}

/** Uploads, asks, funds; gives what submitJob takes. */
export async function prepare(
	stage: Pick<Stage, "chain" | "customer">,
	order: Order,
): Promise<{ readonly spec: JobSpec; readonly offer: JobOffer }> {
	const { spec, blobs } = await specOf(order);
	for (const { bytes } of blobs) await uploadBlob(stage.customer, { bytes: bytes() });
	const { chain } = stage;
	const { offer } = await stage.customer.quoteJob({
		body: {
			...{ spec: spec as never, mostMicros: order.mostMicros ?? null, salt: order.salt ?? "5a".repeat(32) },
			account: chain === null ? null : (PAYER.address.toLowerCase() as `0x${string}`),
		},
	});
	await order.onOffered?.(offer as JobOffer);
	if (chain !== null) await fund(chain.contracts, offer as JobOffer);
	await order.onFunded?.(offer as JobOffer);
	return { spec, offer: offer as JobOffer };
}

export async function fund(contracts: Contracts, offer: JobOffer): Promise<void> {
	const terms = jobTermsFromText(offer.escrow!.terms);
	await sendCall(contracts.client, PAYER, approveJobsCall(contracts, jobCost(terms)));
	await sendCall(contracts.client, PAYER, fundJobCall(contracts, terms));
}

export async function submit(stage: Pick<Stage, "chain" | "customer">, order: Order): Promise<Job> {
	return stage.customer.submitJob({ body: (await prepare(stage, order)) as never });
}

export const jobOver = (customer: ApiClient, id: string): Promise<Job> =>
	eventually(async () => {
		const job = await customer.getJob({ params: { id } });
		return job.isOver && job;
	});

/** Everything that happened, as the stream tells it, until the job is over. */
export async function kindsOf(customer: ApiClient, id: string): Promise<string[]> {
	const kinds: string[] = [];
	for await (const { kind } of customer.watchJob({ params: { id } })) kinds.push(kind.slice("job.".length));
	return kinds;
}
export type { Signer };
