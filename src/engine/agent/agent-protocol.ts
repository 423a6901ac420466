// The agent link's state machine, pure. Both ends keep one, each from its own point of view: it is told what
// was sent and what came, in the order in which this end saw it, and says when the far side spoke out of
// turn. Page: docs/agent-link.md. Not here: shapes (agent-messages.ts), sizes and rates (agent-socket.ts),
// what anything means.
//
// Messages cross on the way: a validator that closes a channel still receives what was under way (dropped by
// its owner), a provider that has closed one still receives a late `close`, late data or a late question.
// Nothing else is forgiven.
import {
	type AnswerMessage,
	type AskMessage,
	type CallName,
	callOf,
	isAnswer,
	isAsk,
	type Subject,
	subjectOf,
} from "./agent-calls.ts";
import type { AgentSide } from "./agent-handshake.ts";
import type { AgentMessage } from "./agent-messages.ts";

type Phase = "hello" | "prove" | "proof" | "welcome" | "talk";
/** `asked`: no answer to `open` yet. `closing`: the validator has closed, the provider not yet. */
type ChannelState = "asked" | "open" | "closing";

export interface AgentState {
	readonly phase: Phase;
	readonly channels: ReadonlyMap<number, ChannelState>;
	/** The highest channel that was ever asked for: numbers only grow. */
	readonly lastChannel: number;
	/** The unanswered question of each subject. */
	readonly asks: ReadonlyMap<Subject, CallName>;
}

/** `isLate`: about a channel that is gone, to be ignored. */
export type Step =
	| { readonly ok: true; readonly state: AgentState; readonly isLate?: true }
	| { readonly ok: false; readonly detail: string };

/** More channels, or more unanswered questions, than this is no conversation. */
const MAX_OPEN = 64;

export const START: AgentState = { phase: "hello", channels: new Map(), lastChannel: 0, asks: new Map() };

const HANDSHAKE: Readonly<Record<Exclude<Phase, "talk">, { from: AgentSide; next: Phase }>> = {
	hello: { from: "provider", next: "prove" },
	prove: { from: "validator", next: "proof" },
	proof: { from: "provider", next: "welcome" },
	welcome: { from: "validator", next: "talk" },
};

const to = (state: AgentState): Step => ({ ok: true, state });
const wrong = (detail: string): Step => ({ ok: false, detail });

/** What a message by `from` does to the conversation. */
export function nextState(state: AgentState, from: AgentSide, message: AgentMessage): Step {
	const { type } = message;
	if (state.phase !== "talk") {
		const expected = HANDSHAKE[state.phase];
		if (type !== state.phase || from !== expected.from)
			return wrong(`${type} from the ${from} where ${state.phase} must come`);
		return to({ ...state, phase: expected.next });
	}
	if (isAsk(message))
		return callOf(message.type).asker === from ? ask(state, message) : wrong(`${type} from the ${from}`);
	if (isAnswer(message)) return answer(state, from, message);
	if (message.type === "close") return close(state, from, message.channel);
	const isNews = (type === "changed" && from === "provider") || (type === "verdict" && from === "validator");
	return isNews ? to(state) : wrong(`${type} from the ${from} after the handshake`);
}

/** Whether data of a channel fits by `from`; reads only, so that data costs nothing. */
export function judgeData(state: AgentState, from: AgentSide, channel: number): "fits" | "late" | "wrong" {
	if (state.phase !== "talk") return "wrong";
	const channelState = state.channels.get(channel);
	if (channelState === "open") return "fits";
	if (from === "provider") return channelState === "closing" ? "late" : "wrong";
	// The provider closed it and the validator did not know yet.
	return channelState === undefined && channel >= 1 && channel <= state.lastChannel ? "late" : "wrong";
}

function ask(state: AgentState, message: AskMessage): Step {
	const { type } = message;
	const subject = subjectOf(message);
	if (type === "open") {
		if (message.channel <= state.lastChannel) return wrong("open with a channel that was used before");
		if (state.channels.size >= MAX_OPEN) return wrong("more channels than one validator needs");
	} else if ("channel" in message) {
		const channelState = state.channels.get(message.channel);
		// It crossed the provider's `close`, and is never answered.
		if (channelState === undefined && message.channel <= state.lastChannel) return { ok: true, state, isLate: true };
		if (channelState !== "open") return wrong(`${type} for a channel that is not open`);
	}
	if (state.asks.has(subject)) return wrong(`${type} before the last question about the same was answered`);
	if (state.asks.size >= MAX_OPEN) return wrong("more unanswered questions than fit");
	const asked = { ...state, asks: new Map(state.asks).set(subject, type) };
	return to(
		type === "open" ? { ...withChannel(asked, message.channel, "asked"), lastChannel: message.channel } : asked,
	);
}

function answer(state: AgentState, from: AgentSide, message: AnswerMessage): Step {
	const subject = subjectOf(message);
	const name = state.asks.get(subject);
	const call = name && callOf(name);
	const fits =
		call && call.asker !== from && (message.type === "refused" ? !call.isOptional : message.type === call.reply);
	if (!fits) return wrong(`${message.type} from the ${from} to a question that was not asked`);
	const answered = { ...state, asks: without(state.asks, subject) };
	if (name !== "open") return to(answered);
	const channel = subject as number;
	return to(message.type === "refused" ? withoutChannel(answered, channel) : withChannel(answered, channel, "open"));
}

function close(state: AgentState, from: AgentSide, channel: number): Step {
	const channelState = state.channels.get(channel);
	if (from === "provider") {
		if (channelState === "open" || channelState === "closing") return to(withoutChannel(state, channel));
	} else {
		if (channelState === "open") return to(withChannel(state, channel, "closing"));
		if (channelState === undefined && channel <= state.lastChannel) return { ok: true, state, isLate: true };
	}
	return wrong("close of a channel that is not open");
}

function withChannel(state: AgentState, channel: number, channelState: ChannelState): AgentState {
	return { ...state, channels: new Map(state.channels).set(channel, channelState) };
}

/** With the channel goes the question about it. */
function withoutChannel(state: AgentState, channel: number): AgentState {
	return { ...state, channels: without(state.channels, channel), asks: without(state.asks, channel) };
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
	const rest = new Map(map);
	rest.delete(key);
	return rest;
}
