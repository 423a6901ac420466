// Who calls? A bearer token, a signed request, or nobody. Decides roles; what belongs to whom is for the
// handlers. docs/network.md §3. Order matters: who calls is settled before a byte of the body is taken, from
// the headers, which name the body; then the body must bear that name; then the nonce is taken, so that only
// a request that is let in takes one. ATTACK: whatever is done before the signature was checked, anybody may
// have us do as often as a connection carries.
import { isNodeSignature } from "../../platform/node-ed25519.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { requestHash, SIGNATURE_HEADERS, SIGNATURE_WINDOW_MS, type SignedParts } from "../request-signature.ts";
import type { Caller, CallerRole, Route, RouteRole } from "../route.ts";
import { TOKEN_PATTERN } from "../schemas/admin.ts";
import type { AuthSource } from "./server-options.ts";

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Signed {
	readonly key: string;
	readonly timeMs: number;
	readonly nonce: string;
	/** Of the body that was signed; of no body the name of no bytes. */
	readonly bodyName: string;
	readonly signature: string;
}

export type Credentials =
	| { readonly kind: "none" }
	| { readonly kind: "token"; readonly secret: string }
	| { readonly kind: "signed"; readonly signed: Signed };

export const ANYONE: Caller = { role: "public", key: null, tokenId: null };

/** From headers alone. Throws for credentials that cannot be meant. */
export function readCredentials(headers: Headers, nowMs: number): Credentials {
	const signed = readSigned(headers);
	const authorization = headers.authorization;
	if (authorization === undefined) {
		if (signed === null) return { kind: "none" };
		if (Math.abs(nowMs - signed.timeMs) > SIGNATURE_WINDOW_MS)
			throw new AssayError("REQUEST_STALE", "the request was signed too long ago, or in the future");
		return { kind: "signed", signed };
	}
	if (signed !== null) throw new AssayError("REQUEST_BAD", "send a token or a signature, not both");
	const secret = typeof authorization === "string" ? /^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1] : undefined;
	if (secret === undefined || !TOKEN_PATTERN.test(secret))
		throw new AssayError("CREDENTIALS_REFUSED", "the authorization header holds no token of ours");
	return { kind: "token", secret };
}

function readSigned(headers: Headers): Signed | null {
	const { key, time, nonce, body, signature } = SIGNATURE_HEADERS;
	if ([key, time, nonce, body, signature].every((name) => headers[name] === undefined)) return null;
	const read = (name: string, pattern: RegExp): string => {
		const value = headers[name];
		if (typeof value !== "string" || !pattern.test(value))
			throw new AssayError("REQUEST_SIGNATURE", `the header ${name} is missing or malformed`);
		return value;
	};
	return {
		key: read(key, /^[0-9a-f]{64}$/),
		timeMs: Number(read(time, /^[1-9][0-9]{0,15}$/)),
		nonce: read(nonce, /^[0-9a-f]{32}$/),
		bodyName: read(body, /^[0-9a-f]{64}(-[0-9]{1,10})?$/),
		signature: read(signature, /^[0-9a-f]{128}$/),
	};
}

/** Admins may do everything; the others their own; readers and strangers only what is public. */
export function mayCall(caller: CallerRole, needed: RouteRole): boolean {
	if (needed === "member") return caller !== "public" && caller !== "reader";
	return needed === "public" || caller === "admin" || caller === needed;
}

/** Throws REQUEST_SIGNATURE; asks nobody. */
export function mustBeSigned(
	{ key, timeMs, nonce, bodyName, signature }: Signed,
	request: Pick<SignedParts, "audience" | "method" | "path">,
): void {
	if (!isNodeSignature(key, signature, requestHash({ ...request, bodyName, timeMs, nonce })))
		throw new AssayError("REQUEST_SIGNATURE", "the signature is not of this request, for this server");
}

/** Before the body is read. A signature was found right by then. */
export async function callerOf(
	route: Route,
	credentials: Exclude<Credentials, { kind: "none" }>,
	auth: AuthSource,
): Promise<Caller> {
	if (credentials.kind === "signed") {
		const { key } = credentials.signed;
		const roles = await auth.rolesOfKey(key);
		if (route.role !== "public" && roles.length === 0)
			throw new AssayError("CREDENTIALS_REFUSED", "the key has no role here");
		requireRole(roles, route.role);
		return { role: roleUsed(roles, route.role), key, tokenId: null };
	}
	const token = await auth.findToken(credentials.secret);
	if (token === null) throw new AssayError("CREDENTIALS_REFUSED", "the token is unknown, revoked or expired");
	requireRole([token.role], route.role);
	return { role: token.role, key: token.key, tokenId: token.id };
}

/** Once the body is here and was found to be the one that was signed. */
export async function takeNonce(route: Route, { key, nonce, timeMs }: Signed, auth: AuthSource): Promise<void> {
	// Kept twice as long as the signature holds, since processes that share nonces need not agree on the time.
	if (!route.isRepeatable && !(await auth.takeNonce(key, nonce, timeMs + 2 * SIGNATURE_WINDOW_MS)))
		throw new AssayError("REQUEST_REPLAYED", "a request with this nonce was already seen");
}

function requireRole(roles: readonly CallerRole[], needed: RouteRole): void {
	if (needed !== "public" && !roles.some((role) => mayCall(role, needed)))
		throw new AssayError("ROLE_WRONG", `the role ${needed} is needed`);
}

/** The highest that matters: an admin acts as one; otherwise the role that the route asks for. */
function roleUsed(roles: readonly CallerRole[], needed: RouteRole): CallerRole {
	if (roles.includes("admin")) return "admin";
	if (needed !== "public" && needed !== "member") return needed;
	return roles[0] ?? "public";
}
