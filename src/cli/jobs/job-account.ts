// Who pays for jobs on chain: the account that was named, or on a trial network, whose embedded chain lies in
// a folder of this user, an account of its own that the chain's treasury funds. Page: docs/jobs.md §13.
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { fundJobCall, type JobTerms, jobCost, jobIdOf } from "../../chain/contracts/job-escrow.ts";
import { sendApproved } from "../../chain/sending/send-approved.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { loadAccountKey } from "../../platform/key-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { chainFolder, treasurerOf } from "../../validator/settlement/home.ts";
import { customerFolder } from "../api-connection.ts";
import { dataDirOf } from "../chain/chain-connection.ts";
import { readKeyOption } from "../chain/chain-key.ts";
import type { ChainValues } from "../chain/chain-options.ts";
import { openCustomerChain, ownersDoor } from "../chain/customer-chain.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import { GAS, requireFunds, requireGas } from "../chain/require-funds.ts";
import type { CliIo } from "../command.ts";
import { lockOrGoOn } from "./job-book.ts";

export type PayerValues = ChainValues & { readonly "key-file"?: string | undefined };

export interface JobPayer {
	readonly actor: ChainActor;
	/**
	 * Approves and funds, with what earlier jobs left first; nothing of one that is funded. Throws CHAIN_FUNDS,
	 * CHAIN_MISSING.
	 */
	fund(terms: JobTerms, escrow: { readonly chainId: number; readonly contract: string }): Promise<void>;
	/** What jobs did not spend, back to the account. Throws CHAIN_FUNDS without gas. */
	collect(): Promise<bigint>;
	/** While no other command of this user pays from the account. */
	alone<T>(work: () => Promise<T>): Promise<T>;
}

/** What jobs did not spend, from the escrow to the account that paid. Throws CHAIN_FUNDS without gas. */
async function collectRest({ contracts, account }: ChainActor): Promise<bigint> {
	const owed = await read(contracts, "jobEscrow", "owedTo", account.address);
	if (owed === 0n) return 0n;
	await requireGas(contracts.client, account, GAS.small);
	await sendCall(contracts.client, account, callOf(contracts, "jobEscrow", "collect", account.address));
	return owed;
}

/** What the escrow has of a job: also one that was taken back stays funded in its book. */
export const fundedJob = ({ contracts }: ChainActor, terms: JobTerms) =>
	read(contracts, "jobEscrow", "jobOf", jobIdOf(terms));

/** Coins of a trial account: gas for years. */
const TRIAL_WEI = 10n ** 18n;

/** Null: the validator has no chain. Throws CHAIN_MISSING, KEY_UNUSABLE, JOB_ACCOUNT. */
export async function openJobPayer(
	values: PayerValues,
	io: CliIo,
	api: Pick<ApiClient, "getChain">,
): Promise<JobPayer | null> {
	const named = await readKeyOption(values, io);
	const { chain } = await api.getChain();
	if (chain === null && named === null) return null;
	const isTrial = named === null && chain?.isEmbedded === true && (await ownersDoor(values, io)) !== null;
	if (named === null && !isTrial)
		throw new AssayError("JOB_ACCOUNT", "jobs of this validator are paid on chain, and no account was named", {
			hint: chain?.isEmbedded
				? "Name the data folder of the network's `assay up` with --data DIR: then an account is made and funded. Elsewhere name the key of an account with --key-file FILE."
				: "Name the key of the account that pays with --key-file FILE or ASSAY_CHAIN_KEY.",
		});
	const actor = await openCustomerChain(named ?? (await trialAccount(io)), values, io, api);
	return {
		actor,
		async fund(terms, { chainId, contract }) {
			const { contracts } = actor;
			const { addresses, client } = contracts;
			if (chainId !== client.chainId || contract.toLowerCase() !== addresses.jobEscrow.toLowerCase())
				throw new AssayError("CHAIN_MISSING", `the job is paid on chain ${chainId} by ${contract}`, {
					hint: `The node is of chain ${client.chainId}, whose JobEscrow is ${addresses.jobEscrow}. Name another with --rpc.`,
				});
			const amount = jobCost(terms);
			await alone(actor.account, io, async () => {
				if ((await fundedJob(actor, terms)).isFunded) return;
				await collectRest(actor);
				if (isTrial) await fillTrial(actor, amount, chainFolder(dataDirOf(values, io)));
				await requireFunds(actor, { tokens: amount, gas: GAS.register });
				const funding = { spender: "jobEscrow", amount, call: fundJobCall(contracts, terms) } as const;
				await sendApproved(contracts, actor.account, funding).catch(async (error: unknown) => {
					// What a command that was killed had sent came first.
					if (!(await fundedJob(actor, terms)).isFunded) throw error;
				});
			});
		},
		alone: (work) => alone(actor.account, io, work),
		collect: () => alone(actor.account, io, () => collectRest(actor)),
	};
}

/** A turn takes some seconds; on a public chain a minute. */
const TURN_MS = 30_000;

/**
 * One command of this user at a time pays from an account: what one approves for its job, another that
 * approves after it would take away. Where nothing can be locked nobody waits: the chain refuses what does
 * not fit.
 */
export async function alone<T>({ address }: ChainAccount, io: CliIo, work: (folder: string) => Promise<T>): Promise<T> {
	const folder = join(customerFolder(io.env), "paying", address.toLowerCase());
	await makeFolder(folder);
	let turn = await lockOrGoOn(folder, TURN_MS);
	while (turn === null && !io.interrupted.aborted) turn = await lockOrGoOn(folder, TURN_MS);
	try {
		return await work(folder);
	} finally {
		await turn?.release();
	}
}

async function trialAccount(io: CliIo): Promise<ChainAccount> {
	const secret = await loadAccountKey({
		path: join(customerFolder(io.env), "customer-account.key"),
		name: "the customer's account on the chain",
		elsewhere: "Set ASSAY_HOME to",
		randomBytes: realEnvironment().randomBytes,
	});
	return accountOf(`0x${bytesToHex(secret)}`);
}

/**
 * What is missing, coins for gas and so many tokens, from the treasury of the embedded chain; nothing where
 * its key is not there.
 */
export async function fillTrial({ contracts, account }: ChainActor, amount: bigint, folder: string): Promise<void> {
	const treasurer = await treasurerOf({ folder, isEmbedded: true }).catch(() => null);
	if (treasurer === null) return;
	const { client } = contracts;
	const { address } = account;
	if ((await client.viem.getBalance({ address })) < TRIAL_WEI / 2n)
		await sendCall(client, treasurer, { to: address, data: "0x", value: TRIAL_WEI });
	const has = await read(contracts, "token", "balanceOf", address);
	if (has < amount) await sendCall(client, treasurer, callOf(contracts, "token", "transfer", address, amount - has));
}
