// Passes over what a host's login script prints before the engine begins, up to the line that our own command
// prints right before it.
import type { Readable } from "node:stream";
import { isInTime } from "../../platform/abortable.ts";
import { printable } from "../client/printable.ts";

/** Printed by remote-scripts.ts right before the engine. */
export const ENGINE_BEGINS = "assay:engine\n";
const MOST_BYTES = 64 << 10;
const SHOWN_CHARACTERS = 80;

/**
 * Leaves the stream at the engine's first byte, and gives what came before it as harmless text. Where the
 * line does not come, because the stream ends, says too much or takes too long, nothing is taken away:
 * whoever reads frames from it finds out.
 */
export async function skipGreeting(stream: Readable, withinMs: number): Promise<string> {
	let held = Buffer.alloc(0);
	const { promise: over, resolve } = Promise.withResolvers<void>();
	const look = (): void => {
		for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null)
			held = Buffer.concat([held, chunk]);
		if (held.includes(ENGINE_BEGINS) || held.length > MOST_BYTES) resolve();
	};
	stream.on("readable", look);
	for (const event of ["end", "close", "error"]) stream.once(event, resolve);
	await isInTime(over, withinMs);
	stream.off("readable", look);
	const at = held.indexOf(ENGINE_BEGINS);
	const rest = at < 0 ? held : held.subarray(at + ENGINE_BEGINS.length);
	if (rest.length > 0 && !stream.readableEnded && !stream.destroyed) stream.unshift(rest);
	return at <= 0 ? "" : printable(held.subarray(0, at).toString("utf8").trim(), SHOWN_CHARACTERS);
}
