// OCSP answers (RFC 6960): is this certificate still good? The responder must be the issuer itself or one
// that the issuer delegated.
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256, sha384 } from "@noble/hashes/sha2.js";
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { AttestationSettings } from "../settings.ts";
import { cannotTell, type Hearing, refuse, refusingAs, wrongCollateral as wrong } from "../verdict.ts";
import { type Certificate, isSignedBy, readCertificate, readName, type Signed, signedOf } from "./certificate.ts";
import { type Der, derOf, inside, itemsOf, oidOf, serialHex, smallInteger, TAG, timeOf } from "./der.ts";

interface SingleAnswer {
	readonly hash: string;
	readonly nameHash: Uint8Array;
	readonly keyHash: Uint8Array;
	readonly serial: string;
	/** good, revoked (also: on hold), unknown */
	readonly state: "good" | "revoked" | "unknown";
	readonly thisUpdateMs: number;
	readonly nextUpdateMs: number | null;
}

export interface OcspAnswer extends Signed {
	readonly responder: Der;
	readonly producedAtMs: number;
	readonly answers: readonly SingleAnswer[];
	readonly nonce: Uint8Array | null;
	readonly certificates: readonly Certificate[];
}

const MOST_BYTES = 64 * 1024;

export function readOcsp(bytes: Uint8Array, where: string): OcspAnswer {
	return refusingAs("COLLATERAL_WRONG", where, () => {
		if (bytes.length > MOST_BYTES) return wrong(where, "longer than any OCSP answer");
		const outer = inside(derOf(bytes, where, TAG.sequence));
		if (smallInteger(outer.next(TAG.enumerated)) !== 0)
			return cannotTell(where, "the responder gave no answer", "COLLATERAL_MISSING");
		const wrapped = inside(derOf(outer.next(0xa0).value, where, TAG.sequence));
		outer.end();
		if (oidOf(wrapped.next(TAG.oid)) !== "1.3.6.1.5.5.7.48.1.1") return wrong(where, "not a basic answer");
		const basic = inside(derOf(wrapped.next(TAG.octetString).value, where, TAG.sequence));
		wrapped.end();
		const data = basic.next(TAG.sequence);
		const signed = signedOf(data.whole, basic.next(TAG.sequence), basic.next(TAG.bitString));
		const held = basic.optional(0xa0);
		basic.end();
		const certificates =
			held === null
				? []
				: itemsOf(derOf(held.value, where, TAG.sequence), TAG.sequence, 8).map((one) =>
						readCertificate(one.whole, where),
					);
		return { ...signed, ...readData(data, where), certificates };
	});
}

function readData(data: Der, where: string) {
	const reader = inside(data);
	if (reader.tag === 0xa0) return cannotTell(where, "an OCSP answer of a version that is not known here");
	const responder = reader.next();
	const producedAtMs = timeOf(reader.next(TAG.generalTime));
	const answers = itemsOf(reader.next(TAG.sequence), TAG.sequence, 16).map((one) => readSingle(one, where));
	const extensions = reader.optional(0xa1);
	reader.end();
	return { responder, producedAtMs, answers, nonce: extensions === null ? null : nonceOf(extensions, where) };
}

/** The extension's value is an octet string in an octet string; older responders leave out the inner one. */
function nonceOf(extensions: Der, where: string): Uint8Array | null {
	let nonce: Uint8Array | null = null;
	for (const item of itemsOf(derOf(extensions.value, where, TAG.sequence), TAG.sequence, 8)) {
		const reader = inside(item);
		const oid = oidOf(reader.next(TAG.oid));
		reader.optional(TAG.boolean);
		const { value } = reader.next(TAG.octetString);
		reader.end();
		if (oid !== "1.3.6.1.5.5.7.48.1.2") continue;
		if (nonce !== null) return wrong(where, "two nonces");
		nonce = value[0] === 4 && value[1] === value.length - 2 ? value.subarray(2) : value;
	}
	return nonce;
}

const HASHES: Readonly<Record<string, string>> = {
	"1.3.14.3.2.26": "sha1",
	"2.16.840.1.101.3.4.2.1": "sha256",
	"2.16.840.1.101.3.4.2.2": "sha384",
};

function readSingle(single: Der, where: string): SingleAnswer {
	const reader = inside(single);
	const id = inside(reader.next(TAG.sequence));
	const hash =
		HASHES[oidOf(inside(id.next(TAG.sequence)).next(TAG.oid))] ?? cannotTell(where, "a hash that is not known here");
	const nameHash = id.next(TAG.octetString).value;
	const keyHash = id.next(TAG.octetString).value;
	const serial = serialHex(id.next(TAG.integer));
	id.end();
	const status = reader.next();
	const state = status.tag === 0x80 ? "good" : status.tag === 0xa1 ? "revoked" : status.tag === 0x82 ? "unknown" : null;
	if (state === null || (state !== "revoked" && status.value.length > 0))
		return wrong(where, "no status of a certificate");
	const thisUpdateMs = timeOf(reader.next(TAG.generalTime));
	const next = reader.optional(0xa0);
	reader.optional(0xa1);
	reader.end();
	const nextUpdateMs = next === null ? null : timeOf(derOf(next.value, where, TAG.generalTime));
	return { hash, nameHash, keyHash, serial, state, thisUpdateMs, nextUpdateMs };
}

const hashBy = (name: string, bytes: Uint8Array): Uint8Array =>
	name === "sha1" ? sha1(bytes) : name === "sha256" ? sha256(bytes) : sha384(bytes);

/** Whether the answer is about a certificate of this issuer. */
export const isAboutIssuer = ({ hash, nameHash, keyHash }: SingleAnswer, issuer: Certificate): boolean =>
	equalBytes(nameHash, hashBy(hash, issuer.subject)) && equalBytes(keyHash, hashBy(hash, issuer.keyBits));

/** The part of an answer that is about this certificate. */
export const answerAbout = (answer: OcspAnswer, certificate: Certificate, issuer: Certificate): SingleAnswer | null =>
	answer.answers.find((one) => one.serial === certificate.serial && isAboutIssuer(one, issuer)) ?? null;

/** The key that may answer for this issuer: a certificate it issued for that purpose, or its own. */
function responderOf(
	answer: OcspAnswer,
	issuer: Certificate,
	settings: AttestationSettings,
	where: string,
): Certificate {
	const isNamed = (one: Certificate) =>
		answer.responder.tag === 0xa2
			? equalBytes(derOf(answer.responder.value, where, TAG.octetString).value, sha1(one.keyBits))
			: answer.responder.tag === 0xa1 && equalBytes(answer.responder.value, one.subject);
	const delegated = answer.certificates.find(isNamed);
	if (delegated === undefined) return isNamed(issuer) ? issuer : wrong(where, "the responder's certificate is missing");
	const purposes = delegated.extensions.get("2.5.29.37");
	const isForOcsp =
		purposes !== undefined &&
		itemsOf(derOf(purposes.value, where, TAG.sequence), TAG.oid, 16).some((one) => oidOf(one) === "1.3.6.1.5.5.7.3.9");
	if (!isForOcsp) return wrong(where, "the responder's certificate is not for OCSP");
	if (!equalBytes(delegated.issuer, issuer.subject) || !isSignedBy(delegated, issuer.key, settings.verify))
		return wrong(where, "the responder was not delegated by the certificate's issuer");
	return delegated;
}

/** The responder, which this issuer delegated and which signed the answer. */
export function checkResponder(
	answer: OcspAnswer,
	issuer: Certificate,
	settings: AttestationSettings,
	where: string,
): Certificate {
	const responder = refusingAs("COLLATERAL_WRONG", where, () => responderOf(answer, issuer, settings, where));
	if (!isSignedBy(answer, responder.key, settings.verify)) wrong(where, "the responder did not sign this answer");
	return responder;
}

/** Until when an answer holds, whatever it says itself. */
export const holdsUntilMs = (about: SingleAnswer, { policy }: AttestationSettings): number =>
	Math.min(about.nextUpdateMs ?? Number.POSITIVE_INFINITY, about.thisUpdateMs + policy.ocspHoldsMs);

/** Checks one answer about one certificate whose chain is known to be good. Gives what it tells. */
export function checkOcsp(
	hearing: Hearing,
	answer: OcspAnswer,
	certificate: Certificate,
	issuer: Certificate,
	settings: AttestationSettings,
	where: string,
): { readonly responder: string; readonly nonce: string | null } {
	const about = answerAbout(answer, certificate, issuer) ?? wrong(where, "the answer is about another certificate");
	const responder = checkResponder(answer, issuer, settings, where);
	if (about.state === "revoked")
		refuse("CERTIFICATE_REVOKED", where, "the issuer revoked this certificate or put it on hold");
	const { atMs, policy } = settings;
	if (
		atMs > holdsUntilMs(about, settings) ||
		atMs + policy.leadMs < about.thisUpdateMs ||
		answer.producedAtMs < about.thisUpdateMs
	)
		hearing.doubtful("COLLATERAL_STALE", where, "the OCSP answer does not hold at this time");
	else if (atMs < responder.notBeforeMs - policy.leadMs || atMs > responder.notAfterMs)
		hearing.doubtful("COLLATERAL_STALE", where, "the responder's certificate does not hold at this time");
	else if (about.state === "unknown")
		hearing.doubtful("COLLATERAL_MISSING", where, "the responder does not know this certificate");
	const { CN } = readName(responder.subject, where);
	return { responder: `CN=${CN}`, nonce: answer.nonce === null ? null : bytesToHex(answer.nonce) };
}
