// What goes over the agent link after the handshake, as Noise's transport messages: every message sealed with
// AES-256-GCM, one key for each direction (HKDF-SHA-256 over the shared secret, salted with the transcript's
// hash), the nonce a counter from 0, never rekeyed. A message changed, repeated, left out or moved does not
// open. Inside: one byte that says control (JSON) or data (u32 channel ‖ bytes). Page: docs/agent-link.md.
import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8, readU32, utf8ToBytes, writeU32, writeU64 } from "../../protocol/bytes/bytes.ts";
import { MAX_CONTROL_BYTES, MAX_DATA_BYTES } from "./agent-messages.ts";

const TAG_BYTES = 16;
const CONTROL = 0;
const DATA = 1;
const DATA_HEAD_BYTES = 5;
/** The largest WebSocket message; the library refuses larger ones before they are buffered. */
export const MAX_MESSAGE_BYTES = TAG_BYTES + DATA_HEAD_BYTES + Math.max(MAX_CONTROL_BYTES, MAX_DATA_BYTES);

export type Opened =
	| { readonly kind: "control"; readonly json: string }
	| { readonly kind: "data"; readonly channel: number; readonly bytes: Uint8Array };

/** Numbers are never used twice: 2^53 messages do not happen on one connection. */
function createNumbers(): () => Uint8Array {
	let next = 0;
	return () => {
		const number = new Uint8Array(12);
		writeU64(number, 4, next);
		next += 1;
		return number;
	};
}

export interface Sealer {
	control(json: string): Uint8Array;
	data(channel: number, bytes: Uint8Array): Uint8Array;
}

/** Keys are made ready once: given as bytes, each message takes three times as long. */
export function createSealer(bytes: Uint8Array): Sealer {
	const key = createSecretKey(bytes);
	const nextNumber = createNumbers();
	const seal = (head: Uint8Array, body: Uint8Array): Uint8Array => {
		const cipher = createCipheriv("aes-256-gcm", key, nextNumber());
		const sealed = Buffer.allocUnsafe(head.length + body.length + TAG_BYTES);
		sealed.set(cipher.update(head), 0);
		sealed.set(cipher.update(body), head.length);
		cipher.final();
		sealed.set(cipher.getAuthTag(), head.length + body.length);
		return sealed;
	};
	return {
		control: (json) => seal(Uint8Array.of(CONTROL), utf8ToBytes(json)),
		data(channel, bytes) {
			const head = new Uint8Array(DATA_HEAD_BYTES);
			head[0] = DATA;
			writeU32(head, 1, channel);
			return seal(head, bytes);
		},
	};
}

/** Opens messages in the order they were sealed. Throws AssayError AGENT_PROOF_WRONG, AGENT_MESSAGE_BAD. */
export function createUnsealer(bytes: Uint8Array): (sealed: Uint8Array) => Opened {
	const key = createSecretKey(bytes);
	const nextNumber = createNumbers();
	return (sealed) => {
		if (sealed.length <= TAG_BYTES || sealed.length > MAX_MESSAGE_BYTES)
			throw bad("a sealed message has a wrong length");
		const cipher = createDecipheriv("aes-256-gcm", key, nextNumber(), { authTagLength: TAG_BYTES });
		cipher.setAuthTag(sealed.subarray(-TAG_BYTES));
		const plain = cipher.update(sealed.subarray(0, -TAG_BYTES));
		try {
			cipher.final();
		} catch {
			throw new AssayError("AGENT_PROOF_WRONG", "a message was not sealed by the far side of this handshake", {
				hint: "Something in between changes messages, or the far side is not ours.",
			});
		}
		return parse(plain);
	};
}

function parse(plain: Uint8Array): Opened {
	if (plain[0] === CONTROL) {
		const json = plain.length - 1 > MAX_CONTROL_BYTES ? null : bytesToUtf8(plain.subarray(1));
		if (json === null) throw bad("a control message is too long or no UTF-8");
		return { kind: "control", json };
	}
	const size = plain.length - DATA_HEAD_BYTES;
	if (plain[0] !== DATA || size < 1 || size > MAX_DATA_BYTES)
		throw bad("a sealed message holds neither control nor data");
	return { kind: "data", channel: readU32(plain, 1), bytes: plain.subarray(DATA_HEAD_BYTES) };
}

function bad(message: string): AssayError {
	return new AssayError("AGENT_MESSAGE_BAD", message);
}
