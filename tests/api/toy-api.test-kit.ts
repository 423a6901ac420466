// A whole API over memory, for tests: the handlers of toy-handlers.test-kit.ts, which remember what they were
// called with, and a token for every role.
import type { Call, CallerRole, Route } from "../../src/api/route.ts";
import type { Handlers } from "../../src/api/routes.ts";
import { type ApiServer, createApiServer } from "../../src/api/server/create-server.ts";
import type { ApiServerOptions } from "../../src/api/server/server-options.ts";
import { createSigner, type Signer } from "../../src/protocol/probe/signer.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { AUDIENCE, NOW_MS } from "./toy-network.test-kit.ts";

export const ROLES = ["reader", "customer", "provider", "validator", "admin"] as const;

export const tokenOf = (role: Exclude<CallerRole, "public">): string => `assay_${role}_${"t".repeat(43)}`;

/** One key for each role that signs; made once, since every request with a token looks its key up. */
const signers = ROLES.map((_, i) => createSigner(new Uint8Array(32).fill(i + 1)));

export const signerOf = (role: (typeof ROLES)[number]): Signer => signers[ROLES.indexOf(role)]!;

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const one of source) all.push(one);
	return all;
}

export interface ToyApi {
	readonly url: string;
	readonly server: ApiServer;
	/** Every call that reached a handler. */
	readonly calls: { readonly name: string; readonly call: Call<Route> }[];
	readonly clock: { nowMs: number };
}

export async function startToyApi(overrides: Partial<ApiServerOptions> = {}): Promise<ToyApi> {
	const calls: { name: string; call: Call<Route> }[] = [];
	const clock = { nowMs: NOW_MS };
	const nonces = new Set<string>();
	let requests = 0;
	const recorded = Object.fromEntries(
		Object.entries({ ...toyHandlers, ...overrides.handlers }).map(([name, handler]) => [
			name,
			(call: Call<Route>) => {
				calls.push({ name, call });
				return (handler as (call: Call<Route>) => unknown)(call);
			},
		]),
	) as unknown as Handlers;
	const server = createApiServer({
		audience: AUDIENCE,
		version: "1.2.3",
		nowMs: () => clock.nowMs,
		randomId: () => `request-${requests++}`,
		auth: {
			findToken: async (secret) => {
				const role = ROLES.find((one) => tokenOf(one) === secret);
				return role === undefined ? null : { id: `token-${role}`, role, key: signerOf(role).key };
			},
			rolesOfKey: async (key) => ROLES.filter((role) => role !== "reader" && signerOf(role).key === key) as never,
			takeNonce: async (key, nonce) => {
				const size = nonces.size;
				return nonces.add(`${key} ${nonce}`).size > size;
			},
		},
		...overrides,
		// The clock of these tests stands still, so buckets are never refilled.
		limits: { readsPerS: 1e6, writesPerS: 1e6, transfersPerS: 1e6, ...overrides.limits },
		handlers: recorded,
	});
	const url = await server.listen({ host: "127.0.0.1", port: 0 });
	return { url, server, calls, clock };
}
