// Lists of revoked certificates (RFC 5280). Only whole lists of one issuer: with a critical extension, which
// may narrow it, a list is not used.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { AttestationSettings } from "../settings.ts";
import { cannotTell, type Hearing, refuse, refusingAs, wrongCollateral as wrong } from "../verdict.ts";
import { type Certificate, isSignedBy, KEY_USAGE, type Signed, signedOf } from "./certificate.ts";
import { booleanOf, type Der, derOf, inside, itemsOf, oidOf, serialHex, smallInteger, TAG, timeOf } from "./der.ts";

export interface Crl extends Signed {
	readonly issuer: Uint8Array;
	readonly thisUpdateMs: number;
	readonly nextUpdateMs: number;
	readonly revoked: ReadonlySet<string>;
}

const MOST_BYTES = 1024 * 1024;

export function readCrl(bytes: Uint8Array, where: string): Crl {
	return refusingAs("COLLATERAL_WRONG", where, () => {
		if (bytes.length > MOST_BYTES) return wrong(where, "longer than any list");
		const outer = inside(derOf(bytes, where, TAG.sequence));
		const body = outer.next(TAG.sequence);
		const algorithm = outer.next(TAG.sequence);
		const signed = signedOf(body.whole, algorithm, outer.next(TAG.bitString));
		outer.end();
		const tbs = inside(body);
		if (smallInteger(tbs.next(TAG.integer)) !== 1) return wrong(where, "not version 2");
		if (!equalBytes(tbs.next(TAG.sequence).whole, algorithm.whole)) return wrong(where, "two signature algorithms");
		const issuer = tbs.next(TAG.sequence).whole;
		const [thisUpdateMs, nextUpdateMs] = [timeOf(tbs.next()), timeOf(tbs.next())];
		const list = tbs.optional(TAG.sequence);
		const extensions = tbs.optional(0xa0);
		tbs.end();
		const revoked = new Set(list === null ? [] : itemsOf(list, TAG.sequence).map(revokedSerial));
		if (extensions !== null) checkExtensions(derOf(extensions.value, where, TAG.sequence));
		return { ...signed, issuer, thisUpdateMs, nextUpdateMs, revoked };
	});
}

function revokedSerial(entry: Der): string {
	const reader = inside(entry);
	const serial = serialHex(reader.next(TAG.integer));
	timeOf(reader.next());
	const extensions = reader.optional(TAG.sequence);
	reader.end();
	if (extensions !== null) checkExtensions(extensions);
	return serial;
}

function checkExtensions(list: Der): void {
	for (const item of itemsOf(list, TAG.sequence, 16)) {
		const reader = inside(item);
		const oid = oidOf(reader.next(TAG.oid));
		const critical = reader.optional(TAG.boolean);
		reader.next(TAG.octetString);
		reader.end();
		if (critical !== null && booleanOf(critical))
			cannotTell(list.where, `critical extension ${oid} of the list is not known here`);
	}
}

/** Checks a list of this issuer, and that it does not name these certificates. */
export function checkCrl(
	hearing: Hearing,
	crl: Crl,
	issuer: Certificate,
	certificates: readonly Certificate[],
	settings: AttestationSettings,
	where: string,
): void {
	if (!equalBytes(crl.issuer, issuer.subject)) refuse("COLLATERAL_OTHER", where, "the list is of another issuer");
	if (issuer.keyUsage !== null && (issuer.keyUsage & KEY_USAGE.crlSign) === 0)
		wrong(where, "the issuer may not sign lists");
	if (!isSignedBy(crl, issuer.key, settings.verify)) wrong(where, "the issuer did not sign this list");
	const found = certificates.find(({ serial }) => crl.revoked.has(serial));
	if (found !== undefined) refuse("CERTIFICATE_REVOKED", where, `certificate ${found.serial} is revoked`);
	const { atMs, policy } = settings;
	if (atMs > crl.nextUpdateMs || atMs + policy.leadMs < crl.thisUpdateMs)
		hearing.doubtful("COLLATERAL_STALE", where, "the list does not hold at this time");
}
