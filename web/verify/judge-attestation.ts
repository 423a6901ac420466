// Reports, quotes and what belongs to them, judged together: by the vendors' roots, and else by those of our
// own mint, which show nothing and say so. docs/attestation.md. In the verifier's worker: nothing of it is in
// a page.
import { type FileKind, kindOfFile } from "../../src/verify/attestation/file-kind.ts";
import { DEFAULT_POLICY, MINT_ROOTS, type Roots, VENDOR_ROOTS } from "../../src/verify/attestation/settings.ts";
import { type FilesVerdict, verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { deviceKeyOfChain } from "../../src/verify/attestation/verify-round.ts";
import { nobleSignatures, rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { platformSignatures } from "./platform-signatures.ts";

export interface AttestationQuestion {
	readonly files: readonly Uint8Array[];
	/** What it should answer; null: not asked. */
	readonly nonce: Uint8Array | null;
	/** When it is to have held. */
	readonly atMs: number;
}

export interface JudgedAttestation {
	readonly verdict: FilesVerdict;
	/** What each file is. */
	readonly kinds: readonly FileKind[];
	/** Of one device that is genuine: its key, as the network knows it. */
	readonly deviceKey: string | null;
}

export function judgeAttestation(
	{ files, nonce, atMs }: AttestationQuestion,
	verify = rememberSignatures(nobleSignatures),
): JudgedAttestation {
	const under = (roots: Roots): FilesVerdict =>
		verifyFiles(files, { require: null, nonce }, { roots, atMs, policy: DEFAULT_POLICY, verify });
	let verdict = under(VENDOR_ROOTS);
	if (verdict.code === "ATTEST_CHAIN") {
		const simulated = under(MINT_ROOTS);
		if (simulated.code !== "ATTEST_CHAIN") verdict = simulated;
	}
	const kinds = files.map(kindOfFile);
	const chain = files[kinds.indexOf("certificates")];
	const isDevice = verdict.subject === "device report" && verdict.status !== "invalid";
	return { verdict, kinds, deviceKey: isDevice && chain !== undefined ? deviceKeyOfChain(chain) : null };
}

/** The same verdict in a fifth of the time. */
export async function judgeQuickly(question: AttestationQuestion): Promise<JudgedAttestation> {
	return judgeAttestation(question, await platformSignatures((verify) => judgeAttestation(question, verify)));
}
