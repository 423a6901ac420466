// The questions of the agent link, one row each, as src/api/routes.ts has the API's routes. The codec
// (agent-messages.ts), the order of messages (agent-protocol.ts), both ends (agent-asks.ts) and every type
// follow from the rows: a new question is one row here and one handler at the provider. Page:
// docs/agent-link.md §1. Not here: messages that nobody answers.
import type { Fields, Shape, Typed, TypedFields } from "../../protocol/bytes/shape.ts";
import { hex, int, list, object, oneOf, orNull, pattern, text } from "../../protocol/bytes/shape.ts";
import { parseSshPublicKey } from "../../protocol/bytes/ssh-public-key.ts";
import { MAX_CHALLENGES, MAX_STAGES } from "../../protocol/probe/evidence.ts";
import { MAX_DEVICES } from "../../protocol/probe/limits.ts";
import { MAX_ROLL_ROUNDS } from "../../protocol/roll-call/roll-call.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import type { AgentSide } from "./agent-handshake.ts";

export const MAX_DETAIL_CHARS = 500;
export interface AgentCall {
	readonly asker: AgentSide;
	/** The field that names what the question is about. Each subject has one unanswered question at a time. */
	readonly subject: SubjectField;
	readonly request: Fields;
	/** The `type` of the answer. */
	readonly reply: string;
	readonly answer: Fields;
	/** When it passes, the connection ends: nobody knows what the far side did, so all is asked anew. */
	readonly deadline: keyof AgentBounds;
	/** At its deadline the asker goes on without an answer; it cannot be refused, and may be answered late. */
	readonly isOptional?: true;
	/** The refusal that means that what was asked for is done already. */
	readonly doneCode?: string;
}

/** What questions are about, with the shape of its name on the wire. */
export const subjects = { channel: int(1, 0xffff_ffff), rental: hex(16), beta0: hex(32), job: hex(32) } as const;
export type SubjectField = keyof typeof subjects;
/** Numbers are channels; other subjects have names that never meet. */
export type Subject = number | string;

export const bool = oneOf(true, false);
export const port = int(1, 65535);
// Neither host nor user may begin with a dash: both become arguments of somebody's ssh.
export const sshHost = pattern(/^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/, "must be a host name or an address");
const sshUser = pattern(/^[a-z_][a-z0-9_-]{0,31}$/, "must be a user's name");
const sshKey: Shape<string> = (value, where) => {
	const parsed = typeof value === "string" ? parseSshPublicKey(value) : null;
	return parsed?.ok === true ? null : { where, detail: parsed?.detail ?? "must be text" };
};
const deviceId = pattern(/^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/, "must be a device's UUID");
const challenge = int(0, MAX_CHALLENGES - 1);

/** Of the engine's process: host memory, and minutes of life. The provider kills it beyond either. */
const limits = object({ memoryBytes: int(1), minutes: int(1, 7 * 24 * 60) });
/** The contract that probe receipts are signed for (docs/slashing.md). */
const receiptsWanted = object({ chainId: int(1), slashing: hex(20) });
/** By the provider's account on the chain. Hostile: the signature is not checked here. */
const signedChallenge = object({ challenge, signature: hex(65) });
/**
 * The nonce of the stage and the provider's signature, src/protocol/probe/countersign.ts. Hostile as well.
 */
const stageWord = object({ nonce: hex(32), signature: hex(64), spansUs: list(int(), MAX_DEVICES) });
/** How a customer logs in; `hostKey` is `ssh-ed25519 AAAA…` of the server that answers there. */
const access = object({ host: sshHost, port, user: sshUser, hostKey: sshKey });

/** Longest that a roll call may give its hosts; the connection's own patience (`callMs`) is longer. */
const MAX_CALL_MS = 100_000;
const device = int(0, MAX_DEVICES - 1);
const size = int(1, 0xffff_ffff);
/** In millions: a card's operations of half a minute are more than a whole number here can be. */
const wantedWork = object({ device, megaOps: int(), bytes: int() });
/** What a device computed, src/protocol/roll-call/. Hostile: nothing of it is proven before it is opened. */
const rollAnswer = object({
	...{ device, m: size, n: size, k: size },
	...{ rounds: int(1, MAX_ROLL_ROUNDS), keep: int(1, MAX_ROLL_ROUNDS), end: hex(32), last: hex(32) },
});

/** One of a host's devices, by their order in its claim. */
export const deviceNumber = int(0, MAX_DEVICES - 1);
const aboutChannel = { asker: "validator", subject: "channel" } as const;
const aboutJob = { asker: "validator", subject: "job", deadline: "jobMs" } as const;
const attemptOf = { part: int(0, 0xffff_ffff), attempt: int(1, 0xffff) };
/** Of one attempt. */
const MAX_AUDITS = 1023;
const MAX_QUESTION_CHARS = 4096;
/** Inside a control message, where each quotation mark of it takes two bytes. */
const MAX_ANSWER_CHARS = 60_000;
const aboutRental = { asker: "validator", subject: "rental", deadline: "rentalMs" } as const;

export const agentCalls = {
	/** Starts an engine and opens a channel to it. `receipts` null: none will be asked for. */
	open: {
		...aboutChannel,
		request: { probe: hex(16), limits, receipts: orNull(receiptsWanted) },
		reply: "opened",
		answer: { engineSha256: orNull(hex(32)), commitment: hex(32) },
		deadline: "openMs",
	},
	/**
	 * After the last root of a stage: the provider's word on its runs (named by their first seeds), and
	 * receipts of its gemms, of which `challenges` are wanted. What the provider leaves out stays unsigned.
	 */
	sign: {
		...aboutChannel,
		request: {
			stage: int(0, MAX_STAGES - 1),
			runs: list(hex(32), MAX_DEVICES),
			challenges: list(challenge, MAX_DEVICES),
		},
		reply: "signed",
		answer: { word: orNull(stageWord), receipts: list(signedChallenge, MAX_DEVICES) },
		deadline: "signMs",
		isOptional: true,
	},
	/** `publicKey` is one line as in authorized_keys, without options; no `devices` means all of the claim. */
	rent: {
		...aboutRental,
		request: { publicKey: text(4096), untilMs: int(), devices: list(deviceId, MAX_DEVICES) },
		reply: "rented",
		answer: { ssh: access },
	},
	extend: { ...aboutRental, request: { untilMs: int() }, reply: "extended", answer: {} },
	/** A rental that the provider does not know, or no longer, counts as ended. */
	unrent: { ...aboutRental, request: {}, reply: "unrented", answer: {}, doneCode: "RENTAL_UNKNOWN" },
	/** Whether the environment of a rental answers, as the provider sees it. */
	check: { ...aboutRental, request: {}, reply: "checked", answer: { healthy: bool, detail: text(MAX_DETAIL_CHARS) } },
	/**
	 * A roll call: the work of every device named, begun with the hash of block (or round) `call`, within
	 * `deadlineMs`. `account` is the one whose stake stands for the answer, which then signs each leaf; null:
	 * none does. docs/roll-call.md.
	 */
	call: {
		asker: "validator",
		subject: "beta0",
		request: {
			...{ chainId: int(1), contract: hex(20), call: int(), deadlineMs: int(1, MAX_CALL_MS) },
			devices: list(wantedWork, MAX_DEVICES),
		},
		reply: "called",
		answer: {
			...{ account: orNull(hex(20)), answers: list(rollAnswer, MAX_DEVICES), signature: hex(64) },
			accountSignatures: orNull(list(hex(65), MAX_DEVICES)),
		},
		deadline: "callMs",
	},
	/**
	 * A part of a job is there for this provider; `audit` is the number of an audit of it, null: the part
	 * itself. Only a nudge: what it is about the provider fetches itself, over the API. docs/jobs.md §13.
	 */
	job: {
		...aboutJob,
		request: { ...attemptOf, audit: orNull(int(0, MAX_AUDITS)), device: deviceNumber },
		reply: "offered",
		answer: {},
	},
	/**
	 * About a claim, docs/jobs.md §6: a question as canonical JSON, its answer as such, and the signature of
	 * the account that made the claim where the answer is a first word (docs/chain.md §12). Null: none is due.
	 */
	ask: {
		...aboutJob,
		request: { ...attemptOf, question: text(MAX_QUESTION_CHARS, 1) },
		reply: "answer",
		answer: { answer: text(MAX_ANSWER_CHARS), signature: orNull(hex(65)) },
		deadline: "askMs",
	},
	/** Somebody else has the part, or nobody needs it any more. */
	stop: { ...aboutJob, request: attemptOf, reply: "stopped", answer: {} },
} as const satisfies Readonly<Record<string, AgentCall>>;

type Calls = typeof agentCalls;
export type CallName = keyof Calls;
/** Questions that leave nothing open once answered: those that are not about a channel. */
export type PlainCall = { [N in CallName]: Calls[N]["subject"] extends "channel" ? never : N }[CallName];

type About<N extends CallName> = { readonly [S in Calls[N]["subject"]]: Typed<(typeof subjects)[S]> };
type Answered<N extends CallName> = TypedFields<Calls[N]["answer"]>;
export type CallRequest<N extends CallName> = About<N> & TypedFields<Calls[N]["request"]>;
/** Without the subject; nothing where the answer says no more than that it was done. */
export type CallReply<N extends CallName> = Awaited<
	keyof Answered<N> extends never ? Promise<void> : Promise<Answered<N>>
>;

export type AskMessage = { [N in CallName]: { readonly type: N } & CallRequest<N> }[CallName];
export type AnswerMessage =
	| { [N in CallName]: { readonly type: Calls[N]["reply"] } & About<N> & Answered<N> }[CallName]
	| Refusal;
/** Answers any question that is not optional. */
export type Refusal = { readonly type: "refused"; readonly code: string; readonly detail: string } & {
	[S in SubjectField]: { readonly [F in S]: Typed<(typeof subjects)[S]> };
}[SubjectField];

/** For whom the engine is: no channel yet, and no `receipts` means null. */
export type OpenRequest = Pick<CallRequest<"open">, "probe" | "limits"> &
	Partial<Pick<CallRequest<"open">, "receipts">>;
export type EngineLimits = Typed<typeof limits>;
export type ReceiptsWanted = Typed<typeof receiptsWanted>;
export type SignedChallenge = Typed<typeof signedChallenge>;
export type StageSignatures = CallReply<"sign">;
export type RentRequest = CallRequest<"rent">;
export type RentedAccess = Typed<typeof access>;
export type RentalHealth = CallReply<"check">;
export type RollCallRequest = CallRequest<"call">;
export type RollCallReply = CallReply<"call">;

const rows: Readonly<Record<string, AgentCall>> = agentCalls;
const replies = new Set(Object.values(rows).map(({ reply }) => reply));

/** The row of a question; the compiler sees the general shape. */
export const callOf = (name: CallName): AgentCall => rows[name]!;

export const isAsk = (message: { readonly type: string }): message is AskMessage => Object.hasOwn(rows, message.type);

export const isAnswer = (message: { readonly type: string }): message is AnswerMessage =>
	message.type === "refused" || replies.has(message.type);

export function subjectOf(message: AskMessage | AnswerMessage): Subject {
	if ("channel" in message) return message.channel;
	if ("job" in message) return message.job;
	return "rental" in message ? message.rental : message.beta0;
}
