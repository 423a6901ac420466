// Who pays for a job, the two transactions that fund it, and those that take it back: the browser's own
// wallet (EIP-1193), or on a trial network an account that this page keeps (trial-account.ts). What a wallet
// says is a stranger's word: shown as text, never obeyed.
import type { createApiClient } from "../../../src/api/create-client.ts";
import type { Chain } from "../../../src/api/types.ts";
import { takeBackParts } from "../../../src/market/jobs/take-back.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import {
	approveData,
	cancelData,
	collectData,
	escrowCost,
	expireData,
	fundData,
	shareData,
} from "../../../src/protocol/chain/job-escrow-calls.ts";
import type { JobOffer } from "../../../src/protocol/network/job-offer.ts";
import { isPassing } from "../../../src/protocol/passing.ts";

interface Provider {
	request(ask: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}
type Escrow = NonNullable<JobOffer["escrow"]>;
type Client = Pick<ReturnType<typeof createApiClient>, "fundTrialAccount" | "sendTrialTransaction">;

/** A module of its own, loaded when an account is needed: signing is much code. */
declare const TRIAL_ACCOUNT: string;

export interface Wallet {
	/** In lower case. */
	readonly account: `0x${string}`;
	/** An account of this page: nobody is asked to confirm. */
	readonly isTrial: boolean;
	/** Throws CHAIN_REFUSED: it did not happen; CHAIN_UNKNOWN: it may have. */
	readonly send: (to: string, data: string) => Promise<void>;
	/** The same; false: the contract would refuse it, and nobody was asked to confirm it. */
	readonly attempt: (to: string, data: string) => Promise<boolean>;
}

const found = (): Provider | null => (globalThis as { readonly ethereum?: Provider }).ethereum ?? null;
/** Whether a job on this chain can be paid from here. */
export const mayPayOn = (chain: Pick<Chain, "trialAccounts">): boolean => chain.trialAccounts || found() !== null;

function refused(error: unknown): AssayError {
	const said = error instanceof Error ? error.message : (error as { readonly message?: unknown } | null)?.message;
	return new AssayError("CHAIN_REFUSED", `the wallet says: ${String(said ?? "no").slice(0, 300)}`, {
		hint: "Confirm it in the wallet, and see that the account has enough tokens and coins for gas.",
	});
}

const failed = (hash: unknown): AssayError =>
	new AssayError("CHAIN_REFUSED", `the transaction ${String(hash).slice(0, 66)} failed`, {
		hint: "The account has too few tokens, or the offer has run out.",
	});

/** The transaction was handed over, and no answer came. */
const unknown = (cause: AssayError): AssayError =>
	new AssayError("CHAIN_UNKNOWN", `whether the transaction happened is not known: ${cause.message}`, {
		hint: "Try again: the job is handed in if it was paid for, and paid for if it was not. It costs its price once.",
		cause,
	});

/** Throws JOB_ACCOUNT, CHAIN_OTHER, CHAIN_REFUSED. */
export async function openWallet(chain: Chain, client: Client): Promise<Wallet> {
	const wallet = found();
	// A wallet that its owner has put on this chain is meant. It needs no permission to say where it is.
	const isHere =
		wallet !== null && Number(await wallet.request({ method: "eth_chainId" }).catch(() => null)) === chain.chainId;
	if (chain.trialAccounts && !isHere) return openTrialAccount(chain, client);
	if (wallet === null) throw new AssayError("JOB_ACCOUNT", "this browser has no wallet");
	return connect(wallet, chain);
}

async function openTrialAccount({ chainId }: Chain, client: Client): Promise<Wallet> {
	const { trialAccount } = (await import(TRIAL_ACCOUNT)) as typeof import("./trial-account.ts");
	const key = trialAccount();
	const account = key.address.toLowerCase() as `0x${string}`;
	const send: Wallet["send"] = async (to, data) => {
		const { nonce, gas, ...fees } = await client.fundTrialAccount({ params: { account } });
		const raw = await key.signTransaction({
			...{ type: "eip1559", chainId, nonce, gas: BigInt(gas), to: to as `0x${string}`, data: data as `0x${string}` },
			...{ maxFeePerGas: BigInt(fees.maxFeePerGas), maxPriorityFeePerGas: BigInt(fees.maxPriorityFeePerGas) },
		});
		const { hash, isDone } = await client.sendTrialTransaction({ body: { raw } }).catch((error: unknown) => {
			throw isPassing(error) ? unknown(error) : error;
		});
		if (!isDone) throw failed(hash);
	};
	// Gas is free here, and a refusal is one transaction that fails.
	const attempt = (to: string, data: string) =>
		send(to, data).then(
			() => true,
			(error: unknown) => {
				if (error instanceof AssayError && error.code === "CHAIN_REFUSED") return false;
				throw error;
			},
		);
	return { account, isTrial: true, send, attempt };
}

const LOOK_EVERY_MS = 700;
/** A wallet's own code for a chain that it does not know. */
const UNKNOWN_CHAIN = 4902;

async function connect(wallet: Provider, chain: Chain): Promise<Wallet> {
	const ask = async (method: string, params: readonly unknown[] = []): Promise<unknown> =>
		await wallet.request({ method, params }).catch((error: unknown) => {
			throw refused(error);
		});
	const accounts = await ask("eth_requestAccounts");
	const account = Array.isArray(accounts) ? String(accounts[0]).toLowerCase() : "";
	if (!/^0x[0-9a-f]{40}$/.test(account)) throw refused("no account");
	if (Number(await ask("eth_chainId")) !== chain.chainId) await switchTo(wallet, chain);
	if (Number(await ask("eth_chainId")) !== chain.chainId)
		throw new AssayError("CHAIN_OTHER", `the wallet is on another chain than ${chain.chainId}`, {
			hint: "Choose that network in the wallet.",
		});
	const send: Wallet["send"] = async (to, data) => {
		const hash = await ask("eth_sendTransaction", [{ from: account, to, data }]);
		for (;;) {
			// It was sent: a node that is away for a moment says nothing about it.
			const asked = ask("eth_getTransactionReceipt", [hash]).catch(() => null);
			const receipt = (await asked) as { readonly status?: unknown } | null;
			if (receipt !== null) {
				if (Number(receipt.status) === 1) return;
				throw failed(hash);
			}
			await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
		}
	};
	return {
		account: account as `0x${string}`,
		isTrial: false,
		send,
		async attempt(to, data) {
			// As of now: a quiet chain's newest block is from an earlier time.
			const params = [{ from: account, to, data }, "pending"];
			const isTaken = await wallet.request({ method: "eth_call", params }).then(
				() => true,
				() => false,
			);
			if (isTaken) await send(to, data);
			return isTaken;
		},
	};
}

/** Adds the network, and its token, to a wallet that does not know it, where the operator named a node. */
async function switchTo(wallet: Provider, { chainId, rpcUrl, token, contracts }: Chain): Promise<void> {
	const hex = `0x${chainId.toString(16)}`;
	try {
		await wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId: hex }] });
	} catch (error) {
		if ((error as { readonly code?: unknown } | null)?.code !== UNKNOWN_CHAIN || rpcUrl === null) throw refused(error);
		const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
		const network = { chainId: hex, chainName: `assay ${chainId}`, rpcUrls: [rpcUrl], nativeCurrency };
		const asset = { type: "ERC20", options: { address: contracts.token, ...token } };
		try {
			await wallet.request({ method: "wallet_addEthereumChain", params: [network] });
			// Only so that the wallet shows the balance.
			await wallet.request({ method: "wallet_watchAsset", params: asset as never }).catch(() => {});
		} catch (reason) {
			throw refused(reason);
		}
	}
}

/** Allows the escrow to take what the offer costs, and funds it. `tell` says what is done now. */
export async function fundJob(
	wallet: Wallet,
	{ contract, terms }: Escrow,
	token: string,
	tell: (what: "allow" | "fund") => void,
): Promise<void> {
	requireAccount(wallet, terms.customer);
	tell("allow");
	await wallet.send(token, approveData(contract, escrowCost(terms)));
	tell("fund");
	await wallet.send(contract, fundData(terms));
}

/**
 * Takes back what nobody has, and has it paid out: parts that nobody ever had, and of `had` those that
 * somebody had once. Throws CHAIN_REFUSED where the escrow gives nothing back.
 */
export async function cancelJob(
	wallet: Wallet,
	{ contract, terms }: Escrow,
	had: readonly number[] = [],
): Promise<void> {
	requireAccount(wallet, terms.customer);
	const isTaken = await takeBackParts(had, (call) =>
		wallet.attempt(contract, call.kind === "cancel" ? cancelData(terms) : expireData(terms, call.part)),
	);
	if (!isTaken)
		throw new AssayError("CHAIN_REFUSED", "the escrow gives nothing of this job back now", {
			hint: "Somebody has a part of it until its time is over, or it was given back before.",
		});
	await wallet.attempt(contract, shareData(terms));
	await wallet.attempt(contract, collectData(wallet.account));
}

function requireAccount({ account }: Wallet, customer: string): void {
	if (account !== customer.toLowerCase())
		throw new AssayError("JOB_ACCOUNT", `the job is paid by ${customer}, and this browser has ${account}`, {
			hint: "Choose that account in the wallet.",
		});
}
