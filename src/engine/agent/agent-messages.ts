// The control messages of the agent link: their shapes and their one codec, for both ends. Whoever reads one treats it as hostile: exact
// fields, bounded lists and texts, no control characters. Not here: their order (agent-turns.ts), their sealing (agent-seal.ts).
// Page: docs/network.md §2.
import { AssayError } from "../../protocol/assay-error.ts";
import { tooDeepAt } from "../../protocol/bytes/canonical-json.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import { type Fault, hex, int, list, object, oneOf, orNull, type Shape, text } from "../../protocol/bytes/shape.ts";
import { parseSshPublicKey } from "../../protocol/bytes/ssh-public-key.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { MAX_CHALLENGES, MAX_DEVICES } from "../../protocol/probe/evidence-shape.ts";
import { parseClaim } from "../client/parse-claim.ts";
import type { AgentOffer, EngineLimits, ReceiptsWanted, RentedAccess, SignedChallenge } from "./agent-connection.ts";

/** 2: `open` says for which contract receipts are wanted; `sign` and `signed`. */
export const AGENT_VERSION = 2;
/** Of one control message, as UTF-8. */
export const MAX_CONTROL_BYTES = 64 << 10;
/** Of one data message, without its channel. */
export const MAX_DATA_BYTES = 64 << 10;
const MAX_DETAIL_CHARS = 500;
/** Receipts of one message: 256 signatures fill two thirds of a control message. */
export const MAX_RECEIPTS = 256;

export type Refusal = { readonly type: "refused"; readonly code: string; readonly detail: string } & (
	| { readonly channel: number }
	| { readonly rental: string }
);

export type ProviderMessage =
	| { readonly type: "hello"; readonly version: number; readonly key: string; readonly nonce: string }
	| { readonly type: "proof"; readonly signature: string; readonly claim: HostClaim; readonly offer: AgentOffer }
	| { readonly type: "opened"; readonly channel: number; readonly engineSha256: string | null }
	| { readonly type: "close"; readonly channel: number }
	| { readonly type: "signed"; readonly channel: number; readonly receipts: readonly SignedChallenge[] }
	| { readonly type: "changed"; readonly claim: HostClaim }
	| { readonly type: "rented"; readonly rental: string; readonly ssh: RentedAccess }
	| { readonly type: "extended"; readonly rental: string }
	| { readonly type: "unrented"; readonly rental: string }
	| { readonly type: "checked"; readonly rental: string; readonly healthy: boolean; readonly detail: string }
	| Refusal;

export type ValidatorMessage =
	| { readonly type: "prove"; readonly key: string; readonly nonce: string; readonly signature: string }
	| { readonly type: "welcome"; readonly providerId: string }
	| {
			readonly type: "open";
			readonly channel: number;
			readonly probe: string;
			readonly limits: EngineLimits;
			/** For which contract receipts will be wanted; null: none. */
			readonly receipts: ReceiptsWanted | null;
	  }
	| { readonly type: "sign"; readonly channel: number; readonly challenges: readonly number[] }
	| { readonly type: "close"; readonly channel: number }
	| {
			readonly type: "rent";
			readonly rental: string;
			readonly publicKey: string;
			readonly untilMs: number;
			readonly devices: readonly string[];
	  }
	| { readonly type: "extend"; readonly rental: string; readonly untilMs: number }
	| { readonly type: "unrent"; readonly rental: string }
	| { readonly type: "check"; readonly rental: string };

export type AgentMessage = ProviderMessage | ValidatorMessage;

const channel = int(1, 0xffff_ffff);
const rental = hex(16);
const detail = text(MAX_DETAIL_CHARS);
const bool = oneOf(true, false);

function pattern(regex: RegExp, words: string): Shape {
	return (value, where) => (typeof value === "string" && regex.test(value) ? null : { where, detail: words });
}

// Neither may begin with a dash: both become arguments of somebody's ssh.
const sshHost = pattern(/^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/, "must be a host name or an address");
const sshUser = pattern(/^[a-z_][a-z0-9_-]{0,31}$/, "must be a user's name");
const code = pattern(/^[A-Z][A-Z_]{1,62}[A-Z]$/, "must be a code");
const deviceId = pattern(/^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/, "must be a device's UUID");
const sshKey: Shape = (value, where) => {
	const parsed = typeof value === "string" ? parseSshPublicKey(value) : null;
	return parsed?.ok === true ? null : { where, detail: parsed?.detail ?? "must be text" };
};
/** Read by the claim's own codec afterwards; here only that it is there. */
const claim: Shape = (value, where) =>
	typeof value === "object" && value !== null ? null : { where, detail: "must be an object" };

const offer = object({
	name: text(64),
	pricePerHourMicros: int(),
	rentable: bool,
	ssh: orNull(object({ host: sshHost, port: int(1, 65535) })),
});
const type = (name: string) => ({ type: oneOf(name) });
const refusedChannel = object({ ...type("refused"), channel, code, detail });
const refusedRental = object({ ...type("refused"), rental, code, detail });
const close = object({ ...type("close"), channel });
const challenge = int(0, MAX_CHALLENGES - 1);

const fromProvider: Readonly<Record<ProviderMessage["type"], Shape>> = {
	hello: object({ ...type("hello"), version: int(0, 0xffff), key: hex(32), nonce: hex(32) }),
	proof: object({ ...type("proof"), signature: hex(64), claim, offer }),
	opened: object({ ...type("opened"), channel, engineSha256: orNull(hex(32)) }),
	refused: (value, where) =>
		Object.hasOwn(value as object, "channel") ? refusedChannel(value, where) : refusedRental(value, where),
	close,
	signed: object({
		...type("signed"),
		channel,
		receipts: list(object({ challenge, signature: hex(65) }), MAX_RECEIPTS),
	}),
	changed: object({ ...type("changed"), claim }),
	rented: object({
		...type("rented"),
		rental,
		ssh: object({ host: sshHost, port: int(1, 65535), user: sshUser, hostKey: sshKey }),
	}),
	extended: object({ ...type("extended"), rental }),
	unrented: object({ ...type("unrented"), rental }),
	checked: object({ ...type("checked"), rental, healthy: bool, detail }),
};

const fromValidator: Readonly<Record<ValidatorMessage["type"], Shape>> = {
	prove: object({ ...type("prove"), key: hex(32), nonce: hex(32), signature: hex(64) }),
	welcome: object({ ...type("welcome"), providerId: hex(32) }),
	open: object({
		...type("open"),
		channel,
		probe: hex(16),
		limits: object({ memoryBytes: int(1), minutes: int(1, 7 * 24 * 60) }),
		receipts: orNull(object({ chainId: int(1), slashing: hex(20) })),
	}),
	sign: object({ ...type("sign"), channel, challenges: list(challenge, MAX_RECEIPTS) }),
	close,
	rent: object({
		...type("rent"),
		rental,
		publicKey: text(4096),
		untilMs: int(),
		devices: list(deviceId, MAX_DEVICES),
	}),
	extend: object({ ...type("extend"), rental, untilMs: int() }),
	unrent: object({ ...type("unrent"), rental }),
	check: object({ ...type("check"), rental }),
};

/** Throws AssayError AGENT_MESSAGE_BAD or CLAIM_BAD. */
export const decodeProviderMessage = (json: string) => decode(json, fromProvider) as ProviderMessage;
/** Throws AssayError AGENT_MESSAGE_BAD. */
export const decodeValidatorMessage = (json: string) => decode(json, fromValidator) as ValidatorMessage;

function decode(json: string, shapes: Readonly<Record<string, Shape>>): unknown {
	const value = parseJson(json);
	const name = typeof value === "object" && value !== null ? (value as { type?: unknown }).type : undefined;
	const shape = typeof name === "string" && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
	// The far side's own words are not repeated: they may be anything.
	if (shape === undefined) throw bad("type", "is not one of the messages that may come from there");
	const fault: Fault = shape(value, name as string);
	if (fault !== null) throw bad(fault.where, fault.detail);
	const held = value as { claim?: unknown };
	return "claim" in held ? { ...held, claim: parseClaim(JSON.stringify(held.claim)) } : held;
}

function parseJson(json: string): unknown {
	if (json.length > MAX_CONTROL_BYTES) throw bad("message", "is longer than 64 KiB");
	if (tooDeepAt(json) !== null) throw bad("message", "is nested too deeply");
	try {
		return JSON.parse(json);
	} catch {
		throw bad("message", "is not JSON");
	}
}

function bad(where: string, detail: string): AssayError {
	return new AssayError("AGENT_MESSAGE_BAD", `${where} ${detail}`, {
		hint: "Use the same release at both ends; if it stays, the far side is not ours.",
	});
}

export function encodeMessage(message: AgentMessage): string {
	return JSON.stringify(message);
}

/** What of an error is told to the far side: its code and its sentence, harmless and short. Our own faults are told as such. */
export function errorToRefusal(error: unknown): { code: string; detail: string } {
	const known = error instanceof AssayError ? error : new AssayError("AGENT_REFUSED", "a fault of the provider itself");
	return { code: known.code, detail: safeText(known.message).slice(0, MAX_DETAIL_CHARS).toWellFormed() };
}
