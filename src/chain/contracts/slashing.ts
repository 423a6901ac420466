// Slashing.sol: receipts of providers, which can cost their signer's account its stake, as EIP-712 has them;
// what an accuser announces; and what a proof took. The proofs themselves are `callOf` of contracts.ts by
// name; docs/slashing.md.
import {
	type ContractFunctionArgs,
	encodeAbiParameters,
	type Hex,
	keccak256,
	parseEventLogs,
	type TransactionReceipt,
} from "viem";
import type { ReceiptDomain } from "../../protocol/chain/probe-receipt.ts";
import { signerOf, typedDigest } from "../../protocol/chain/typed-data.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import type { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainAccount } from "../sending/sign.ts";
import type { Contracts } from "./contracts.ts";

export type ProbeReceipt = ContractFunctionArgs<typeof slashingAbi, "nonpayable", "proveGemm">[0];

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
		{ name: "tree", type: "bytes32" },
	],
} as const;
const RECEIPT = `ProbeReceipt(${RECEIPT_TYPES.ProbeReceipt.map(({ type, name }) => `${type} ${name}`)})`;

/** By the provider's signer. */
export const signReceipt = (
	signer: ChainAccount,
	{ chainId, slashing }: ReceiptDomain,
	receipt: ProbeReceipt,
): Promise<Hex> =>
	signer.signTypedData({
		domain: { name: "assay", version: "1", chainId, verifyingContract: slashing },
		types: RECEIPT_TYPES,
		primaryType: "ProbeReceipt",
		message: receipt,
	});

/** Whose signature it is, in the one form that the contract takes, in lower case; null for any other. */
export function receiptSigner({ chainId, slashing }: ReceiptDomain, receipt: ProbeReceipt, signature: Hex): Hex | null {
	try {
		const fields = RECEIPT_TYPES.ProbeReceipt.map(({ name }) => receipt[name]);
		return signerOf(typedDigest(chainId, slashing, RECEIPT, fields), signature);
	} catch {
		return null; // a field that is none
	}
}

/**
 * By which the contract remembers that a provider was punished for a probe, and what an accuser announces.
 */
export const deedOf = ({ provider, probeId }: Pick<ProbeReceipt, "provider" | "probeId">): Hex =>
	keccak256(encodeAbiParameters([{ type: "address" }, { type: "bytes32" }], [provider, probeId]));

/** What an accuser announces in a block before its proof, so that nobody gains by copying the proof. */
export const announcementOf = (accuser: Hex, deed: Hex, salt: Hex): Hex =>
	keccak256(
		encodeAbiParameters([{ type: "address" }, { type: "bytes32" }, { type: "bytes32" }], [accuser, deed, salt]),
	);

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
