// Azure's confidential VMs: the hardware report was made at boot by Microsoft's paravisor, over runtime data
// that names the key of a virtual TPM. Form only, of both.
import { sha256 } from "@noble/hashes/sha2.js";
import { readU32 } from "../../../protocol/bytes/bytes.ts";
import { base64ToBytes } from "../bytes.ts";
import { JsonFields, parseJson } from "../json.ts";
import { cannotTell, wrong } from "../verdict.ts";
import type { PublicKey } from "../x509/signature.ts";

export interface HclReport {
	readonly tee: "snp" | "tdx";
	/** The SNP report; on TDX nothing that is signed. */
	readonly hardware: Uint8Array;
	/** SHA-256 of the runtime data: the report data begins with it. */
	readonly runtimeHash: Uint8Array;
	readonly tpmKey: PublicKey;
	readonly secureBoot: boolean;
	readonly vm: string;
}

const HEADER = 32;
const RUNTIME = HEADER + 1184;
const JSON_AT = RUNTIME + 20;
const MOST_BYTES = 64 * 1024;

export function readHclReport(bytes: Uint8Array): HclReport {
	const where = "hcl_report";
	if (bytes.length < JSON_AT || bytes.length > MOST_BYTES) return wrong(where, "not as long as a report");
	if (readU32(bytes, 0) !== 0x414c4348) return wrong(where, "does not begin as the paravisor's report does");
	const [type, hash, length] = [
		readU32(bytes, RUNTIME + 8),
		readU32(bytes, RUNTIME + 12),
		readU32(bytes, RUNTIME + 16),
	];
	if (type !== 2 && type !== 4) return cannotTell(where, "a report of neither SNP nor TDX");
	if (hash !== 1) return cannotTell(where, "runtime data hashed by something other than SHA-256");
	if (JSON_AT + length > bytes.length) return wrong(where, "the runtime data is longer than the report");
	if (bytes.subarray(JSON_AT + length).some((byte) => byte !== 0))
		return wrong(where, "something follows the runtime data");
	const runtime = bytes.subarray(JSON_AT, JSON_AT + length);
	const fields = new JsonFields(parseJson(runtime, "ATTEST_FORM", where), "ATTEST_FORM", where);
	const vm = fields.object("vm-configuration");
	return {
		tee: type === 2 ? "snp" : "tdx",
		hardware: bytes.subarray(HEADER, RUNTIME),
		runtimeHash: sha256(runtime),
		tpmKey: tpmKeyOf(fields, where),
		secureBoot: vm.flag("secure-boot"),
		vm: vm.text("vmUniqueId"),
	};
}

function tpmKeyOf(fields: JsonFields, where: string): PublicKey {
	const keys = fields.objects("keys", 8).filter((key) => key.text("kid") === "HCLAkPub");
	const [key] = keys;
	if (key === undefined || keys.length !== 1) return wrong(where, "not one key of the virtual TPM");
	if (key.text("kty") !== "RSA" || key.text("e") !== "AQAB")
		return cannotTell(where, "the virtual TPM's key is of a kind that is not known here");
	const modulus = base64ToBytes(key.text("n")) ?? wrong(where, "a modulus that is not base64");
	return { kind: "rsa", modulus, exponent: 65537 };
}
