// Reports, quotes and what belongs to them, judged together: by the vendors' roots, and else by those of our own mint, which show nothing and say so.
// docs/attestation.md. In the verifier's worker: nothing of it is in a page.
import { type FileKind, kindOfFile } from "../../src/verify/attestation/file-kind.ts";
import { DEFAULT_POLICY, MINT_ROOTS, type Roots, VENDOR_ROOTS } from "../../src/verify/attestation/settings.ts";
import { type FilesVerdict, verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { deviceKeyOfChain } from "../../src/verify/attestation/verify-round.ts";
import {
	nobleSignatures,
	type PublicKey,
	rememberSignatures,
	signatureName,
	type VerifySignature,
} from "../../src/verify/attestation/x509/signature.ts";

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

/**
 * The same verdict in a fifth of the time: the browser's own curves answer only later, and judging cannot wait. So it is judged twice. The first
 * time every signature is taken for good, which only shows which ones are asked for; the second time by what the browser found. What it was not
 * asked for, and all of it where there is no such library, noble checks.
 */
export async function judgeQuickly(question: AttestationQuestion): Promise<JudgedAttestation> {
	const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle;
	if (subtle === undefined) return judgeAttestation(question);
	const asked = new Map<string, Promise<boolean>>();
	judgeAttestation(question, (scheme, key, message, signature) => {
		const name = signatureName(scheme, key, message, signature);
		if ((scheme === "p256" || scheme === "p384") && key.kind === scheme && !asked.has(name))
			asked.set(name, isSigned(subtle, key, message, signature));
		return true;
	});
	const found = new Map<string, boolean>();
	for (const [name, answer] of asked) found.set(name, await answer);
	const verify: VerifySignature = (scheme, key, message, signature) =>
		found.get(signatureName(scheme, key, message, signature)) ?? nobleSignatures(scheme, key, message, signature);
	return judgeAttestation(question, verify);
}

const CURVES = {
	p256: { name: "P-256", hash: "SHA-256", bytes: 64 },
	p384: { name: "P-384", hash: "SHA-384", bytes: 96 },
} as const;

async function isSigned(
	subtle: SubtleCrypto,
	key: Extract<PublicKey, { kind: "p256" | "p384" }>,
	message: Uint8Array,
	signature: Uint8Array,
): Promise<boolean> {
	const { name: namedCurve, hash, bytes } = CURVES[key.kind];
	if (signature.length !== bytes) return false;
	const [point, said, signed] = [key.point, signature, message].map((one) => Uint8Array.from(one));
	try {
		const own = await subtle.importKey("raw", point!, { name: "ECDSA", namedCurve }, false, ["verify"]);
		return await subtle.verify({ name: "ECDSA", hash }, own, said!, signed!);
	} catch {
		// No point of the curve.
		return false;
	}
}
