// Server-sent events to one reader: heartbeats, a bound on what may pile up, an end when the source ends or
// the server closes. Not here: where events come from and how a reader goes on after Last-Event-ID; both are
// the handler's source.
import type { ServerResponse } from "node:http";
import { untilAborted } from "../../platform/abortable.ts";
import type { NetworkEvent } from "../types.ts";

export interface EventStreamOptions {
	readonly heartbeatMs: number;
	readonly bufferBytes: number;
	/** An event of the source that is not what the schema says is left out, and told here. */
	readonly check: (event: unknown) => NetworkEvent | null;
	/** Aborts the handler's source; aborted from outside when the server closes. */
	readonly abort: AbortController;
}

export type StreamEnd = "source" | "reader" | "slow" | "closing" | "failed";

/** Writes until something ends it; never throws. The caller has written no head yet. */
export async function streamEvents(
	raw: ServerResponse,
	source: AsyncIterable<unknown>,
	options: EventStreamOptions,
): Promise<StreamEnd> {
	let end: StreamEnd | null = null;
	const { abort } = options;
	const stop = (why: StreamEnd): void => {
		end ??= why;
		abort.abort();
	};
	raw.on("close", () => stop("reader"));
	raw.on("error", () => stop("reader"));
	abort.signal.addEventListener("abort", () => stop("closing"));
	const write = (text: string): void => {
		if (end !== null) return;
		raw.write(text);
		// Without back-pressure on the source: a reader that does not keep up loses its connection, not the
		// validator its memory.
		if (raw.writableLength > options.bufferBytes) {
			stop("slow");
			raw.destroy();
		}
	};
	const heartbeat = setInterval(() => write(": \n\n"), options.heartbeatMs);
	heartbeat.unref();
	const iterator = source[Symbol.asyncIterator]();
	const stopped = untilAborted(abort.signal);
	try {
		write("retry: 2000\n\n");
		while (end === null) {
			const next = await Promise.race([iterator.next(), stopped]);
			if (next === undefined) break;
			if (next.done) {
				// Told apart from a broken connection, so that the client does not come back.
				write("event: end\ndata: {}\n\n");
				end ??= "source";
				break;
			}
			const event = options.check(next.value);
			if (event !== null) write(`id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`);
		}
	} catch {
		end ??= "failed";
	} finally {
		clearInterval(heartbeat);
		abort.abort();
		// A source that never settles must not hold the connection; nobody waits for it.
		Promise.resolve(iterator.return?.()).catch(() => {});
		// Only a source that ended itself has written "end": after any other end the client comes back.
		raw.end();
	}
	return end ?? "closing";
}
