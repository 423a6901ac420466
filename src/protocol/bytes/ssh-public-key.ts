// One public key of OpenSSH, strictly: `type base64 [comment]` and nothing else. Options, a second line,
// control characters, another spelling of the same bytes, a type that differs from the one inside, or a weak
// key are refused: the text ends up in an authorized_keys file, where one more word is one more right. Used
// by the API (before it is stored) and by the provider (who trusts nobody's check but its own).

export type SshPublicKeyResult =
	/** `line`: `type base64`, without the comment. */
	{ readonly ok: true; readonly line: string; readonly type: string } | { readonly ok: false; readonly detail: string };

/** RSA of 16384 bits makes some 2,800 characters. */
const MAX_CHARS = 4096;
const LINE = /^([a-z0-9@.-]{1,64}) ([A-Za-z0-9+/]{32,4000}={0,2})(?: [\x20-\x7e]{0,256})?$/;
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 16384;

/** The parts that follow the type inside the blob, each checked by its own rule. */
const PARTS: Readonly<Record<string, readonly ((part: Uint8Array) => boolean)[]>> = {
	"ssh-ed25519": [(key) => key.length === 32],
	"ecdsa-sha2-nistp256": [isText("nistp256"), isPoint(65)],
	"ecdsa-sha2-nistp384": [isText("nistp384"), isPoint(97)],
	"ecdsa-sha2-nistp521": [isText("nistp521"), isPoint(133)],
	"sk-ssh-ed25519@openssh.com": [(key) => key.length === 32, isApplication],
	"sk-ecdsa-sha2-nistp256@openssh.com": [isText("nistp256"), isPoint(65), isApplication],
	"ssh-rsa": [isExponent, isModulus],
};

export function parseSshPublicKey(text: string): SshPublicKeyResult {
	const bad = (detail: string): SshPublicKeyResult => ({ ok: false, detail });
	if (text.length > MAX_CHARS) return bad("longer than any public key");
	const found = LINE.exec(text);
	if (found === null) return bad("not one line of a type and base64");
	const [, type, base64] = found as unknown as [string, string, string];
	if (!Object.hasOwn(PARTS, type)) return bad("a type of key that is not accepted");
	const blob = fromBase64(base64);
	if (blob === null) return bad("not the one spelling of its bytes in base64");
	const parts = readParts(blob);
	if (parts === null) return bad("its bytes do not divide into parts");
	const [inner, ...rest] = parts;
	if (inner === undefined || !isText(type)(inner)) return bad("the type inside differs from the type in front");
	const rules = PARTS[type]!;
	if (rest.length !== rules.length || !rules.every((rule, i) => rule(rest[i]!)))
		return bad("not a sound key of its type");
	return { ok: true, line: `${type} ${base64}`, type };
}

function isText(expected: string): (part: Uint8Array) => boolean {
	return (part) => part.length === expected.length && part.every((byte, i) => byte === expected.charCodeAt(i));
}

/** Uncompressed, as OpenSSH writes it. */
function isPoint(bytes: number): (part: Uint8Array) => boolean {
	return (part) => part.length === bytes && part[0] === 4;
}

function isApplication(part: Uint8Array): boolean {
	return part.length >= 4 && part.length <= 64 && part.every((byte) => byte > 0x20 && byte < 0x7f);
}

/** A positive number without needless zeros in front. */
function bitsOf(part: Uint8Array): number | null {
	if (part.length === 0 || part[0]! >= 0x80) return null;
	if (part[0] === 0 && (part.length === 1 || part[1]! < 0x80)) return null;
	const at = part[0] === 0 ? 1 : 0;
	return 8 * (part.length - at - 1) + (32 - Math.clz32(part[at]!));
}

function isExponent(part: Uint8Array): boolean {
	const bits = bitsOf(part);
	return bits !== null && bits >= 2 && bits <= 33 && part.at(-1)! % 2 === 1;
}

function isModulus(part: Uint8Array): boolean {
	const bits = bitsOf(part);
	return bits !== null && bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS && part.at(-1)! % 2 === 1;
}

function readParts(blob: Uint8Array): Uint8Array[] | null {
	const view = new DataView(blob.buffer, blob.byteOffset, blob.length);
	const parts: Uint8Array[] = [];
	for (let at = 0; at < blob.length; ) {
		if (at + 4 > blob.length) return null;
		const length = view.getUint32(at);
		if (length > blob.length - at - 4) return null;
		parts.push(blob.subarray(at + 4, at + 4 + length));
		at += 4 + length;
	}
	return parts;
}

function fromBase64(base64: string): Uint8Array | null {
	try {
		const binary = atob(base64);
		// One value, one spelling: stray bits or missing padding would let one key pass for two.
		return btoa(binary) === base64 ? Uint8Array.from(binary, (c) => c.charCodeAt(0)) : null;
	} catch {
		return null;
	}
}
