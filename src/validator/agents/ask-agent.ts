// Asks a provider a question of the agent link wherever that link is held: here directly, at another process
// by events of the store, in pieces, since events are small. Answers hold access to hosts, so these events
// are for validators only (event-hub.ts does not show them to anyone).

import type { AgentConnection } from "../../engine/agent/accept-agent.ts";
import type { CallReply, CallRequest, PlainCall } from "../../engine/agent/agent-calls.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { ValidatorContext } from "../validator-context.ts";

export type AgentAsker = ReturnType<typeof createAgentAsker>;

interface Question {
	readonly name: PlainCall;
	readonly request: object;
}

type Answer =
	| { readonly ok: true; readonly value: Json }
	| { readonly ok: false; readonly code: string; readonly detail: string };

const ASK_EVENT = "internal.ask";
const ANSWER_EVENT = "internal.answer";
/** How long a question to another process's agent waits: a container image may have to be pulled there. */
const ANSWER_WITHIN_MS = 330_000;
/** A nudge is repeated anyhow. */
const NUDGED_WITHIN_MS = 10_000;
const NUDGES: ReadonlySet<PlainCall> = new Set(["job", "stop"]);
/** Whether the other process is still there. */
const LOOK_EVERY_MS = 5000;

/** Of base64 in one event: all of it stays below the store's 4 KiB. */
const PIECE_CHARS = 3000;
/** Messages that come in pieces at this moment; one that was cut off is forgotten for newer ones. */
const MOST_JOINING = 1000;

interface Piece {
	readonly at: number;
	readonly of: number;
	readonly text: string;
}

function* piecesOf(value: unknown): Iterable<Piece> {
	const text = Buffer.from(JSON.stringify(value)).toString("base64");
	const of = Math.ceil(text.length / PIECE_CHARS);
	for (let at = 0; at < of; at++) yield { at, of, text: text.slice(at * PIECE_CHARS, (at + 1) * PIECE_CHARS) };
}

/** Puts pieces together; they come in order, since one process tells them one after the other. */
function createJoin() {
	const begun = new BoundedMap<string, readonly string[]>(MOST_JOINING);
	/** Undefined: more is to come, or a piece was lost. */
	return (name: string, { at, of, text }: Piece): unknown => {
		const pieces = at === 0 ? [text] : [...(begun.get(name) ?? []), text];
		begun.delete(name);
		if (pieces.length !== at + 1) return undefined;
		if (pieces.length === of) return JSON.parse(Buffer.from(pieces.join(""), "base64").toString());
		begun.set(name, pieces);
		return undefined;
	};
}

/** Another process that lives and holds the provider's agent link. Throws AGENT_CLOSED where none does. */
export async function mustBeElsewhere(store: ValidatorContext["store"], providerId: string): Promise<string> {
	const holder = await store.connections.holder(providerId);
	if (holder !== null && holder !== store.process) return holder;
	throw new AssayError("AGENT_CLOSED", "the provider is not connected", {
		hint: "It dials again by itself; look at its log.",
	});
}

/**
 * Tells once when no answer can come any more: the process that was asked is gone, or the agent has dialled
 * in elsewhere, or here. Gives back how to end the watch.
 */
export function watchHolder(
	{ hub, env, store, agents }: Pick<ValidatorContext, "hub" | "env" | "store" | "agents">,
	{ providerId, holder }: { readonly providerId: string; readonly holder: string },
	onGone: () => void,
): () => void {
	let cancel = () => {};
	let isOver = false;
	const end = () => {
		isOver = true;
		unlisten();
		cancel();
	};
	const look = async (): Promise<void> => {
		cancel();
		// A database that is away says nothing about the other process.
		const now = agents.has(providerId) ? null : await store.connections.holder(providerId).catch(() => holder);
		if (isOver) return;
		if (now === holder) {
			cancel();
			cancel = env.after(LOOK_EVERY_MS, () => void look());
			return;
		}
		end();
		onGone();
	};
	const unlisten = hub.listen((event) => {
		if (event.kind === "provider.connected" && event.providerId === providerId) void look();
	});
	cancel = env.after(LOOK_EVERY_MS, () => void look());
	return end;
}

export function createAgentAsker(context: ValidatorContext) {
	const { hub, env, store, agents } = context;
	const waiting = new Map<string, (answer: Answer) => void>();
	const join = createJoin();

	const unlisten = hub.listen(({ kind, subject, providerId, detail }) => {
		if (kind !== ANSWER_EVENT && kind !== ASK_EVENT) return;
		const isAnswer = kind === ANSWER_EVENT;
		const agent = providerId === null ? undefined : agents.get(providerId);
		// Another's question, of an agent that is held here; our own would have been asked directly.
		if (isAnswer ? !waiting.has(subject) : agent === undefined || waiting.has(subject)) return;
		const said = join(`${kind} ${subject}`, detail as unknown as Piece);
		if (said === undefined) return;
		if (isAnswer) waiting.get(subject)!(said as Answer);
		else void reply(subject, agent!, said as Question);
	});

	function tell(kind: string, subject: string, providerId: string | null, value: Question | Answer): void {
		for (const piece of piecesOf(value)) hub.tell({ kind, subject, providerId, detail: piece as unknown as Json });
	}

	async function reply(id: string, agent: AgentConnection, { name, request }: Question): Promise<void> {
		let answer: Answer;
		try {
			answer = { ok: true, value: ((await agent.ask(name, request as never)) ?? null) as unknown as Json };
		} catch (error) {
			const known = error instanceof AssayError;
			answer = { ok: false, code: known ? error.code : "RENTAL_FAILED", detail: known ? error.message : "failed" };
		}
		tell(ANSWER_EVENT, id, null, answer);
	}

	async function askElsewhere(providerId: string, question: Question): Promise<Json> {
		const holder = await mustBeElsewhere(store, providerId);
		const id = bytesToHex(env.randomBytes(16));
		const { promise, resolve } = Promise.withResolvers<Answer>();
		const fail = (code: string, detail: string) => resolve({ ok: false, code, detail });
		const silent = () => fail("AGENT_SILENT", "no answer came from the process that holds the agent link");
		const cancel = env.after(NUDGES.has(question.name) ? NUDGED_WITHIN_MS : ANSWER_WITHIN_MS, silent);
		const unwatch = watchHolder(context, { providerId, holder }, () =>
			fail("AGENT_CLOSED", "the process that held the agent link holds it no more"),
		);
		waiting.set(id, resolve);
		tell(ASK_EVENT, id, providerId, question);
		const answer = await promise;
		cancel();
		unwatch();
		waiting.delete(id);
		if (!answer.ok) throw new AssayError(answer.code, answer.detail);
		return answer.value;
	}

	return {
		/** Throws AssayError as AgentConnection.ask does. */
		async ask<N extends PlainCall>(providerId: string, name: N, request: CallRequest<N>): Promise<CallReply<N>> {
			const agent = agents.get(providerId);
			if (agent !== undefined && !agent.isClosed) return agent.ask(name, request);
			return (await askElsewhere(providerId, { name, request })) as CallReply<N>;
		},
		close: unlisten,
	};
}
