// The reader's half of server-sent events: bytes in, events out. Bounded: an event that never ends is
// refused. Runs in browsers.
import { type EventSourceMessage, EventSourceParserStream, ParseError } from "eventsource-parser/stream";
import { AssayError } from "../protocol/assay-error.ts";

const MAX_EVENT_CHARS = 2 * 1024 * 1024;

/**
 * Ends when the bytes end; an event without its empty line is dropped, as the standard says. Comments are
 * heartbeats and are skipped.
 */
export async function* readEventStream(bytes: ReadableStream<BufferSource>): AsyncGenerator<EventSourceMessage> {
	const events = bytes
		.pipeThrough(new TextDecoderStream())
		.pipeThrough(new EventSourceParserStream({ maxBufferSize: MAX_EVENT_CHARS }));
	// Not every browser can iterate a stream.
	const reader = events.getReader();
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return;
			yield value;
		}
	} catch (cause) {
		if (!(cause instanceof ParseError)) throw cause;
		throw new AssayError("API_REPLY_BAD", "an event of the stream never ends", { cause });
	} finally {
		reader.cancel().catch(() => {});
	}
}
