// Who moves an account's stake: its owner, whose key may be elsewhere (--owner-key) while the data folder's
// key only speaks for it. Without the option the two are one. docs/chain.md §2.

import { readAccountFor, signConsent } from "../../chain/contracts/registry.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { CliIo } from "../command.ts";
import { text } from "../options.ts";
import { readKeyFile } from "./chain-key.ts";
import type { ChainActor } from "./provider-chain.ts";

export const ownerOptions = {
	"owner-key": text(
		"FILE",
		"private key of the account's owner (64 hex digits), who alone moves stake; the data folder's key then only signs for it",
	),
};

export interface OwnerValues {
	readonly "owner-key"?: string | undefined;
}

/** Acts as the account's owner, and pays. */
export interface OwnedAccount extends ChainActor {
	/** The data folder's key. The owner itself where there is but one. */
	readonly signer: ChainAccount;
}

/** Throws CHAIN_REFUSED when the key is not the owner's, KEY_UNUSABLE or FILE_UNREADABLE. */
export async function asOwner(actor: ChainActor, values: OwnerValues, io: CliIo): Promise<OwnedAccount> {
	const { contracts, account: signer, url } = actor;
	const path = values["owner-key"];
	const named = path === undefined ? null : await readKeyFile(path, io);
	const owner = await readAccountFor(contracts, signer.address);
	const account = named ?? signer;
	// A key that nobody has used yet may begin to speak for anybody.
	const isFree = owner === signer.address.toLowerCase();
	if (owner === account.address.toLowerCase() || (isFree && named !== null)) return { contracts, url, account, signer };
	throw new AssayError(
		"CHAIN_REFUSED",
		`the key of this data folder, ${signer.address}, speaks for ${owner}${named === null ? "" : `, not for ${named.address}`}`,
		{ hint: `Only its owner moves an account's stake: give the key of ${owner} with --owner-key.` },
	);
}

/** With its consent; undefined where the owner signs itself. */
export async function signerEntry({ contracts, account, signer }: OwnedAccount) {
	if (signer.address === account.address) return undefined;
	return { address: signer.address as Hex, consent: await signConsent(signer, contracts.addresses, account.address) };
}
