// Intel's collateral of one platform: TCB info, QE identity and revocation lists, in the layout of dcap-qvl
// (JSON with PEM, hex and the signed texts as they came). Vendors' signatures count; the file itself is
// nobody's word.

import { utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { anyHexToBytes, isoToMs, pemToDers } from "../bytes.ts";
import { JsonFields, parseJson, parseJsonText } from "../json.ts";
import type { AttestationSettings } from "../settings.ts";
import { cannotTell, type Hearing, refusingAs, wrongCollateral as wrong } from "../verdict.ts";
import { type Certificate, readCertificate, readName } from "../x509/certificate.ts";
import { checkLinks, outsideValidity } from "../x509/chain.ts";
import { checkCrl, readCrl } from "../x509/crl.ts";

export interface IntelCollateral {
	readonly tcbInfo: JsonFields;
	readonly qeIdentity: JsonFields;
	/** Whether both and their certificates hold at the moment. */
	readonly isCurrent: boolean;
}

/** Checks all of it against the quote's own chain, whose links are known to be good. */
export function readIntelCollateral(
	hearing: Hearing,
	bytes: Uint8Array,
	pckChain: readonly Certificate[],
	settings: AttestationSettings,
): IntelCollateral {
	const fields = new JsonFields(parseJson(bytes, "COLLATERAL_WRONG", "collateral"), "COLLATERAL_WRONG", "collateral");
	const tcb = signedText(hearing, fields, "tcb_info", settings);
	const qe = signedText(hearing, fields, "qe_identity", settings);
	const [pck, ...authorities] = pckChain;
	checkLists(hearing, fields, authorities, [pck!], [tcb.chain, qe.chain], settings);
	return { tcbInfo: tcb.text, qeIdentity: qe.text, isCurrent: tcb.isCurrent && qe.isCurrent };
}

/** The same without a quote: the lists are checked by the authorities that come with them. */
export function readIntelAlone(
	hearing: Hearing,
	bytes: Uint8Array,
	settings: AttestationSettings,
): {
	readonly tcbInfo: JsonFields;
	readonly authority: Certificate;
	readonly issuedMs: number;
	readonly nextMs: number;
} {
	const fields = new JsonFields(parseJson(bytes, "COLLATERAL_WRONG", "collateral"), "COLLATERAL_WRONG", "collateral");
	const tcb = signedText(hearing, fields, "tcb_info", settings);
	const qe = signedText(hearing, fields, "qe_identity", settings);
	const [authority, root] = chainOf(fields, "pck_crl_issuer_chain", settings, "authority");
	checkLists(hearing, fields, [authority!, root ?? authority!], [], [tcb.chain, qe.chain], settings);
	const { text: tcbInfo, issuedMs } = tcb;
	return { tcbInfo, authority: authority!, issuedMs, nextMs: Math.min(tcb.nextMs, qe.nextMs) };
}

function chainOf(
	fields: JsonFields,
	name: string,
	settings: AttestationSettings,
	first: "leaf" | "authority" = "leaf",
): Certificate[] {
	const where = `collateral.${name}`;
	return refusingAs("COLLATERAL_WRONG", where, () => {
		const chain = pemToDers(fields.text(name), where).map((der, i) => readCertificate(der, `${where}[${i}]`));
		checkLinks(chain, settings.roots.intel, settings.verify, "COLLATERAL_WRONG", where, first);
		return chain;
	});
}

const VERSIONS = { tcb_info: 3, qe_identity: 2 } as const;

/** A text with Intel's signature, issued and to be renewed at times that it says itself. */
function signedText(hearing: Hearing, fields: JsonFields, name: keyof typeof VERSIONS, settings: AttestationSettings) {
	const where = `collateral.${name}`;
	const chain = chainOf(fields, `${name}_issuer_chain`, settings);
	if (readName(chain[0]!.subject, where).CN !== "Intel SGX TCB Signing")
		wrong(where, "not signed by the TCB signing key");
	const words = fields.text(name);
	const signature = anyHexToBytes(fields.text(`${name}_signature`)) ?? wrong(where, "a signature that is not hex");
	if (!settings.verify("p256", chain[0]!.key, utf8ToBytes(words), signature))
		wrong(where, "Intel did not sign this text");
	const text = new JsonFields(parseJsonText(words, "COLLATERAL_WRONG", where), "COLLATERAL_WRONG", where);
	const version = text.small("version");
	if (version !== VERSIONS[name])
		cannotTell(where, `Intel's text has version ${version}, and ${VERSIONS[name]} is known here`);
	const [issuedMs, nextMs] = ["issueDate", "nextUpdate"].map(
		(key) => isoToMs(text.text(key)) ?? wrong(where, `no ${key}`),
	);
	const { atMs, policy } = settings;
	const isCurrent = atMs <= nextMs! && atMs + policy.leadMs >= issuedMs! && outsideValidity(chain, atMs) < 0;
	if (!isCurrent) hearing.doubtful("COLLATERAL_STALE", where, "it does not hold at this time");
	return { text, chain, isCurrent, issuedMs: issuedMs!, nextMs: nextMs! };
}

/** Lists of the authority that certifies platforms, and of the root. */
function checkLists(
	hearing: Hearing,
	fields: JsonFields,
	[authority, root]: readonly Certificate[],
	platforms: readonly Certificate[],
	signers: readonly (readonly Certificate[])[],
	settings: AttestationSettings,
): void {
	const listOf = (name: string) =>
		readCrl(anyHexToBytes(fields.text(name)) ?? wrong(`collateral.${name}`, "not hex"), `collateral.${name}`);
	const authorities = [authority!, ...signers.map((chain) => chain[0]!)];
	checkCrl(hearing, listOf("root_ca_crl"), root!, authorities, settings, "collateral.root_ca_crl");
	checkCrl(hearing, listOf("pck_crl"), authority!, platforms, settings, "collateral.pck_crl");
}
