// A quote and Intel's collateral cut into what the contract Attestations takes (docs/attestation.md, "On a
// chain"): bodies and signatures, the numbers of TCB info and identity as the contract reads them, the names
// of guest and key. Nothing is checked here but form: the contract checks, and verify-quote.ts says the same.
import { AssayError } from "../../../protocol/assay-error.ts";
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import type {
	CertificatePart,
	ChainQeIdentity,
	ChainTcbInfo,
	CollateralParts,
	CurvePoint,
	QuoteParts,
	SignedPart,
	SvnLevel,
} from "../../../protocol/chain/attested-parts.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { anyHexToBytes, isoToMs, pemToDers } from "../bytes.ts";
import { JsonFields, parseJson, parseJsonText } from "../json.ts";
import { hear } from "../verdict.ts";
import { readCertificate } from "../x509/certificate.ts";
import { readCrl } from "../x509/crl.ts";
import type { PublicKey } from "../x509/signature.ts";
import { readQuote } from "./quote.ts";

/** Of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function signedPart(body: Uint8Array, signature: Uint8Array): SignedPart {
	const s = BigInt(toHex(signature.subarray(32)));
	const low = s > ORDER / 2n && s < ORDER ? ORDER - s : s;
	return { body: toHex(body), r: toHex(signature.subarray(0, 32)), s: `0x${low.toString(16).padStart(64, "0")}` };
}

/** What `read` gives. Its refusals become errors: here nobody judges. */
function cut<T>(read: () => T): T {
	const found: { value?: T } = {};
	const verdict = hear(() => {
		found.value = read();
		return "none";
	});
	if (verdict.code === null) return found.value as T;
	throw codedError("ATTESTATION_UNFIT", `${verdict.code}: ${verdict.where}: ${verdict.detail}`, { cause: verdict });
}

const pointOf = (key: PublicKey): CurvePoint => {
	const point = key.kind === "rsa" ? new Uint8Array(65) : key.point;
	return { x: toHex(point.subarray(1, 33)), y: toHex(point.subarray(33, 65)) };
};

function certificatePart(der: Uint8Array): CertificatePart {
	const { message, signature, key } = readCertificate(der, "certificate");
	return { signed: signedPart(message, signature), key: pointOf(key) };
}

/** What the contract needs of a TDX quote. */
export function quoteParts(bytes: Uint8Array): QuoteParts {
	const quote = cut(() => readQuote(bytes));
	if (quote.report.tee !== "tdx")
		throw new AssayError("ATTESTATION_UNFIT", "the quote is not of TDX", {
			hint: "The chain takes quotes of TDX alone.",
		});
	const { td } = quote.report;
	const body = quote.signed.subarray(quote.version === 5 ? 54 : 48);
	const seam = concatBytes(td.mrSignerSeam, td.seamAttributes);
	return cut(() => ({
		quote: signedPart(quote.signed, quote.signature),
		key: { x: toHex(quote.key.subarray(0, 32)), y: toHex(quote.key.subarray(32)) },
		id: toHex(keccak(quote.key, td.teeTcbSvn, seam)),
		bind: toHex(td.reportData.subarray(0, 32)),
		set: toHex(td.reportData.subarray(32)),
		guest: toHex(keccak(body.subarray(136, 520))),
		pck: certificatePart(quote.certificates[0]!).signed,
		authority: quote.certificates.length === 3 ? certificatePart(quote.certificates[1]!) : null,
		qe: signedPart(quote.qeReportBytes, quote.qeSignature),
		qeAuth: toHex(quote.qeAuth),
		teeTcbSvn: toHex(td.teeTcbSvn),
		seam: toHex(seam),
	}));
}

const ACCEPTED = ["UpToDate", "SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded"];
const isAccepted = (level: JsonFields): boolean => ACCEPTED.includes(level.text("tcbStatus"));
const seconds = (text: string): bigint => BigInt(Math.floor((isoToMs(text) ?? 0) / 1000));
const MOST_LEVELS = 64;

const svnLevels = (fields: JsonFields): SvnLevel[] =>
	fields.has("tcbLevels")
		? fields
				.objects("tcbLevels", MOST_LEVELS)
				.map((level) => ({ svn: level.object("tcb").small("isvsvn"), isAccepted: isAccepted(level) }))
		: [];

function chainTcbInfo(words: string): ChainTcbInfo {
	const info = new JsonFields(parseJsonText(words, "COLLATERAL_WRONG", "tcb_info"), "COLLATERAL_WRONG", "tcb_info");
	const module = (fields: JsonFields, version: number) => ({
		version,
		signer: toHex(keccak(anyHexToBytes(fields.hex("mrsigner", 48))!)),
		attributes: `0x${fields.hex("attributes", 8)}` as Hex,
		mask: `0x${fields.hex("attributesMask", 8)}` as Hex,
		levels: svnLevels(fields),
	});
	const svns = (tcb: JsonFields, name: string): Hex =>
		toHex(Uint8Array.from(tcb.objects(name, 16).map((one) => one.small("svn"))));
	const identities = info.has("tdxModuleIdentities") ? info.objects("tdxModuleIdentities", MOST_LEVELS) : [];
	return {
		fmspc: `0x${info.hex("fmspc", 6)}`,
		pceId: `0x${info.hex("pceId", 2)}`,
		evaluation: info.count("tcbEvaluationDataNumber"),
		from: seconds(info.text("issueDate")),
		until: seconds(info.text("nextUpdate")),
		modules: [
			module(info.object("tdxModule"), 0),
			...identities.map((one) => module(one, Number.parseInt(one.text("id").slice(4), 16))),
		],
		levels: info.objects("tcbLevels", MOST_LEVELS).map((level) => {
			const tcb = level.object("tcb");
			return {
				sgx: svns(tcb, "sgxtcbcomponents"),
				tdx: svns(tcb, "tdxtcbcomponents"),
				pceSvn: tcb.small("pcesvn"),
				isAccepted: isAccepted(level),
			};
		}),
	};
}

function chainQeIdentity(words: string): ChainQeIdentity {
	const at = "qe_identity";
	const identity = new JsonFields(parseJsonText(words, "COLLATERAL_WRONG", at), "COLLATERAL_WRONG", at);
	return {
		evaluation: identity.count("tcbEvaluationDataNumber"),
		from: seconds(identity.text("issueDate")),
		until: seconds(identity.text("nextUpdate")),
		misc: `0x${identity.hex("miscselect", 4)}`,
		miscMask: `0x${identity.hex("miscselectMask", 4)}`,
		attributes: `0x${identity.hex("attributes", 16)}`,
		mask: `0x${identity.hex("attributesMask", 16)}`,
		signer: `0x${identity.hex("mrsigner", 32)}`,
		product: identity.small("isvprodid"),
		levels: svnLevels(identity),
	};
}

/** What the contract needs of Intel's collateral, in the layout of dcap-qvl. */
export const collateralParts = (bytes: Uint8Array): CollateralParts =>
	cut(() => {
		const fields = new JsonFields(parseJson(bytes, "COLLATERAL_WRONG", "collateral"), "COLLATERAL_WRONG", "collateral");
		const text = (name: string): SignedPart => {
			const signature = anyHexToBytes(fields.text(`${name}_signature`)) ?? new Uint8Array(64);
			return signedPart(utf8ToBytes(fields.text(name)), signature);
		};
		const list = (name: string): SignedPart => {
			const { message, signature } = readCrl(anyHexToBytes(fields.text(name)) ?? new Uint8Array(), name);
			return signedPart(message, signature);
		};
		return {
			signer: certificatePart(pemToDers(fields.text("tcb_info_issuer_chain"), "tcb_info_issuer_chain")[0]!),
			tcbInfo: text("tcb_info"),
			identity: text("qe_identity"),
			rootList: list("root_ca_crl"),
			pckList: list("pck_crl"),
			readInfo: chainTcbInfo(fields.text("tcb_info")),
			readIdentity: chainQeIdentity(fields.text("qe_identity")),
		};
	});

/** Key of a root certificate, and when it ends in seconds since 1970. */
export const rootParts = (der: Uint8Array): { readonly key: CurvePoint; readonly until: number } =>
	cut(() => {
		const { key, notAfterMs } = readCertificate(der, "root");
		return { key: pointOf(key), until: Math.floor(notAfterMs / 1000) };
	});
