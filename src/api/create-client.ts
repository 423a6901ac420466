// The typed client, from the same table as the server: for Node 20 and newer and for browsers (fetch, no Node modules).
// Replies are checked by their schemas; problems become AssayError; reads are tried again, writes never.
import { sleep } from "../platform/abortable.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import { readEventStream } from "./read-event-stream.ts";
import { signRequest } from "./request-signature.ts";
import type { CallInput, ClientReply, Route } from "./route.ts";
import { type RouteName, type Routes, routeRows, routes } from "./routes.ts";
import { networkEvent, problem } from "./schemas/network.ts";
import type { NetworkEvent } from "./types.ts";

export interface ApiClientOptions {
	/** e.g. http://127.0.0.1:8027 */
	readonly baseUrl: string;
	readonly token?: string;
	/** Signs every request that the table does not have as public. */
	readonly signer?: Signer;
	/** The validator's key that signed requests must name. Pin it; without it the server is asked once, and believed. */
	readonly audience?: string;
	readonly fetch?: typeof globalThis.fetch;
	readonly nowMs?: () => number;
	readonly randomBytes?: (size: number) => Uint8Array;
	readonly sleepMs?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
	/** Further tries of a read that found no server or an overloaded one. Default 3. */
	readonly retries?: number;
	/** Of one try, event streams excepted. Default 30,000. */
	readonly timeoutMs?: number;
}

export interface CallOptions {
	readonly signal?: AbortSignal;
	/** events only: go on after this one. */
	readonly lastEventId?: string;
}

type Input<N extends RouteName> = CallInput<Routes[N]>;
type Method<N extends RouteName> = Routes[N]["kind"] extends "events"
	? (...args: Arguments<N>) => AsyncIterable<NetworkEvent>
	: (...args: Arguments<N>) => Promise<ClientReply<Routes[N]>>;
type Arguments<N extends RouteName> =
	Partial<Input<N>> extends Input<N>
		? [input?: Input<N>, options?: CallOptions]
		: [input: Input<N>, options?: CallOptions];

/** Routes whose reply is a page. */
export type PagedName = {
	[N in RouteName]: ClientReply<Routes[N]> extends { rows: unknown[]; cursor: string | null } ? N : never;
}[RouteName];
type RowOf<N extends PagedName> = ClientReply<Routes[N]> extends { rows: (infer Row)[] } ? Row : never;

export type ApiClient = { readonly [N in RouteName]: Method<N> } & {
	/** Every row of every page, one page in memory. */
	readonly rows: <N extends PagedName>(name: N, ...args: Arguments<N>) => AsyncGenerator<RowOf<N>>;
};

interface AnyInput {
	readonly params?: Readonly<Record<string, unknown>>;
	readonly query?: Readonly<Record<string, unknown>>;
	readonly body?: unknown;
}

export function createApiClient(options: ApiClientOptions): ApiClient {
	const base = options.baseUrl.replace(/\/+$/, "");
	const fetching = options.fetch ?? globalThis.fetch.bind(globalThis);
	const nowMs = options.nowMs ?? Date.now;
	const randomBytes = options.randomBytes ?? ((size) => globalThis.crypto.getRandomValues(new Uint8Array(size)));
	const pause = async (ms: number, signal?: AbortSignal) => {
		await (options.sleepMs ?? sleep)(ms, signal);
		signal?.throwIfAborted();
	};
	const retries = options.retries ?? 3;
	const timeoutMs = options.timeoutMs ?? 30_000;
	let audience: Promise<string> | null = options.audience === undefined ? null : Promise.resolve(options.audience);

	async function askAudience(): Promise<string> {
		const { audience: named } = (await callJson("health", {}, {})) as { audience: string };
		return named;
	}

	/** One try: the response, or AssayError. */
	async function send(route: Route, input: AnyInput, call: CallOptions): Promise<Response> {
		const path = pathOf(route, input);
		const body = input.body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(input.body));
		const headers: Record<string, string> = { accept: ACCEPT[route.kind] };
		if (body !== undefined) headers["content-type"] = "application/json";
		if (call.lastEventId !== undefined) headers["last-event-id"] = call.lastEventId;
		if (options.signer !== undefined && route.role !== "public") {
			audience ??= askAudience();
			const named = await audience.catch((error) => {
				audience = null;
				throw error;
			});
			const { method } = route;
			const parts = { audience: named, method, path, body: body ?? new Uint8Array(0), timeMs: nowMs() };
			Object.assign(headers, signRequest({ ...parts, nonce: bytesToHex(randomBytes(16)) }, options.signer));
		} else if (options.token !== undefined) headers.authorization = `Bearer ${options.token}`;
		const limits = [call.signal, route.kind === "events" ? undefined : AbortSignal.timeout(timeoutMs)];
		const signal = AbortSignal.any(limits.filter((one) => one !== undefined));
		let response: Response;
		try {
			// A redirect would carry the token or the signed request to somebody else.
			response = await fetching(base + path, {
				method: route.method,
				headers,
				redirect: "error",
				signal,
				...(body === undefined ? {} : { body }),
			});
		} catch (cause) {
			call.signal?.throwIfAborted();
			throw new AssayError("API_UNREACHABLE", `no answer from ${base}`, { cause });
		}
		if (!response.ok) throw await errorOf(response);
		return response;
	}

	async function sendReading<T>(
		route: Route,
		input: AnyInput,
		call: CallOptions,
		read: (response: Response) => Promise<T>,
	): Promise<T> {
		for (let tries = 0; ; tries++) {
			try {
				return await read(await send(route, input, call));
			} catch (error) {
				call.signal?.throwIfAborted();
				const waitMs = route.method === "GET" && tries < retries ? waitBefore(error, tries) : null;
				if (waitMs === null) throw error;
				await pause(waitMs, call.signal);
			}
		}
	}

	async function callJson(name: RouteName, input: AnyInput, call: CallOptions): Promise<unknown> {
		const route: Route = routes[name];
		return sendReading(route, input, call, async (response) => {
			const result = route.reply!.safeParse(await bodyOf(() => response.json()));
			if (result.success) return result.data;
			const [first] = result.error.issues;
			throw new AssayError("API_REPLY_BAD", `${name}: ${first?.path.map(String).join(".")}: ${first?.message}`);
		});
	}

	async function* watch(name: RouteName, input: AnyInput, call: CallOptions): AsyncGenerator<NetworkEvent> {
		const route: Route = routes[name];
		let lastEventId = call.lastEventId;
		for (let tries = 0; ; tries++) {
			try {
				const from = lastEventId === undefined ? {} : { lastEventId };
				const response = await send(route, input, { ...call, ...from });
				for await (const raw of readEventStream(chunksOf(response))) {
					if (raw.kind === "end") return;
					const result = networkEvent.safeParse(jsonOf(raw.data));
					if (!result.success) throw new AssayError("API_REPLY_BAD", `${name}: an event of another shape`);
					lastEventId = result.data.id;
					tries = 0;
					yield result.data;
				}
			} catch (error) {
				call.signal?.throwIfAborted();
				if (error instanceof AssayError && waitBefore(error, tries) === null) throw error;
				if (tries >= retries) throw new AssayError("STREAM_BROKEN", "the stream of events broke off", { cause: error });
			}
			// Also after an end without "end": the server was closed, and another may come.
			if (tries >= retries) throw new AssayError("STREAM_BROKEN", "the stream of events ends again and again");
			await pause(Math.min(10_000, 200 * 2 ** tries), call.signal);
		}
	}

	async function* rows(name: RouteName, input: AnyInput = {}, call: CallOptions = {}): AsyncGenerator<unknown> {
		let cursor = input.query?.cursor;
		for (;;) {
			const query = cursor === undefined ? input.query : { ...input.query, cursor };
			const page = (await callJson(name, { ...input, ...(query && { query }) }, call)) as {
				rows: unknown[];
				cursor: string | null;
			};
			yield* page.rows;
			if (page.cursor === null) return;
			if (page.cursor === cursor) throw new AssayError("API_REPLY_BAD", `${name}: the same cursor again`);
			cursor = page.cursor;
		}
	}

	const client: Record<string, unknown> = { rows };
	for (const [name, route] of routeRows)
		client[name] = (input: AnyInput = {}, call: CallOptions = {}) => {
			if (route.kind === "events") return watch(name, input, call);
			if (route.kind === "json") return callJson(name, input, call);
			return sendReading(route, input, call, (response) =>
				bodyOf(async () => (route.kind === "text" ? response.text() : new Uint8Array(await response.arrayBuffer()))),
			);
		};
	return client as unknown as ApiClient;
}

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

/** How long to wait before a read is tried again; null when trying again cannot help. */
function waitBefore(error: unknown, tries: number): number | null {
	if (!(error instanceof AssayError)) return null;
	if (!["API_UNREACHABLE", "NOT_READY", "RATE_LIMITED"].includes(error.code)) return null;
	const told = (error.cause as { retryAfterS?: number } | undefined)?.retryAfterS ?? 0;
	return Math.min(10_000, Math.max(told * 1000, 200 * 2 ** tries));
}

async function errorOf(response: Response): Promise<AssayError> {
	const retryAfterS = Number(response.headers.get("retry-after") ?? 0) || 0;
	const cause = { status: response.status, retryAfterS };
	const result = problem.safeParse(await response.json().catch(() => null));
	if (result.success) return new AssayError(result.data.code, result.data.detail, { hint: result.data.hint, cause });
	// Proxies in between answer in their own words.
	const isBusy = response.status === 502 || response.status === 503 || response.status === 504;
	return new AssayError(
		isBusy ? "NOT_READY" : "API_REPLY_BAD",
		`status ${response.status} without a problem document`,
		{ cause },
	);
}

async function bodyOf<T>(read: () => Promise<T>): Promise<T> {
	try {
		return await read();
	} catch (cause) {
		if (cause instanceof AssayError) throw cause;
		const broken = cause instanceof SyntaxError ? "API_REPLY_BAD" : "API_UNREACHABLE";
		throw broken === "API_REPLY_BAD"
			? new AssayError("API_REPLY_BAD", "the reply is not JSON", { cause })
			: new AssayError("API_UNREACHABLE", "the reply broke off", { cause });
	}
}

function jsonOf(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Not every browser can iterate a body. */
async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
	const reader = response.body?.getReader();
	if (reader === undefined) return;
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return;
			yield value;
		}
	} finally {
		reader.cancel().catch(() => {});
	}
}
