// Cuts a byte stream into the frames of engine/FRAMES.md, whatever the chunks. It does not read payloads
// (frames.ts does). Memory is bounded by one frame: a length outside the limits is refused from its 4 bytes
// alone, and room for a frame is taken as its bytes arrive, so an announced length costs the announcer at
// least as much as it costs us.
import { AssayError } from "../../protocol/assay-error.ts";
import { badFrame, type Frame } from "./frame-fields.ts";
import { MIN_LENGTH } from "./frame-table.ts";

const LENGTH_BYTES = 4;
const FIRST_ROOM = 256;

export class FrameReader {
	private readonly maxLength: number;
	/** Bytes of the frame at hand, its length field included; only the first `filled` count. */
	private room = new Uint8Array(FIRST_ROOM);
	private filled = 0;
	private failure: AssayError | null = null;

	constructor(maxLength: number) {
		this.maxLength = maxLength;
	}

	/** True in the middle of a frame: an end of the stream is then a truncation. */
	get midFrame(): boolean {
		return this.filled > 0;
	}

	/** How many bytes of an unfinished frame are held; never above 4 + maxLength. */
	get heldBytes(): number {
		return this.filled;
	}

	/**
	 * Calls `onFrame` for every frame that this chunk completes; its payload is only valid during the call.
	 * `onFrame` returns false to have the rest thrown away. Throws FRAME_TOO_LARGE or FRAME_BAD for a length
	 * that cannot be; from then on every call throws.
	 */
	push(chunk: Uint8Array, onFrame: (frame: Frame) => boolean | undefined): void {
		if (this.failure) throw this.failure;
		let at = 0;
		while (at < chunk.length) {
			const want = this.filled < LENGTH_BYTES ? LENGTH_BYTES : LENGTH_BYTES + this.length();
			const take = Math.min(want - this.filled, chunk.length - at);
			this.append(chunk, at, take, want);
			at += take;
			if (this.filled < LENGTH_BYTES) return;
			const length = this.length();
			if (length < MIN_LENGTH || length > this.maxLength) throw this.fail(length);
			if (this.filled < LENGTH_BYTES + length) continue;
			const view = new DataView(this.room.buffer, 0, this.filled);
			const frame = {
				kind: view.getUint8(4),
				id: view.getUint32(5, true),
				payload: this.room.subarray(9, this.filled),
			};
			this.filled = 0;
			if (onFrame(frame) === false) return;
		}
	}

	private length(): number {
		return new DataView(this.room.buffer).getUint32(0, true);
	}

	private append(chunk: Uint8Array, from: number, size: number, want: number): void {
		const needed = this.filled + size;
		if (needed > this.room.length) {
			// Doubling keeps the copying linear when a peer trickles; `want` caps it at the frame.
			const bigger = new Uint8Array(Math.min(Math.max(needed, 2 * this.room.length), Math.max(want, FIRST_ROOM)));
			bigger.set(this.room.subarray(0, this.filled));
			this.room = bigger;
		}
		this.room.set(chunk.subarray(from, from + size), this.filled);
		this.filled = needed;
	}

	private fail(length: number): AssayError {
		this.room = new Uint8Array(0);
		this.filled = 0;
		this.failure =
			length > this.maxLength
				? new AssayError("FRAME_TOO_LARGE", `a frame of ${length} bytes, at most ${this.maxLength} are allowed`)
				: badFrame(`a frame of ${length} bytes, too short for its kind and id`);
		return this.failure;
	}
}
