// What a PCK certificate says of its platform: FMSPC, PCE id and the security versions of its parts.
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { refuse } from "../verdict.ts";
import type { Certificate } from "../x509/certificate.ts";
import { type Der, derOf, inside, itemsOf, oidOf, smallInteger, TAG } from "../x509/der.ts";

export interface PlatformTcb {
	readonly fmspc: string;
	readonly pceId: string;
	/** 16 of them. */
	readonly components: readonly number[];
	readonly pceSvn: number;
}

const SGX = "1.2.840.113741.1.13.1";
const wrong = (detail: string): never => refuse("ATTEST_FORM", "quote.certificates[0]", detail);

/** SEQUENCE OF SEQUENCE {identifier, value} */
function pairs(sequence: Der): Map<string, Der> {
	const found = new Map<string, Der>();
	for (const item of itemsOf(sequence, TAG.sequence, 32)) {
		const reader = inside(item);
		const oid = oidOf(reader.next(TAG.oid));
		const value = reader.next();
		reader.end();
		if (found.has(oid)) wrong(`field ${oid} twice`);
		found.set(oid, value);
	}
	return found;
}

export function platformTcb(pck: Certificate): PlatformTcb {
	const extension = pck.extensions.get(SGX) ?? wrong("no SGX extension");
	const fields = pairs(derOf(extension.value, "quote.certificates[0]", TAG.sequence));
	const octets = (oid: string, length: number): string => {
		const der = fields.get(oid);
		if (der?.tag !== TAG.octetString || der.value.length !== length) return wrong(`no field ${oid}`);
		return bytesToHex(der.value);
	};
	const tcbField = fields.get(`${SGX}.2`);
	if (tcbField?.tag !== TAG.sequence) return wrong("no TCB");
	const tcb = pairs(tcbField);
	const svn = (i: number, most: number): number => {
		const der = tcb.get(`${SGX}.2.${i}`);
		const value = der === undefined ? -1 : smallInteger(der);
		return value >= 0 && value <= most ? value : wrong(`no security version ${i}`);
	};
	return {
		fmspc: octets(`${SGX}.4`, 6),
		pceId: octets(`${SGX}.3`, 2),
		components: Array.from({ length: 16 }, (_, i) => svn(i + 1, 255)),
		pceSvn: svn(17, 65_535),
	};
}
