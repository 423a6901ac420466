// The provider's account on a chain: its stake and rewards belong to it, and it signs the receipts of probes
// (docs/slashing.md). Made on first use; a spoilt file is refused and never replaced, for whatever the
// account holds is lost with its key. Not the Ed25519 key that names the provider.
import { join } from "node:path";
import type { ChainAccount } from "../chain/sending/sign.ts";
import { loadAccountKey } from "../platform/key-file.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";

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
