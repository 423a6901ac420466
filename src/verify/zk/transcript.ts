// The transcript of a proof, docs/zk.md §2: a state of 32 bytes to which each message goes before the
// challenge that answers it is drawn.
import { utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { bigOf, R } from "../../protocol/maths/bn254.ts";

const NAME = utf8ToBytes("assay/zk/1");
const AGAIN = Uint8Array.of(0xff);

export interface Transcript {
	/** `kind`: which message of the protocol it is, below 256. */
	absorb(kind: number, bytes: Uint8Array): void;
	/** Below R; no value is likelier than 1.14/R. Another one each time. */
	challenge(): bigint;
}

export function createTranscript(statement: Uint8Array): Transcript {
	let state = keccak(NAME, statement);
	let hasDrawn = false;
	return {
		absorb(kind, bytes) {
			const head = new Uint8Array(5);
			const view = new DataView(head.buffer);
			view.setUint8(0, kind);
			view.setUint32(1, bytes.length);
			state = keccak(state, head, bytes);
			hasDrawn = false;
		},
		challenge() {
			if (hasDrawn) state = keccak(state, AGAIN);
			hasDrawn = true;
			return bigOf(state) % R;
		},
	};
}
