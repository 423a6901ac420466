// Minted cases of quotes, SNP reports, Azure's evidence and event logs: each is right in all but one thing.
import { reportDataOf, setOf, tpmDataOf } from "../../../protocol/attest/binding.ts";
import { bytesToHex, concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { verifySnp } from "../amd/verify-snp.ts";
import { verifyAzure } from "../azure/verify-azure.ts";
import { verifyCcel, verifyDstack } from "../events/verify-events.ts";
import { type GuestRule, ruleOfMeasurement } from "../guest-rules.ts";
import { verifyQuote } from "../intel/verify-quote.ts";
import { DEFAULT_POLICY } from "../settings.ts";
import { keyOf, mintCrl, octets, oid, seq, tlv } from "./der-writer.test-kit.ts";
import {
	ASK_SERIAL,
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
	intelRoot,
	mintCcel,
	mintCollateral,
	mintDstack,
	mintQuote,
	PCK_SERIAL,
	platformCa,
	type QuotePlan,
	quotePlan,
	REPORT_DATA,
	TCB_SIGNING_SERIAL,
} from "./mint-intel.test-kit.ts";
import { type MintedCase, minted } from "./minted-case.test-kit.ts";

type ChangeQuote = (quote: QuotePlan, collateral: CollateralPlan) => void;

const judged = (
	tee: "sgx" | "tdx",
	name: string,
	code: string | null,
	change: ChangeQuote,
	at?: string,
): MintedCase => {
	const evidence = () => {
		const [plan, collateral] = [quotePlan(tee), collateralPlan(tee)];
		change(plan, collateral);
		return { quote: mintQuote(plan), collateral: mintCollateral(collateral) };
	};
	const one = minted(`${tee}: ${name}`, code, at, (settings) => {
		const { quote, collateral } = evidence();
		return verifyQuote(quote, { ask: "tcb", reportData: REPORT_DATA, collateral }, settings);
	});
	return { ...one, evidence };
};

const tdx = (name: string, code: string | null, change: ChangeQuote, at?: string): MintedCase =>
	judged("tdx", name, code, change, at);

const bytesAt = (index: number, value: number) => (bytes: Uint8Array) => {
	bytes.set([value], index < 0 ? bytes.length + index : index);
	return bytes;
};

const edited = (name: string, code: string | null, edit: (bytes: Uint8Array) => Uint8Array): MintedCase =>
	tdx(name, code, (plan) => {
		plan.edit = edit;
	});

const quoteCases = (): MintedCase[] => [
	tdx("whole", null, () => {}),
	judged("sgx", "whole", null, () => {}),
	tdx("version 5", null, (plan) => Object.assign(plan, { version: 5 })),
	tdx("version 5, TD 1.5", null, (plan) => Object.assign(plan, { version: 5, isTd15: true })),
	judged("sgx", "version 4", null, (plan) => Object.assign(plan, { version: 4 })),
	edited("zeros behind it", null, (bytes) => concatBytes(bytes, new Uint8Array(99))),
	edited("a byte behind it", "ATTEST_FORM", (bytes) => concatBytes(bytes, Uint8Array.of(0, 1))),
	edited("cut", "ATTEST_FORM", (bytes) => bytes.subarray(0, -1)),
	edited("version 6", "ATTEST_VERSION", bytesAt(0, 6)),
	edited("another kind of key", "ATTEST_VERSION", bytesAt(2, 3)),
	edited("another kind of guest", "ATTEST_VERSION", bytesAt(4, 0x80)),
	edited("another certification", "ATTEST_VERSION", (bytes) => bytesAt(48 + 584 + 4 + 128, 5)(bytes)),
	edited("a register changed", "ATTEST_SIGNATURE", bytesAt(48 + 330, 1)),
	edited("report data changed", "ATTEST_SIGNATURE", bytesAt(48 + 521, 0x99)),
	edited("the enclave's report changed", "ATTEST_SIGNATURE", bytesAt(48 + 584 + 4 + 128 + 6 + 65, 0x99)),
	tdx("signed by another key", "ATTEST_SIGNATURE", (plan) => {
		plan.quoteSigner = keyOf("another", "p256");
	}),
	tdx("the enclave signed by another", "ATTEST_SIGNATURE", (plan) => {
		plan.qeReportSigner = keyOf("another", "p256");
	}),
	tdx("another vendor's enclave", "QE_WRONG", (plan) => {
		plan.vendor = "00".repeat(16);
	}),
	tdx("an enclave that vouches for another key", "QE_WRONG", (plan) => {
		plan.qeData = (due) => due.map((byte, i) => (i === 0 ? byte ^ 1 : byte));
	}),
	tdx("an enclave with more to say", "QE_WRONG", (plan) => {
		plan.qeData = (due) => due.map((byte, i) => (i === 63 ? 1 : byte));
	}),
	tdx("an enclave in debug mode", "QE_WRONG", (plan) => {
		plan.qeFlags = 0x13;
	}),
	tdx("an enclave of another signer", "QE_WRONG", (plan) => {
		plan.qeSigner = new Uint8Array(32);
	}),
	tdx("another product of that signer", "QE_WRONG", (plan) => {
		plan.qeProduct = 1;
	}),
	tdx("two certificates", "ATTEST_CHAIN", (plan) => {
		plan.editChain = ([pck, ca]) => [pck!, ca!];
	}),
	tdx("no authority between", "ATTEST_CHAIN", (plan) => {
		plan.pck = { issuer: intelRoot };
		plan.editChain = ([pck, , root]) => [pck!, root!];
	}),
	tdx("a certificate of the root itself", "ATTEST_CHAIN", (plan) => {
		plan.editChain = ([pck, , root]) => [pck!, root!, root!];
	}),
	tdx("an expired certificate", "ATTEST_CHAIN", (plan) => {
		plan.pck = { until: "20250101000000Z" };
	}),
	tdx("a certificate of tomorrow", "ATTEST_CHAIN", (plan) => {
		plan.pck = { from: "20260101000000Z" };
	}),
	tdx("a certificate without platform", "ATTEST_FORM", (plan) => {
		plan.pck = { extensions: [] };
	}),
	tdx("another nonce", "NONCE_WRONG", (plan) => {
		plan.reportData = concatBytes(new Uint8Array(32), REPORT_DATA.subarray(32));
	}),
	tdx("another set", "BINDING_WRONG", (plan) => {
		plan.reportData = concatBytes(REPORT_DATA.subarray(0, 32), new Uint8Array(32));
	}),
	tdx("debug", "GUEST_DEBUG", (plan) => {
		plan.attributes = "0100001000000000";
	}),
	judged("sgx", "debug", "GUEST_DEBUG", (plan) => {
		plan.sgxFlags = 0x07;
	}),
	tdx("SEPT_VE_DISABLE off", "GUEST_POLICY", (plan) => {
		plan.attributes = "0000000000000000";
	}),
	tdx("migratable", "GUEST_POLICY", (plan) => {
		plan.attributes = "0000003000000000";
	}),
	tdx("an attribute to come", "ATTEST_VERSION", (plan) => {
		plan.attributes = "0001001000000000";
	}),
	tdx("an attribute to come, and debug", "GUEST_DEBUG", (plan) => {
		plan.attributes = "0101001000000000";
	}),
	tdx("an attribute to come, and migratable", "GUEST_POLICY", (plan) => {
		plan.attributes = "0001003000000000";
	}),
	tdx("keys of its own and performance counters", null, (plan) => {
		plan.attributes = "000000d000000080";
	}),
	tdx("a service TD", "GUEST_POLICY", (plan) =>
		Object.assign(plan, { version: 5, isTd15: true, serviceTd: new Uint8Array(48).fill(1) }),
	),
	minted("tdx: a guest that is not allowed", "GUEST_OTHER", undefined, (settings) =>
		verifyQuote(
			mintQuote(quotePlan()),
			{ ask: "signed", reportData: null, collateral: null },
			{ ...settings, policy: { ...DEFAULT_POLICY, guests: [ruleOfMeasurement("00".repeat(48))] } },
		),
	),
	minted("tdx: another kernel behind a firmware that is allowed", "GUEST_OTHER", undefined, (settings) => {
		const { mrTd } = quotePlan();
		const registers = ["00".repeat(48), "00".repeat(48), "01".repeat(48), null];
		const rule = { ...ruleOfMeasurement(bytesToHex(mrTd)), tee: "tdx", registers } as const;
		return verifyQuote(
			mintQuote(quotePlan()),
			{ ask: "signed", reportData: null, collateral: null },
			{ ...settings, policy: { ...DEFAULT_POLICY, guests: [rule] } },
		);
	}),
	minted("sgx: an enclave that is not allowed", "GUEST_OTHER", undefined, (settings) =>
		verifyQuote(
			mintQuote(quotePlan("sgx")),
			{ ask: "signed", reportData: null, collateral: null },
			{ ...settings, policy: { ...DEFAULT_POLICY, guests: [ruleOfMeasurement("00".repeat(32))] } },
		),
	),
	minted("tdx: an enclave in debug mode, no collateral", "QE_WRONG", undefined, (settings) =>
		verifyQuote(
			mintQuote({ ...quotePlan(), qeFlags: 0x13 }),
			{ ask: "signed", reportData: null, collateral: null },
			settings,
		),
	),
	minted("tdx: no collateral", "COLLATERAL_MISSING", undefined, (settings) =>
		verifyQuote(mintQuote(quotePlan()), { ask: "tcb", reportData: null, collateral: null }, settings),
	),
	minted("tdx: no quote", "ATTEST_FORM", undefined, (settings) =>
		verifyQuote(new Uint8Array(3), { ask: "tcb", reportData: null, collateral: null }, settings),
	),
];

const field = (
	name: string,
	code: string,
	change: (fields: Record<string, string>) => Record<string, unknown>,
): MintedCase =>
	tdx(`collateral, ${name}`, code, (_, collateral) => {
		collateral.edit = change;
	});

const level = (name: string, code: string | null, change: ChangeQuote): MintedCase =>
	tdx(`level, ${name}`, code, change);

const collateralCases = (): MintedCase[] => [
	tdx("collateral of last year", "COLLATERAL_STALE", () => {}, "2025-07-02T00:00:00Z"),
	tdx("collateral of next month", "COLLATERAL_STALE", () => {}, "2025-05-20T00:00:00Z"),
	tdx("another FMSPC", "COLLATERAL_OTHER", (_, collateral) => {
		collateral.fmspc = "00906ed50001";
	}),
	tdx("SGX's info", "COLLATERAL_OTHER", (_, collateral) => {
		collateral.id = "SGX";
	}),
	tdx("SGX's identity", "COLLATERAL_OTHER", (_, collateral) => {
		collateral.qeId = "QE";
	}),
	tdx("a version nobody knows", "ATTEST_VERSION", (_, collateral) => {
		collateral.version = 4;
	}),
	tdx("signed by another key", "COLLATERAL_WRONG", (_, collateral) => {
		collateral.signer = keyOf("another", "p256");
	}),
	tdx("signed by another certificate of the root", "COLLATERAL_WRONG", (_, collateral) => {
		collateral.signerName = "Mint PCK Certificate";
	}),
	field("no JSON", "COLLATERAL_WRONG", () => [] as never),
	field("a text missing", "COLLATERAL_WRONG", ({ tcb_info, ...rest }) => rest),
	field("a list missing", "COLLATERAL_WRONG", ({ pck_crl, ...rest }) => rest),
	field("a text changed", "COLLATERAL_WRONG", (one) => ({
		...one,
		tcb_info: one.tcb_info!.replace("OutOfDate", "UpToDate"),
	})),
	field("an identity changed", "COLLATERAL_WRONG", (one) => ({ ...one, qe_identity: `${one.qe_identity} ` })),
	field("lists exchanged", "COLLATERAL_OTHER", (one) => ({ ...one, pck_crl: one.root_ca_crl })),
	field("a signature that is not hex", "COLLATERAL_WRONG", (one) => ({ ...one, tcb_info_signature: "zz" })),
	tdx("the PCK certificate revoked", "CERTIFICATE_REVOKED", (_, collateral) => {
		collateral.pckCrl = { revoked: [1, PCK_SERIAL] };
	}),
	tdx("its authority revoked", "CERTIFICATE_REVOKED", (_, collateral) => {
		collateral.rootCrl = { revoked: [32] };
	}),
	tdx("the TCB signing certificate revoked", "CERTIFICATE_REVOKED", (_, collateral) => {
		collateral.rootCrl = { revoked: [TCB_SIGNING_SERIAL] };
	}),
	tdx("a list that ended", "COLLATERAL_STALE", (_, collateral) => {
		collateral.pckCrl = { until: "20250610000000Z" };
	}),
	tdx("a list signed by another", "COLLATERAL_WRONG", (_, collateral) => {
		collateral.rootCrl = { signer: keyOf("another", "p256") };
	}),
	tdx("a list of another issuer", "COLLATERAL_OTHER", (_, collateral) => {
		collateral.pckCrl = { issuer: intelRoot };
	}),
	tdx("a list that is not whole", "ATTEST_VERSION", (_, collateral) => {
		const critical = tlv(0x01, Uint8Array.of(0xff));
		collateral.pckCrl = { issuer: platformCa, extensions: seq(oid("2.5.29.28"), critical, octets(seq())) };
	}),
	level("out of date", "TCB_REFUSED", (plan) => {
		plan.components[3] = 6;
	}),
	level("out of date by the PCE", "TCB_REFUSED", (plan) => {
		plan.pceSvn = 10;
	}),
	level("none fits", "TCB_UNKNOWN", (plan) => {
		plan.components[15] = 1;
	}),
	level("out of date by the TEE's SVN 2", "TCB_REFUSED", (plan) => {
		plan.teeTcbSvn[2] = 5;
	}),
	level("the module's SVN is no platform's", "TCB_REFUSED", (plan) => {
		plan.teeTcbSvn[0] = 3;
	}),
	level("a module without levels", null, (plan) => {
		plan.teeTcbSvn[1] = 0;
	}),
	level("a module without levels, old", "TCB_REFUSED", (plan) => {
		plan.teeTcbSvn[0] = 4;
		plan.teeTcbSvn[1] = 0;
	}),
	level("an old module", "TCB_UNKNOWN", (plan) => {
		plan.teeTcbSvn[0] = 1;
	}),
	level("a module younger than the TCB info", "COLLATERAL_MISSING", (plan) => {
		plan.teeTcbSvn[1] = 9;
	}),
	level("a module younger than the TCB info, on an old platform", "TCB_REFUSED", (plan) => {
		plan.teeTcbSvn[1] = 9;
		plan.components[3] = 6;
	}),
	level("another signer's module", "TCB_UNKNOWN", (plan) => {
		plan.mrSignerSeam = new Uint8Array(48).fill(1);
	}),
	level("an old quoting enclave", "TCB_REFUSED", (plan) => {
		plan.qeSvn = 6;
	}),
	level("a revoked quoting enclave", "TCB_REFUSED", (plan) => {
		plan.qeSvn = 4;
	}),
	level("a quoting enclave nobody knows", "TCB_UNKNOWN", (plan) => {
		plan.qeSvn = 1;
	}),
	...["SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded"].map((status) =>
		level(status, null, (_, { levels }) => {
			levels[0]!.status = status;
		}),
	),
	...["Revoked", "OutOfDateConfigurationNeeded"].map((status) =>
		level(status, "TCB_REFUSED", (_, { levels }) => {
			levels[0]!.status = status;
		}),
	),
	level("Splendid", "ATTEST_VERSION", (_, { levels }) => {
		levels[0]!.status = "Splendid";
	}),
	level("Splendid, by a revoked quoting enclave", "TCB_REFUSED", (plan, { levels }) => {
		levels[0]!.status = "Splendid";
		plan.qeSvn = 4;
	}),
];

const snp = (
	name: string,
	code: string | null,
	change: (plan: SnpPlan) => void,
	base = snpPlan(),
	at?: string,
): MintedCase =>
	minted(`snp: ${name}`, code, at, (settings) => {
		const plan = { ...base };
		change(plan);
		return verifySnp({ ...mintSnp(plan), crl: null }, { product: base.product, reportData: REPORT_DATA }, settings);
	});

const listed = (name: string, code: string | null, plan: Parameters<typeof mintCrl>[0]): MintedCase =>
	minted(`snp: ${name}`, code, undefined, (settings) =>
		verifySnp({ ...mintSnp(snpPlan()), crl: mintCrl(plan) }, { product: null, reportData: null }, settings),
	);

const snpCases = (): MintedCase[] => [
	snp("Milan", null, () => {}, snpPlan("Milan")),
	snp("Genoa", null, () => {}),
	snp("Turin", null, () => {}, snpPlan("Turin")),
	snp("VLEK", null, (plan) => {
		plan.signer = "VLEK";
	}),
	snp("one byte more", "ATTEST_FORM", (plan) => {
		plan.edit = (bytes) => concatBytes(bytes, new Uint8Array(1));
	}),
	snp("version 1", "ATTEST_VERSION", (plan) => {
		plan.version = 1;
	}),
	snp("version 6", "ATTEST_VERSION", (plan) => {
		plan.version = 6;
	}),
	snp("another algorithm", "ATTEST_VERSION", (plan) => {
		plan.algorithm = 2;
	}),
	snp("something behind the signature", "ATTEST_FORM", (plan) => {
		plan.edit = bytesAt(1183, 1);
	}),
	snp("a signature that is too long", "ATTEST_FORM", (plan) => {
		plan.edit = bytesAt(0x2a0 + 50, 1);
	}),
	snp("a measurement changed", "ATTEST_SIGNATURE", (plan) => {
		plan.edit = bytesAt(0x91, 0x77);
	}),
	snp("signed by another", "ATTEST_SIGNATURE", (plan) => {
		plan.reportSigner = keyOf("another");
	}),
	snp("another product's chain", "ATTEST_CHAIN", (plan) => {
		plan.product = "Milan";
	}),
	snp("an expired leaf", "ATTEST_CHAIN", (plan) => {
		plan.leaf = { until: "20250101000000Z" };
	}),
	snp("a leaf of another authority", "ATTEST_CHAIN", (plan) => {
		plan.leaf = { issuer: { name: askOf("Genoa").name, key: keyOf("another") } };
	}),
	snp("a VLEK shown as VCEK", "TCB_WRONG", (plan) => {
		plan.leafName = "SEV-VLEK";
	}),
	snp("another microcode", "TCB_WRONG", (plan) => {
		plan.certifiedTcb = { ucode: 83 };
	}),
	snp("another boot loader", "TCB_WRONG", (plan) => {
		plan.certifiedTcb = { bl: 3 };
	}),
	snp("another chip", "TCB_WRONG", (plan) => {
		plan.certifiedChip = new Uint8Array(64);
	}),
	snp(
		"another FMC",
		"TCB_WRONG",
		(plan) => {
			plan.certifiedTcb = { fmc: 2 };
		},
		snpPlan("Turin"),
	),
	snp(
		"a longer chip id",
		"TCB_WRONG",
		(plan) => {
			plan.chipId = Uint8Array.from(plan.chipId).fill(1, 8);
		},
		snpPlan("Turin"),
	),
	snp("another nonce", "NONCE_WRONG", (plan) => {
		plan.reportData = new Uint8Array(64);
	}),
	snp("another set", "BINDING_WRONG", (plan) => {
		plan.reportData = concatBytes(REPORT_DATA.subarray(0, 32), new Uint8Array(32));
	}),
	snp("debug", "GUEST_DEBUG", (plan) => {
		plan.policy |= 1n << 19n;
	}),
	snp("a migration agent", "GUEST_POLICY", (plan) => {
		plan.policy |= 1n << 18n;
	}),
	snp("from VMPL 4", "GUEST_POLICY", (plan) => {
		plan.vmpl = 4;
	}),
	snp("no alias check", null, (plan) => {
		plan.platformInfo = 7;
	}),
	minted("snp: a guest that is not allowed", "GUEST_OTHER", undefined, (settings) =>
		verifySnp(
			{ ...mintSnp(snpPlan()), crl: null },
			{ product: null, reportData: null },
			{ ...settings, policy: { ...DEFAULT_POLICY, guests: [ruleOfMeasurement("01".repeat(48))] } },
		),
	),
	minted("snp: no chain", "COLLATERAL_MISSING", undefined, (settings) =>
		verifySnp({ ...mintSnp(snpPlan()), chain: null, crl: null }, { product: null, reportData: null }, settings),
	),
	listed("a list without it", null, { issuer: arkOf("Genoa") }),
	listed("its authority revoked", "CERTIFICATE_REVOKED", { issuer: arkOf("Genoa"), revoked: [ASK_SERIAL] }),
	listed("an old list", "COLLATERAL_STALE", { issuer: arkOf("Genoa"), until: "20250610000000Z" }),
	listed("another product's list", "COLLATERAL_OTHER", { issuer: arkOf("Milan") }),
];

const azure = (
	name: string,
	code: string | null,
	change: (plan: AzurePlan) => void,
	nonce: Uint8Array = utf8ToBytes("challenge"),
	guest?: Partial<GuestRule>,
): MintedCase =>
	minted(`azure: ${name}`, code, undefined, (settings) => {
		const plan = azurePlan();
		change(plan);
		const { evidence, chain } = mintAzure(plan);
		const question = { product: null, nonce, chain, crl: null, collateral: null };
		const rule = { ...azureRule(), ...guest };
		const policy = { ...settings.policy, guests: guest === undefined ? null : [rule] };
		return verifyAzure(evidence, question, { ...settings, policy });
	});

const azureRule = (): GuestRule => ({
	...{ name: "of the mint", tee: "azure-snp", measurement: bytesToHex(azurePlan().snp.measurement) },
	registers: azurePlan().pcrs.map(bytesToHex),
});
const [ASKED, NO_SET] = [new Uint8Array(32).fill(5), setOf([])];
const answering = (nonce: Uint8Array) => (plan: AzurePlan) => {
	plan.nonce = nonce;
};

const unsigned = (which: number) => (plan: AzurePlan) => {
	plan.selected = plan.selected.filter((i) => i !== which);
};

const azureCases = (): MintedCase[] => [
	azure("SNP", null, () => {}),
	azure("TDX", null, (plan) => {
		plan.quote = (reportData) => mintQuote({ ...quotePlan(), reportData });
	}),
	azure("TDX, debug", "GUEST_DEBUG", (plan) => {
		plan.quote = (reportData) => mintQuote({ ...quotePlan(), reportData, attributes: "0100001000000000" });
	}),
	azure("an SGX quote", "ATTEST_FORM", (plan) => {
		plan.quote = (reportData) => mintQuote({ ...quotePlan("sgx"), reportData });
	}),
	azure("no nonce", "NONCE_WRONG", (plan) => {
		plan.nonce = new Uint8Array(0);
	}),
	azure("another nonce", "NONCE_WRONG", (plan) => {
		plan.nonce = utf8ToBytes("challengE");
	}),
	azure("other runtime data", "BINDING_WRONG", (plan) => {
		plan.boundRuntime = (words) => `${words} `;
	}),
	azure("secure boot claimed", "BINDING_WRONG", (plan) => {
		plan.boundRuntime = (words) => words.replace("true", "false");
	}),
	azure("the quote's signature changed", "ATTEST_SIGNATURE", (plan) => {
		plan.signature = (bytes) => bytesAt(9, bytes[9]! ^ 1)(bytes);
	}),
	azure("another register", "EVENTS_WRONG", (plan) => {
		plan.claimedPcrs = plan.pcrs.with(7, new Uint8Array(32));
	}),
	azure("fewer registers", "EVENTS_WRONG", (plan) => {
		plan.claimedPcrs = plan.pcrs.slice(1);
	}),
	azure("two keys of the TPM", "ATTEST_FORM", (plan) => {
		plan.runtime = (words) => words.replace(/\[(\{.*?\})\]/, "[$1,$1]");
	}),
	azure("no runtime JSON", "ATTEST_FORM", (plan) => {
		plan.runtime = () => "{";
	}),
	azure("no quote", "ATTEST_FORM", (plan) => {
		plan.edit = ({ tpm_quote, ...rest }) => rest;
	}),
	azure("a report that the guest itself asked for", "GUEST_POLICY", (plan) => {
		plan.snp.vmpl = 2;
	}),
	azure("no certificate of the chip", "COLLATERAL_MISSING", (plan) => {
		plan.edit = ({ vcek: _, ...rest }) => rest;
	}),
	azure("a round", null, answering(tpmDataOf(reportDataOf(ASKED, ASKED))), reportDataOf(ASKED, ASKED)),
	azure("another round", "NONCE_WRONG", answering(tpmDataOf(reportDataOf(NO_SET, ASKED))), reportDataOf(ASKED, ASKED)),
	azure("another set", "BINDING_WRONG", answering(tpmDataOf(reportDataOf(ASKED, NO_SET))), reportDataOf(ASKED, ASKED)),
	azure("a round of no devices, by its nonce", null, answering(tpmDataOf(reportDataOf(ASKED, NO_SET))), ASKED),
	azure("an allowed guest", null, () => {}, undefined, {}),
	azure("a bare SNP guest is allowed, this is Azure's", "GUEST_OTHER", () => {}, undefined, {
		tee: "snp",
		registers: null,
	}),
	azure("any guest of that measurement", "GUEST_OTHER", () => {}, undefined, { tee: null, registers: null }),
	azure("an allowed guest's kernel is another", "GUEST_OTHER", () => {}, undefined, {
		registers: azureRule().registers!.with(4, "00".repeat(32)),
	}),
	azure("the kernel's register is claimed, not signed", "GUEST_OTHER", unsigned(4), undefined, {}),
	azure("a register that may be any is not signed", null, unsigned(4), undefined, {
		registers: azureRule().registers!.with(4, null),
	}),
	azure("wrapped", null, (plan) => {
		plan.edit = (fields) => ({ platform: "az-snp", evidence: fields });
	}),
	azure("debug", "GUEST_DEBUG", (plan) => {
		plan.snp.policy |= 1n << 19n;
	}),
];

const BOOT = [
	{ register: 0, words: "firmware" },
	{ register: 1, words: "loader" },
	{ register: 2, words: "kernel", type: 13 },
	{ register: 0, words: "not extended", type: 3 },
	{ register: 3, words: "application" },
];

const events = (name: string, code: string | null, log: Uint8Array | ((log: Uint8Array) => Uint8Array)): MintedCase =>
	minted(`events: ${name}`, code, undefined, (settings) => {
		const { log: whole, rtmr } = mintCcel(BOOT);
		return verifyCcel(mintQuote({ ...quotePlan(), rtmr }), typeof log === "function" ? log(whole) : log, settings);
	});

/** dstack's JSON of 0.6: the application's events have no digest. */
const dstack = (name: string, code: string | null, change: (rows: Record<string, unknown>[]) => unknown): MintedCase =>
	minted(`events: dstack, ${name}`, code, undefined, (settings) => {
		const { rows, rtmr } = mintDstack();
		change(rows);
		const quote = bytesToHex(mintQuote({ ...quotePlan(), rtmr }));
		return verifyDstack(utf8ToBytes(JSON.stringify({ quote, event_log: JSON.stringify(rows) })), settings);
	});

const dstackCases = (): MintedCase[] => [
	dstack("digests left out", null, () => {}),
	dstack("digests given", null, (rows) => {
		rows[1]!.digest = rows[1]!.due;
	}),
	dstack("another payload", "EVENTS_WRONG", (rows) => {
		rows[2]!.event_payload = "00";
	}),
	dstack("another name", "EVENTS_WRONG", (rows) => {
		rows[1]!.event = "compose-hashes";
	}),
	dstack("two exchanged", "EVENTS_WRONG", (rows) => {
		rows.push(rows.splice(1, 1)[0]!);
	}),
	dstack("one less", "EVENTS_WRONG", (rows) => {
		rows.pop();
	}),
	dstack("a right digest beside another payload", "EVENTS_WRONG", (rows) => {
		Object.assign(rows[1]!, { digest: rows[1]!.due, event_payload: "00" });
	}),
	dstack("the firmware's digest left out", "ATTEST_FORM", (rows) => {
		rows[0]!.digest = "";
	}),
];

const eventCases = (): MintedCase[] => [
	events("whole", null, (log) => log),
	events("zeros behind it", null, mintCcel(BOOT, 0).log),
	events("one event less", "EVENTS_WRONG", mintCcel(BOOT.slice(1)).log),
	events("two exchanged", "EVENTS_WRONG", mintCcel([...BOOT, { register: 3, words: "more" }]).log),
	events("one extended that is not", "EVENTS_WRONG", mintCcel(BOOT.map((one) => ({ ...one, type: 6 }))).log),
	events("cut", "ATTEST_FORM", (log) => log.subarray(0, -80)),
	events("a byte behind it", "ATTEST_FORM", (log) => bytesAt(-1, 7)(log)),
	events("another head", "ATTEST_FORM", (log) => bytesAt(33, 7)(log)),
	events("another register", "ATTEST_FORM", (log) => bytesAt(32 + 33, 9)(log)),
	events("no log", "ATTEST_FORM", new Uint8Array(4)),
	...dstackCases(),
	minted("events: dstack without a quote", "ATTEST_FORM", undefined, (settings) =>
		verifyDstack(utf8ToBytes("{}"), settings),
	),
];

export const cpuCases = (): MintedCase[] => [
	...quoteCases(),
	...collateralCases(),
	...snpCases(),
	...azureCases(),
	...eventCases(),
];
