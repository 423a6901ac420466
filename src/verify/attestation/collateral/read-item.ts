// What a vendor's file is about, and until when it holds, once its vendor's signature was checked. Nothing
// else gets into a bundle: a forged file that says it is newer would push a true one out.
import { bytesToHex, bytesToUtf8, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn } from "../bytes.ts";
import { type FileKind, kindOfFile } from "../file-kind.ts";
import { readIntelAlone } from "../intel/collateral.ts";
import { readManifest } from "../nvidia/manifest.ts";
import type { AmdProduct, AttestationSettings } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, refuse } from "../verdict.ts";
import { type Certificate, fingerprintOf, isSignedBy, readCertificate, readName } from "../x509/certificate.ts";
import { checkLinks } from "../x509/chain.ts";
import { readCrl } from "../x509/crl.ts";
import { checkResponder, holdsUntilMs, isAboutIssuer, readOcsp } from "../x509/ocsp.ts";
import type { CollateralEntry } from "./bundle.ts";

export type ReadItem = Pick<CollateralEntry, "kind" | "id" | "rank" | "validFromS" | "validUntilS">;

const AMD_PRODUCTS: readonly AmdProduct[] = ["Milan", "Genoa", "Turin"];

/** Kinds that a bundle keeps. Chains of devices come with their evidence. */
export const isCollateral = (bytes: Uint8Array): boolean => {
	const kind = kindOfFile(bytes);
	if (kind === "certificates") return bytesToUtf8(bytes)?.match(/-----BEGIN/g)?.length === 2;
	return (["manifest", "OCSP answer", "Intel collateral", "revocation list"] as FileKind[]).includes(kind);
};

/**
 * Certificates of these files that may issue others, each with a chain to a pinned root. Files that are no
 * such thing are passed over.
 */
export function issuersIn(files: readonly Uint8Array[], settings: AttestationSettings): Certificate[] {
	const found: Certificate[] = [];
	for (const file of files)
		hear((hearing) => {
			const kind = kindOfFile(file);
			if (kind === "manifest") found.push(...readManifest(hearing, file, settings, "file").chain.slice(1));
			if (kind === "certificates") found.push(...authoritiesOf(file, settings));
			return "none";
		});
	return found;
}

/** Of a device's chain, or AMD's ASK and ARK. */
function authoritiesOf(file: Uint8Array, settings: AttestationSettings): Certificate[] {
	const chain = certificatesIn(file, "file").map((der, i) => readCertificate(der, `file[${i}]`));
	const { roots, verify } = settings;
	if (chain.length === 2) checkAmd(chain, settings);
	else checkLinks(chain, roots.nvidiaDevice, verify, "COLLATERAL_WRONG", "file");
	return chain.filter(({ isCa }) => isCa);
}

function checkAmd(chain: readonly Certificate[], { roots, verify }: AttestationSettings): void {
	const product = AMD_PRODUCTS.find((one) => roots.amd[one].includes(fingerprintOf(chain.at(-1)!)));
	checkLinks(chain, product === undefined ? [] : roots.amd[product], verify, "COLLATERAL_WRONG", "file", "authority");
}

/** `item` is null when the verdict is invalid. Stale files are kept: they judge evidence of their time. */
export function readItem(
	bytes: Uint8Array,
	issuers: readonly Certificate[],
	settings: AttestationSettings,
): { readonly item: ReadItem | null; readonly verdict: AttestationVerdict } {
	let item: ReadItem | null = null;
	const verdict = hear((hearing) => {
		item = itemOf(hearing, bytes, issuers, settings);
		return "none";
	});
	return { item, verdict };
}

function itemOf(
	hearing: Hearing,
	bytes: Uint8Array,
	issuers: readonly Certificate[],
	settings: AttestationSettings,
): ReadItem {
	switch (kindOfFile(bytes)) {
		case "manifest": {
			const { product, version, chain } = readManifest(hearing, bytes, settings, "file");
			return { kind: "manifest", id: manifestId(product, version), rank: 0, ...validityOf(chain) };
		}
		case "Intel collateral": {
			const { tcbInfo, authority, issuedMs, nextMs } = readIntelAlone(hearing, bytes, settings);
			const id = intelId(tcbInfo.text("id"), tcbInfo.hex("fmspc", 6), caOf(authority.subject));
			const rank = tcbInfo.small("tcbEvaluationDataNumber");
			return { kind: "Intel collateral", id, rank, ...seconds(issuedMs, nextMs) };
		}
		case "certificates": {
			const chain = certificatesIn(bytes, "file").map((der, i) => readCertificate(der, `file[${i}]`));
			checkAmd(chain, settings);
			return { kind: "certificates", id: nameOf(chain[0]!), rank: 0, ...validityOf(chain) };
		}
		case "OCSP answer":
			return answerItem(bytes, issuers, settings);
		default:
			return listItem(bytes, issuers, settings);
	}
}

const NO_ISSUER = "no certificate at hand is that of its issuer: give the chain beside it";

function answerItem(bytes: Uint8Array, issuers: readonly Certificate[], settings: AttestationSettings): ReadItem {
	const answer = readOcsp(bytes, "file");
	const [about] = answer.answers;
	if (about === undefined || answer.answers.length !== 1)
		return refuse("COLLATERAL_WRONG", "file", "an answer that is not about one certificate");
	const issuer = issuers.find((one) => isAboutIssuer(about, one)) ?? refuse("COLLATERAL_OTHER", "file", NO_ISSUER);
	checkResponder(answer, issuer, settings, "file");
	const times = seconds(about.thisUpdateMs, holdsUntilMs(about, settings));
	return { kind: "OCSP answer", id: answerId(about.serial, issuer), rank: 0, ...times };
}

function listItem(bytes: Uint8Array, issuers: readonly Certificate[], settings: AttestationSettings): ReadItem {
	const crl = readCrl(bytes, "file");
	const isIssuer = (one: Certificate) =>
		equalBytes(one.subject, crl.issuer) && isSignedBy(crl, one.key, settings.verify);
	const issuer = issuers.find(isIssuer) ?? refuse("COLLATERAL_OTHER", "file", NO_ISSUER);
	return { kind: "revocation list", id: nameOf(issuer), rank: 0, ...seconds(crl.thisUpdateMs, crl.nextUpdateMs) };
}

export const manifestId = (product: string, version: string): string => `${product} ${version}`.toUpperCase();
/**
 * Platforms of one FMSPC may be certified by either of Intel's two authorities, whose lists are not each
 * other's.
 */
export const intelId = (tee: string, fmspc: string, ca: "platform" | "processor" = "platform"): string =>
	`${tee} ${fmspc}${ca === "processor" ? " processor" : ""}`.toLowerCase();
/** By the authority's name. */
export const caOf = (name: Uint8Array): "platform" | "processor" =>
	/processor/i.test(readName(name, "file").CN ?? "") ? "processor" : "platform";
export const answerId = (serial: string, issuer: Certificate): string => `${fingerprintOf(issuer)} ${serial}`;
export const nameOf = ({ subject }: Certificate): string => readName(subject, "file").CN ?? bytesToHex(subject);

const seconds = (fromMs: number, untilMs: number) => ({
	validFromS: Math.max(0, Math.floor(fromMs / 1000)),
	validUntilS: Math.max(0, Math.floor(untilMs / 1000)),
});

const validityOf = (chain: readonly Certificate[]) =>
	seconds(
		Math.max(...chain.map(({ notBeforeMs }) => notBeforeMs)),
		Math.min(...chain.map(({ notAfterMs }) => notAfterMs)),
	);
