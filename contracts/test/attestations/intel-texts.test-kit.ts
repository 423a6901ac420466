// Minted collateral as long as the longest of Intel's own of 2026 at hand (TCB info of 6,251 bytes, a list of
// 58 revoked certificates), and of its shape: levels with the kind of each component and their advisories,
// three TDX modules, reasons of revocations. Signed by keys of our own.
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "../../../src/protocol/bytes/bytes.ts";
import {
	algorithmOf,
	integer,
	keyOf,
	octets,
	oid,
	seq,
	signBy,
	signedParts,
	tlv,
} from "../../../src/verify/attestation/mint/der-writer.test-kit.ts";
import {
	collateralPlan,
	FMSPC,
	mintCollateral,
	platformCa,
} from "../../../src/verify/attestation/mint/mint-intel.test-kit.ts";

const BIOS = { category: "BIOS" };
const VMM = { category: "OS/VMM" };
/** By their places among the 16. */
const SGX_KINDS: readonly object[] = [
	{ ...BIOS, type: "Early Microcode Update" },
	{ ...VMM, type: "SGX Late Microcode Update" },
	{ ...VMM, type: "TXT SINIT" },
	...[BIOS, BIOS, BIOS, {}],
	{ ...VMM, type: "SEAMLDR ACM" },
];
const TDX_KINDS: readonly object[] = [
	...[0, 1].map(() => ({ ...VMM, type: "TDX Module" })),
	{ ...VMM, type: "TDX Late Microcode Update" },
];
const ADVISORIES = [0, 7, 10, 12, 24];
const REVOKED = 58;

const components = (kinds: readonly object[], svns: readonly number[]) =>
	svns.map((svn, i) => ({ svn, ...(kinds[i] ?? {}) }));

function longInfo(): string {
	const { from, until } = collateralPlan();
	const module = { mrsigner: "00".repeat(48), attributes: "00".repeat(8), attributesMask: "FF".repeat(8) };
	const moduleLevels = (...svns: readonly number[]) =>
		svns.map((isvsvn, i) => ({ tcb: { isvsvn }, tcbDate: from, tcbStatus: i === 0 ? "UpToDate" : "OutOfDate" }));
	return JSON.stringify({
		...{ id: "TDX", version: 3, issueDate: from, nextUpdate: until, fmspc: FMSPC, pceId: "0000", tcbType: 0 },
		tcbEvaluationDataNumber: 17,
		tdxModule: module,
		tdxModuleIdentities: [
			{ id: "TDX_03", ...module, tcbLevels: moduleLevels(5, 3) },
			{ id: "TDX_01", ...module, tcbLevels: moduleLevels(5, 4, 2) },
		],
		tcbLevels: ADVISORIES.map((count, i) => ({
			tcb: {
				sgxtcbcomponents: components(SGX_KINDS, new Array(16).fill(7 - i)),
				pcesvn: 11 - i,
				tdxtcbcomponents: components(TDX_KINDS, [5, 0, 6 - i, ...new Array(13).fill(0)]),
			},
			tcbDate: from,
			tcbStatus: i === 0 ? "UpToDate" : "OutOfDate",
			...(count === 0
				? {}
				: { advisoryIDs: Array.from({ length: count }, (_, k) => `INTEL-SA-${String(100 + k).padStart(5, "0")}`) }),
		})),
	});
}

/** Serial numbers of 20 bytes, as Intel's. */
export const longSerials = (): Uint8Array[] =>
	Array.from({ length: REVOKED }, (_, i) => sha256(utf8ToBytes(`revoked ${i}`)).subarray(0, 20));

function longList(more: readonly number[], from: string): Uint8Array {
	const day = (text: string) => tlv(0x17, utf8ToBytes(text));
	const reason = seq(seq(oid("2.5.29.21"), octets(tlv(0x0a, Uint8Array.of(1)))));
	const body = seq(
		...[integer(1), algorithmOf(platformCa.key), platformCa.name, day(from), day("250701000000Z")],
		seq(...[...longSerials(), ...more].map((serial) => seq(integer(serial), day(from), reason))),
		tlv(
			0xa0,
			seq(
				seq(oid("2.5.29.20"), octets(integer(1))),
				seq(oid("2.5.29.35"), octets(seq(tlv(0x80, new Uint8Array(20).fill(7))))),
			),
		),
	);
	return seq(...signedParts(body, platformCa.key));
}

/** Its list names these too. */
export function longCollateral(more: readonly number[] = [], listFrom = "250601000000Z"): Uint8Array {
	const info = longInfo();
	return mintCollateral({
		...collateralPlan(),
		edit: (fields) => ({
			...fields,
			tcb_info: info,
			tcb_info_signature: bytesToHex(signBy(keyOf("tcb signing", "p256"), utf8ToBytes(info))),
			pck_crl: bytesToHex(longList(more, listFrom)),
		}),
	});
}
