// One request of the client: its path, its credentials, its time limit; a refusal becomes an AssayError. Runs
// in browsers. Not here: trying again, and reading replies (create-client.ts).
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import type { Route } from "./route.ts";
import { problem } from "./schemas/network.ts";

export interface RequestOptions {
	/** e.g. http://127.0.0.1:8027 */
	readonly baseUrl: string;
	readonly token?: string;
	/** Signs every request that the table does not have as public. */
	readonly signer?: Signer;
	/**
	 * The validator's key that signed requests must name. Pin it; without it the server is asked once, and
	 * believed.
	 */
	readonly audience?: string;
	readonly fetch?: typeof globalThis.fetch;
	readonly nowMs?: () => number;
	readonly randomBytes?: (size: number) => Uint8Array;
	/** Of one try, event streams excepted. Default 30,000. */
	readonly timeoutMs?: number;
}

export interface CallOptions {
	readonly signal?: AbortSignal;
	/** events only: go on after this one. */
	readonly lastEventId?: string;
	/** Of a body of bytes: ROOT-LENGTH, by whoever knows it already. */
	readonly blobName?: string;
}

export interface AnyInput {
	readonly params?: Readonly<Record<string, unknown>>;
	readonly query?: Readonly<Record<string, unknown>>;
	readonly body?: unknown;
}

/** One try: the response, or AssayError. */
export type SendRequest = (route: Route, input: AnyInput, call: CallOptions) => Promise<Response>;

/**
 * ATTACK: whoever answers in a server's place could have requests signed for a later time, to hand them on
 * then. So a server's clock is only believed within a day, and only after it refused a request for its time.
 */
const MAX_SKEW_MS = 24 * 3_600_000;

/** `askServer`: its key, for when no audience was pinned, and its time. */
export function createRequestSender(
	options: RequestOptions,
	askServer: () => Promise<{ readonly audience: string; readonly nowMs: number }>,
): SendRequest {
	const base = options.baseUrl.replace(/\/+$/, "");
	const fetching = options.fetch ?? globalThis.fetch.bind(globalThis);
	const { nowMs = Date.now, timeoutMs = 30_000 } = options;
	const randomBytes = options.randomBytes ?? ((size) => globalThis.crypto.getRandomValues(new Uint8Array(size)));
	let audience: Promise<string> | null = options.audience === undefined ? null : Promise.resolve(options.audience);
	/** How far the server's clock is ahead of this one, where one of them is wrong. */
	let aheadMs = 0;

	async function credentials(
		{ method, role, mostBytes }: Route,
		path: string,
		body: Uint8Array,
		{ blobName }: CallOptions,
	): Promise<object> {
		if (options.signer === undefined || role === "public")
			return options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
		audience ??= askServer().then((said) => said.audience);
		const named = await audience.catch((error) => {
			audience = null;
			throw error;
		});
		// Loaded by the first who signs: a page that only reads needs no hashes.
		const { blobNameOf, bodyNameOf, signRequest } = await import("./request-signature.ts");
		const nonce = bytesToHex(randomBytes(16));
		const bodyName = mostBytes === undefined ? bodyNameOf(body) : (blobName ?? blobNameOf(body));
		const timeMs = Math.round(nowMs() + aheadMs);
		return signRequest({ audience: named, method, path, bodyName, timeMs, nonce }, options.signer);
	}

	/** False: what it says is no reason to try again. */
	async function setClock(): Promise<boolean> {
		const before = aheadMs;
		const found = (await askServer()).nowMs - nowMs();
		if (Math.abs(found) <= MAX_SKEW_MS) aheadMs = found;
		return aheadMs !== before;
	}

	const sendOnce: SendRequest = async (route, input, call) => {
		const path = pathOf(route, input);
		const isBytes = route.mostBytes !== undefined;
		const body = isBytes ? (input.body as Uint8Array<ArrayBuffer>) : jsonOf(input.body);
		const headers: Record<string, string> = { accept: ACCEPT[route.kind] };
		if (body !== undefined) headers["content-type"] = isBytes ? "application/octet-stream" : "application/json";
		if (call.lastEventId !== undefined) headers["last-event-id"] = call.lastEventId;
		Object.assign(headers, await credentials(route, path, body ?? new Uint8Array(0), call));
		const limits = [call.signal, route.kind === "events" ? undefined : AbortSignal.timeout(timeoutMs)];
		const signal = AbortSignal.any(limits.filter((one) => one !== undefined));
		// A redirect would carry the token or the signed request to somebody else.
		const request = { method: route.method, headers, redirect: "error", signal, ...(body && { body }) } as const;
		const response = await fetching(base + path, request).catch((cause) => {
			call.signal?.throwIfAborted();
			throw new AssayError("API_UNREACHABLE", `no answer from ${base}`, { cause });
		});
		if (!response.ok) throw await errorOf(response);
		return response;
	};
	return (route, input, call) =>
		sendOnce(route, input, call).catch(async (error: unknown) => {
			if (!(error instanceof AssayError) || error.code !== "REQUEST_STALE" || !(await setClock())) throw error;
			return sendOnce(route, input, call);
		});
}

const jsonOf = (value: unknown): Uint8Array<ArrayBuffer> | undefined =>
	value === undefined ? undefined : new TextEncoder().encode(JSON.stringify(value));

const ACCEPT = {
	json: "application/json",
	binary: "application/octet-stream",
	events: "text/event-stream",
	text: "text/plain",
} as const;

function pathOf(route: Route, { params = {}, query = {} }: AnyInput): string {
	const path = route.path.replaceAll(/:([a-z0-9]+)/gi, (_, name: string) => {
		if (params[name] === undefined) throw new AssayError("REQUEST_BAD", `the path needs ${name}`);
		return encodeURIComponent(String(params[name]));
	});
	const search = new URLSearchParams();
	for (const [key, value] of Object.entries(query)) if (value !== undefined) search.append(key, String(value));
	return search.size === 0 ? path : `${path}?${search}`;
}

async function errorOf(response: Response): Promise<AssayError> {
	const retryAfterS = Number(response.headers.get("retry-after") ?? 0) || 0;
	const cause = { status: response.status, retryAfterS };
	const result = problem.safeParse(await response.json().catch(() => null));
	if (result.success) return new AssayError(result.data.code, result.data.detail, { hint: result.data.hint, cause });
	// Proxies in between answer in their own words.
	const isBusy = response.status === 502 || response.status === 503 || response.status === 504;
	return new AssayError(
		response.status === 429 ? "RATE_LIMITED" : isBusy ? "NOT_READY" : "API_REPLY_BAD",
		`status ${response.status} without a problem document`,
		{ cause },
	);
}
