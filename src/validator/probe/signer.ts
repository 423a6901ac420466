// The verifier's Ed25519 key: made on first use, kept in a file that only its owner can read. Signs evidence,
// nothing else. Whoever holds evidence decides which keys to believe; this file only makes "the same verifier
// as last time" checkable.
import { homedir } from "node:os";
import { join } from "node:path";
import { loadKeyFile } from "../../platform/key-file.ts";
import type { Signer } from "../../protocol/probe/signer.ts";

/** ASSAY_HOME, else ${XDG_CONFIG_HOME:-~/.config}/assay; XDG says to ignore relative paths. */
export function signerPath(environment: Readonly<Record<string, string | undefined>>): string {
	if (environment.ASSAY_HOME) return join(environment.ASSAY_HOME, "verifier.key");
	const config = environment.XDG_CONFIG_HOME?.startsWith("/")
		? environment.XDG_CONFIG_HOME
		: join(homedir(), ".config");
	return join(config, "assay", "verifier.key");
}

/** The key in the file, or a new one. Two processes that start at once end with the same key. */
export function loadSigner(path: string, randomBytes: (size: number) => Uint8Array): Promise<Signer> {
	return loadKeyFile({ path, name: "the verifier's key", elsewhere: "Set ASSAY_HOME to", randomBytes });
}
