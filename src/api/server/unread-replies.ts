// Replies that are made and not yet taken: their bytes are this process's memory, and a client that asks and
// does not read would fill it. Counted for each address and in all; whoever has too much of it must read
// first. Pieces that are being received are counted in the same way.
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";

export type UnreadReplies = ReturnType<typeof createUnreadReplies>;

/**
 * What a reply that is streamed with back-pressure holds at most: buffers of the file, the stream and the
 * socket.
 */
export const STREAM_BYTES = 256 * 1024;

export function createUnreadReplies(most: {
	readonly perAddress: number;
	readonly inAll: number;
	/**
	 * Of one address, once half of all is taken: who is slow must leave room for the others. Default: as ever.
	 */
	readonly whenCrowded?: number;
}) {
	const held = new Map<string, number>();
	let all = 0;
	/** Until the reply is gone, or the connection is. */
	function hold(address: string, bytes: number, raw: ServerResponse): void {
		// ATTACK: who hangs up before the answer is made would never be heard to have gone.
		if (bytes === 0 || raw.closed || raw.destroyed) return;
		const put = (more: number): void => {
			all += more;
			const now = (held.get(address) ?? 0) + more;
			if (now > 0) held.set(address, now);
			else held.delete(address);
		};
		put(bytes);
		const taken = (): void => {
			raw.off("finish", taken).off("close", taken);
			put(-bytes);
		};
		raw.on("finish", taken).on("close", taken);
	}
	return {
		isFull(address: string): boolean {
			const { perAddress, inAll, whenCrowded = perAddress } = most;
			return all >= inAll || (held.get(address) ?? 0) >= (2 * all >= inAll ? whenCrowded : perAddress);
		},
		bytes: () => all,
		hold,
		add: (address: string, payload: unknown, raw: ServerResponse): void =>
			hold(address, payload instanceof Readable ? STREAM_BYTES : sizeOf(payload), raw),
	};
}

const sizeOf = (payload: unknown): number =>
	typeof payload === "string" || payload instanceof Uint8Array ? payload.length : 0;
