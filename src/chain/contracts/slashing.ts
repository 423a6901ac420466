// Slashing.sol: statements that can cost their signer its stake, and the proofs against them. Typed calls and the EIP-712 shapes; docs/chain.md.
import {
	type ContractFunctionArgs,
	encodeAbiParameters,
	type Hex,
	hashTypedData,
	keccak256,
	parseEventLogs,
	recoverTypedDataAddress,
	type TransactionReceipt,
} from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import type { ReceiptDomain } from "../../protocol/chain/probe-receipt.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { type Call, callOf } from "../sending/sign.ts";
import type { ContractAddresses } from "./deploy.ts";

type Arguments<Name extends "proveGemm" | "proveConflict" | "proveRevealConflict"> = ContractFunctionArgs<
	typeof slashingAbi,
	"nonpayable",
	Name
>;
export type ProbeReceipt = Arguments<"proveGemm">[0];
export type GemmFraud = Arguments<"proveGemm">[2];
export type SignedReport = Arguments<"proveRevealConflict">[0];

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

const domainOf = (at: ReceiptDomain) => ({
	name: "assay",
	version: "1",
	chainId: at.chainId,
	verifyingContract: at.slashing,
});

/** "This is my report for this epoch." Whoever signs two, or reveals another, can lose its stake. */
export const signReport = (account: PrivateKeyAccount, at: ContractAddresses, report: SignedReport): Promise<Hex> =>
	account.signTypedData(reportData(at, report));

const reportData = (at: ContractAddresses, report: SignedReport) =>
	({ domain: domainOf(at), types: REPORT_TYPES, primaryType: "ScoreReport", message: report }) as const;

/** Whether the contract will take this signature as the validator's; as strict as `isReceiptSigned`, for the same reason. */
export async function isReportSigned(at: ContractAddresses, report: SignedReport, signature: Hex): Promise<boolean> {
	if (!/^0x[0-9a-f]{130}$/.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return false;
	if (!/(1b|1c)$/.test(signature)) return false;
	try {
		const signer = await recoverTypedDataAddress({ ...reportData(at, report), signature });
		return signer.toLowerCase() === report.validator.toLowerCase();
	} catch {
		return false;
	}
}

/** By which the contract remembers that a validator was punished for two reports of an epoch. */
export const conflictDeed = (validator: Hex, epoch: number): Hex =>
	keccak256(encodeAbiParameters([{ type: "address" }, { type: "uint64" }], [validator, BigInt(epoch)]));

const receiptData = (at: ReceiptDomain, receipt: ProbeReceipt) =>
	({ domain: domainOf(at), types: RECEIPT_TYPES, primaryType: "ProbeReceipt", message: receipt }) as const;

export const signReceipt = (account: PrivateKeyAccount, at: ReceiptDomain, receipt: ProbeReceipt): Promise<Hex> =>
	account.signTypedData(receiptData(at, receipt));

/** Half the order of secp256k1: the contract takes the smaller of the two signatures that say the same. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Whether the contract will take this signature as the provider's. Stricter than recovering: a provider could sign in a form that every library reads and the
 * contract refuses, and would be bound by nothing.
 */
export async function isReceiptSigned(at: ReceiptDomain, receipt: ProbeReceipt, signature: Hex): Promise<boolean> {
	if (!/^0x[0-9a-f]{130}$/.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return false;
	if (!/(1b|1c)$/.test(signature)) return false;
	try {
		const signer = await recoverTypedDataAddress({ ...receiptData(at, receipt), signature });
		return signer.toLowerCase() === receipt.provider.toLowerCase();
	} catch {
		return false;
	}
}

/** By which the contract remembers that a receipt was punished. */
export const receiptDigest = (at: ReceiptDomain, receipt: ProbeReceipt): Hex => hashTypedData(receiptData(at, receipt));

export const readIsPunished = (client: ChainClient, at: ContractAddresses, deed: Hex): Promise<boolean> =>
	client.viem.readContract({ address: at.slashing, abi: slashingAbi, functionName: "isPunished", args: [deed] });

/** What a fraud proof took, as the Registry tells it. */
export interface Slashed {
	readonly account: Hex;
	readonly amount: bigint;
	readonly toAccuser: bigint;
}

export function slashedIn(at: ContractAddresses, { logs }: Pick<TransactionReceipt, "logs">): Slashed | null {
	const own = logs.filter(({ address }) => address.toLowerCase() === at.registry.toLowerCase());
	const [event] = parseEventLogs({ abi: registryAbi, eventName: "Slashed", logs: own });
	if (event === undefined) return null;
	const { account, amount, toAccuser } = event.args;
	return { account, amount, toAccuser };
}

export const proveGemmCall = (at: ContractAddresses, receipt: ProbeReceipt, signature: Hex, fraud: GemmFraud): Call =>
	callOf(at.slashing, { abi: slashingAbi, functionName: "proveGemm", args: [receipt, signature, fraud] });

export const proveConflictCall = (
	at: ContractAddresses,
	first: { readonly report: SignedReport; readonly signature: Hex },
	second: { readonly report: SignedReport; readonly signature: Hex },
): Call =>
	callOf(at.slashing, {
		abi: slashingAbi,
		functionName: "proveConflict",
		args: [first.report, first.signature, second.report, second.signature],
	});

export const proveRevealConflictCall = (at: ContractAddresses, report: SignedReport, signature: Hex): Call =>
	callOf(at.slashing, { abi: slashingAbi, functionName: "proveRevealConflict", args: [report, signature] });
