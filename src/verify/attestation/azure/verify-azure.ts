// Judges Azure's evidence: hardware report ← runtime data ← key of the virtual TPM ← its quote, which has the
// nonce and the PCRs.
import { reportDataOf, setOf, tpmDataOf } from "../../../protocol/attest/binding.ts";
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { checkSignedSnp, checkSnpGuest } from "../amd/verify-snp.ts";
import { anyHexToBytes, base64ToBytes } from "../bytes.ts";
import { checkGuestAllowed } from "../guest.ts";
import { checkSignedQuote, judgeGuestAndTcb } from "../intel/verify-quote.ts";
import { JsonFields, parseJson } from "../json.ts";
import type { AmdProduct, AttestationSettings } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, refuse, wrong } from "../verdict.ts";
import { type HclReport, readHclReport } from "./hcl-report.ts";
import { arePcrsQuoted, readTpmQuote } from "./tpm-quote.ts";

export interface AzureQuestion {
	readonly product: AmdProduct | null;
	/**
	 * What the TPM was given, or 64 bytes of report data that it stands for (binding.ts, tpmDataOf); null: not
	 * asked.
	 */
	readonly nonce: Uint8Array | null;
	/** ASK and ARK of AMD for SNP; null: not at hand. */
	readonly chain: Uint8Array | null;
	/** AMD's list of revoked certificates; null: not at hand. */
	readonly crl: Uint8Array | null;
	/** Intel's for TDX; null: not at hand. */
	readonly collateral: Uint8Array | null;
}

/** The evidence by itself, or wrapped as `evidence`. */
function fieldsOf(bytes: Uint8Array): JsonFields {
	const outer = new JsonFields(parseJson(bytes, "ATTEST_FORM", "evidence"), "ATTEST_FORM", "evidence");
	return outer.has("hcl_report") ? outer : outer.object("evidence");
}

/** What such evidence is judged by, as the vendors' files name it; read, not checked. */
export function azureParts(bytes: Uint8Array) {
	const fields = fieldsOf(bytes);
	const hcl = readHclReport(base64Field(fields, "hcl_report"));
	const of = (name: string) => (fields.has(name) ? base64Field(fields, name) : null);
	return { ...hcl, leaf: of("vcek"), quote: of("td_quote"), pcrs: fields.object("tpm_quote").texts("pcrs", 24) };
}

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
		const registers = checkTpm(hearing, fields, hcl, question, settings);
		const measurement = judgeGuest();
		checkGuestAllowed({ tee: `azure-${hcl.tee}`, measurement, registers }, settings.policy, "evidence");
		return "genuine";
	});
}

/** Who is allowed is asked of paravisor and guest together, by the registers. */
const anyGuest = (settings: AttestationSettings): AttestationSettings => ({
	...settings,
	policy: { ...settings.policy, guests: null },
});

/**
 * The hardware's signature; gives the judgement of the guest, which comes after the nonce and says what the
 * CPU measured.
 */
function snpBelow(
	hearing: Hearing,
	fields: JsonFields,
	hcl: HclReport,
	{ chain, crl, product }: AzureQuestion,
	settings: AttestationSettings,
): (() => string) | null {
	if (!fields.has("vcek")) {
		hearing.doubtful("COLLATERAL_MISSING", "vcek", "the certificate of the chip is not at hand");
		return null;
	}
	const leaf = base64Field(fields, "vcek");
	const report = checkSignedSnp(hearing, { report: hcl.hardware, leaf, chain, crl }, product, settings);
	if (report === null) return null;
	checkRuntime(hcl, report.reportData);
	return () => {
		checkSnpGuest(hearing, report, anyGuest(settings));
		// ATTACK: a guest below the paravisor has the same measurement. Could it ask the hardware itself, it
		// would name a key of its own.
		if (report.vmpl !== 0)
			refuse("GUEST_POLICY", "hcl_report", `not the paravisor's report: it comes from VMPL ${report.vmpl}`);
		return bytesToHex(report.measurement);
	};
}

function tdxBelow(
	hearing: Hearing,
	fields: JsonFields,
	hcl: HclReport,
	{ collateral }: AzureQuestion,
	settings: AttestationSettings,
): () => string {
	const signed = checkSignedQuote(hearing, base64Field(fields, "td_quote"), settings);
	const { report } = signed.quote;
	if (report.tee !== "tdx") return wrong("td_quote", "a quote of SGX");
	checkRuntime(hcl, report.td.reportData);
	return () => {
		const asked = { ask: collateral === null ? "signed" : "tcb", collateral } as const;
		judgeGuestAndTcb(hearing, signed, asked, anyGuest(settings));
		return bytesToHex(report.td.mrTd);
	};
}

function checkRuntime(hcl: HclReport, reportData: Uint8Array): void {
	if (!equalBytes(reportData.subarray(0, 32), hcl.runtimeHash))
		refuse("BINDING_WRONG", "hcl_report", "the hardware's report names other runtime data");
}

/** Gives the registers that were signed, in hex; null: this one was not. */
function checkTpm(
	hearing: Hearing,
	fields: JsonFields,
	hcl: HclReport,
	{ nonce }: AzureQuestion,
	{ verify }: AttestationSettings,
): readonly (string | null)[] {
	const tpm = fields.object("tpm_quote");
	const [message, signature] = ["message", "signature"].map(
		(name) => anyHexToBytes(tpm.text(name)) ?? wrong(`tpm_quote.${name}`, "not hex"),
	);
	const quote = readTpmQuote(message!);
	if (!verify("rsa-pkcs1", hcl.tpmKey, message!, signature!))
		refuse("ATTEST_SIGNATURE", "tpm_quote", "the virtual TPM's key did not sign this quote");
	const { secureBoot, vm } = hcl;
	Object.assign(hearing.facts, { extraData: bytesToHex(quote.extraData), secureBoot, vm });
	if (nonce !== null) checkAnswers(quote.extraData, nonce);
	const pcrs = tpm.texts("pcrs", 24).map((one) => anyHexToBytes(one) ?? wrong("tpm_quote.pcrs", "not hex"));
	if (!arePcrsQuoted(quote, pcrs)) refuse("EVENTS_WRONG", "tpm_quote.pcrs", "the registers are not those of the quote");
	// ATTACK: of a register that the quote leaves out anything may be claimed.
	const signed = pcrs.map((pcr, i) => (quote.selected.includes(i) ? bytesToHex(pcr) : null));
	Object.assign(hearing.facts, { vtpm: "azure", pcrs: signed });
	return signed;
}

/** The nonce as it is; or the report data of a round, whose set is empty where only the nonce is known. */
function checkAnswers(found: Uint8Array, nonce: Uint8Array): void {
	if (equalBytes(nonce, found)) return;
	const reportData = nonce.length === 32 ? reportDataOf(nonce, setOf([])) : nonce;
	const [due, asked] = reportData.length === 64 ? [tpmDataOf(reportData), 16] : [nonce, nonce.length + 1];
	if (!equalBytes(due.subarray(0, asked), found.subarray(0, asked)))
		refuse("NONCE_WRONG", "tpm_quote", "the quote answers another question");
	if (!equalBytes(due, found)) refuse("BINDING_WRONG", "tpm_quote", "the quote names another set of reports");
}
