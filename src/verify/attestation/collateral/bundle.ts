// A bundle of vendors' files, docs/attestation.md: the evidence container with an index. Whoever made it
// signs it and so vouches for the times at which the files were fetched. What the files say counts by their
// vendors' signatures alone.
import { bytesToHex, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { encodeCanonicalJson } from "../../../protocol/bytes/canonical-json.ts";
import { hex, int, list, object, oneOf, type Shape, type Typed, text } from "../../../protocol/bytes/shape.ts";
import { tagged } from "../../../protocol/hash/tagged-hash.ts";
import { attachmentShape, decodeContainer, encodeContainer, entriesOf } from "../../../protocol/probe/container.ts";
import { isSignature, isWeakKey, type Signer } from "../../../protocol/probe/signer.ts";
import { refuse } from "../verdict.ts";

/** More than every manifest of NVIDIA's and every platform of Intel's. */
export const MOST_ITEMS = 4096;

const entry = object({
	kind: oneOf("manifest", "OCSP answer", "Intel collateral", "certificates", "revocation list"),
	/** What it is about; several manifests may have one id. */
	id: text(200, 1),
	/** Intel's TCB evaluation number; 0 of other kinds. */
	rank: int(),
	fetchedAtS: int(),
	validFromS: int(),
	validUntilS: int(),
	source: text(500),
});
export interface CollateralEntry extends Typed<typeof entry> {}

const body = object({
	format: oneOf("assay-collateral"),
	version: oneOf(1),
	madeAtS: int(),
	/** In the order of the attachments. */
	entries: list(entry as Shape<CollateralEntry>, MOST_ITEMS),
});
const envelope = object({
	attachments: list(attachmentShape, MOST_ITEMS),
	body,
	signature: object({ key: hex(32), value: hex(64) }),
});
type Envelope = Typed<typeof envelope>;

/** One file with its entry. */
export interface CollateralItem extends CollateralEntry {
	readonly bytes: Uint8Array;
}

export interface Bundle {
	readonly madeAtS: number;
	/** Who made it. */
	readonly key: string;
	readonly items: readonly CollateralItem[];
}

const signedHash = (signed: Omit<Envelope, "signature">): Uint8Array =>
	tagged("assay/collateral/1", utf8ToBytes(encodeCanonicalJson(signed)));

export function encodeBundle(items: readonly CollateralItem[], madeAtS: number, signer: Signer): Uint8Array {
	const attachments = items.map(({ bytes }) => bytes);
	const entries = items.map(({ bytes: _, ...rest }) => rest);
	const signed = {
		attachments: entriesOf(attachments),
		body: { format: "assay-collateral", version: 1, madeAtS, entries },
	} as const;
	const signature = { key: signer.key, value: bytesToHex(signer.sign(signedHash(signed))) };
	return encodeContainer({ ...signed, signature }, attachments);
}

/** Form, hashes and its maker's signature. */
export function decodeBundle(
	file: Uint8Array,
): { readonly ok: true; readonly bundle: Bundle } | { readonly ok: false; readonly detail: string } {
	const decoded = decodeContainer(file, envelope as Shape<Envelope>);
	if (!decoded.ok) return { ok: false, detail: `${decoded.code} at ${decoded.where}: ${decoded.detail}` };
	const { envelope: held, attachments } = decoded.evidence;
	const { signature, ...signed } = held;
	if (attachments.length !== held.body.entries.length)
		return { ok: false, detail: "the index does not name each file once" };
	if (isWeakKey(signature.key) || !isSignature(signature.key, signature.value, signedHash(signed)))
		return { ok: false, detail: "the bundle is not the one that its maker signed" };
	const items = held.body.entries.map((one, i) => ({ ...one, bytes: attachments[i]! }));
	return { ok: true, bundle: { madeAtS: held.body.madeAtS, key: signature.key, items } };
}

/** For a hearing. */
export function readBundle(file: Uint8Array, where: string): Bundle {
	const decoded = decodeBundle(file);
	return decoded.ok ? decoded.bundle : refuse("COLLATERAL_WRONG", where, decoded.detail);
}
