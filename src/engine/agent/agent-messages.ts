// The control messages of the agent link: their shapes and their one codec, for both ends. Whoever reads one
// treats it as hostile: exact fields, bounded lists and texts, no control characters. Questions and answers
// come from agent-calls.ts. Not here: their order (agent-protocol.ts), their sealing (agent-seal.ts). Page:
// docs/agent-link.md.
import { AssayError } from "../../protocol/assay-error.ts";
import { tooDeepAt } from "../../protocol/bytes/canonical-json.ts";
import { hasDoubleKeys } from "../../protocol/bytes/double-keys.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import type { Fields, Shape, Typed, TypedFields } from "../../protocol/bytes/shape.ts";
import { hex, int, list, object, oneOf, orNull, pattern, text } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { METHOD_NAMES } from "../../protocol/network/job.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { MAX_DEVICES } from "../../protocol/probe/limits.ts";
import { parseClaim } from "../client/parse-claim.ts";
import type { AnswerMessage, AskMessage, SubjectField } from "./agent-calls.ts";
import { agentCalls, bool, deviceNumber, MAX_DETAIL_CHARS, port, sshHost, subjects } from "./agent-calls.ts";
import type { AgentSide } from "./agent-handshake.ts";

/** 8: the devices of a provider that work, and the device that a part is for. */
export const AGENT_VERSION = 8;
/** Of one control message, as UTF-8. */
export const MAX_CONTROL_BYTES = 64 << 10;
/** Of one data message, without its channel. */
export const MAX_DATA_BYTES = 64 << 10;

/** Read by the claim's own codec afterwards; here only that it is there. */
const claim: Shape<HostClaim> = (value, where) =>
	typeof value === "object" && value !== null ? null : { where, detail: "must be an object" };
/**
 * Which jobs a provider takes: nothing dearer, larger or longer than this is offered to it. `account` locks
 * the bonds; `consent` is its signature that names this provider's key (src/chain/contracts/job-account.ts).
 * Both null: it works without a chain only.
 */
const jobs = object({
	...{ account: orNull(hex(20)), consent: orNull(hex(65)) },
	...{ pricePerHourMicros: int(), mostBondMicros: int(), memoryBytes: int(), minutes: int() },
	methods: list(oneOf(...METHOD_NAMES), METHOD_NAMES.length),
	/** Those of the host's devices that work, by their numbers in its claim. Each takes a part of its own. */
	devices: list(deviceNumber, MAX_DEVICES),
});
/**
 * What a provider asks for its devices; none of it is proven. `ssh` is null when it is not rentable, `jobs`
 * when it takes none.
 */
const offer = object({
	name: text(64),
	pricePerHourMicros: int(),
	rentable: bool,
	ssh: orNull(object({ host: sshHost, port })),
	jobs: orNull(jobs),
});
export type AgentOffer = Typed<typeof offer>;
export type JobsOffer = Typed<typeof jobs>;

const code = pattern(/^[A-Z][A-Z_]{1,62}[A-Z]$/, "must be a code");
const MOST_FINDINGS = 16;

/** The handshake, and what is told without being answered. */
const notices = {
	hello: { version: int(0, 0xffff), key: hex(32), nonce: hex(32) },
	prove: { key: hex(32), nonce: hex(32), signature: hex(64) },
	proof: { signature: hex(64), claim, offer },
	welcome: { providerId: hex(32) },
	changed: { claim },
	close: { channel: subjects.channel },
	verdict: {
		...{ probe: hex(16), status: oneOf("valid", "invalid", "inconclusive"), code: orNull(code) },
		findings: list(object({ code, detail: text(MAX_DETAIL_CHARS) }), MOST_FINDINGS),
	},
} as const;
type NoticeName = keyof typeof notices;
type Notices = { [N in NoticeName]: { readonly type: N } & TypedFields<(typeof notices)[N]> };
const SAID_BY: Readonly<Record<AgentSide, readonly NoticeName[]>> = {
	provider: ["hello", "proof", "changed", "close"],
	validator: ["prove", "welcome", "close", "verdict"],
};

export type Notice<N extends NoticeName = NoticeName> = Notices[N];
export type AgentMessage = Notice | AskMessage | AnswerMessage;

/** What a provider is told of its probe, made to fit. */
export const verdictNotice = ({ findings, ...said }: Omit<Notice<"verdict">, "type">): Notice<"verdict"> => ({
	type: "verdict",
	...said,
	findings: findings.slice(0, MOST_FINDINGS).map((one) => ({
		code: one.code,
		detail: safeText(one.detail).slice(0, MAX_DETAIL_CHARS),
	})),
});

function messageShape(type: string, fields: Fields): Shape {
	return object({ type: oneOf(type), ...fields });
}

const refusals = new Map(
	Object.entries(subjects).map(([field, shape]) => [
		field,
		messageShape("refused", { [field]: shape, code, detail: text(MAX_DETAIL_CHARS) }),
	]),
);
/** About one subject, whichever it is. */
const refused: Shape = (value, where) => {
	const field = [...refusals.keys()].find((name) => Object.hasOwn(value as object, name)) ?? "rental";
	return refusals.get(field)!(value, where);
};

function shapesFrom(side: AgentSide): ReadonlyMap<string, Shape> {
	const shapes = new Map<string, Shape>();
	for (const name of SAID_BY[side]) shapes.set(name, messageShape(name, notices[name]));
	for (const [name, call] of Object.entries(agentCalls)) {
		const about = { [call.subject]: subjects[call.subject as SubjectField] };
		if (call.asker === side) shapes.set(name, messageShape(name, { ...about, ...call.request }));
		else shapes.set(call.reply, messageShape(call.reply, { ...about, ...call.answer })).set("refused", refused);
	}
	return shapes;
}

const shapes = { provider: shapesFrom("provider"), validator: shapesFrom("validator") };

/** What `from` may have said. Throws AssayError AGENT_MESSAGE_BAD or CLAIM_BAD. */
export function decodeMessage(from: AgentSide, json: string): AgentMessage {
	const value = parseJson(json);
	const name = typeof value === "object" && value !== null ? (value as { type?: unknown }).type : undefined;
	const shape = typeof name === "string" ? shapes[from].get(name) : undefined;
	// The far side's own words are not repeated: they may be anything.
	if (shape === undefined) throw bad("type", "is not one of the messages that may come from there");
	const fault = shape(value, name as string);
	if (fault !== null) throw bad(fault.where, fault.detail);
	const message = value as AgentMessage;
	return "claim" in message ? { ...message, claim: parseClaim(JSON.stringify(message.claim)) } : message;
}

function parseJson(json: string): unknown {
	if (json.length > MAX_CONTROL_BYTES) throw bad("message", "is longer than 64 KiB");
	if (tooDeepAt(json) !== null) throw bad("message", "is nested too deeply");
	let value: unknown;
	try {
		value = JSON.parse(json);
	} catch {
		throw bad("message", "is not JSON");
	}
	if (hasDoubleKeys(json, value)) throw bad("message", "has a key twice");
	return value;
}

function bad(where: string, detail: string): AssayError {
	return codedError("AGENT_MESSAGE_BAD", `${where} ${detail}`);
}

/**
 * What the far side is told of an error: code and sentence, harmless and short; of our own faults nothing.
 */
export function errorToRefusal(error: unknown): { code: string; detail: string } {
	const known = error instanceof AssayError ? error : new AssayError("AGENT_REFUSED", "a fault of the provider itself");
	return { code: known.code, detail: safeText(known.message).slice(0, MAX_DETAIL_CHARS).toWellFormed() };
}
