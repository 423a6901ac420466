// Judges a manifest, or an OCSP answer, by itself.
import { bytesToUtf8 } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn, dayOf } from "../bytes.ts";
import type { AttestationSettings } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, refuse } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { checkDeviceChain } from "../x509/chain.ts";
import { checkOcsp, readOcsp } from "../x509/ocsp.ts";
import { readManifest } from "./manifest.ts";

/** A manifest says nothing of any device: level none. */
export function verifyManifest(bytes: Uint8Array, settings: AttestationSettings): AttestationVerdict {
	return hear((hearing) => {
		const { version, product, active, notAfterMs, isCurrent } = readManifest(hearing, bytes, settings, "rim");
		Object.assign(hearing.facts, { version, product, active: active.size, notAfter: dayOf(notAfterMs) });
		if (!isCurrent) hearing.doubtful("COLLATERAL_STALE", "rim", "its certificates do not hold at this time");
		return "none";
	});
}

/** An answer about certificate `index` of a device's chain (PEM) or a manifest's (XML). */
export function verifyOcsp(
	answer: Uint8Array,
	chain: Uint8Array,
	index: number,
	settings: AttestationSettings,
): AttestationVerdict {
	return hear((hearing) => {
		const certificates = chainIn(hearing, chain, settings);
		const [certificate, issuer] = [certificates[index], certificates[index + 1]];
		if (certificate === undefined || issuer === undefined)
			return refuse("ATTEST_CHAIN", "chain", `no certificate ${index}`);
		Object.assign(hearing.facts, checkOcsp(hearing, readOcsp(answer, "ocsp"), certificate, issuer, settings, "ocsp"));
		return "none";
	});
}

function chainIn(hearing: Hearing, bytes: Uint8Array, settings: AttestationSettings): readonly Certificate[] {
	if (bytesToUtf8(bytes)?.trimStart().startsWith("<")) return readManifest(hearing, bytes, settings, "rim").chain;
	const chain = certificatesIn(bytes, "chain").map((der, i) => readCertificate(der, `chain[${i}]`));
	checkDeviceChain(chain, settings.roots.nvidiaDevice, settings.verify, settings.atMs, "chain");
	return chain;
}
