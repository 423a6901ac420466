// One random change of a file of attestation evidence: bytes, lengths, order, DER inside PEM, XML and JSON.
import { bytesToUtf8, utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";

/** mulberry32: small, and the same everywhere. */
export function randomFrom(start: number): (below: number) => number {
	let state = start >>> 0;
	return (below) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
	};
}

export type Random = ReturnType<typeof randomFrom>;

function changedBytes(bytes: Uint8Array, random: Random): Uint8Array {
	const copy = Array.from(bytes);
	const at = random(copy.length);
	const count = 1 + random(Math.min(64, copy.length));
	switch (random(8)) {
		case 0:
			copy[at]! ^= 1 << random(8);
			break;
		case 1:
			copy[at] = random(256);
			break;
		case 2:
			copy.splice(at, count);
			break;
		case 3:
			copy.splice(at, 0, ...copy.slice(at, at + count));
			break;
		case 4:
			copy.length = at;
			break;
		case 5:
			copy.push(...Array.from({ length: count }, () => random(2) * random(256)));
			break;
		case 6:
			copy.splice(at, 0, ...copy.splice(random(copy.length), count));
			break;
		default:
			copy[at] = (copy[at]! + 1) & 255;
	}
	return Uint8Array.from(copy);
}

/** One certificate of a text, changed inside its DER. */
function changedPem(text: string, random: Random): string {
	const blocks = [...text.matchAll(/(?<=>|-----\s|-----\\n)[A-Za-z0-9+/=\s]{200,}(?=<|-----)/g)];
	const block = blocks[random(blocks.length)];
	if (block === undefined) return `${text} `;
	const der = changedBytes(new Uint8Array(Buffer.from(block[0], "base64")), random);
	return text.slice(0, block.index) + Buffer.from(der).toString("base64") + text.slice(block.index + block[0].length);
}

/** One word or mark of a text changed, doubled, dropped or moved. */
function changedText(text: string, random: Random): string {
	const words = text.match(/[A-Za-z0-9+/=]+|\s+|./gs) ?? [];
	const [at, other] = [random(words.length), random(words.length)];
	switch (random(6)) {
		case 0:
			words[at] = words[other]!;
			break;
		case 1:
			words.splice(at, 1);
			break;
		case 2:
			words.splice(at, 0, words[other]!);
			break;
		case 3:
			words.splice(at, 0, ["<!--x-->", "&amp;", "<x/>", "\u0000", '"', "{", "<![CDATA[x]]>", "&#120;"][random(8)]!);
			break;
		case 4: {
			const from = Math.min(at, other);
			words.splice(from, 0, ...words.slice(from, from + random(200)));
			break;
		}
		default:
			words[at] = words[at]!.replace(/[0-9a-zA-Z]/, (c) => (c === "0" ? "1" : "0"));
	}
	return words.join("");
}

/** The file with one random change: of its bytes, of the DER inside a text, or of a word of it. */
export function changed(bytes: Uint8Array, random: Random): Uint8Array {
	const text = random(3) === 0 ? null : bytesToUtf8(bytes);
	if (text === null || bytes.length > 100_000) return changedBytes(bytes, random);
	return utf8ToBytes(
		random(2) === 0 && /CERTIFICATE|X509/.test(text) ? changedPem(text, random) : changedText(text, random),
	);
}
