// Which account a provider works for: it locks the bonds and is paid. The account itself says so, by a
// signature (EIP-191) that names the provider's key. Else anyone could name an account of others, and keep it
// from being drawn: of one account only one provider is (docs/jobs.md §10).
import { type Hex, recoverMessageAddress } from "viem";
import type { ChainAccount } from "../sending/sign.ts";

const consentText = (providerKey: string): string => `assay: provider ${providerKey} works for this account`;

/** 130 hex digits. */
export const signJobConsent = async (account: ChainAccount, providerKey: string): Promise<string> =>
	(await account.signMessage({ message: consentText(providerKey) })).slice(2);

/** Hostile values of the right lengths: 40 and 130 hex digits. */
export async function isJobConsent(providerKey: string, account: string, consent: string): Promise<boolean> {
	try {
		const signature: Hex = `0x${consent}`;
		const found = await recoverMessageAddress({ message: consentText(providerKey), signature });
		return found.slice(2).toLowerCase() === account;
	} catch {
		return false;
	}
}
