// What a file says, before anybody judged it: nothing in here was checked.
import { bytesToHex, bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { readSnpFields } from "./amd/snp-report.ts";
import { azureParts } from "./azure/verify-azure.ts";
import { certificatesIn, dayOf } from "./bytes.ts";
import { readBundle } from "./collateral/bundle.ts";
import { readCcel, replay } from "./events/event-log.ts";
import { type FileKind, kindOfFile, openText } from "./file-kind.ts";
import { readQuote } from "./intel/quote.ts";
import { JsonFields, parseJson, parseJsonText } from "./json.ts";
import { kindOfDevice } from "./nvidia/device-facts.ts";
import { readSdkJson } from "./nvidia/sdk-json.ts";
import { readSpdmReport } from "./nvidia/spdm-report.ts";
import { attributeOf, elementsOf, parseXml } from "./nvidia/xml.ts";
import { type AttestationVerdict, hear } from "./verdict.ts";
import { readCertificate, readName } from "./x509/certificate.ts";
import { readCrl } from "./x509/crl.ts";
import { readOcsp } from "./x509/ocsp.ts";

/** Valid means that the file has the form of its kind, no more. */
export function showFile(
	given: Uint8Array,
): { readonly kind: FileKind } & Pick<AttestationVerdict, "status" | "code" | "detail" | "facts"> {
	const bytes = openText(given);
	const kind = kindOfFile(bytes);
	const { status, code, detail, facts } = hear((hearing) => {
		Object.assign(hearing.facts, sayings(kind, bytes));
		return "none";
	});
	return { kind, status, code, detail, facts };
}

function sayings(kind: FileKind, bytes: Uint8Array): Record<string, unknown> {
	switch (kind) {
		case "device report":
			return deviceSayings(bytes);
		case "device list":
			return { devices: readSdkJson(bytes, "list").map(({ report }) => deviceSayings(report)) };
		case "quote":
			return quoteSayings(bytes);
		case "certificates":
			return { certificates: certificatesIn(bytes, "certificates").map(certificateSayings) };
		case "OCSP answer":
			return {
				answers: readOcsp(bytes, "ocsp").answers.map(({ serial, state, thisUpdateMs }) => ({
					serial,
					state,
					on: dayOf(thisUpdateMs),
				})),
			};
		case "revocation list": {
			const { revoked, nextUpdateMs } = readCrl(bytes, "crl");
			return { revoked: revoked.size, until: dayOf(nextUpdateMs) };
		}
		case "event log":
			return { rtmr: replay(readCcel(bytes)).map(bytesToHex) };
		case "collateral bundle": {
			const { madeAtS, key, items } = readBundle(bytes, "bundle");
			const files = items.map(({ kind: of, id, validUntilS }) => `${of} ${id} until ${dayOf(validUntilS * 1000)}`);
			return { made: dayOf(madeAtS * 1000), by: key, items: items.length, files };
		}
		case "SNP report":
			return snpSayings(bytes);
		case "manifest":
			return manifestSayings(bytes);
		case "Azure evidence": {
			const { tee, secureBoot, vm, hardware, pcrs } = azureParts(bytes);
			const measurement = tee === "snp" ? bytesToHex(readSnpFields(hardware).measurement) : null;
			return { tee: `azure-${tee}`, secureBoot, vm, measurement, pcrs };
		}
		case "Intel collateral": {
			const text = new JsonFields(parseJson(bytes, "ATTEST_FORM", "file"), "ATTEST_FORM", "file").text("tcb_info");
			const info = new JsonFields(parseJsonText(text, "ATTEST_FORM", "tcb_info"), "ATTEST_FORM", "tcb_info");
			const [id, fmspc, issued, until] = ["id", "fmspc", "issueDate", "nextUpdate"].map((name) => info.text(name));
			return { tee: id, fmspc, issued, until };
		}
		default:
			return {};
	}
}

function snpSayings(bytes: Uint8Array): Record<string, unknown> {
	// Which chip it is of stands in its certificate; the order of security versions is not shown.
	const { version, signer, policy, vmpl, measurement, reportData, chipId } = readSnpFields(bytes);
	const hex = { measurement: bytesToHex(measurement), reportData: bytesToHex(reportData), chipId: bytesToHex(chipId) };
	return { version, signer, policy: policy.toString(16), vmpl, ...hex };
}

function manifestSayings(bytes: Uint8Array): Record<string, unknown> {
	const root = parseXml(bytesToUtf8(bytes) ?? "", "manifest");
	const child = (local: string) => elementsOf(root).find((one) => one.local === local);
	const [meta, payload] = [child("Meta"), child("Payload")];
	const said = (name: string) => (meta === undefined ? null : attributeOf(meta, name));
	const measurements = payload === undefined ? 0 : elementsOf(payload).length;
	return { product: said("product"), version: said("colloquialVersion"), measurements };
}

function deviceSayings(bytes: Uint8Array): Record<string, unknown> {
	const report = readSpdmReport(bytes, "report");
	const { nonce, blocks, opaque, format } = report;
	const fields = Object.fromEntries([...opaque].map(([type, value]) => [type, bytesToHex(value)]));
	const read = { device: kindOfDevice(report), nonce: bytesToHex(nonce), blocks: blocks.size };
	return { ...read, ...(format === null ? {} : { format }), opaque: fields };
}

function quoteSayings(bytes: Uint8Array): Record<string, unknown> {
	const { version, report, certificates } = readQuote(bytes);
	const common = { version, tee: report.tee, certificates: certificates.map(certificateSayings) };
	if (report.tee === "sgx")
		return { ...common, mrEnclave: bytesToHex(report.sgx.mrEnclave), reportData: bytesToHex(report.sgx.reportData) };
	const { mrTd, rtmr, reportData } = report.td;
	return { ...common, mrTd: bytesToHex(mrTd), rtmr: rtmr.map(bytesToHex), reportData: bytesToHex(reportData) };
}

function certificateSayings(der: Uint8Array, i: number): Record<string, unknown> {
	const { subject, issuer, serial, notBeforeMs, notAfterMs } = readCertificate(der, `certificates[${i}]`);
	const [name, by] = [subject, issuer].map((one) => readName(one, `certificates[${i}]`).CN);
	return { name, by, serial, from: dayOf(notBeforeMs), until: dayOf(notAfterMs) };
}
