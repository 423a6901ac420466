// Of two collaterals of one Intel platform, the newer of each part. Intel signs the parts one by one, and
// whoever puts them into a file signs nothing: beside the newest TCB info an old list of revoked certificates
// may lie, which would hide what was revoked since. Both were read and their signatures checked before.
import { utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { anyHexToBytes, isoToMs } from "../bytes.ts";
import { JsonFields, parseJson, parseJsonText } from "../json.ts";
import { readCrl } from "../x509/crl.ts";
import type { CollateralEntry } from "./bundle.ts";

/** What is signed together, or needed to check it. */
const PARTS: readonly (readonly string[])[] = [
	["tcb_info", "tcb_info_signature", "tcb_info_issuer_chain"],
	["qe_identity", "qe_identity_signature", "qe_identity_issuer_chain"],
	["root_ca_crl"],
	["pck_crl", "pck_crl_issuer_chain"],
];

interface Age {
	readonly rank: number;
	readonly fromMs: number;
	readonly untilMs: number;
}

const fieldsOf = (bytes: Uint8Array): JsonFields =>
	new JsonFields(parseJson(bytes, "COLLATERAL_WRONG", "collateral"), "COLLATERAL_WRONG", "collateral");

/** By Intel's evaluation number, then by its time; lists by their time alone. */
function ageOf(fields: JsonFields, name: string): Age {
	if (name.endsWith("_crl")) {
		const { thisUpdateMs, nextUpdateMs } = readCrl(anyHexToBytes(fields.text(name)) ?? new Uint8Array(), name);
		return { rank: 0, fromMs: thisUpdateMs, untilMs: nextUpdateMs };
	}
	const text = new JsonFields(parseJsonText(fields.text(name), "COLLATERAL_WRONG", name), "COLLATERAL_WRONG", name);
	const [fromMs = 0, untilMs = 0] = ["issueDate", "nextUpdate"].map((key) => isoToMs(text.text(key)) ?? 0);
	return { rank: text.small("tcbEvaluationDataNumber"), fromMs, untilMs };
}

const isOlder = (a: Age, b: Age): boolean => (a.rank === b.rank ? a.fromMs < b.fromMs : a.rank < b.rank);

/** `before` itself, byte by byte, where nothing of `next` is newer. */
export function newestParts(
	before: Uint8Array,
	next: Uint8Array,
): { readonly bytes: Uint8Array } & Pick<CollateralEntry, "rank" | "validFromS" | "validUntilS"> {
	const both = [fieldsOf(before), fieldsOf(next)] as const;
	const ages = PARTS.map(([name]) => both.map((fields) => ageOf(fields, name!)));
	const newer = ages.map(([old, fresh]) => isOlder(old!, fresh!));
	const [tcb, qe] = ages.map((of, i) => of[newer[i] ? 1 : 0]!);
	const times = {
		rank: tcb!.rank,
		validFromS: Math.floor(tcb!.fromMs / 1000),
		validUntilS: Math.floor(Math.min(tcb!.untilMs, qe!.untilMs) / 1000),
	};
	if (!newer.includes(true)) return { bytes: before, ...times };
	if (!newer.includes(false)) return { bytes: next, ...times };
	const chosen = PARTS.flatMap((names, i) => names.map((name) => [name, both[newer[i] ? 1 : 0].text(name)] as const));
	return { bytes: utf8ToBytes(JSON.stringify(Object.fromEntries(chosen))), ...times };
}
