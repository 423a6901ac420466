// The certificates that an SNP host hands to its guest, as /dev/sev-guest and the auxblob of configfs-tsm
// give them (GHCB): entries of {GUID, offset u32, length u32} and one of zeros, then the certificates. The
// host's word: whether they are AMD's is judged where they are used.
import { bytesToHex, equalBytes, readU32, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn } from "../bytes.ts";
import { hear } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";

const ENTRY = 24;
const MOST_ENTRIES = 16;
const MOST_BYTES = 64 * 1024;
const NOTHING = "0".repeat(32);

/** GUIDs as their text has the bytes, which is how hosts write them. */
const KINDS: ReadonlyMap<string, "leaf" | "ask" | "ark"> = new Map([
	["63da758de6644564adc5f4b93be8accd", "leaf"], // VCEK
	["a8074bc2a25a483eaae639c045a0b8a1", "leaf"], // VLEK
	["4ab7b379bbac4fe4a02f05aef327c782", "ask"],
	["c0b406a4a803495297433fb6014cd0ae", "ark"],
]);

interface SnpCertificates {
	/** VCEK or VLEK. */
	readonly leaf: Uint8Array;
	/** ASK and ARK in PEM; null: the table does not have both. */
	readonly chain: Uint8Array | null;
}

const pemOf = (der: Uint8Array): string => {
	const text = btoa(Array.from(der, (byte) => String.fromCharCode(byte)).join(""));
	return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
};

/** Null: it is no such table, or has no certificate of the chip. */
function readCertificateTable(bytes: Uint8Array): SnpCertificates | null {
	if (bytes.length > MOST_BYTES) return null;
	const found = new Map<string, Uint8Array>();
	for (let i = 0; i < MOST_ENTRIES && (i + 1) * ENTRY <= bytes.length; i++) {
		const entry = bytes.subarray(i * ENTRY, (i + 1) * ENTRY);
		const guid = bytesToHex(entry.subarray(0, 16));
		if (guid === NOTHING) break;
		const kind = KINDS.get(guid);
		const [offset, length] = [readU32(entry, 16), readU32(entry, 20)];
		if (length === 0 || offset + length > bytes.length) return null;
		// What else a host hands on (lists, certificates of its own) is nobody's here.
		if (kind === undefined) continue;
		if (found.has(kind)) return null;
		found.set(kind, bytes.subarray(offset, offset + length));
	}
	const [leaf, ask, ark] = [found.get("leaf"), found.get("ask"), found.get("ark")];
	if (leaf === undefined) return null;
	// Of each the DER, as the specification has it.
	const chain = ask?.[0] === 0x30 && ark?.[0] === 0x30 ? utf8ToBytes(pemOf(ask) + pemOf(ark)) : null;
	return { leaf, chain };
}

/**
 * Certificates of a chip however they came, as tools write them: one file each, or several, in any order. The
 * chip's first, then ASK and ARK in one file. What is not at most one leaf and two authorities, one of which
 * is the root, is left as it is.
 */
export function inOrder(files: readonly Uint8Array[]): readonly Uint8Array[] {
	let ordered = files;
	hear(() => {
		const all = files.flatMap((file) => certificatesIn(file, "file")).map((der) => readCertificate(der, "file"));
		const isRoot = ({ subject, issuer }: Certificate) => equalBytes(subject, issuer);
		const of = (isWanted: (one: Certificate) => boolean) => all.filter(isWanted).map(({ der }) => der);
		const leaves = of(({ isCa }) => !isCa);
		const [asks, arks] = [of((one) => one.isCa && !isRoot(one)), of((one) => one.isCa && isRoot(one))];
		if (leaves.length < 2 && asks.length === 1 && arks.length === 1)
			ordered = [...leaves, utf8ToBytes(pemOf(asks[0]!) + pemOf(arks[0]!))];
		return "none";
	});
	return ordered;
}

/** The certificates of a table, the chip's first; any other file as it is. */
export function openTable(bytes: Uint8Array): Uint8Array[] {
	const table = readCertificateTable(bytes);
	if (table === null) return [bytes];
	return table.chain === null ? [table.leaf] : [table.leaf, table.chain];
}
