// Which vendors' files does this evidence need, and how are they asked for? Names and requests only; who asks
// is not known here. Nothing of it was checked: a wrong name gets a file that is refused, or none.
import { sha384 } from "@noble/hashes/sha2.js";
import { concatBytes, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { kindOfFile } from "../file-kind.ts";
import { platformTcb } from "../intel/pck.ts";
import { readQuote } from "../intel/quote.ts";
import { gpuFields, identityOf, kindOfDevice, switchFields } from "../nvidia/device-facts.ts";
import { readManifest } from "../nvidia/manifest.ts";
import { readSdkJson } from "../nvidia/sdk-json.ts";
import { readSpdmReport } from "../nvidia/spdm-report.ts";
import type { AttestationSettings } from "../settings.ts";
import { hear } from "../verdict.ts";
import { type Certificate, readCertificate, readName } from "../x509/certificate.ts";
import type { CollateralItem } from "./bundle.ts";
import { chainIn, guestNeeds } from "./choose-items.ts";
import { answerId, caOf, intelId, manifestId } from "./read-item.ts";

export type Wanted = { readonly item: Pick<CollateralItem, "kind" | "id"> } & (
	| { readonly from: "rim"; readonly name: string }
	| { readonly from: "ocsp"; readonly request: Uint8Array }
	| { readonly from: "intel"; readonly tee: "sgx" | "tdx"; readonly fmspc: string; readonly ca: string }
	/** VCEK or VLEK. */
	| {
			readonly from: "amd";
			readonly product: string;
			readonly key: "vcek" | "vlek";
			readonly file: "cert_chain" | "crl";
	  }
);

/** Issues of the versions that one device names. */
const MOST_MANIFESTS = 16;

/** `items`: what is at hand; manifests among it are asked about too. */
export function wantedBy(
	files: readonly Uint8Array[],
	items: readonly CollateralItem[],
	settings: AttestationSettings,
): Wanted[] {
	const wanted: Wanted[] = [];
	/** What cannot be read wants nothing: its verdict says why. */
	const add = (read: () => readonly Wanted[]) =>
		hear(() => {
			wanted.push(...read());
			return "none";
		});
	const of = (kind: string) => files.filter((file) => kindOfFile(file) === kind);
	const chains = of("certificates");
	for (const [i, report] of of("device report").entries())
		if (chains[i] !== undefined) add(() => deviceWants(report, chains[i]!, items, settings));
	for (const list of of("device list"))
		add(() => readSdkJson(list, "list").flatMap(({ report, chain }) => deviceWants(report, chain, items, settings)));
	for (const quote of of("quote")) add(() => [quoteWants(quote)]);
	if (of("SNP report").length > 0) for (const leaf of chains) add(() => snpWants(chainIn(leaf)[0]!));
	for (const guest of [...of("Azure evidence"), ...of("dstack evidence")])
		add(() => {
			const { quotes, certificates } = guestNeeds(guest, null);
			return [...quotes.map(quoteWants), ...certificates.flatMap((leaf) => snpWants(chainIn(leaf)[0]!))];
		});
	const seen = new Set<string>();
	return wanted.filter(({ item }) => {
		const name = `${item.kind} ${item.id}`;
		return !seen.has(name) && seen.add(name);
	});
}

function deviceWants(
	report: Uint8Array,
	file: Uint8Array,
	items: readonly CollateralItem[],
	settings: AttestationSettings,
): Wanted[] {
	const chain = chainIn(file);
	const rims = rimWants(report, chain);
	const wanted: Wanted[] = [...rims, ...answerWants(chain.slice(1))];
	const manifests = items.filter(({ kind, id }) => kind === "manifest" && rims.some(({ item }) => item.id === id));
	for (const { bytes } of manifests.slice(0, MOST_MANIFESTS))
		hear((hearing) => {
			wanted.push(...answerWants(readManifest(hearing, bytes, settings, "bundle").chain));
			return "none";
		});
	return wanted;
}

/** NVIDIA's names of manifests. */
function rimWants(file: Uint8Array, chain: readonly Certificate[]): Wanted[] {
	const report = readSpdmReport(file, "report");
	const rim = (name: string, product: string, version: string): Wanted => ({
		from: "rim",
		name,
		item: { kind: "manifest", id: manifestId(product, version) },
	});
	if (kindOfDevice(report) === "switch") {
		const { pdi } = identityOf(chain[1]!, "switch", "chain");
		const { bios } = switchFields(report, pdi, "report");
		return [rim(`NV_SWITCH_BIOS_5612_0002_890_${bios.replaceAll(".", "").toUpperCase()}`, "LS10", bios)];
	}
	const { chip, driver, vbios, vbiosRim } = gpuFields(report, chain[1]!, "report");
	const family = chip === "GH100" ? "NV_GPU_DRIVER" : "NV_GPU_CC_DRIVER";
	return [rim(`${family}_${chip}_${driver}`, chip, driver), rim(vbiosRim, chip, vbios)];
}

const answerWants = (chain: readonly Certificate[]): Wanted[] =>
	chain.slice(0, -1).map((certificate, i) => ({
		from: "ocsp",
		request: ocspRequest(certificate, chain[i + 1]!),
		item: { kind: "OCSP answer", id: answerId(certificate.serial, chain[i + 1]!) },
	}));

/** Short forms alone: nothing here has more than 255 bytes. */
const tlv = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
	const value = concatBytes(...parts);
	return concatBytes(Uint8Array.of(tag, ...(value.length < 0x80 ? [] : [0x81]), value.length), value);
};

const SHA384 = hexToBytes("300d06096086480165030402020500")!;

/** RFC 6960: one request, without a signature and extensions. */
function ocspRequest(certificate: Certificate, issuer: Certificate): Uint8Array {
	const serial = hexToBytes(certificate.serial)!;
	const number = serial[0]! >= 0x80 ? concatBytes(Uint8Array.of(0), serial) : serial;
	const hashes = [issuer.subject, issuer.keyBits].map((bytes) => tlv(0x04, sha384(bytes)));
	const id = tlv(0x30, SHA384, ...hashes, tlv(0x02, number));
	return tlv(0x30, tlv(0x30, tlv(0x30, tlv(0x30, id))));
}

function quoteWants(file: Uint8Array): Wanted {
	const { report, certificates } = readQuote(file);
	const pck = readCertificate(certificates[0]!, "quote");
	const { fmspc } = platformTcb(pck);
	const ca = caOf(pck.issuer);
	return {
		from: "intel",
		tee: report.tee,
		fmspc,
		ca,
		item: { kind: "Intel collateral", id: intelId(report.tee, fmspc, ca) },
	};
}

/** The leaf's issuer is SEV-Milan or SEV-VLEK-Milan. */
function snpWants(leaf: Certificate): Wanted[] {
	const name = readName(leaf.issuer, "leaf").CN ?? "";
	const product = /^SEV-(?:VLEK-)?([A-Z][a-z]{1,15})$/.exec(name)?.[1];
	if (product === undefined) return [];
	const key = name.includes("VLEK") ? "vlek" : "vcek";
	return [
		{ from: "amd", product, key, file: "cert_chain", item: { kind: "certificates", id: name } },
		{ from: "amd", product, key, file: "crl", item: { kind: "revocation list", id: `ARK-${product}` } },
	];
}
