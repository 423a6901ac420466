// Slashing.sol: statements that can cost their signer its stake, as EIP-712 has them, and what a proof
// against one took. The proofs themselves are `callOf` of contracts.ts by name; docs/slashing.md.
import {
	type ContractFunctionArgs,
	encodeAbiParameters,
	type Hex,
	hashTypedData,
	keccak256,
	parseEventLogs,
	recoverTypedDataAddress,
	type TransactionReceipt,
	type TypedDataDefinition,
} from "viem";
import type { ReceiptDomain } from "../../protocol/chain/probe-receipt.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import type { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainAccount } from "../sending/sign.ts";
import type { Contracts } from "./contracts.ts";

type Arguments<Name extends "proveGemm" | "proveRevealConflict"> = ContractFunctionArgs<
	typeof slashingAbi,
	"nonpayable",
	Name
>;
export type ProbeReceipt = Arguments<"proveGemm">[0];
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

/** Whether the contract will take this signature as the validator's. */
export const isReportSigned = (domain: ReceiptDomain, report: SignedReport, signature: Hex): Promise<boolean> =>
	isSignedBy(report.validator, reportData(domain, report) as TypedDataDefinition, signature);

/** Whether the contract will take this signature as the provider's. */
export const isReceiptSigned = (domain: ReceiptDomain, receipt: ProbeReceipt, signature: Hex): Promise<boolean> =>
	isSignedBy(receipt.provider, receiptData(domain, receipt) as TypedDataDefinition, signature);

/** Half the order of secp256k1: the contract takes the smaller of the two signatures that say the same. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Stricter than recovering: a signature that libraries read and the contract refuses binds nobody. */
async function isSignedBy(signer: Hex, data: TypedDataDefinition, signature: Hex): Promise<boolean> {
	if (!/^0x[0-9a-f]{128}(1b|1c)$/.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return false;
	try {
		return (await recoverTypedDataAddress({ ...data, signature })).toLowerCase() === signer.toLowerCase();
	} catch {
		return false;
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
