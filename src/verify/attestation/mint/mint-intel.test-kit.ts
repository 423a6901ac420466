// SGX and TDX quotes with their collateral, and event logs, under a root of our own.
import { sha256, sha384 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, u32, utf8ToBytes, writeU16 } from "../../../protocol/bytes/bytes.ts";
import {
	type CertificatePlan,
	type CrlPlan,
	integer,
	keyOf,
	type Minted,
	type MintKey,
	mintCertificate,
	mintCrl,
	octets,
	oid,
	pem,
	seq,
	signBy,
} from "./der-writer.test-kit.ts";
import { u16 } from "./mint-nvidia.test-kit.ts";

export const intelRoot = mintCertificate({
	CN: "Mint SGX Root CA",
	key: keyOf("intel root", "p256"),
	isCa: true,
	serial: 31,
});
const issuedBy = ({ name, key }: Minted) => ({ name, key });
export const platformCa = mintCertificate({
	CN: "Mint PCK Platform CA",
	key: keyOf("pck ca", "p256"),
	isCa: true,
	issuer: issuedBy(intelRoot),
	serial: 32,
});
export const processorCa = mintCertificate({
	CN: "Mint PCK Processor CA",
	key: keyOf("pck processor ca", "p256"),
	isCa: true,
	issuer: issuedBy(intelRoot),
	serial: 35,
});
export const PCK_SERIAL = 33;
export const FMSPC = "00906ed50000";
const SGX = "1.2.840.113741.1.13.1";

export interface QuotePlan {
	version: 3 | 4 | 5;
	tee: "sgx" | "tdx";
	/** TD 1.5; version 5 only. */
	isTd15: boolean;
	reportData: Uint8Array;
	vendor: string;
	teeTcbSvn: number[];
	attributes: string;
	sgxFlags: number;
	serviceTd: Uint8Array;
	mrSignerSeam: Uint8Array;
	mrTd: Uint8Array;
	rtmr: Uint8Array[];
	components: number[];
	pceSvn: number;
	fmspc: string;
	pck: Partial<CertificatePlan>;
	qeSvn: number;
	qeProduct: number;
	qeSigner: Uint8Array;
	qeFlags: number;
	qeData: ((due: Uint8Array) => Uint8Array) | null;
	attestationKey: MintKey;
	quoteSigner: MintKey | null;
	qeReportSigner: MintKey | null;
	/** The PCK certificate's chain, before it goes into the quote. */
	editChain: (chain: Minted[]) => Minted[];
	edit: (bytes: Uint8Array) => Uint8Array;
}

export const QE_SIGNER = sha256(utf8ToBytes("qe signer"));
export const SEAM_SIGNER = new Uint8Array(48);
export const REPORT_DATA = concatBytes(hexToBytes("11".repeat(32))!, hexToBytes("22".repeat(32))!);

export function quotePlan(tee: "sgx" | "tdx" = "tdx"): QuotePlan {
	return {
		version: tee === "sgx" ? 3 : 4,
		tee,
		isTd15: false,
		reportData: REPORT_DATA,
		vendor: "939a7233f79c4ca9940a0db3957f0607",
		teeTcbSvn: [5, 1, 6, ...new Array(13).fill(0)],
		attributes: "0000001000000000",
		sgxFlags: 0x05,
		serviceTd: new Uint8Array(48),
		mrSignerSeam: SEAM_SIGNER,
		mrTd: sha384(utf8ToBytes("guest")),
		rtmr: [0, 1, 2, 3].map(() => new Uint8Array(48)),
		components: new Array(16).fill(7),
		pceSvn: 11,
		fmspc: FMSPC,
		pck: {},
		qeSvn: 8,
		qeProduct: tee === "sgx" ? 1 : 2,
		qeSigner: QE_SIGNER,
		qeFlags: 0x11,
		qeData: null,
		attestationKey: keyOf("attestation", "p256"),
		quoteSigner: null,
		qeReportSigner: null,
		editChain: (chain) => chain,
		edit: (bytes) => bytes,
	};
}

function put(bytes: Uint8Array, at: number, value: Uint8Array): void {
	bytes.set(value, at);
}

function sgxReport(parts: {
	flags: number;
	enclave: Uint8Array;
	signer: Uint8Array;
	product: number;
	svn: number;
	data: Uint8Array;
}): Uint8Array {
	const bytes = new Uint8Array(384);
	bytes[48] = parts.flags;
	put(bytes, 64, parts.enclave);
	put(bytes, 128, parts.signer);
	writeU16(bytes, 256, parts.product);
	writeU16(bytes, 258, parts.svn);
	put(bytes, 320, parts.data);
	return bytes;
}

function tdReport(plan: QuotePlan): Uint8Array {
	const bytes = new Uint8Array(plan.isTd15 ? 648 : 584);
	put(bytes, 0, Uint8Array.from(plan.teeTcbSvn));
	put(bytes, 64, plan.mrSignerSeam);
	put(bytes, 120, hexToBytes(plan.attributes)!);
	put(bytes, 136, plan.mrTd);
	for (const [i, register] of plan.rtmr.entries()) put(bytes, 328 + 48 * i, register);
	put(bytes, 520, plan.reportData);
	if (plan.isTd15) put(bytes, 600, plan.serviceTd);
	return bytes;
}

export function pckChain(plan: QuotePlan): Minted[] {
	const pair = (id: string, value: Uint8Array) => seq(oid(id), value);
	const svns = [...plan.components, plan.pceSvn].map((svn, i) => pair(`${SGX}.2.${i + 1}`, integer(svn)));
	const extension = seq(
		pair(`${SGX}.2`, seq(...svns)),
		pair(`${SGX}.3`, octets(new Uint8Array(2))),
		pair(`${SGX}.4`, octets(hexToBytes(plan.fmspc)!)),
	);
	const pck = mintCertificate({
		CN: "Mint PCK Certificate",
		key: keyOf("pck", "p256"),
		issuer: issuedBy(platformCa),
		serial: PCK_SERIAL,
		extensions: [{ oid: SGX, value: extension }],
		...plan.pck,
	});
	return [pck, platformCa, intelRoot];
}

const size32 = (bytes: Uint8Array): Uint8Array => concatBytes(u32(bytes.length), bytes);

export function mintQuote(plan: QuotePlan): Uint8Array {
	const header = new Uint8Array(48);
	writeU16(header, 0, plan.version);
	writeU16(header, 2, 2);
	if (plan.tee === "tdx") header[4] = 0x81;
	put(header, 12, hexToBytes(plan.vendor)!);
	const guest = { enclave: sha256(utf8ToBytes("guest")), signer: sha256(utf8ToBytes("author")), product: 0, svn: 0 };
	const body =
		plan.tee === "sgx" ? sgxReport({ ...guest, flags: plan.sgxFlags, data: plan.reportData }) : tdReport(plan);
	const kind = plan.tee === "sgx" ? 1 : plan.isTd15 ? 3 : 2;
	const signed = concatBytes(header, ...(plan.version === 5 ? [u16(kind), u32(body.length)] : []), body);
	const point = plan.attestationKey.point.subarray(1);
	const auth = utf8ToBytes("auth");
	const due = concatBytes(sha256(concatBytes(point, auth)), new Uint8Array(32));
	const qe = sgxReport({
		flags: plan.qeFlags,
		enclave: sha256(utf8ToBytes("qe")),
		signer: plan.qeSigner,
		product: plan.qeProduct,
		svn: plan.qeSvn,
		data: plan.qeData?.(due) ?? due,
	});
	const chain = utf8ToBytes(pem(...plan.editChain(pckChain(plan))));
	const certified = concatBytes(
		qe,
		signBy(plan.qeReportSigner ?? keyOf("pck", "p256"), qe),
		u16(auth.length),
		auth,
		u16(5),
		size32(chain),
	);
	const inner = plan.version === 3 ? certified : concatBytes(u16(6), size32(certified));
	const signature = signBy(plan.quoteSigner ?? plan.attestationKey, signed);
	return plan.edit(concatBytes(signed, size32(concatBytes(signature, point, inner))));
}

interface Level {
	status: string;
	components: number[];
	tdx: number[];
	pceSvn: number;
}

export interface CollateralPlan {
	tee: "sgx" | "tdx";
	id: string;
	qeId: string;
	fmspc: string;
	pceId: string;
	from: string;
	until: string;
	/** TCB evaluation number. */
	evaluation: number;
	version: number;
	qeVersion: number;
	levels: Level[];
	moduleId: string;
	moduleSigner: string;
	moduleLevels: { isvsvn: number; status: string }[];
	qeLevels: { isvsvn: number; status: string }[];
	qeSigner: Uint8Array;
	signerName: string;
	signerUntil: string;
	signer: MintKey | null;
	rootCrl: Partial<CrlPlan>;
	pckCrl: Partial<CrlPlan>;
	edit: (fields: Record<string, string>) => Record<string, unknown>;
}

export function collateralPlan(tee: "sgx" | "tdx" = "tdx"): CollateralPlan {
	return {
		tee,
		id: tee === "sgx" ? "SGX" : "TDX",
		qeId: tee === "sgx" ? "QE" : "TD_QE",
		fmspc: FMSPC,
		pceId: "0000",
		from: "2025-06-01T00:00:00Z",
		until: "2025-07-01T00:00:00Z",
		evaluation: 17,
		version: 3,
		qeVersion: 2,
		levels: [
			{ status: "UpToDate", components: new Array(16).fill(7), tdx: [5, 0, 6, ...new Array(13).fill(0)], pceSvn: 11 },
			{ status: "OutOfDate", components: new Array(16).fill(5), tdx: [3, 0, 5, ...new Array(13).fill(0)], pceSvn: 10 },
		],
		moduleId: "TDX_01",
		moduleSigner: "00".repeat(48),
		moduleLevels: [
			{ isvsvn: 5, status: "UpToDate" },
			{ isvsvn: 3, status: "OutOfDate" },
		],
		qeLevels: [
			{ isvsvn: 8, status: "UpToDate" },
			{ isvsvn: 6, status: "OutOfDate" },
			{ isvsvn: 4, status: "Revoked" },
		],
		qeSigner: QE_SIGNER,
		signerName: "Intel SGX TCB Signing",
		signerUntil: "20991231235959Z",
		signer: null,
		rootCrl: {},
		pckCrl: {},
		edit: (fields) => fields,
	};
}

export const TCB_SIGNING_SERIAL = 41;

export function mintCollateral(plan: CollateralPlan): Uint8Array {
	const signing = mintCertificate({
		CN: plan.signerName,
		key: keyOf("tcb signing", "p256"),
		issuer: issuedBy(intelRoot),
		serial: TCB_SIGNING_SERIAL,
		until: plan.signerUntil,
	});
	const chain = pem(signing, intelRoot);
	const levels = (list: readonly { isvsvn: number; status: string }[]) =>
		list.map(({ isvsvn, status }) => ({ tcb: { isvsvn }, tcbDate: plan.from, tcbStatus: status }));
	const svns = (list: readonly number[]) => list.map((svn) => ({ svn }));
	const times = { issueDate: plan.from, nextUpdate: plan.until, tcbEvaluationDataNumber: plan.evaluation };
	const module = { mrsigner: plan.moduleSigner, attributes: "00".repeat(8), attributesMask: "ff".repeat(8) };
	const info = JSON.stringify({
		id: plan.id,
		version: plan.version,
		...times,
		fmspc: plan.fmspc,
		pceId: plan.pceId,
		tdxModule: module,
		tdxModuleIdentities: [{ id: plan.moduleId, ...module, tcbLevels: levels(plan.moduleLevels) }],
		tcbLevels: plan.levels.map(({ status, components, tdx, pceSvn }) => ({
			tcb: {
				sgxtcbcomponents: svns(components),
				pcesvn: pceSvn,
				...(plan.tee === "tdx" ? { tdxtcbcomponents: svns(tdx) } : {}),
			},
			tcbStatus: status,
			advisoryIDs: status === "UpToDate" ? [] : ["INTEL-SA-00001"],
		})),
	});
	const identity = JSON.stringify({
		id: plan.qeId,
		version: plan.qeVersion,
		...times,
		miscselect: "00000000",
		miscselectMask: "ffffffff",
		attributes: `11${"00".repeat(15)}`,
		attributesMask: `fb${"ff".repeat(15)}`,
		mrsigner: bytesToHex(plan.qeSigner),
		isvprodid: plan.tee === "sgx" ? 1 : 2,
		tcbLevels: levels(plan.qeLevels),
	});
	const sign = (text: string) => bytesToHex(signBy(plan.signer ?? keyOf("tcb signing", "p256"), utf8ToBytes(text)));
	const fields = {
		pck_crl_issuer_chain: pem(platformCa, intelRoot),
		root_ca_crl: bytesToHex(mintCrl({ issuer: intelRoot, ...plan.rootCrl })),
		pck_crl: bytesToHex(mintCrl({ issuer: platformCa, ...plan.pckCrl })),
		tcb_info_issuer_chain: chain,
		tcb_info: info,
		tcb_info_signature: sign(info),
		qe_identity_issuer_chain: chain,
		qe_identity: identity,
		qe_identity_signature: sign(identity),
	};
	return utf8ToBytes(JSON.stringify(plan.edit(fields)));
}

/** Events of a boot in TCG's binary form, and the registers that they give. */
export function mintCcel(
	events: readonly { register: number; type?: number; words: string }[],
	filler = 0xff,
): { log: Uint8Array; rtmr: Uint8Array[] } {
	const head = concatBytes(
		utf8ToBytes("Spec ID Event03\0"),
		new Uint8Array(8),
		u32(1),
		u16(0x0c),
		u16(48),
		Uint8Array.of(0),
	);
	const rtmr = [0, 1, 2, 3].map(() => new Uint8Array(48));
	const rows = events.map(({ register, type = 6, words }) => {
		const digest = sha384(utf8ToBytes(words));
		if (type !== 3) rtmr[register] = sha384(concatBytes(rtmr[register]!, digest));
		return concatBytes(u32(register + 1), u32(type), u32(1), u16(0x0c), digest, size32(utf8ToBytes(words)));
	});
	const first = concatBytes(u32(1), u32(3), new Uint8Array(20), size32(head));
	return { log: concatBytes(first, ...rows, new Uint8Array(64).fill(filler)), rtmr };
}

/** dstack's log: an event of the firmware, and two of the application, whose digests are left out (`due`). */
export function mintDstack(): { rows: Record<string, unknown>[]; rtmr: Uint8Array[] } {
	const type = 0x08000001;
	const application = (event: string, event_payload: string) => {
		const named = concatBytes(u32(type), utf8ToBytes(`:${event}:`), hexToBytes(event_payload)!);
		return { imr: 3, event_type: type, digest: "", event, event_payload, due: bytesToHex(sha384(named)) };
	};
	const firmware = bytesToHex(sha384(utf8ToBytes("firmware")));
	const rows = [
		{ imr: 0, event_type: 4, digest: firmware, event: "", event_payload: "", due: firmware },
		application("compose-hash", "ab".repeat(32)),
		application("boot-mr-done", ""),
	];
	const rtmr = [0, 1, 2, 3].map(() => new Uint8Array(48));
	for (const { imr, due } of rows) rtmr[imr] = sha384(concatBytes(rtmr[imr]!, hexToBytes(due)!));
	return { rows, rtmr };
}
