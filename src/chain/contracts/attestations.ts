// Attestations.sol: TDX quotes that the chain judges itself. Cold: whatever of Intel's it does not know yet,
// and the attestation key. Warm: one quote. docs/attestation.md, "On a chain".
import type { Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { CollateralParts, CurvePoint, QuoteParts } from "../../protocol/chain/attested-parts.ts";
import { refusedBecause } from "../sending/refusal.ts";
import { sendCall } from "../sending/send-call.ts";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf, read } from "./contracts.ts";

/**
 * Registers the key that signed this quote, until the first thing that it rests on ends, and gives its id.
 * Whatever others have brought costs nothing; reverts say what is wrong by the contract's errors.
 */
export async function registerQuoteKey(
	contracts: Contracts,
	from: ChainAccount,
	quote: QuoteParts,
	collateral: CollateralParts,
): Promise<Hex> {
	const bring = async (call: Call): Promise<void> => {
		try {
			await sendCall(contracts.client, from, call);
		} catch (error) {
			// It is known, or something newer is.
			if (refusedBecause(error) !== "Older") throw error;
		}
	};
	if (quote.authority === null)
		throw new AssayError("ATTESTATION_UNFIT", "the quote does not say who certified its platform", {
			hint: "The chain takes quotes with three certificates inside.",
		});
	await bring(callOf(contracts, "attestations", "list", 0, collateral.rootList));
	for (const { signed } of [quote.authority, collateral.signer])
		await bring(callOf(contracts, "attestations", "certify", signed));
	const numberOf = (key: CurvePoint) => read(contracts, "attestations", "numberOf", key);
	const [authority, signer] = [await numberOf(quote.authority.key), await numberOf(collateral.signer.key)];
	await bring(callOf(contracts, "attestations", "list", authority, collateral.pckList));
	await bring(callOf(contracts, "attestations", "inform", signer, collateral.tcbInfo));
	await bring(callOf(contracts, "attestations", "identify", signer, collateral.identity));
	await sendCall(contracts.client, from, registerQuoteKeyCall(contracts, authority, quote, collateral));
	return quote.id;
}

export function registerQuoteKeyCall(
	contracts: Pick<Contracts, "addresses">,
	authority: number,
	{ pck, qe, qeAuth, key, teeTcbSvn, seam }: QuoteParts,
	{ readInfo: info, readIdentity: identity }: CollateralParts,
): Call {
	return callOf(contracts, "attestations", "register", {
		...{ authority, pck, qe, qeAuth, key, teeTcbSvn, seam },
		info,
		identity,
	});
}

/** That the guest answered `bind` with the set of reports that its quote names. */
export const attestCall = (
	contracts: Pick<Contracts, "addresses">,
	{ quote, key }: QuoteParts,
	bind: Hex,
	guest: Hex,
): Call => callOf(contracts, "attestations", "attest", quote, key, bind, guest);
