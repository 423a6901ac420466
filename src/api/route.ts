// What one row of the route table is, and the types that follow from it for handlers and for the client. No
// rows here (routes.ts).
import type * as z from "zod/mini";
import type { Role } from "../protocol/network/role.ts";
import type { JsonValue } from "./schemas/primitives.ts";
import type { NetworkEvent } from "./types.ts";

type Method = "GET" | "POST" | "PATCH" | "DELETE";
/**
 * Who may call. Admins may call everything; public is for anyone, member for customers, providers and
 * validators.
 */
export type RouteRole = Exclude<CallerRole, "reader"> | "member";
export type CallerRole = "public" | Role;
type RouteKind = "json" | "binary" | "events" | "text";
/** A transfer is a piece of at most 1 MiB, either way. */
export type RateClass = "read" | "write" | "transfer";

export interface Route {
	readonly method: Method;
	readonly path: string;
	readonly summary: string;
	readonly role: RouteRole;
	readonly kind: RouteKind;
	readonly rate: RateClass;
	/** How many ordinary requests it counts for. Default 1. */
	readonly cost?: number;
	/**
	 * Whose answer its handler waits for; by default the database's. What waits for a host takes nobody's turn.
	 */
	readonly waitsFor?: "chain" | "disk" | "program" | "host";
	/** How much its body asks for, so that what is small waits for little that is large. */
	readonly sizeOf?: (body: never) => number;
	/** Its body is so many bytes at most, as they are (application/octet-stream). Without it: JSON. */
	readonly mostBytes?: number;
	/** Its JSON may have so many bytes. Without it: as many as the server's setting says. */
	readonly mostJsonBytes?: number;
	/**
	 * A second time it changes nothing and gives nothing new: its signature needs no nonce that somebody
	 * remembers.
	 */
	readonly isRepeatable?: true;
	/** Of the success reply. */
	readonly status: 200 | 201 | 202;
	readonly params?: z.ZodMiniObject;
	readonly query?: z.ZodMiniObject;
	readonly body?: z.ZodMiniType;
	/** json only: everything that is not declared here is left out of the reply. */
	readonly reply?: z.ZodMiniType;
	/** When some bodies need a higher role than the route itself; asked after the body was found right. */
	readonly bodyRole?: (body: never) => RouteRole;
	/** Codes of problems that this route's handler gives besides those that every route can give. */
	readonly problems?: readonly string[];
}

type Output<S> = S extends z.ZodMiniType ? z.output<S> : undefined;
type Input<S> = S extends z.ZodMiniType ? z.input<S> : undefined;

/**
 * Who calls, as the server found out. `key` is null for anonymous callers and for tokens that speak for
 * nobody.
 */
export interface Caller {
	readonly role: CallerRole;
	readonly key: string | null;
	readonly tokenId: string | null;
}

export interface Call<R extends Route> {
	readonly params: Output<R["params"]>;
	readonly query: Output<R["query"]>;
	readonly body: Output<R["body"]>;
	/** Of a body of bytes: the root of its tree, where it was signed; null: compute it. */
	readonly bodyRoot: Uint8Array | null;
	readonly caller: Caller;
	/** Where it comes from, as the limits count addresses. */
	readonly address: string;
	/** Aborted when the client is gone or the server closes. */
	readonly signal: AbortSignal;
	readonly requestId: string;
	/** events only: where the client wants to go on; null for "from now". */
	readonly lastEventId: string | null;
}

/**
 * Bytes. Those that their hash names are immutable and cached by everyone for ever; others (`sha256` null)
 * are for who asked, at most 1 MiB.
 */
export interface BinaryReply {
	/** Large ones in pieces: they are read as their taker reads, and not at all when nobody does. */
	readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
	readonly sizeBytes: number;
	readonly sha256: string | null;
}

/** Handlers may give values that they hold as read-only. */
type Frozen<T> = [JsonValue] extends [T] ? T : FrozenParts<T>;
type FrozenParts<T> = T extends readonly (infer Item)[]
	? readonly Frozen<Item>[]
	: T extends object
		? { readonly [K in keyof T]: Frozen<T[K]> }
		: T;

/** What a handler gives. For events: an endless iteration that ends itself when `signal` is aborted. */
type HandlerReply<R extends Route> = R["kind"] extends "json"
	? Frozen<Input<R["reply"]>>
	: R["kind"] extends "binary"
		? BinaryReply
		: R["kind"] extends "events"
			? AsyncIterable<Frozen<NetworkEvent>>
			: string;

export type Handler<R extends Route> = (call: Call<R>) => HandlerReply<R> | Promise<HandlerReply<R>>;

/** What the client hands in: defaults may be left out. */
export type CallInput<R extends Route> = Fields<"params", Input<R["params"]>> &
	Fields<"query", Input<R["query"]>> &
	Fields<"body", Input<R["body"]>>;
type Fields<Name extends string, T> = [T] extends [undefined]
	? object
	: Partial<T> extends T
		? { readonly [K in Name]?: T }
		: { readonly [K in Name]: T };

/** What the client gives back. */
export type ClientReply<R extends Route> = R["kind"] extends "json"
	? Output<R["reply"]>
	: R["kind"] extends "binary"
		? Uint8Array
		: R["kind"] extends "events"
			? AsyncIterable<NetworkEvent>
			: string;
