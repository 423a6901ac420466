// A link to an engine inside this process, for tests: the toy implementation of link.ts. The test is the
// engine, honest or not. Not a way to prove anything: there is no host behind it.
import { PassThrough } from "node:stream";
import { FrameReader } from "../wire/frame-reader.ts";
import { MAX_LENGTH_TO_ENGINE, type Reply, type Request } from "../wire/frame-table.ts";
import { decodeRequest, encodeReply } from "../wire/frames.ts";
import type { Link, LinkEnd } from "./link.ts";

export interface ToyPeer {
	/** Raw bytes towards the verifier. False when the verifier's side is full or gone. */
	send(bytes: Uint8Array): boolean;
	reply(id: number, reply: Reply): boolean;
	/** Ends the output and the link, as an engine does that exits. */
	exit(end?: Partial<LinkEnd>): void;
	readonly closed: boolean;
}

/** `onRequest` is called for every request that arrives; leave it out for a peer that never reads. */
export function createToyLink(onRequest?: (peer: ToyPeer, id: number, request: Request) => void): {
	link: Link;
	peer: ToyPeer;
} {
	const input = new PassThrough();
	const output = new PassThrough();
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	let isClosed = false;
	const peer: ToyPeer = {
		send: (bytes) => !output.writableEnded && !output.destroyed && output.write(bytes),
		reply: (id, reply) => peer.send(encodeReply(id, reply)),
		exit(end = {}) {
			if (isClosed) return;
			isClosed = true;
			output.end();
			resolve({ code: 0, signal: null, stderrTail: "", ...end });
		},
		get closed() {
			return isClosed;
		},
	};
	if (onRequest) {
		const reader = new FrameReader(MAX_LENGTH_TO_ENGINE);
		input.on("data", (chunk: Uint8Array) => {
			reader.push(chunk, (frame) => {
				onRequest(peer, frame.id, decodeRequest(frame));
				return true;
			});
		});
		input.on("end", () => peer.exit());
	}
	const link: Link = {
		kind: "local",
		input,
		output,
		engineSha256: null,
		hostKey: null,
		handshakeUs: null,
		closed,
		async close() {
			input.end();
			output.destroy();
			peer.exit();
		},
	};
	return { link, peer };
}
