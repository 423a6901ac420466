// The browser's own wallet (EIP-1193): who pays, and the two transactions that fund a job. Nothing is loaded
// for it; without a wallet in this browser there is none. What it says is a stranger's word: shown as text,
// never obeyed.
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { approveData, cancelData, escrowCost, fundData } from "../../../src/protocol/chain/job-escrow-calls.ts";
import type { JobOffer } from "../../../src/protocol/network/job-offer.ts";

interface Provider {
	request(ask: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}
type Escrow = NonNullable<JobOffer["escrow"]>;

const found = (): Provider | null => (globalThis as { readonly ethereum?: Provider }).ethereum ?? null;
export const hasWallet = (): boolean => found() !== null;

function refused(error: unknown): AssayError {
	const said = error instanceof Error ? error.message : (error as { readonly message?: unknown } | null)?.message;
	return new AssayError("CHAIN_REFUSED", `the wallet says: ${String(said ?? "no").slice(0, 300)}`, {
		hint: "Confirm it in the wallet, and see that the account has enough tokens and coins for gas.",
	});
}

async function ask(method: string, params: readonly unknown[] = []): Promise<unknown> {
	const wallet = found();
	if (wallet === null) throw new AssayError("JOB_ACCOUNT", "this browser has no wallet");
	return await wallet.request({ method, params }).catch((error: unknown) => {
		throw refused(error);
	});
}

/** The account that pays, in lower case, on this chain. */
export async function connectWallet(chainId: number): Promise<`0x${string}`> {
	const accounts = await ask("eth_requestAccounts");
	const account = Array.isArray(accounts) ? String(accounts[0]).toLowerCase() : "";
	if (!/^0x[0-9a-f]{40}$/.test(account)) throw refused("no account");
	if (Number(await ask("eth_chainId")) !== chainId)
		await ask("wallet_switchEthereumChain", [{ chainId: `0x${chainId.toString(16)}` }]);
	if (Number(await ask("eth_chainId")) !== chainId)
		throw new AssayError("CHAIN_OTHER", `the wallet is on another chain than ${chainId}`, {
			hint: "Choose that network in the wallet.",
		});
	return account as `0x${string}`;
}

const LOOK_EVERY_MS = 700;

async function send(from: string, to: string, data: string): Promise<void> {
	const hash = await ask("eth_sendTransaction", [{ from, to, data }]);
	for (;;) {
		const receipt = (await ask("eth_getTransactionReceipt", [hash])) as { readonly status?: unknown } | null;
		if (receipt !== null) {
			if (Number(receipt.status) === 1) return;
			throw new AssayError("CHAIN_REFUSED", `the transaction ${String(hash).slice(0, 66)} failed`, {
				hint: "Look it up in the wallet: too few tokens, or the offer has run out.",
			});
		}
		await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
	}
}

/**
 * Allows the escrow to take what the offer costs, and funds it. `tell` says what the wallet is asked for now.
 */
export async function fundByWallet(
	{ contract, terms }: Escrow,
	token: string,
	tell: (what: "allow" | "fund") => void,
): Promise<void> {
	tell("allow");
	await send(terms.customer, token, approveData(contract, escrowCost(terms)));
	tell("fund");
	await send(terms.customer, contract, fundData(terms));
}

/** Takes back what nobody was ever assigned. */
export async function cancelByWallet({ chainId, contract, terms }: Escrow): Promise<void> {
	const account = await connectWallet(chainId);
	if (account !== terms.customer.toLowerCase())
		throw new AssayError("JOB_ACCOUNT", `the job was funded by ${terms.customer}, and the wallet has ${account}`, {
			hint: "Choose that account in the wallet.",
		});
	await send(account, contract, cancelData(terms));
}
