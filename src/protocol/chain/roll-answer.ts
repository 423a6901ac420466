// A signer's EIP-712 signature under one device's answer to a roll call: without it nobody can demand an
// opening of its account, whatever tree its name stands in (contracts/src/rollcall/RollCall.sol). The hash of
// the call's block is in it, so that what was computed on a dropped fork accuses nobody. Signing is
// src/chain/contracts/roll-call.ts.
import type { RollCallId } from "../roll-call/roll-call.ts";
import { type Hex, toHex } from "./hex.ts";
import { signerOf, typedDigest } from "./typed-data.ts";

/** As Solidity has it; `leaf` is rollLeaf of src/protocol/roll-call. */
export interface SignedAnswer extends RollCallId {
	readonly beta0: Uint8Array;
	readonly leaf: Uint8Array;
}

/**
 * Whose signature the contract will take it for; null: nobody's. Which account a signer speaks for is the
 * Registry's to say.
 */
export const answerSigner = (answer: SignedAnswer, signature: Hex): Hex | null =>
	signerOf(answerDigest(answer), signature);

export const answerDigest = ({ chainId, contract, call, beta0, leaf }: SignedAnswer): Uint8Array =>
	typedDigest(chainId, contract as Hex, "RollAnswer(uint64 call,bytes32 beta,bytes32 leaf)", [
		call,
		toHex(beta0),
		toHex(leaf),
	]);
