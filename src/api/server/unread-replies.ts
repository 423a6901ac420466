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
	function put(address: string, more: number): void {
		all += more;
		const now = (held.get(address) ?? 0) + more;
		if (now > 0) held.set(address, now);
		else held.delete(address);
	}
	/** Gives what counts more bytes, all until the reply is gone, or the connection is. */
	function holder(address: string, raw: ServerResponse): (bytes: number) => void {
		let own = 0;
		const taken = (): void => {
			raw.off("finish", taken).off("close", taken);
			put(address, -own);
		};
		return (bytes) => {
			// ATTACK: who hangs up before the answer is made would never be heard to have gone.
			if (bytes === 0 || raw.closed || raw.destroyed) return;
			if (own === 0) raw.on("finish", taken).on("close", taken);
			own += bytes;
			put(address, bytes);
		};
	}
	return {
		isFull(address: string): boolean {
			const { perAddress, inAll, whenCrowded = perAddress } = most;
			return all >= inAll || (held.get(address) ?? 0) >= (2 * all >= inAll ? whenCrowded : perAddress);
		},
		bytes: () => all,
		holder,
		add: (address: string, payload: unknown, raw: ServerResponse): void =>
			holder(address, raw)(payload instanceof Readable ? STREAM_BYTES : sizeOf(payload)),
	};
}

const sizeOf = (payload: unknown): number =>
	typeof payload === "string" || payload instanceof Uint8Array ? payload.length : 0;
