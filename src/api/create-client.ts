// The typed client, from the same table as the server: for Node 20 and newer and for browsers (fetch, no
// Node modules). Replies are checked by their schemas; problems become AssayError. Reads are tried again.
// Writes are only sent again after RATE_LIMITED: such a request was refused before anything of it was done.
import { sleep } from "../platform/abortable.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { isPassing, retryAfterMs } from "../protocol/passing.ts";
import { readEventStream } from "./read-event-stream.ts";
import type { CallInput, ClientReply, Route } from "./route.ts";
import { type RouteName, type Routes, routeRows, routes } from "./routes.ts";
import { networkEvent } from "./schemas/network.ts";
import { type AnyInput, type CallOptions, createRequestSender, type RequestOptions } from "./send-request.ts";
import type { NetworkEvent } from "./types.ts";

/** Tries again of a request that the server refused with a short time to wait: no reason to give a job up. */
const MAX_LIMITED_TRIES = 10;
const MAX_LIMITED_WAIT_MS = 10_000;

export interface ApiClientOptions extends RequestOptions {
	readonly sleepMs?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
	/** Further tries of a read that found no server or an overloaded one. Default 3; 0: none. */
	readonly retries?: number;
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

export function createApiClient(options: ApiClientOptions): ApiClient {
	const { retries = 3 } = options;
	const pause = async (ms: number, signal?: AbortSignal) => {
		await (options.sleepMs ?? sleep)(ms, signal);
		signal?.throwIfAborted();
	};
	const send = createRequestSender(
		options,
		async () => (await callJson("health", {}, {})) as { audience: string; nowMs: number },
	);

	/** Of a refusal that passes. */
	const mostTries = (error: AssayError, isRead: boolean): number =>
		retries > 0 && isShortlyLimited(error) ? MAX_LIMITED_TRIES : isRead ? retries : 0;

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
				if (!isPassing(error) || tries >= mostTries(error, route.method === "GET")) throw error;
				await pause(waitBefore(error, tries), call.signal);
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
				const { body } = await send(route, input, { ...call, ...from });
				for await (const raw of body === null ? [] : readEventStream(body)) {
					if (raw.event === "end") return;
					const result = networkEvent.safeParse(jsonOf(raw.data));
					if (!result.success) throw new AssayError("API_REPLY_BAD", `${name}: an event of another shape`);
					lastEventId = result.data.id;
					tries = 0;
					yield result.data;
				}
			} catch (error) {
				call.signal?.throwIfAborted();
				const isRefusal = error instanceof AssayError && error.code !== "API_UNREACHABLE";
				if (isRefusal && (!isPassing(error) || tries >= mostTries(error, true))) throw error;
				if (!isRefusal && tries >= retries)
					throw new AssayError("STREAM_BROKEN", "the stream of events broke off", { cause: error });
				await pause(waitBefore(error, tries), call.signal);
				continue;
			}
			// Also after an end without "end": the server was closed, and another may come.
			if (tries >= retries) throw new AssayError("STREAM_BROKEN", "the stream of events ends again and again");
			await pause(Math.min(10_000, 200 * 2 ** tries), call.signal);
		}
	}

	const client: Record<string, unknown> = {
		rows: (name: RouteName, input?: AnyInput, call?: CallOptions) => rowsOf(callJson, name, input, call),
	};
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

async function* rowsOf(
	callJson: (name: RouteName, input: AnyInput, call: CallOptions) => Promise<unknown>,
	name: RouteName,
	input: AnyInput = {},
	call: CallOptions = {},
): AsyncGenerator<unknown> {
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

/** How long to wait before it is tried again. */
const waitBefore = (error: unknown, tries: number): number =>
	Math.min(10_000, Math.max(retryAfterMs(error), 200 * 2 ** tries));

function isShortlyLimited(error: AssayError): boolean {
	const ms = retryAfterMs(error);
	return error.code === "RATE_LIMITED" && ms > 0 && ms <= MAX_LIMITED_WAIT_MS;
}

async function bodyOf<T>(read: () => Promise<T>): Promise<T> {
	try {
		return await read();
	} catch (cause) {
		if (cause instanceof AssayError) throw cause;
		throw cause instanceof SyntaxError
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
