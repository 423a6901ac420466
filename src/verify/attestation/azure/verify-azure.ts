// Judges Azure's evidence: hardware report ← runtime data ← key of the virtual TPM ← its quote, which has the nonce and the PCRs.
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { checkSignedSnp, checkSnpGuest } from "../amd/verify-snp.ts";
import { anyHexToBytes, base64ToBytes } from "../bytes.ts";
import { checkSignedQuote, judgeGuestAndTcb } from "../intel/verify-quote.ts";
import { JsonFields, parseJson } from "../json.ts";
import type { AmdProduct, AttestationSettings } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, refuse } from "../verdict.ts";
import { type HclReport, readHclReport } from "./hcl-report.ts";
import { arePcrsQuoted, readTpmQuote } from "./tpm-quote.ts";

export interface AzureQuestion {
	readonly product: AmdProduct | null;
	/** What the TPM was given; null: not asked. */
	readonly nonce: Uint8Array | null;
	/** ASK and ARK of AMD for SNP; null: not at hand. */
	readonly chain: Uint8Array | null;
	/** Intel's for TDX; null: not at hand. */
	readonly collateral: Uint8Array | null;
}

const wrong = (where: string, detail: string): never => refuse("ATTEST_FORM", where, detail);

/** The evidence by itself, or wrapped as `evidence`. */
function fieldsOf(bytes: Uint8Array): JsonFields {
	const outer = new JsonFields(parseJson(bytes, "ATTEST_FORM", "evidence"), "ATTEST_FORM", "evidence");
	return outer.has("hcl_report") ? outer : outer.object("evidence");
}

/** Of such evidence; read, not checked. */
export const hclReportIn = (bytes: Uint8Array): Uint8Array => base64Field(fieldsOf(bytes), "hcl_report");

function base64Field(fields: JsonFields, name: string): Uint8Array {
	return base64ToBytes(fields.text(name)) ?? wrong(name, "not base64");
}

export function verifyAzure(
	bytes: Uint8Array,
	question: AzureQuestion,
	settings: AttestationSettings,
): AttestationVerdict {
	return hear((hearing) => {
		const fields = fieldsOf(bytes);
		const hcl = readHclReport(base64Field(fields, "hcl_report"));
		const judgeGuest =
			hcl.tee === "snp"
				? snpBelow(hearing, fields, hcl, question, settings)
				: tdxBelow(hearing, fields, hcl, question, settings);
		if (judgeGuest === null) return "none";
		checkTpm(hearing, fields, hcl, question, settings);
		judgeGuest();
		return "genuine";
	});
}

/** The hardware's signature; gives the judgement of the guest, which comes after the nonce. */
function snpBelow(
	hearing: Hearing,
	fields: JsonFields,
	hcl: HclReport,
	{ chain, product }: AzureQuestion,
	settings: AttestationSettings,
): (() => void) | null {
	const leaf = base64Field(fields, "vcek");
	const report = checkSignedSnp(hearing, { report: hcl.hardware, leaf, chain, crl: null }, product, settings);
	if (report === null) return null;
	checkRuntime(hcl, report.reportData);
	return () => checkSnpGuest(hearing, report, settings);
}

function tdxBelow(
	hearing: Hearing,
	fields: JsonFields,
	hcl: HclReport,
	{ collateral }: AzureQuestion,
	settings: AttestationSettings,
): () => void {
	const signed = checkSignedQuote(hearing, base64Field(fields, "td_quote"), settings);
	const { report } = signed.quote;
	if (report.tee !== "tdx") return wrong("td_quote", "a quote of SGX");
	checkRuntime(hcl, report.td.reportData);
	return () => judgeGuestAndTcb(hearing, signed, { ask: collateral === null ? "signed" : "tcb", collateral }, settings);
}

function checkRuntime(hcl: HclReport, reportData: Uint8Array): void {
	if (!equalBytes(reportData.subarray(0, 32), hcl.runtimeHash))
		refuse("BINDING_WRONG", "hcl_report", "the hardware's report names other runtime data");
}

function checkTpm(
	hearing: Hearing,
	fields: JsonFields,
	hcl: HclReport,
	{ nonce }: AzureQuestion,
	{ verify }: AttestationSettings,
): void {
	const tpm = fields.object("tpm_quote");
	const [message, signature] = ["message", "signature"].map(
		(name) => anyHexToBytes(tpm.text(name)) ?? wrong(`tpm_quote.${name}`, "not hex"),
	);
	const quote = readTpmQuote(message!);
	if (!verify("rsa-pkcs1", hcl.tpmKey, message!, signature!))
		refuse("ATTEST_SIGNATURE", "tpm_quote", "the virtual TPM's key did not sign this quote");
	const { secureBoot, vm } = hcl;
	Object.assign(hearing.facts, { extraData: bytesToHex(quote.extraData), secureBoot, vm });
	if (nonce !== null && !equalBytes(nonce, quote.extraData))
		refuse("NONCE_WRONG", "tpm_quote", "the quote answers another question");
	const pcrs = tpm.texts("pcrs", 24).map((one) => anyHexToBytes(one) ?? wrong("tpm_quote.pcrs", "not hex"));
	if (!arePcrsQuoted(quote, pcrs)) refuse("EVENTS_WRONG", "tpm_quote.pcrs", "the registers are not those of the quote");
}
