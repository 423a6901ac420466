// Disputes.sol and its judges: the answers that a provider signs about its claim, and the proofs that convict
// by them. docs/chain.md §12. The game that makes a silent provider speak is dispute-games.ts.
import { type ContractFunctionArgs, encodeAbiParameters, type Hex, keccak256, parseAbiParameters } from "viem";
import type { disputesAbi } from "../abi/disputes-abi.ts";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf, read } from "./contracts.ts";

type Addressed = Pick<Contracts, "addresses">;

/** The accused claim, and what binds the answers to it. */
export type AccusedCase = ContractFunctionArgs<typeof disputesAbi, "nonpayable", "prove">[1];
export type ElementFault = ContractFunctionArgs<typeof disputesAbi, "nonpayable", "prove">[2];
export type WireFault = ContractFunctionArgs<typeof disputesAbi, "nonpayable", "proveWire">[2];

/** The accused's word: hash of the answer to a question about one of its claims. */
export interface Answer {
	readonly claim: Hex;
	readonly question: Hex;
	readonly answerHash: Hex;
}

const TYPES = {
	Answer: [
		{ name: "claim", type: "bytes32" },
		{ name: "question", type: "bytes32" },
		{ name: "answerHash", type: "bytes32" },
	],
} as const;

/** By the claim's provider. It signs one answer to a question, ever: two convict it. */
export const signAnswer = (
	provider: ChainAccount,
	{ addresses: { chainId, disputes } }: Addressed,
	answer: Answer,
): Promise<Hex> =>
	provider.signTypedData({
		domain: { name: "assay", version: "1", chainId, verifyingContract: disputes },
		types: TYPES,
		primaryType: "Answer",
		message: answer,
	});

/**
 * A contradiction in what the provider signed. The sender is the accuser if it announced this evidence in an
 * earlier block.
 */
export const proveCall = (contracts: Addressed, salt: Hex, accused: AccusedCase, fault: ElementFault): Call =>
	callOf(contracts, "disputes", "prove", salt, accused, fault);

/** A root that is not that of its origin, or a false word about a tensor's writer. */
export const proveWireCall = (contracts: Addressed, salt: Hex, accused: AccusedCase, fault: WireFault): Call =>
	callOf(contracts, "disputes", "proveWire", salt, accused, fault);

/**
 * Two different answers to one question, each signed by the provider, or said on the chain (an empty
 * signature).
 */
export const proveTwoWordsCall = (
	contracts: Addressed,
	salt: Hex,
	accused: AccusedCase,
	{ question, answers, signatures }: TwoWordsSaid,
): Call => callOf(contracts, "disputes", "proveTwoWords", salt, accused, question, answers, signatures);

interface TwoWordsSaid {
	readonly question: Hex;
	readonly answers: readonly [Hex, Hex];
	readonly signatures: readonly [Hex, Hex];
}

export const announceProofCall = (contracts: Addressed, hash: Hex): Call =>
	callOf(contracts, "disputes", "announce", hash);

/** Whether it stands in a block. */
export const isProofAnnounced = async (contracts: Contracts, hash: Hex): Promise<boolean> =>
	(await read(contracts, "disputes", "announcedAt", hash)) !== 0n;

/**
 * What `announce` takes before a proof is sent: nobody can tell from it which, and whoever copies the proof
 * announced nothing.
 */
export function announcementOf(accuser: Hex, proof: Call, salt: Hex): Hex {
	// Selector and salt are not part of the evidence.
	const evidence = keccak256(`0x${proof.data.slice(2 + 8 + 64)}`);
	return keccak256(encodeAbiParameters(parseAbiParameters("address, bytes32, bytes32"), [accuser, evidence, salt]));
}
