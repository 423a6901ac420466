// SNP reports with VCEK or VLEK, and Azure's evidence over them, under roots of our own. Our authorities sign
// by P-384, AMD's by RSA.
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, u32, utf8ToBytes, writeU32 } from "../../../protocol/bytes/bytes.ts";
import type { AmdProduct } from "../settings.ts";
import {
	base64,
	type CertificatePlan,
	integer,
	keyOf,
	type Minted,
	type MintKey,
	mintCertificate,
	pem,
	signBy,
} from "./der-writer.test-kit.ts";
import { REPORT_DATA } from "./mint-intel.test-kit.ts";

const issuedBy = ({ name, key }: Minted) => ({ name, key });
export const arkOf = (product: AmdProduct): Minted =>
	mintCertificate({ CN: `ARK-${product}`, key: keyOf(`ark ${product}`), isCa: true, serial: 51 });
export const ASK_SERIAL = 52;
export const askOf = (product: AmdProduct): Minted =>
	mintCertificate({
		CN: `SEV-${product}`,
		key: keyOf(`ask ${product}`),
		isCa: true,
		issuer: issuedBy(arkOf(product)),
		serial: ASK_SERIAL,
	});

export interface SnpPlan {
	product: AmdProduct;
	version: number;
	signer: "VCEK" | "VLEK";
	policy: bigint;
	vmpl: number;
	platformInfo: number;
	reportData: Uint8Array;
	measurement: Uint8Array;
	tcb: Record<string, number>;
	chipId: Uint8Array;
	algorithm: number;
	/** Of the certificate, where they differ from the report's. */
	certifiedTcb: Record<string, number>;
	certifiedChip: Uint8Array | null;
	leafName: string | null;
	leaf: Partial<CertificatePlan>;
	reportSigner: MintKey | null;
	edit: (bytes: Uint8Array) => Uint8Array;
}

export function snpPlan(product: AmdProduct = "Genoa"): SnpPlan {
	const chipId = new Uint8Array(64);
	chipId.set(sha256(utf8ToBytes(product)).subarray(0, 8));
	if (product !== "Turin") chipId.fill(9, 8);
	return {
		product,
		version: product === "Milan" ? 2 : product === "Genoa" ? 3 : 5,
		signer: "VCEK",
		policy: 0x3001fn,
		vmpl: 0,
		platformInfo: 0x27,
		reportData: REPORT_DATA,
		measurement: new Uint8Array(48).fill(3),
		tcb: { ...(product === "Turin" ? { fmc: 1 } : {}), bl: 4, tee: 0, snp: 23, ucode: 84 },
		chipId,
		algorithm: 1,
		certifiedTcb: {},
		certifiedChip: null,
		leafName: null,
		leaf: {},
		reportSigner: null,
		edit: (bytes) => bytes,
	};
}

const AMD = "1.3.6.1.4.1.3704.1";
const ARCS: Readonly<Record<string, number>> = { bl: 1, tee: 2, snp: 3, ucode: 8, fmc: 9 };

export function snpLeaf(plan: SnpPlan): Minted {
	const svns = Object.entries({ ...plan.tcb, ...plan.certifiedTcb }).map(([part, svn]) => ({
		oid: `${AMD}.3.${ARCS[part]}`,
		value: integer(svn),
	}));
	const chip = plan.certifiedChip ?? plan.chipId.subarray(0, plan.product === "Turin" ? 8 : 64);
	return mintCertificate({
		CN: plan.leafName ?? `SEV-${plan.signer}`,
		key: keyOf("chip"),
		issuer: issuedBy(askOf(plan.product)),
		serial: 53,
		extensions: [...svns, ...(plan.signer === "VLEK" ? [] : [{ oid: `${AMD}.4`, value: chip }])],
		...plan.leaf,
	});
}

const reversed = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes).reverse();

export function mintSnp(plan: SnpPlan): { report: Uint8Array; leaf: Uint8Array; chain: Uint8Array } {
	const bytes = new Uint8Array(1184);
	writeU32(bytes, 0, plan.version);
	writeU32(bytes, 8, Number(plan.policy & 0xffffffffn));
	writeU32(bytes, 0x30, plan.vmpl);
	writeU32(bytes, 0x34, plan.algorithm);
	writeU32(bytes, 0x40, plan.platformInfo);
	writeU32(bytes, 0x48, plan.signer === "VLEK" ? 4 : 0);
	bytes.set(plan.reportData, 0x50);
	bytes.set(plan.measurement, 0x90);
	const { fmc = 0, bl, tee, snp, ucode } = plan.tcb;
	bytes.set(
		plan.product === "Turin" ? [fmc, bl!, tee!, snp!, 0, 0, 0, ucode!] : [bl!, tee!, 0, 0, 0, 0, snp!, ucode!],
		0x180,
	);
	bytes.set(plan.chipId, 0x1a0);
	const signature = signBy(plan.reportSigner ?? keyOf("chip"), bytes.subarray(0, 0x2a0));
	bytes.set(reversed(signature.subarray(0, 48)), 0x2a0);
	bytes.set(reversed(signature.subarray(48)), 0x2a0 + 72);
	return {
		report: plan.edit(bytes),
		leaf: snpLeaf(plan).der,
		chain: utf8ToBytes(pem(askOf(plan.product), arkOf(plan.product))),
	};
}

/** RSA keys cannot be made from words here; no outcome depends on which one it is. */
let tpmKey: KeyObject | null = null;
export function tpmPrivateKey(): KeyObject {
	tpmKey ??= createPrivateKey(
		generateKeyPairSync("rsa", {
			modulusLength: 2048,
			privateKeyEncoding: { type: "pkcs8", format: "pem" },
			publicKeyEncoding: { type: "spki", format: "pem" },
		}).privateKey,
	);
	return tpmKey;
}

const url = (bytes: Uint8Array): string => base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

export interface AzurePlan {
	snp: SnpPlan;
	/** A TDX quote instead: makes it for the hash of the runtime data. */
	quote: ((reportData: Uint8Array) => Uint8Array) | null;
	nonce: Uint8Array;
	pcrs: Uint8Array[];
	claimedPcrs: Uint8Array[] | null;
	/** Numbers of those that are signed. */
	selected: readonly number[];
	runtime: (words: string) => string;
	/** Bound instead of what is carried. */
	boundRuntime: (words: string) => string;
	signature: (bytes: Uint8Array) => Uint8Array;
	edit: (fields: Record<string, unknown>) => unknown;
}

export const azurePlan = (): AzurePlan => ({
	snp: snpPlan("Milan"),
	quote: null,
	nonce: utf8ToBytes("challenge"),
	pcrs: Array.from({ length: 24 }, (_, i) => sha256(Uint8Array.of(i))),
	claimedPcrs: null,
	selected: ALL_PCRS,
	runtime: (words) => words,
	boundRuntime: (words) => words,
	signature: (bytes) => bytes,
	edit: (fields) => fields,
});

/** What the paravisor leaves in the TPM, and the certificates above its hardware's report. */
export function mintHcl(plan: Pick<AzurePlan, "snp" | "quote" | "runtime" | "boundRuntime">) {
	const { n } = tpmPrivateKey().export({ format: "jwk" }) as { n: string };
	const config = { "secure-boot": true, vmUniqueId: "MINT-0001" };
	const words = plan.runtime(
		JSON.stringify({ keys: [{ kid: "HCLAkPub", kty: "RSA", e: "AQAB", n }], "vm-configuration": config }),
	);
	const runtime = utf8ToBytes(words);
	const reportData = concatBytes(sha256(utf8ToBytes(plan.boundRuntime(words))), new Uint8Array(32));
	const { report, leaf, chain } = mintSnp({ ...plan.snp, reportData });
	const head = new Uint8Array(32);
	head.set(utf8ToBytes("HCLA"));
	const hcl = concatBytes(
		head,
		report,
		u32(runtime.length + 20),
		u32(1),
		u32(plan.quote === null ? 2 : 4),
		u32(1),
		u32(runtime.length),
		runtime,
		new Uint8Array(40),
	);
	return { hcl, leaf, chain, reportData };
}

/** TPMS_ATTEST over these registers, and its signature. */
export function mintTpmQuote(nonce: Uint8Array, pcrs: readonly Uint8Array[], selected: readonly number[]) {
	const big16 = (value: number) => Uint8Array.of(value >> 8, value & 255);
	const digest = sha256(concatBytes(...selected.map((i) => pcrs[i]!)));
	const bits = [0, 8, 16].map((from) =>
		selected.reduce((all, i) => all | (i >> 3 === from >> 3 ? 1 << (i & 7) : 0), 0),
	);
	const message = concatBytes(
		Uint8Array.of(0xff, 0x54, 0x43, 0x47, 0x80, 0x18),
		big16(4),
		utf8ToBytes("name"),
		big16(nonce.length),
		nonce,
		new Uint8Array(25),
		Uint8Array.of(0, 0, 0, 1, 0, 0x0b, 3, ...bits),
		big16(32),
		digest,
	);
	return { message, signature: new Uint8Array(sign("sha256", message, tpmPrivateKey())) };
}

export const ALL_PCRS: readonly number[] = Array.from({ length: 24 }, (_, i) => i);

export function mintAzure(plan: AzurePlan): { evidence: Uint8Array; chain: Uint8Array } {
	const { hcl, leaf, chain, reportData } = mintHcl(plan);
	const { message, signature } = mintTpmQuote(plan.nonce, plan.pcrs, plan.selected);
	const tpm = {
		message: bytesToHex(message),
		signature: bytesToHex(plan.signature(signature)),
		pcrs: (plan.claimedPcrs ?? plan.pcrs).map(bytesToHex),
	};
	const below = plan.quote === null ? { vcek: url(leaf) } : { td_quote: url(plan.quote(reportData)) };
	return {
		evidence: utf8ToBytes(JSON.stringify(plan.edit({ version: 1, tpm_quote: tpm, hcl_report: url(hcl), ...below }))),
		chain,
	};
}
