// The only door to an S3-compatible bucket: whole objects by name, put, got, asked for, removed. A put that
// resolves was acknowledged by the server, which compared the body with its hash. What is read is bounded,
// and checked by whoever asked (names are hashes). Not here: what objects are (files/evidence.ts).
import { sleep } from "../../platform/abortable.ts";
import { readBounded } from "../../platform/bounded-fetch.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { type BucketKeys, encoded, signedHeaders } from "./sign-request.ts";

export interface BucketOptions extends BucketKeys {
	/** https://host[:port]/bucket[/prefix] */
	readonly url: string;
	readonly nowMs?: () => number;
	/** Of one try. */
	readonly timeoutMs?: number;
	readonly tries?: number;
	readonly waitMs?: number;
}

export type Bucket = ReturnType<typeof createBucket>;

/** Throws CONFIG_BAD. */
export function bucketAddress(given: string): URL {
	const url = URL.canParse(given) ? new URL(given) : null;
	const isRight = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "";
	if (!isRight || !/^\/[a-z0-9][a-z0-9.-]{1,62}(\/[\w.-]+)*\/?$/.test(url.pathname))
		throw new AssayError(
			"CONFIG_BAD",
			"the bucket's address is not https://HOST/BUCKET or https://HOST/BUCKET/PREFIX",
			{
				hint: "The keys are not in it: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if needed, AWS_REGION.",
			},
		);
	return url;
}

export function createBucket(options: BucketOptions) {
	const base = bucketAddress(options.url).href.replace(/\/+$/, "");
	const { nowMs = Date.now, timeoutMs = 60_000, tries = 3, waitMs = 500 } = options;

	/** One try. `null`: there is no such object. */
	async function once(method: string, name: string, body: Uint8Array, mostBytes: number): Promise<Uint8Array | null> {
		const url = new URL(`${base}/${name.split("/").map(encoded).join("/")}`);
		const headers = signedHeaders({ method, url, body, nowMs: nowMs() }, options);
		// ATTACK: a redirect would carry the request elsewhere; it is signed for this host.
		const sent = { method, headers, redirect: "error", signal: AbortSignal.timeout(timeoutMs) } as const;
		const response = await fetch(url, method === "PUT" ? { ...sent, body: Buffer.from(body) } : sent);
		if (response.status === 404 && method !== "PUT") {
			await response.body?.cancel();
			return null;
		}
		if (!response.ok) throw new Refusal(response.status, String(await readBounded(response.body ?? [], 4096)));
		const read = await readBounded(response.body ?? [], mostBytes);
		if (read === null) throw new Refusal(0, `more than ${mostBytes} bytes`);
		const length = response.headers.get("content-length");
		// A body that broke off, where the transport did not notice.
		if (method === "GET" && length !== null && Number(length) !== read.length) throw new Error("the object broke off");
		return read;
	}

	async function ask(
		method: string,
		name: string,
		body: Uint8Array = new Uint8Array(0),
		mostBytes = 0,
	): Promise<Uint8Array | null> {
		for (let left = tries - 1; ; left--) {
			try {
				return await once(method, name, body, mostBytes);
			} catch (cause) {
				const isFinal = cause instanceof Refusal && cause.status < 500 && cause.status !== 429;
				if (isFinal || left <= 0) throw failed(method, name, cause);
				await sleep(waitMs * (tries - left));
			}
		}
	}

	return {
		/** Acknowledged by the server when this resolves. The same name with the same bytes may be put again. */
		put: async (name: string, bytes: Uint8Array): Promise<void> => void (await ask("PUT", name, bytes, 1 << 16)),
		/** null: there is none. */
		get: (name: string, mostBytes: number): Promise<Uint8Array | null> => ask("GET", name, undefined, mostBytes),
		has: async (name: string): Promise<boolean> => (await ask("HEAD", name)) !== null,
		remove: async (name: string): Promise<void> => void (await ask("DELETE", name, undefined, 1 << 16)),
	};
}

class Refusal extends Error {
	readonly status: number;
	constructor(status: number, said: string) {
		const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(said)?.[1];
		super(status === 0 ? said : `status ${status}${code === undefined ? "" : `, ${code}`}`);
		this.status = status;
	}
}

function failed(method: string, name: string, cause: unknown): AssayError {
	const why = cause instanceof Error ? cause.message : String(cause);
	return new AssayError("BUCKET_FAILED", `the bucket did not do ${method} ${name}: ${why}`, { cause });
}
