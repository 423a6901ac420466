// JobEscrow's terms as the contract encodes them, and the calls that a customer makes: approve, fund, cancel,
// expire, share, collect. docs/chain.md §11. Pure, so that a page checks an offer and hands the calls to the
// browser's wallet. Signing and sending elsewhere is src/chain/.
import { concatBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { keccak } from "../hash/keccak-tree.ts";
import type { EscrowTermsText } from "../network/job-offer.ts";
import { type Hex, packed, toHex } from "./hex.ts";

const word = (value: bigint | number | string): Uint8Array => packed(BigInt(value), 32);
const selector = (signature: string): Uint8Array => keccak(utf8ToBytes(signature)).subarray(0, 4);

const FIELDS = [
	["address", "customer"],
	["bytes32", "salt"],
	["bytes32", "program"],
	["bytes32", "inputs"],
	["bytes32", "spec"],
	["bytes32", "seed"],
	["bytes32", "start"],
	["uint64", "segments"],
	["uint32", "parts"],
	["uint128", "price"],
	["uint128", "fee"],
	["uint128", "audit"],
	["uint128", "bond"],
	["uint64", "startBy"],
	["uint32", "workSeconds"],
	["uint32", "windowSeconds"],
	["uint32", "checkedSeconds"],
	["uint8", "method"],
	["uint8", "quorum"],
] as const satisfies readonly (readonly [string, Exclude<keyof EscrowTermsText, "validators">])[];
const TUPLE = `(${FIELDS.map(([type]) => type).join(",")},address[])`;

/** The first argument, of a type without a fixed size: where it begins, the others, its words, its list. */
function encodedTerms(terms: EscrowTermsText, ...others: readonly number[]): Uint8Array {
	return concatBytes(
		word(32 * (1 + others.length)),
		...others.map(word),
		...FIELDS.map(([, name]) => word(terms[name])),
		word(32 * (FIELDS.length + 1)),
		word(terms.validators.length),
		...terms.validators.map(word),
	);
}

/** A job's number, 64 hex digits: the hash of its terms. */
export const escrowJobId = (terms: EscrowTermsText): string => toHex(keccak(encodedTerms(terms))).slice(2);

/** What fund takes, of the token's smallest unit; it must be approved before. */
export const escrowCost = ({ parts, price, fee, audit }: EscrowTermsText): bigint =>
	BigInt(parts) * (BigInt(price) + BigInt(fee) + BigInt(audit));

export const approveData = (escrow: string, amount: bigint): Hex =>
	toHex(concatBytes(selector("approve(address,uint256)"), word(escrow), word(amount)));
export const fundData = (terms: EscrowTermsText): Hex =>
	toHex(concatBytes(selector(`fund(${TUPLE})`), encodedTerms(terms)));
/** Parts that were never assigned come back. */
export const cancelData = (terms: EscrowTermsText): Hex =>
	toHex(concatBytes(selector(`cancel(${TUPLE})`), encodedTerms(terms)));
/** A part whose time is over is open again; one that is open again comes back. */
export const expireData = (terms: EscrowTermsText, part: number): Hex =>
	toHex(concatBytes(selector(`expire(${TUPLE},uint32)`), encodedTerms(terms, part)));
/** What checks of settled parts did not cost is owed to the customer. */
export const shareData = (terms: EscrowTermsText): Hex =>
	toHex(concatBytes(selector(`share(${TUPLE})`), encodedTerms(terms)));
/** What the escrow owes to whoever sends it. */
export const collectData = (to: string): Hex => toHex(concatBytes(selector("collect(address)"), word(to)));
