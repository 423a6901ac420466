// The terms of a job as they travel in JSON, and as the contract takes them. Hostile text is refused:
// TypeError-free by shape, the API checked it.

import type { Hex } from "viem";
import type { EscrowTermsText } from "../../protocol/network/job-offer.ts";
import type { JobTerms } from "./job-escrow.ts";

export function jobTermsToText(terms: JobTerms): EscrowTermsText {
	const { segments, price, fee, audit, bond, startBy, customer, validators, ...rest } = terms;
	return {
		...rest,
		customer: customer.toLowerCase(),
		...{ segments: `${segments}`, price: `${price}`, fee: `${fee}`, audit: `${audit}`, bond: `${bond}` },
		startBy: `${startBy}`,
		validators: validators.map((one) => one.toLowerCase()),
	};
}

/** Of text that the API's schema took. */
export function jobTermsFromText(text: EscrowTermsText): JobTerms {
	const { segments, price, fee, audit, bond, startBy, validators, ...rest } = text;
	return {
		...(rest as Pick<JobTerms, keyof typeof rest>),
		...{ segments: BigInt(segments), price: BigInt(price), fee: BigInt(fee), audit: BigInt(audit) },
		...{ bond: BigInt(bond), startBy: BigInt(startBy), validators: validators as readonly Hex[] },
	};
}
