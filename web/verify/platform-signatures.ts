// Signatures by the browser's own curves, in a fifth of noble's time. They answer only later, and judging
// cannot wait. So it is judged twice: the first time every signature is taken for good, which only shows
// which ones are asked for; the second time by what the browser found. What it was not asked for, and all of
// it where there is no such library, noble checks.
import {
	nobleSignatures,
	type PublicKey,
	signatureName,
	type VerifySignature,
} from "../../src/verify/attestation/x509/signature.ts";

/**
 * For the second time. `judge` is called once, with signatures that all hold; what it comes to is thrown
 * away.
 */
export async function platformSignatures(judge: (verify: VerifySignature) => void): Promise<VerifySignature> {
	const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle;
	if (subtle === undefined) return nobleSignatures;
	const asked = new Map<string, Promise<boolean>>();
	judge((scheme, key, message, signature) => {
		const name = signatureName(scheme, key, message, signature);
		if ((scheme === "p256" || scheme === "p384") && key.kind === scheme && !asked.has(name))
			asked.set(name, isSigned(subtle, key, message, signature));
		return true;
	});
	const found = new Map<string, boolean>();
	for (const [name, answer] of asked) found.set(name, await answer);
	return (scheme, key, message, signature) =>
		found.get(signatureName(scheme, key, message, signature)) ?? nobleSignatures(scheme, key, message, signature);
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
