// What createApiServer is given: everything that touches the world (clock, tokens, nonces, logs)
// comes in from outside.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { CallerRole } from "../route.ts";
import type { Handlers } from "../routes.ts";

interface TokenRecord {
	readonly id: string;
	readonly role: Exclude<CallerRole, "public">;
	/** For whom the token speaks; null when for nobody. */
	readonly key: string | null;
}

export interface AuthSource {
	/**
	 * Null when unknown, revoked or expired. The secret's hash is what is looked up; the secret itself is
	 * neither kept nor logged.
	 */
	findToken(secret: string): Promise<TokenRecord | null>;
	/**
	 * Roles of a key that has proven itself by a signature; empty when it has none. Any key may be a customer
	 * if this says so.
	 */
	rolesOfKey(key: string): Promise<readonly Exclude<CallerRole, "public" | "reader">[]>;
	/**
	 * Remembers the nonce of a key until `expiresAtMs`; false when it is known already. Must be atomic over all
	 * processes.
	 */
	takeNonce(key: string, nonce: string, expiresAtMs: number): Promise<boolean>;
}

export const DEFAULT_LIMITS = {
	/** Requests per second and address, as many at once. docs/network.md §4. */
	readsPerS: 100,
	writesPerS: 10,
	/** Pieces of blobs, 1 MiB each, either way. */
	transfersPerS: 200,
	/** JSON, where its route takes no more. */
	bodyBytes: 64 * 1024,
	/** A body that brings less than so many bytes a second, over a whole window, is cut off with its sender. */
	bodyLeastBytesPerS: 16 * 1024,
	bodyWindowMs: 15_000,
	/** What has come of pieces that are being received or checked, of one neighbourhood and in all. */
	piecesBytes: 32 << 20,
	piecesBytesInAll: 512 << 20,
	/** Bytes of evidence a second, for each address and in all; as many at once. */
	downloadBytesPerS: 64 << 20,
	downloadBytesPerSInAll: 256 << 20,
	/** A download that is slower on average, after the first half minute, is cut off. */
	downloadLeastBytesPerS: 16 * 1024,
	downloadGraceMs: 30_000,
	/** Of replies that are not read: beyond it an address, or everybody, is told to wait. */
	unreadBytes: 16 << 20,
	unreadBytesInAll: 256 << 20,
	/**
	 * At once, agents' links included; more are closed at once. Null: as many as this process may have files,
	 * less a reserve.
	 */
	connections: null as number | null,
	/**
	 * Of one address, at once and new ones a second, after as many as it may have twice; agents' links are
	 * counted apart.
	 */
	connectionsPerAddress: 256,
	dialsPerS: 50,
	/** A connection whose request was refused for coming too soon is not read for so long. */
	refusedHoldMs: 1000,
	/**
	 * Requests at work at once that wait for the database, the chain's node, the disk of blobs, or a program to
	 * be opened; the others take turns by address.
	 */
	storeAtOnce: 8,
	chainAtOnce: 4,
	diskAtOnce: 8,
	programsAtOnce: 4,
	/**
	 * Whoever has waited so long for a program to be opened is told to come again: its client, and `idleMs`,
	 * would end the connection without a word.
	 */
	programWaitMs: 12_000,
	/** Requests that wait for their turn, of one address and in all. */
	turnsPerAddress: 64,
	turnsInAll: 1024,
	/** A connection on which nothing moves is closed; event streams have their heartbeats. */
	idleMs: 60_000,
	streamsPerAddress: 64,
	/** A reader of events that lets more than this pile up is cut off. */
	streamBufferBytes: 1024 * 1024,
	heartbeatMs: 15_000,
	/** From the first byte of a request to the last of its head, and of its body: a MiB at the least pace. */
	headTimeoutMs: 30_000,
	requestTimeoutMs: 120_000,
	/** After close(): how long running requests and upgraded connections may take to finish. */
	closeGraceMs: 2_000,
};
export type ApiLimits = Readonly<typeof DEFAULT_LIMITS>;

/** A public file that a validator makes itself. */
export interface StaticFile {
	readonly bytes: Uint8Array;
	readonly contentType: string;
	readonly cacheControl: string;
}

export interface ApiServerOptions {
	readonly handlers: Handlers;
	readonly auth: AuthSource;
	/**
	 * Whom signed requests must name: the validator's public key. Keeps a request for one network from being
	 * replayed at another.
	 */
	readonly audience: string;
	readonly version: string;
	readonly nowMs: () => number;
	/** Fresh hex digits for request ids. */
	readonly randomId: () => string;
	readonly logger?: Logger;
	/** Metrics are added to it and served from it; validators may register their own. */
	readonly registry?: Registry;
	readonly limits?: Partial<ApiLimits>;
	/**
	 * Off by default: then X-Forwarded-For is not believed. Addresses or networks of proxies that are believed.
	 */
	readonly trustProxy?: readonly string[];
	/** Folder of the built dashboard, served outside /v1. */
	readonly dashboard?: string;
	/** Other GET requests outside /v1; null: there is no such file. Paths come decoded and without "..". */
	readonly staticFile?: (path: string) => Promise<StaticFile | null>;
	/**
	 * Raw HTTP upgrades of /agent (the agent link's WebSocket); others are refused. Without it every upgrade is
	 * refused.
	 */
	readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}
