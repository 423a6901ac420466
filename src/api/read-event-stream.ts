// The reader's half of server-sent events: bytes in, fields out. Bounded: a line that never ends is refused. Runs in browsers.
import { AssayError } from "../protocol/assay-error.ts";

export interface RawEvent {
	readonly id: string | null;
	readonly kind: string;
	readonly data: string;
}

const MAX_LINE = 2 * 1024 * 1024;

/** Ends when the bytes end; an event without its empty line is dropped, as the standard says. Comments are heartbeats and are skipped. */
export async function* readEventStream(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<RawEvent> {
	const decoder = new TextDecoder();
	let held = "";
	let id: string | null = null;
	let kind = "message";
	let data: string[] = [];
	for await (const chunk of bytes) {
		held += decoder.decode(chunk, { stream: true });
		const lines = held.split("\n");
		held = lines.pop()!;
		if (held.length > MAX_LINE) throw new AssayError("API_REPLY_BAD", "a line of the event stream never ends");
		for (const whole of lines) {
			const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
			if (line === "") {
				if (data.length > 0) yield { id, kind, data: data.join("\n") };
				kind = "message";
				data = [];
				continue;
			}
			const colon = line.indexOf(":");
			const field = colon === -1 ? line : line.slice(0, colon);
			const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
			if (field === "id") id = value;
			else if (field === "event") kind = value;
			else if (field === "data") data.push(value);
		}
	}
}
