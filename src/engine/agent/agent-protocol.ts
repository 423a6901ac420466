// Whose turn it is on an agent link: a pure state machine that both ends keep, each from its own point of view. It is told what was sent and
// what came, in the order in which this end saw it, and says when the far side spoke out of turn. Page: docs/network.md §2.
// Not here: shapes (agent-messages.ts), sizes and rates (agent-socket.ts), what anything means.
//
// Messages cross on the way: a validator that closes a channel still receives what was under way (dropped by its owner), a provider that has
// closed one still receives a late `close` or late data. Nothing else is forgiven.

import type { AgentSide } from "./agent-handshake.ts";
import type { AgentMessage } from "./agent-messages.ts";

type Phase = "hello" | "prove" | "proof" | "welcome" | "talk";
/** `asked`: open was sent, no answer yet. `closing`: the validator has closed, the provider has not said so yet. */
type ChannelState = "asked" | "open" | "closing";
type RentalAsk = "rent" | "extend" | "unrent" | "check";

export interface Turns {
	readonly phase: Phase;
	readonly channels: ReadonlyMap<number, ChannelState>;
	/** The highest channel that was ever asked for: numbers only grow. */
	readonly lastChannel: number;
	readonly asks: ReadonlyMap<string, RentalAsk>;
	/** Channels with a `sign` that is not answered. */
	readonly signing: ReadonlySet<number>;
}

export type Turn =
	| {
			readonly ok: true;
			readonly turns: Turns /** Late, of a channel that is gone: to be ignored. */;
			readonly late?: true;
	  }
	| { readonly ok: false; readonly detail: string };

/** More unanswered requests than this is no conversation. */
const MAX_UNANSWERED = 64;

export const START: Turns = {
	phase: "hello",
	channels: new Map(),
	lastChannel: 0,
	asks: new Map(),
	signing: new Set(),
};

const HANDSHAKE: Readonly<Record<Exclude<Phase, "talk">, { from: AgentSide; next: Phase }>> = {
	hello: { from: "provider", next: "prove" },
	prove: { from: "validator", next: "proof" },
	proof: { from: "provider", next: "welcome" },
	welcome: { from: "validator", next: "talk" },
};

const BY_VALIDATOR: readonly string[] = ["open", "sign", "rent", "extend", "unrent", "check"];
const BY_BOTH = "close";
const ANSWERS = { rented: "rent", extended: "extend", unrented: "unrent", checked: "check" } as const;

/** What a message by `from` does to the conversation. */
export function takeTurn(turns: Turns, from: AgentSide, message: AgentMessage): Turn {
	const wrong = (detail: string): Turn => ({ ok: false, detail });
	if (turns.phase !== "talk") {
		const step = HANDSHAKE[turns.phase];
		if (message.type !== turns.phase || from !== step.from)
			return wrong(`${message.type} from the ${from} where ${turns.phase} must come`);
		return { ok: true, turns: { ...turns, phase: step.next } };
	}
	if (message.type !== BY_BOTH && BY_VALIDATOR.includes(message.type) !== (from === "validator"))
		return wrong(`${message.type} from the ${from}`);
	switch (message.type) {
		case "open":
			if (message.channel <= turns.lastChannel) return wrong("open with a channel that was used before");
			if (turns.channels.size >= MAX_UNANSWERED) return wrong("more channels than one validator needs");
			return { ok: true, turns: { ...withChannel(turns, message.channel, "asked"), lastChannel: message.channel } };
		case "opened":
			if (turns.channels.get(message.channel) !== "asked") return wrong("opened for a channel that nobody asked for");
			return { ok: true, turns: withChannel(turns, message.channel, "open") };
		case "sign":
			return takeSign(turns, message.channel);
		case "signed":
			if (!turns.signing.has(message.channel)) return wrong("signed where nobody asked");
			return { ok: true, turns: { ...turns, signing: without(turns.signing, message.channel) } };
		case "close":
			return takeClose(turns, from, message.channel);
		case "refused":
			return "channel" in message ? takeRefusal(turns, message.channel) : takeAnswer(turns, message.rental, null);
		case "rent":
		case "extend":
		case "unrent":
		case "check":
			if (turns.asks.has(message.rental)) return wrong(`${message.type} before the last answer about this rental`);
			if (turns.asks.size >= MAX_UNANSWERED) return wrong("more unanswered requests than fit");
			return { ok: true, turns: { ...turns, asks: new Map(turns.asks).set(message.rental, message.type) } };
		case "rented":
		case "extended":
		case "unrented":
		case "checked":
			return takeAnswer(turns, message.rental, ANSWERS[message.type]);
		case "changed":
			return { ok: true, turns };
		default:
			return wrong(`${message.type} after the handshake`);
	}
}

/** Whether data of a channel fits by `from`; reads only, so that data costs nothing. */
export function takeData(turns: Turns, from: AgentSide, channel: number): "fits" | "late" | "wrong" {
	if (turns.phase !== "talk") return "wrong";
	const state = turns.channels.get(channel);
	if (state === "open") return "fits";
	if (from === "provider") return state === "closing" ? "late" : "wrong";
	// The provider closed it and the validator did not know yet.
	return state === undefined && channel >= 1 && channel <= turns.lastChannel ? "late" : "wrong";
}

function takeClose(turns: Turns, from: AgentSide, channel: number): Turn {
	const state = turns.channels.get(channel);
	if (from === "provider") {
		if (state !== "open" && state !== "closing") return { ok: false, detail: "close of a channel that is not open" };
		return { ok: true, turns: withoutChannel(turns, channel) };
	}
	if (state === "open") return { ok: true, turns: withChannel(turns, channel, "closing") };
	if (state === undefined && channel <= turns.lastChannel) return { ok: true, turns, late: true };
	return { ok: false, detail: "close of a channel that is not open" };
}

/** One question at a time per channel. It may cross the provider's `close`, and is then never answered. */
function takeSign(turns: Turns, channel: number): Turn {
	const state = turns.channels.get(channel);
	if (state === undefined && channel <= turns.lastChannel) return { ok: true, turns, late: true };
	if (state !== "open") return { ok: false, detail: "sign for a channel that is not open" };
	if (turns.signing.has(channel)) return { ok: false, detail: "sign before the last one was answered" };
	return { ok: true, turns: { ...turns, signing: new Set(turns.signing).add(channel) } };
}

function without(channels: ReadonlySet<number>, channel: number): ReadonlySet<number> {
	const rest = new Set(channels);
	rest.delete(channel);
	return rest;
}

function takeRefusal(turns: Turns, channel: number): Turn {
	if (turns.channels.get(channel) !== "asked")
		return { ok: false, detail: "refused for a channel that nobody asked for" };
	return { ok: true, turns: withoutChannel(turns, channel) };
}

/** `ask` is null for a refusal, which answers any of them. */
function takeAnswer(turns: Turns, rental: string, ask: RentalAsk | null): Turn {
	const asked = turns.asks.get(rental);
	if (asked === undefined || (ask !== null && asked !== ask))
		return { ok: false, detail: "an answer about a rental that was not asked for" };
	const asks = new Map(turns.asks);
	asks.delete(rental);
	return { ok: true, turns: { ...turns, asks } };
}

function withChannel(turns: Turns, channel: number, state: ChannelState): Turns {
	return { ...turns, channels: new Map(turns.channels).set(channel, state) };
}

function withoutChannel(turns: Turns, channel: number): Turns {
	const channels = new Map(turns.channels);
	channels.delete(channel);
	return { ...turns, channels, signing: without(turns.signing, channel) };
}
