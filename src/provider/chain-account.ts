// The provider's key on a chain: it signs the receipts of probes (docs/slashing.md), and stake and rewards
// are its own unless it speaks for an owner whose key is elsewhere. Made on first use; a spoilt file is
// refused and never replaced, for whatever the account holds is lost with its key. Not the Ed25519 key that
// names the provider.
import { join } from "node:path";
import type { ChainAccount } from "../chain/sending/sign.ts";
import { readIfPresent, writeDurably } from "../platform/durable-file.ts";
import { loadAccountKey } from "../platform/key-file.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import type { Hex } from "../protocol/chain/hex.ts";
import type { ReceiptDomain } from "../protocol/chain/probe-receipt.ts";

export const chainAccountPath = (dataFolder: string): string => join(dataFolder, "chain-account.key");

/** Throws AssayError KEY_UNUSABLE. Loads the chain's code here: a provider without a chain never needs it. */
export async function loadProviderAccount(
	dataFolder: string,
	randomBytes: (size: number) => Uint8Array,
): Promise<ChainAccount> {
	const secret = await loadAccountKey({
		path: chainAccountPath(dataFolder),
		name: "the provider's account on the chain",
		elsewhere: "Set ASSAY_HOME to",
		randomBytes,
	});
	const { accountOf } = await import("../chain/sending/sign.ts");
	return accountOf(`0x${bytesToHex(secret)}`);
}

const ownersPath = (dataFolder: string): string => join(dataFolder, "chain-owners.json");
const nameOf = ({ chainId, slashing }: ReceiptDomain): string => `${chainId}/${slashing.toLowerCase()}`;

async function readOwners(dataFolder: string): Promise<Readonly<Record<string, Hex>>> {
	const text = await readIfPresent(ownersPath(dataFolder));
	return text === null ? {} : (JSON.parse(String(text)) as Record<string, Hex>);
}

/**
 * The account that this folder's key speaks for there: for ever, so it is read without a node. Null: its own.
 */
export async function readOwner(dataFolder: string, network: ReceiptDomain): Promise<Hex | null> {
	return (await readOwners(dataFolder))[nameOf(network)] ?? null;
}

/** Before the key consents: what it signs from then on names that account. */
export async function writeOwner(dataFolder: string, network: ReceiptDomain, account: Hex): Promise<void> {
	const owners = { ...(await readOwners(dataFolder)), [nameOf(network)]: account.toLowerCase() };
	await writeDurably(ownersPath(dataFolder), `${JSON.stringify(owners)}\n`);
}
