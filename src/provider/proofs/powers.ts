// Powers of tau of whoever commits or proves on a chain, docs/zk.md §1: an embedded chain's are those of a
// known τ; of every other chain they are Ignition's, from a file that its owner names.
import { readFileSync } from "node:fs";
import { AssayError } from "../../protocol/assay-error.ts";
import { isEmbeddedChainId } from "../../protocol/chain/embedded-chain-id.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { codes } from "../../protocol/codes.ts";
import { DEV_POWERS, ignitionPowers, type ProverPowers } from "../../verify/zk/srs.ts";

/** The first 2^chunkBits. Throws SRS_MISSING, SRS_UNKNOWN, FILE_UNREADABLE. */
export type PowersFor = (chunkBits: number) => ProverPowers;

/** `path`: null where its owner named none. */
export function powersOf(chainId: number, path: string | null): PowersFor {
	const made = new Map<number, ProverPowers>();
	return (chunkBits) => {
		if (isEmbeddedChainId(chainId)) return DEV_POWERS;
		const known = made.get(chunkBits);
		if (known !== undefined) return known;
		if (path === null)
			throw codedError("SRS_MISSING", "this chain's proofs are over Ignition's powers of tau, and no file has them");
		const found = ignitionPowers(fileAt(path), 2 ** chunkBits);
		if ("code" in found) throw codedError(found.code, found.detail);
		made.set(chunkBits, found);
		return found;
	};
}

function fileAt(path: string): Uint8Array {
	try {
		return new Uint8Array(readFileSync(path));
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `cannot read ${path}: ${(cause as Error).message}`, {
			hint: codes.SRS_MISSING.hint,
			cause,
		});
	}
}
