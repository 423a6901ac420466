// The provider's side of one channel: an engine's streams on one hand, a channel of the agent link on the
// other. What the engine writes waits for the socket; what the validator sends waits for the engine, and when
// the engine does not read it the engine is closed, not the rest of the connection kept waiting (a `close`
// must always get through).
import { Writable } from "node:stream";
import type { Link } from "../links/link.ts";
import { MAX_DATA_BYTES } from "./agent-messages.ts";
import type { AgentSocket } from "./agent-socket.ts";
import type { RunWatch } from "./run-watch.ts";

export type EnginePipe = ReturnType<typeof createEnginePipe>;

export interface EnginePipeOptions {
	readonly channel: number;
	readonly link: Link;
	/** More than this unread by the engine closes it. */
	readonly unreadBytes: number;
	/** Sees what passes, before the far side does. */
	readonly watch: RunWatch;
}

export function createEnginePipe(socket: AgentSocket, options: EnginePipeOptions) {
	const { channel, link, unreadBytes, watch } = options;
	const { promise: drained, resolve } = Promise.withResolvers<void>();
	let closing = false;
	const sink = new Writable({
		highWaterMark: MAX_DATA_BYTES,
		write(chunk: Uint8Array, _encoding, done) {
			watch.fromEngine(chunk);
			// Nobody wants the rest of a closed channel, but it must flow away, or the engine could not end.
			socket.sendData(channel, chunk, () => closing, done);
		},
	});
	sink.on("finish", resolve);
	sink.on("error", () => resolve());
	link.output.on("error", () => sink.end());
	link.output.on("close", () => sink.end());
	link.output.pipe(sink);
	link.input.on("error", () => {});
	const close = () => {
		closing = true;
		return link.close();
	};
	// An engine that ended by itself: what it wrote last is still sent.
	void link.closed.then(() => link.close());
	return {
		/** From the validator to the engine. */
		write(bytes: Uint8Array): void {
			if (closing || link.input.destroyed || link.input.writableEnded) return;
			watch.toEngine(bytes);
			link.input.write(bytes);
			if (link.input.writableLength > unreadBytes) void close();
		},
		/** Ends the engine; may be called more than once. */
		close,
		/** Settles when the engine is gone and all that it wrote was handed to the socket. Never rejects. */
		ended: Promise.all([link.closed, drained]).then(() => {}),
	};
}
