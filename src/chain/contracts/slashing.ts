// Slashing.sol: statements that can cost their signer its stake, as EIP-712 has them, and what a proof
// against one took. The proofs themselves are `callOf` of contracts.ts by name; docs/slashing.md.
import {
	type ContractFunctionArgs,
	encodeAbiParameters,
	type Hex,
	hashTypedData,
	hexToBytes,
	keccak256,
	parseEventLogs,
	type TransactionReceipt,
} from "viem";
import type { ReceiptDomain } from "../../protocol/chain/probe-receipt.ts";
import type { SignedReport } from "../../protocol/chain/report-signature.ts";
import { isSignedBy } from "../../protocol/chain/typed-data.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import type { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainAccount } from "../sending/sign.ts";
import type { Contracts } from "./contracts.ts";

export type ProbeReceipt = ContractFunctionArgs<typeof slashingAbi, "nonpayable", "proveGemm">[0];

const REPORT_TYPES = {
	ScoreReport: [
		{ name: "validator", type: "address" },
		{ name: "epoch", type: "uint64" },
		{ name: "root", type: "bytes32" },
	],
} as const;

const RECEIPT_TYPES = {
	ProbeReceipt: [
		{ name: "provider", type: "address" },
		{ name: "probeId", type: "bytes32" },
		{ name: "challenge", type: "uint32" },
		{ name: "precision", type: "uint8" },
		{ name: "m", type: "uint32" },
		{ name: "n", type: "uint32" },
		{ name: "k", type: "uint32" },
		{ name: "rounds", type: "uint32" },
		{ name: "seed", type: "bytes32" },
		{ name: "end", type: "bytes32" },
	],
} as const;

const domainOf = ({ chainId, slashing }: ReceiptDomain) =>
	({ name: "assay", version: "1", chainId, verifyingContract: slashing }) as const;

const reportData = (domain: ReceiptDomain, message: SignedReport) =>
	({ domain: domainOf(domain), types: REPORT_TYPES, primaryType: "ScoreReport", message }) as const;

const receiptData = (domain: ReceiptDomain, message: ProbeReceipt) =>
	({ domain: domainOf(domain), types: RECEIPT_TYPES, primaryType: "ProbeReceipt", message }) as const;

/** "This is my report for this epoch." Whoever signs two, or reveals another, can lose its stake. */
export const signReport = (account: ChainAccount, domain: ReceiptDomain, report: SignedReport): Promise<Hex> =>
	account.signTypedData(reportData(domain, report));

export const signReceipt = (account: ChainAccount, domain: ReceiptDomain, receipt: ProbeReceipt): Promise<Hex> =>
	account.signTypedData(receiptData(domain, receipt));

/** Whether the contract will take this signature as the provider's. */
export function isReceiptSigned(domain: ReceiptDomain, receipt: ProbeReceipt, signature: Hex): boolean {
	try {
		return isSignedBy(receipt.provider, hexToBytes(receiptDigest(domain, receipt)), signature);
	} catch {
		return false; // a field that is none
	}
}

/** By which the contract remembers that a validator was punished for two reports of an epoch. */
export const conflictDeed = (validator: Hex, epoch: number): Hex =>
	keccak256(encodeAbiParameters([{ type: "address" }, { type: "uint64" }], [validator, BigInt(epoch)]));

/** By which the contract remembers that a receipt was punished. */
export const receiptDigest = (domain: ReceiptDomain, receipt: ProbeReceipt): Hex =>
	hashTypedData(receiptData(domain, receipt));

/** What a fraud proof took, as the Registry tells it. */
export interface Slashed {
	readonly account: Hex;
	readonly amount: bigint;
	readonly toAccuser: bigint;
}

export function slashedIn({ addresses }: Contracts, { logs }: Pick<TransactionReceipt, "logs">): Slashed | null {
	const own = logs.filter(({ address }) => address.toLowerCase() === addresses.registry.toLowerCase());
	const [event] = parseEventLogs({ abi: registryAbi, eventName: "Slashed", logs: own });
	if (event === undefined) return null;
	const { account, amount, toAccuser } = event.args;
	return { account, amount, toAccuser };
}
