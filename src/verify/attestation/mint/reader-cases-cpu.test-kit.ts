// Readers of quotes, SNP reports, Azure's evidence and event logs, and of what Intel says of a platform: one
// wrong thing each.
import { bytesToHex, concatBytes, u32, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { readSnpReport } from "../amd/snp-report.ts";
import { verifySnp } from "../amd/verify-snp.ts";
import { readHclReport } from "../azure/hcl-report.ts";
import { readTpmQuote } from "../azure/tpm-quote.ts";
import { verifyAzure } from "../azure/verify-azure.ts";
import { base64ToBytes } from "../bytes.ts";
import { readCcel, readDstackLog } from "../events/event-log.ts";
import { verifyCcel, verifyDstack } from "../events/verify-events.ts";
import { platformTcb } from "../intel/pck.ts";
import { readQuote } from "../intel/quote.ts";
import { moduleState, platformState, qeState } from "../intel/tcb.ts";
import { verifyQuote } from "../intel/verify-quote.ts";
import { JsonFields } from "../json.ts";
import type { AmdProduct } from "../settings.ts";
import type { Certificate } from "../x509/certificate.ts";
import { integer, keyOf, mintCertificate, octets, oid, pem, seq } from "./der-writer.test-kit.ts";
import {
	type AzurePlan,
	arkOf,
	askOf,
	azurePlan,
	mintAzure,
	mintSnp,
	type SnpPlan,
	snpPlan,
} from "./mint-amd.test-kit.ts";
import {
	type CollateralPlan,
	collateralPlan,
	mintCcel,
	mintCollateral,
	mintQuote,
	type QuotePlan,
	quotePlan,
} from "./mint-intel.test-kit.ts";
import { type MintedCase, minted } from "./minted-case.test-kit.ts";
import { readers } from "./reader-case.test-kit.ts";

type Edit = (bytes: Uint8Array) => Uint8Array;
const put =
	(at: number, ...values: number[]): Edit =>
	(bytes) => {
		const copy = Uint8Array.from(bytes);
		copy.set(values, at < 0 ? bytes.length + at : at);
		return copy;
	};

const HEADER = 48;
/** Where the length of the signatures stands, of a TD 1.0 quote of version 4. */
const AUTH = HEADER + 584;
const INNER = AUTH + 4 + 128 + 6;
const sgx = (edit: Edit) => () => readQuote(edit(mintQuote(quotePlan("sgx"))));
const tdx =
	(edit: Edit, change: Partial<QuotePlan> = {}) =>
	() =>
		readQuote(edit(mintQuote({ ...quotePlan(), ...change })));
const longer = (bytes: Uint8Array, at: number): Uint8Array => {
	const view = new DataView(bytes.buffer, bytes.byteOffset);
	view.setUint32(at, view.getUint32(at, true) + 1, true);
	return bytes;
};
const five = { version: 5 as const };
const kindOfCertificates = (bytes: Uint8Array): number =>
	INNER + 448 + 2 + bytes[INNER + 448]! + 256 * bytes[INNER + 449]!;

const quoteCases = readers("quote", "ATTEST_FORM", {
	"of 70 KiB": tdx((bytes) => concatBytes(bytes, new Uint8Array(70_000))),
	"TDX in version 3": tdx(put(0, 3)),
	"a body of the other kind": tdx(put(HEADER, 1), five),
	"a body of another size": tdx(put(HEADER + 2, 0, 1), five),
	"something behind the certification data": tdx((bytes) =>
		concatBytes(longer(Uint8Array.from(bytes), AUTH), Uint8Array.of(1)),
	),
	"something behind the certificates": tdx((bytes) =>
		concatBytes(longer(longer(Uint8Array.from(bytes), AUTH), AUTH + 4 + 128 + 2), Uint8Array.of(1)),
	),
	"something behind it": tdx((bytes) => concatBytes(bytes, Uint8Array.of(1))),
	"certificates that are not text": tdx((bytes) => put(kindOfCertificates(bytes) + 6, 0xff)(bytes)),
	cut: tdx((bytes) => bytes.subarray(0, -1)),
});

const newerQuotes = readers("quote", "ATTEST_VERSION", {
	"of version 2": sgx(put(0, 2)),
	"of version 6": sgx(put(0, 6)),
	"a key of another kind": tdx(put(2, 3)),
	"neither SGX nor TDX": tdx(put(4, 0x82)),
	"a body of no kind": tdx(put(HEADER, 9), five),
	"other certification data": tdx(put(AUTH + 4 + 128, 7)),
	"certificates by an encrypted id": tdx((bytes) => put(kindOfCertificates(bytes), 3)(bytes)),
});

const SGX = "1.2.840.113741.1.13.1";
const pair = (arc: string, value: Uint8Array): Uint8Array => seq(oid(`${SGX}.${arc}`), value);
const svns = (first: number, last: number): Uint8Array =>
	seq(...Array.from({ length: 17 }, (_, i) => pair(`2.${i + 1}`, integer(i === 0 ? first : i === 16 ? last : 1))));

/** The platform of a certificate that says this of it. */
const pck =
	(change: Readonly<Record<string, Uint8Array | null>>, ...more: Uint8Array[]) =>
	() => {
		const fields = { "2": svns(1, 1), "3": octets(new Uint8Array(2)), "4": octets(new Uint8Array(6)), ...change };
		const rows = Object.entries(fields).flatMap(([arc, value]) => (value === null ? [] : [pair(arc, value)]));
		const extensions = new Map([[SGX, { isCritical: false, value: seq(...rows, ...more) }]]);
		return platformTcb({ extensions } as unknown as Certificate);
	};

const pckCases = readers("platform", "ATTEST_FORM", {
	"no extension": () => platformTcb({ extensions: new Map() } as unknown as Certificate),
	"a field twice": pck({}, pair("9", integer(1)), pair("9", integer(1))),
	"no FMSPC": pck({ "4": null }),
	"a FMSPC of another kind": pck({ "4": integer(0x010203040506) }),
	"a FMSPC of five bytes": pck({ "4": octets(new Uint8Array(5)) }),
	"no TCB": pck({ "2": integer(1) }),
	"a version missing": pck({ "2": seq() }),
	"a version of nine bits": pck({ "2": svns(256, 1) }),
	"a PCE of 17 bits": pck({ "2": svns(1, 65_536) }),
});

const fields = (value: unknown) => new JsonFields(value, "COLLATERAL_WRONG", "collateral");
const { report: td, qeReport } = readQuote(mintQuote(quotePlan()));
const tdOf = (change: object) => ({ ...(td.tee === "tdx" ? td.td : null)!, ...change });
const module = { mrsigner: "00".repeat(48), attributes: "00".repeat(8), attributesMask: "ff".repeat(8) };
const platform = { fmspc: "", pceId: "", components: new Array(16).fill(1), pceSvn: 1 };
const level = (sgxtcbcomponents: unknown) => ({ tcb: { sgxtcbcomponents, pcesvn: 1 }, tcbStatus: "UpToDate" });
const identity = {
	miscselect: "00000000",
	miscselectMask: "ffffffff",
	attributes: bytesToHex(qeReport.attributes),
	attributesMask: "ff".repeat(16),
	mrsigner: bytesToHex(qeReport.mrSigner),
	isvprodid: qeReport.productId,
	tcbLevels: [{ tcb: { isvsvn: 1 }, tcbStatus: "UpToDate" }],
};
const qe = (change: object) => () => qeState(fields({ ...identity, ...change }), qeReport);

const tcbCases = [
	...readers("levels", "COLLATERAL_WRONG", {
		"fifteen components": () =>
			platformState(fields({ tcbLevels: [level(new Array(15).fill({ svn: 1 }))] }), platform, null),
	}),
	...readers("levels", "TCB_UNKNOWN", {
		"no level": () => platformState(fields({ tcbLevels: [] }), platform, null),
		"a module of another signer": (_, hearing) =>
			moduleState(
				hearing,
				fields({ tdxModule: { ...module, mrsigner: "11".repeat(48) } }),
				tdOf({ teeTcbSvn: new Uint8Array(16) }),
			),
		"a module of other attributes": (_, hearing) =>
			moduleState(
				hearing,
				fields({ tdxModule: { ...module, attributes: "11".repeat(8) } }),
				tdOf({ teeTcbSvn: new Uint8Array(16) }),
			),
		"an enclave of no level": qe({ tcbLevels: [] }),
	}),
	...readers("levels", "COLLATERAL_MISSING", {
		"a module that the TCB info does not know": (_, hearing) =>
			moduleState(hearing, fields({ tdxModuleIdentities: [] }), tdOf({})),
	}),
	...readers("levels", "QE_WRONG", {
		"an enclave of other selection": qe({ miscselect: "00000001" }),
		"an enclave of other attributes": qe({ attributes: "ff".repeat(16) }),
		"an enclave of another signer": qe({ mrsigner: "11".repeat(32) }),
		"an enclave of another product": qe({ isvprodid: 99 }),
	}),
];

const collateral = (name: string, code: string, change: Partial<CollateralPlan>): MintedCase =>
	minted(`collateral: ${name}`, code, undefined, (settings) => {
		const file = mintCollateral({ ...collateralPlan(), ...change });
		return verifyQuote(mintQuote(quotePlan()), { ask: "tcb", reportData: null, collateral: file }, settings);
	});

const collateralCases = [
	collateral("without a date", "COLLATERAL_WRONG", { from: "yesterday" }),
	collateral("of last year", "COLLATERAL_STALE", { until: "2025-01-01T00:00:00Z" }),
	collateral("of next year", "COLLATERAL_STALE", { from: "2026-01-01T00:00:00Z" }),
	collateral("by a signer that has expired", "COLLATERAL_STALE", { signerUntil: "20250101000000Z" }),
	collateral("a list that is not hex", "COLLATERAL_WRONG", { edit: (all) => ({ ...all, pck_crl: "x" }) }),
	collateral("a list of last year", "COLLATERAL_STALE", { pckCrl: { until: "20250101000000Z" } }),
	collateral("a list of next year", "COLLATERAL_STALE", { pckCrl: { from: "20260101000000Z" } }),
	collateral("of another PCE", "COLLATERAL_OTHER", { pceId: "0001" }),
	collateral("an identity of version 3", "ATTEST_VERSION", { qeVersion: 3 }),
];

const snp = (product: AmdProduct, edit: Edit) => () => readSnpReport(edit(mintSnp(snpPlan(product)).report), product);
const reserved = (product: AmdProduct, at: number): [string, () => unknown] => [
	`${product}: reserved byte ${at} of the TCB`,
	snp(product, put(0x180 + at, 1)),
];

const snpCases = readers("snp report", "ATTEST_FORM", {
	"of 1185 bytes": snp("Milan", (bytes) => concatBytes(bytes, new Uint8Array(1))),
	"by no key": snp("Milan", put(0x48, 0x1c)),
	"something behind the signature": snp("Milan", put(-1, 1)),
	"a long half": snp("Milan", put(0x2a0 + 48, 1)),
});

const newerSnp = readers("snp report", "ATTEST_VERSION", {
	"of version 1": snp("Milan", put(0, 1)),
	"of version 6": snp("Milan", put(0, 6)),
	"by another algorithm": snp("Milan", put(0x34, 2)),
	"by a key to come": snp("Milan", put(0x48, 8)),
	...Object.fromEntries([4, 5, 6].map((at) => reserved("Turin", at))),
	...Object.fromEntries([2, 3, 4, 5].map((at) => reserved("Milan", at))),
});

const snpWhole = (name: string, code: string, change: (plan: SnpPlan, files: SnpFiles) => void): MintedCase =>
	minted(`snp: ${name}`, code, undefined, (settings) => {
		const plan = snpPlan("Genoa");
		const files: SnpFiles = { chain: null, leaf: null, isAnyProduct: false };
		change(plan, files);
		const made = mintSnp(plan);
		const evidence = { ...made, leaf: files.leaf ?? made.leaf, chain: files.chain ?? made.chain, crl: null };
		return verifySnp(evidence, { product: files.isAnyProduct ? null : "Genoa", reportData: null }, settings);
	});
interface SnpFiles {
	chain: Uint8Array | null;
	leaf: Uint8Array | null;
	isAnyProduct: boolean;
}

const snpWholeCases = [
	snpWhole("three authorities", "ATTEST_CHAIN", (_, files) => {
		files.chain = utf8ToBytes(pem(askOf("Genoa"), askOf("Genoa"), arkOf("Genoa")));
	}),
	snpWhole("two leaves", "ATTEST_FORM", (_, files) => {
		files.leaf = utf8ToBytes(pem(askOf("Genoa"), askOf("Genoa")));
	}),
	snpWhole("a root of no product", "ATTEST_CHAIN", (_, files) => {
		const strange = mintCertificate({ CN: "ARK", key: arkOf("Genoa").key, isCa: true, serial: 99 });
		Object.assign(files, { chain: utf8ToBytes(pem(askOf("Genoa"), strange)), isAnyProduct: true });
	}),
	snpWhole("a product to come", "ATTEST_VERSION", (_, files) => {
		const next = mintCertificate({ CN: "ARK-Venice", key: arkOf("Genoa").key, isCa: true, serial: 99 });
		Object.assign(files, { chain: utf8ToBytes(pem(askOf("Genoa"), next)), isAnyProduct: true });
	}),
	snpWhole("a root of its own by the name of a product", "ATTEST_CHAIN", (_, files) => {
		const forged = mintCertificate({ CN: "ARK-Genoa", key: keyOf("usurper"), isCa: true, serial: 99 });
		Object.assign(files, { chain: utf8ToBytes(pem(askOf("Genoa"), forged)), isAnyProduct: true });
	}),
	snpWhole("no security versions in the leaf", "TCB_WRONG", (plan) => {
		plan.leaf = { extensions: [] };
	}),
	snpWhole("no chip in the leaf", "TCB_WRONG", (plan) => {
		const arcs = { bl: 1, tee: 2, snp: 3, ucode: 8 } as const;
		const rows = Object.entries(arcs).map(([part, arc]) => ({
			oid: `1.3.6.1.4.1.3704.1.3.${arc}`,
			value: integer(plan.tcb[part]!),
		}));
		plan.leaf = { extensions: rows };
	}),
];

interface AzureFields {
	hcl_report: string;
	tpm_quote: { message: string };
}
const azureFields = (): AzureFields => JSON.parse(new TextDecoder().decode(mintAzure(azurePlan()).evidence));
const hcl = (edit: Edit) => () => readHclReport(edit(base64ToBytes(azureFields().hcl_report)!));
const runtime = (edit: (words: string) => string) => () => {
	const { evidence } = mintAzure({ ...azurePlan(), runtime: edit });
	return readHclReport(base64ToBytes((JSON.parse(new TextDecoder().decode(evidence)) as AzureFields).hcl_report)!);
};
const RUNTIME = 32 + 1184;
const tpm = (edit: Edit) => () =>
	readTpmQuote(edit(Uint8Array.from(Buffer.from(azureFields().tpm_quote.message, "hex"))));
/** Where the selection stands: after magic, name, nonce ("challenge"), clock and version. */
const SELECTION = 6 + 2 + 4 + 2 + 9 + 25;

const azureCases = readers("azure's", "ATTEST_FORM", {
	"report is short": hcl((bytes) => bytes.subarray(0, RUNTIME)),
	"report is long": hcl((bytes) => concatBytes(bytes, new Uint8Array(70_000))),
	"report begins otherwise": hcl(put(0, 1)),
	"runtime data is long": hcl(put(RUNTIME + 18, 1)),
	"runtime data is followed": hcl(put(-1, 1)),
	"runtime data names no key": runtime((words) => words.replace("HCLAkPub", "other")),
	"runtime data names two keys": runtime((words) => words.replace(/\[(\{[^}]*\})\]/, "[$1,$1]")),
	"key is not base64": runtime((words) => words.replace(/"n":"../, '"n":"**')),
	"quote is cut": tpm((bytes) => bytes.subarray(0, -1)),
	"quote begins otherwise": tpm(put(0, 0)),
	"quote is of another kind": tpm(put(5, 0x17)),
	"quote selects other registers": tpm((bytes) =>
		concatBytes(bytes.subarray(0, SELECTION + 6), Uint8Array.of(2, 255, 255), bytes.subarray(SELECTION + 10)),
	),
	"quote is followed": tpm((bytes) => concatBytes(bytes, new Uint8Array(1))),
});

const newerAzure = readers("azure's", "ATTEST_VERSION", {
	"report is of no kind": hcl(put(RUNTIME + 8, 3)),
	"runtime data has another hash": hcl(put(RUNTIME + 12, 2)),
	"key is of another kind": runtime((words) => words.replace('"RSA"', '"EC"')),
	"key has another exponent": runtime((words) => words.replace("AQAB", "Aw==")),
	"quote selects twice": tpm(put(SELECTION + 3, 2)),
	"quote selects by another hash": tpm(put(SELECTION + 5, 4)),
});

const azure = (name: string, change: Partial<AzurePlan>): MintedCase =>
	minted(`azure: ${name}`, "ATTEST_FORM", undefined, (settings) => {
		const { evidence, chain } = mintAzure({ ...azurePlan(), ...change });
		return verifyAzure(evidence, { product: null, nonce: null, chain, crl: null, collateral: null }, settings);
	});

const azureWholeCases = [
	azure("a report that is not base64", { edit: (all) => ({ ...all, hcl_report: "*" }) }),
	azure("a quote that is not hex", {
		edit: (all) => ({ ...all, tpm_quote: { message: "x", signature: "", pcrs: [] } }),
	}),
	azure("registers that are not hex", {
		edit: (all) => ({ ...all, tpm_quote: { ...(all.tpm_quote as object), pcrs: ["x"] } }),
	}),
];

const boot = (): Uint8Array => mintCcel([{ register: 0, words: "firmware" }]).log;
const log = (edit: Edit) => () => readCcel(edit(boot()));
const HEAD = 32 + 33;
const event = (change: Record<string, unknown>) => () =>
	readDstackLog(JSON.stringify([{ imr: 0, event_type: 1, digest: "00".repeat(48), ...change }]));

const logCases = readers("log", "ATTEST_FORM", {
	"of 5 MiB": log((bytes) => concatBytes(bytes, new Uint8Array(5 * 1024 * 1024).fill(0xff))),
	"of nothing": log((bytes) => bytes.subarray(0, 20)),
	"another first event": log(put(4, 9)),
	"a long head": log(put(28, 0, 4)),
	"a head beyond the end": log((bytes) => put(28, 34)(bytes.subarray(0, HEAD))),
	"a short head": () =>
		readCcel(concatBytes(u32(1), u32(3), new Uint8Array(20), u32(16), utf8ToBytes("Spec ID Event03\0"))),
	"a head of another name": log(put(32, 1)),
	"an event of two digests": log(put(HEAD + 8, 2)),
	"an event of another digest": log(put(HEAD + 12, 0x0b)),
	"an event of register 0": log(put(HEAD, 0)),
	"an event of register 5": log(put(HEAD, 5)),
	"10,001 events": () => readCcel(mintCcel(new Array(10_001).fill({ register: 0, words: "" })).log),
	"an event that is cut": log((bytes) => bytes.subarray(0, HEAD + 70)),
	"something behind the last": log(put(-1, 1)),
	"no list": () => readDstackLog("{}"),
	"a list of 10,001": () => readDstackLog(JSON.stringify(new Array(10_001).fill(0))),
	"a register of nobody": event({ imr: 4 }),
	"a payload that is not hex": event({ event_type: 0x08000001, event: "x", event_payload: "x" }),
});

const APPLICATION = { event_type: 0x08000001, event: "x", event_payload: "00" };

const eventCases = [
	...readers("log", "ATTEST_VERSION", {
		"two algorithms": log(put(32 + 24, 2)),
		"another algorithm": log(put(32 + 28, 0x0b)),
		"another size": log(put(32 + 30, 32)),
	}),
	...readers("log", "ATTEST_FORM", {
		"no digest, of the firmware": event({ digest: "" }),
		"no digest and no payload, of the application": event({ ...APPLICATION, digest: "", event_payload: 1 }),
		"half a digest, of the application": event({ ...APPLICATION, digest: "00".repeat(24) }),
	}),
	...readers("log", "EVENTS_WRONG", {
		"a digest of something else": event(APPLICATION),
	}),
	minted("log: of an enclave", "ATTEST_FORM", undefined, (settings) =>
		verifyCcel(mintQuote(quotePlan("sgx")), boot(), settings),
	),
	minted("log: with a quote that is not hex", "ATTEST_FORM", undefined, (settings) =>
		verifyDstack(utf8ToBytes('{"quote":"x","event_log":"[]"}'), settings),
	),
];

export const cpuReaders = (): MintedCase[] => [
	...quoteCases,
	...newerQuotes,
	...newerSnp,
	...newerAzure,
	...pckCases,
	...tcbCases,
	...collateralCases,
	...snpCases,
	...snpWholeCases,
	...azureCases,
	...azureWholeCases,
	...logCases,
	...eventCases,
];
