// A request's body on its way in: what its head says of it, its bytes as they come, and whether they are
// those that were signed. Page: docs/network.md §4. Not here: who calls (authenticate.ts), what JSON says
// (parse-body.ts).
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pieceRoot } from "../../platform/blob-tree.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Route } from "../route.ts";
import type { Headers } from "./authenticate.ts";
import type { ApiLimits } from "./server-options.ts";

export interface ExpectedBody {
	/** Bytes as they are; else JSON. */
	readonly isBytes: boolean;
	/** 0: none. */
	readonly length: number;
}

const NOTHING: ExpectedBody = { isBytes: false, length: 0 };

/**
 * By the headers alone, before a byte is read. Throws CONTENT_TYPE_WRONG where bytes are sent for JSON or
 * JSON for bytes, REQUEST_BAD without a length, BODY_TOO_LARGE.
 */
export function expectedBody(route: Route, headers: Headers, limits: Pick<ApiLimits, "bodyBytes">): ExpectedBody {
	const { mostBytes, mostJsonBytes = limits.bodyBytes, method } = route;
	const isBytes = mostBytes !== undefined;
	if (method === "GET") return NOTHING;
	if (isBytes !== /^application\/octet-stream\s*(;|$)/i.test(String(headers["content-type"] ?? ""))) {
		if (isBytes) throw new AssayError("CONTENT_TYPE_WRONG", "this route takes application/octet-stream");
		throw new AssayError("CONTENT_TYPE_WRONG", "this route takes no bytes");
	}
	const isSent = isBytes || headers["transfer-encoding"] !== undefined;
	const length = Number(headers["content-length"] ?? (isSent ? Number.NaN : 0));
	// Without a length nobody knows how much memory it takes.
	if (!Number.isSafeInteger(length)) throw new AssayError("REQUEST_BAD", "a body says how long it is");
	const most = mostBytes ?? mostJsonBytes;
	if (length > most) throw new AssayError("BODY_TOO_LARGE", `the body has at most ${most} bytes`);
	return { isBytes, length };
}

/** The length that a signed name says, docs/jobs.md §12; null: it names no blob. */
export const namedLength = (bodyName: string): number | null =>
	bodyName.includes("-") ? Number(bodyName.slice(bodyName.indexOf("-") + 1)) : null;

/**
 * The whole body. `onBytes` hears of each part before it is kept, and may refuse it by throwing. Whoever
 * sends less than so many bytes a second, over a whole window, is cut off, and so hears nothing: a client
 * tries again, as after any connection that broke.
 */
export function receiveBody(
	payload: Readable,
	{ bodyLeastBytesPerS, bodyWindowMs }: Pick<ApiLimits, "bodyLeastBytesPerS" | "bodyWindowMs">,
	onBytes: (bytes: number) => void,
): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		const parts: Buffer[] = [];
		let [came, before] = [0, 0];
		const stop = (why: Error | null) => {
			clearInterval(timer);
			payload.off("data", take).off("end", end).off("error", hungUp).off("close", hungUp);
			// An error of a stream that nobody hears would end the process.
			payload.on("error", () => {});
			if (why === null) return resolve(Buffer.concat(parts, came));
			parts.length = 0;
			payload.resume();
			reject(why);
		};
		const take = (part: Buffer) => {
			try {
				onBytes(part.length);
			} catch (error) {
				return stop(error as Error);
			}
			came += part.length;
			parts.push(part);
		};
		const end = () => stop(null);
		const hungUp = () => stop(new AssayError("REQUEST_BAD", "the connection ended before the body was whole"));
		const timer = setInterval(() => {
			if (came - before < (bodyLeastBytesPerS * bodyWindowMs) / 1000) {
				stop(new AssayError("REQUEST_BAD", "the body comes too slowly"));
				payload.destroy();
			}
			before = came;
		}, bodyWindowMs).unref();
		// It may have gone while its caller was looked up.
		if (payload.destroyed) return hungUp();
		payload.on("data", take).on("end", end).on("error", hungUp).on("close", hungUp);
	});
}

/**
 * What a body is called where it is signed; of bytes also the root of their tree, which their taker needs
 * too.
 */
export async function nameBody(
	body: Uint8Array,
	{ isBytes }: Pick<ExpectedBody, "isBytes">,
): Promise<{ readonly name: string; readonly root: Uint8Array | null }> {
	if (!isBytes) return { name: createHash("sha256").update(body).digest("hex"), root: null };
	const root = await pieceRoot(body);
	return { name: `${bytesToHex(root)}-${body.length}`, root };
}
