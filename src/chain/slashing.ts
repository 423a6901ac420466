// Slashing.sol: statements that can cost their signer its stake, and the proofs against them. Typed calls and the EIP-712 shapes; docs/chain.md.
import type { ContractFunctionArgs, Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { slashingAbi } from "./abi/slashing-abi.ts";
import { type Call, callOf } from "./chain-client.ts";
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

const domainOf = (at: ContractAddresses) => ({
	name: "assay",
	version: "1",
	chainId: at.chainId,
	verifyingContract: at.slashing,
});

/** "This is my report for this epoch." Whoever signs two, or reveals another, can lose its stake. */
export const signReport = (account: PrivateKeyAccount, at: ContractAddresses, report: SignedReport): Promise<Hex> =>
	account.signTypedData({ domain: domainOf(at), types: REPORT_TYPES, primaryType: "ScoreReport", message: report });

export const signReceipt = (account: PrivateKeyAccount, at: ContractAddresses, receipt: ProbeReceipt): Promise<Hex> =>
	account.signTypedData({ domain: domainOf(at), types: RECEIPT_TYPES, primaryType: "ProbeReceipt", message: receipt });

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
