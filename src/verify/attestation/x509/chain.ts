// Is a chain of certificates one? Leaf first, each signed by the next, the last one pinned by its hash: two
// roots may bear one name.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { Code } from "../../../protocol/codes.ts";
import { cannotTell, refuse } from "../verdict.ts";
import { type Certificate, fingerprintOf, isSignedBy, KEY_USAGE } from "./certificate.ts";
import type { VerifySignature } from "./signature.ts";

/**
 * Critical extensions that are understood here or by the vendor's room. With any other critical one nothing
 * can be told of the chain.
 */
const UNDERSTOOD = new Set([
	"2.5.29.14", // subject key identifier
	"2.5.29.15", // key usage
	"2.5.29.17", // subject alternative name: told, never trusted
	"2.5.29.19", // basic constraints
	"2.5.29.31", // CRL distribution points
	"2.5.29.32", // certificate policies
	"2.5.29.35", // authority key identifier
	"2.5.29.37", // extended key usage: chains of devices, and of OCSP responders, where it is checked
	"2.23.133.5.4.1", // firmware id, Hopper
	"2.23.133.5.4.1.1", // firmware id, Blackwell
]);

/**
 * Links, authorities, path lengths and the pinned root. Not here: whether they hold at a moment,
 * outsideValidity. `first`: what the first certificate is; authorities alone are what vendors publish.
 */
export function checkLinks(
	chain: readonly Certificate[],
	roots: readonly string[],
	verify: VerifySignature,
	code: Code,
	where: string,
	first: "leaf" | "authority" = "leaf",
): void {
	const leaves = first === "leaf" ? 1 : 0;
	const root = chain.at(-1);
	if (root === undefined || !roots.includes(fingerprintOf(root)))
		refuse(code, `${where}[${chain.length - 1}]`, "the last certificate is not a pinned root");
	for (const [i, certificate] of chain.entries()) {
		const at = `${where}[${i}]`;
		if (i < leaves && certificate.isCa) refuse(code, at, "the leaf is an authority");
		if (i >= leaves) {
			if (!certificate.isCa) refuse(code, at, "an issuer is no authority");
			if (certificate.keyUsage !== null && (certificate.keyUsage & KEY_USAGE.certSign) === 0)
				refuse(code, at, "an issuer may not sign certificates");
			if (certificate.pathLength !== null && certificate.pathLength < i - leaves)
				refuse(code, at, "more authorities below than allowed");
		}
		const issuer = chain[i + 1];
		if (issuer === undefined) continue;
		if (!equalBytes(certificate.issuer, issuer.subject))
			refuse(code, at, "the issuer's name is not the next subject's");
		if (!isSignedBy(certificate, issuer.key, verify)) refuse(code, at, "the next certificate did not sign it");
	}
	// The vendor put it there: what it forbids is not known here.
	for (const [i, { extensions }] of chain.entries())
		for (const [oid, { isCritical }] of extensions)
			if (isCritical && !UNDERSTOOD.has(oid))
				cannotTell(`${where}[${i}]`, `critical extension ${oid} is not known here`);
}

/** The first certificate that does not hold at this moment; -1 when all do. */
export const outsideValidity = (chain: readonly Certificate[], atMs: number): number =>
	chain.findIndex(({ notBeforeMs, notAfterMs }) => atMs < notBeforeMs || atMs > notAfterMs);

/** A device's own chain: all of it, at its moment. */
export function checkDeviceChain(
	chain: readonly Certificate[],
	roots: readonly string[],
	verify: VerifySignature,
	atMs: number,
	where: string,
): void {
	checkLinks(chain, roots, verify, "ATTEST_CHAIN", where);
	const outside = outsideValidity(chain, atMs);
	if (outside >= 0) refuse("ATTEST_CHAIN", `${where}[${outside}]`, "the certificate does not hold at this time");
}
