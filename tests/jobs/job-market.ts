// A job market on this machine, for simulations of cheaters: a real validator with the embedded database and
// chain, and providers that are the ones owners run (src/provider/jobs), on real agent links, with src/work's
// own machine in the place of an engine. A cheater is such a provider with one thing replaced.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import { type Contracts, callOf, read } from "../../src/chain/contracts/contracts.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import type { ParamOverrides } from "../../src/market/params.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import type { ProbeAttestation } from "../../src/protocol/probe/verdict.ts";
import { openHostJobs } from "../../src/provider/jobs/host-jobs.ts";
import type { JobChain } from "../../src/provider/jobs/job-chain.ts";
import { type JobDesk, openJobDesk } from "../../src/provider/jobs/job-desk.ts";
import type { JobEngine, StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { openJobChain } from "../../src/provider/jobs/open-job-chain.ts";
import { toyOpener } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { figure, gpu, idOf, probeByHand } from "../../src/store/sample-rows.test-kit.ts";
import { chainFolder, loadChainKey, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import type { ValidatorSettings } from "../../src/validator/validator-config.ts";
import {
	eventually,
	makeDataDir,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "../validator/toy-agent.test-kit.ts";

export const UNIT = 10n ** 18n;
/** Enough for any bond here. */
const DEPOSIT = 1000n * UNIT;
const TOKENS = 10_000n * UNIT;

/** The same party in every run. */
const signerNamed = (name: string): Signer => createNodeSigner(Buffer.from(idOf(`${name} key`), "hex"));
const accountNamed = (name: string): ChainAccount => accountOf(`0x${idOf(`${name} account`)}`);

export type Handlers = ReturnType<Awaited<ReturnType<typeof openHostJobs>>["handlers"]>;

/** What a cheater replaces; everything else is as owners run it. */
export interface JobCheat {
	/** `api`: what it may ask of the validator beside, with its own key. */
	readonly desk?: (honest: JobDesk, api: ApiClient) => JobDesk;
	readonly chain?: (honest: JobChain) => JobChain;
	readonly engine?: (honest: JobEngine, at: Parameters<StartJobEngine>[0]) => JobEngine;
	readonly handlers?: (honest: Handlers) => Handlers;
}

export interface MarketParty {
	readonly name: string;
	readonly id: string;
	readonly account: ChainAccount;
	close(): Promise<void>;
}

interface ProvideOptions {
	readonly cheat?: JobCheat;
	readonly isAuditor?: boolean;
	readonly methods?: readonly JobMethod["name"][];
	/** What it proved of products and of memory, a second; 10⁹ unless given. */
	readonly perS?: number;
	/** How often it looks at its claims; else as the market's options say. */
	readonly sweepMs?: number;
}

export interface MarketOptions {
	/** Of everybody: the validator, its chain, providers and customers. */
	readonly nowMs?: () => number;
	/** How often a provider looks at its claims. */
	readonly sweepMs?: number;
	/** Of the validator itself; by default it has none, and auditors are drawn. */
	readonly engine?: ValidatorSettings["engine"];
	/** What devices signed at each proof; simulated ones count then. */
	readonly attestation?: ProbeAttestation;
}

export interface JobMarket {
	readonly validator: ToyValidator;
	readonly contracts: Contracts;
	readonly validatorAccount: `0x${string}`;
	/** For a validator that cheats. */
	validatorKey(): Promise<ChainAccount>;
	/** A provider. Auditors have no deposit, and so no part of their own. */
	provide(name: string, o?: ProvideOptions): Promise<MarketParty>;
	/** Its proof is of now again. */
	prove(party: MarketParty): Promise<void>;
	/** Tokens, gas and a client that signs. */
	customer(
		name: string,
	): Promise<{ readonly account: ChainAccount; readonly client: ReturnType<typeof createApiClient> }>;
	/** Tokens that are somebody's, wherever they lie: its own, deposits, what it is owed. */
	worth(account: `0x${string}`): Promise<bigint>;
	/** Gas of all transactions so far, by the account that sent them, in lower case. */
	gasSpent(): Promise<ReadonlyMap<string, bigint>>;
	/** What went wrong where nobody was asked. */
	readonly troubles: string[];
	close(): Promise<void>;
}

/**
 * Times of seconds instead of hours, and enough of them for honest ones on a busy machine: who loses a part
 * does not get it again.
 */
const PARAMS = {
	...{ jobAcceptMs: 60_000, jobBeatMs: 6000, jobBeatMisses: 4, jobLeastWorkMs: 20_000, jobStartMs: 900_000 },
	// A claim that nobody can judge is given up after a minute, and waits for its window longer than any
	// simulation takes.
	...{ jobCheckedMs: 1000, jobWindowMs: 12 * 3_600_000, jobSilenceMs: 60_000 },
};
const MANY = 100_000;
/** However busy the machine is. */
const PATIENT_MS = 600_000;
const METHODS = ["redundant", "sampled", "optimistic"] as const;

export async function openJobMarket(over: ParamOverrides = {}, o: MarketOptions = {}): Promise<JobMarket> {
	const { engine, attestation } = o;
	const data = makeDataDir();
	const clock = o.nowMs === undefined ? {} : { nowMs: o.nowMs };
	const validator = await startToyValidator(
		{
			...{ dataDir: data.path, probes: false, params: { ...PARAMS, ...over }, chain: { epochSeconds: 3600 } },
			jobs: { isLoopbackApart: true, ...(attestation && { takesSimulated: true }) },
			...{ rollCalls: { isOn: false }, ...(engine && { engine }) },
		},
		clock,
		// All come from one address, and as many as are asked for.
		{ ...{ perAddress: MANY, knocksAtOnce: MANY, unproven: MANY }, newcomers: { perAddress: MANY, inAll: MANY } },
	);
	const folder = chainFolder(data.path);
	const client = await createChainClient(httpRpc(validator.chain!.url, { withinMs: PATIENT_MS }), {
		...{ confirmations: 1, pollMs: 20 },
	});
	const contracts: Contracts = { client, addresses: (await readContracts(join(folder, "contracts.json")))! };
	const treasurer = (await treasurerOf({ folder, isEmbedded: true }))!;
	const parties: MarketParty[] = [];
	const troubles: string[] = [];
	const env = { ...realEnvironment(), ...clock };
	const speeds = new Map<string, number>();
	const proveNow = (provider: string) =>
		prove(validator, provider, { nowMs: env.nowMs(), perS: speeds.get(provider) ?? 1e9, attestation });
	// One after the other: the treasurer's transactions are in order.
	let paying: Promise<unknown> = Promise.resolve();
	const endow = async (account: ChainAccount, deposit: bigint): Promise<void> => {
		const paid = paying.then(async () => {
			await sendCall(client, treasurer, { to: account.address, data: "0x", value: UNIT });
			await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, TOKENS));
		});
		paying = paid.catch(() => {});
		await paid;
		if (deposit === 0n) return;
		await sendCall(client, account, callOf(contracts, "token", "approve", contracts.addresses.jobEscrow, deposit));
		await sendCall(client, account, callOf(contracts, "jobEscrow", "deposit", deposit));
	};
	const market: JobMarket = {
		...{ validator, contracts, troubles },
		validatorAccount: validator.chain!.account as `0x${string}`,
		validatorKey: async () => accountOf(toHex(await loadChainKey(folder, "account", env.randomBytes))),
		prove: ({ id }) => proveNow(id),
		async provide(name, { cheat = {}, isAuditor = false, methods = METHODS, perS = 1e9, sweepMs = o.sweepMs } = {}) {
			const [signer, account] = [signerNamed(name), accountNamed(name)];
			speeds.set(signer.key, perS);
			await endow(account, isAuditor ? 0n : DEPOSIT);
			const chain = await openJobChain(contracts, account, signer.key);
			const jobs = await openHostJobs({
				...{ dataFolder: mkdtempSync(join(data.path, "provider-")), devices: [0] },
				limits: {
					...{ memoryBytes: 2 ** 30, diskBytes: 2 ** 30, minutes: 60, pricePerHourMicros: 3_600_000 },
					...{ leastMicros: 0, mostBondMicros: Number.MAX_SAFE_INTEGER, methods },
				},
				chain: cheat.chain?.(chain) ?? chain,
				startEngine: async (at) => {
					const open = toyOpener(at.storePath);
					const engine: JobEngine = { open, device: 0, allow: () => {}, close: async () => {} };
					return cheat.engine?.(engine, at) ?? engine;
				},
				hold: async () => () => {},
				deskOf: (url, validatorKey) => {
					const desk = openJobDesk({ url, validatorKey, signer, nowMs: env.nowMs, randomBytes: env.randomBytes });
					return cheat.desk?.(desk, createApiClient({ baseUrl: validator.url, signer, ...clock })) ?? desk;
				},
				...{ after: env.after, nowMs: env.nowMs, ...(sweepMs && { sweepMs }) },
				onEvent: (event) => void (event.kind === "trouble" && troubles.push(`${name}: ${event.code} ${event.detail}`)),
			});
			const honest = jobs.handlers(validator.url.replace(/^http/, "ws").concat("/agent"));
			const agent = await startToyAgent({
				...{ url: validator.url, signer, name, jobs: jobs.offer },
				handlers: cheat.handlers?.(honest) ?? honest,
			});
			await proveNow(signer.key);
			let closing: Promise<void> | null = null;
			const party = {
				...{ name, id: signer.key, account },
				close: () => {
					closing ??= agent.close().then(() => jobs.stop());
					return closing;
				},
			};
			parties.push(party);
			return party;
		},
		async customer(name) {
			const [signer, account] = [signerNamed(name), accountNamed(name)];
			await endow(account, 0n);
			return { account, client: createApiClient({ baseUrl: validator.url, signer, timeoutMs: PATIENT_MS, ...clock }) };
		},
		async worth(account) {
			const { free, locked, leaving } = await read(contracts, "jobEscrow", "depositOf", account);
			const owed = await read(contracts, "jobEscrow", "owedTo", account);
			return (await read(contracts, "token", "balanceOf", account)) + owed + free + locked + leaving;
		},
		async gasSpent() {
			const spent = new Map<string, bigint>();
			const newest = await client.viem.getBlockNumber();
			for (let blockNumber = 0n; blockNumber <= newest; blockNumber++) {
				const { transactions } = await client.viem.getBlock({ blockNumber });
				for (const hash of transactions) {
					const { from, gasUsed } = await client.viem.getTransactionReceipt({ hash });
					spent.set(from.toLowerCase(), (spent.get(from.toLowerCase()) ?? 0n) + gasUsed);
				}
			}
			return spent;
		},
		async close() {
			await Promise.all(parties.map((party) => party.close().catch(() => {})));
			await validator.stop();
			await data.remove();
		},
	};
	return market;
}

interface Proof {
	readonly nowMs: number;
	readonly perS: number;
	readonly attestation: ProbeAttestation | undefined;
}

/** As if a probe had proven a host whose speed makes a toy job cost something. */
async function prove({ store }: ToyValidator, provider: string, { nowMs, perS, attestation }: Proof): Promise<void> {
	await eventually(async () => store.providers.get(provider));
	await probeByHand(store, provider, `proof of ${provider} at ${nowMs}`, {
		...{ startedAtMs: nowMs - 1, finishedAtMs: nowMs, devices: [gpu(0)], attestation: attestation ?? null },
		figures: [
			figure(0, "memory.resident", 2 ** 30, "B"),
			figure(0, "gemm.int8", perS),
			figure(0, "memory.bandwidth", perS, "B/s"),
		],
	});
}
