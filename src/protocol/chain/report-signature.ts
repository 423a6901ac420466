// A validator's EIP-712 signature under its report, checked as contracts/src/slashing/Slashing.sol checks it. Signing is
// src/chain/contracts/slashing.ts.
import type { Hex } from "./hex.ts";
import type { ReceiptDomain } from "./probe-receipt.ts";
import { isSignedBy, typedDigest } from "./typed-data.ts";

export interface SignedReport {
	readonly validator: Hex;
	readonly epoch: bigint;
	readonly root: Hex;
}

/** Whether the contract will take this signature as the validator's. */
export function isReportSigned(
	{ chainId, slashing }: ReceiptDomain,
	{ validator, epoch, root }: SignedReport,
	signature: Hex,
): boolean {
	const type = "ScoreReport(address validator,uint64 epoch,bytes32 root)";
	return isSignedBy(validator, typedDigest(chainId, slashing, type, [validator, epoch, root]), signature);
}
