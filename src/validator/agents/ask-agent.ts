// Asks a provider a question of the agent link wherever that link is held: here directly, at another process
// by events of the store. Answers hold access to hosts, so these events are for validators only (event-hub.ts
// does not show them to anyone).

import type { AgentConnection } from "../../engine/agent/accept-agent.ts";
import type { CallReply, CallRequest, PlainCall } from "../../engine/agent/agent-calls.ts";
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

export function createAgentAsker(context: ValidatorContext) {
	const { hub, env, store, agents } = context;
	const waiting = new Map<string, (answer: Answer) => void>();

	const unlisten = hub.listen(({ kind, subject, providerId, detail }) => {
		if (kind === ANSWER_EVENT) waiting.get(subject)?.(detail as unknown as Answer);
		else if (kind === ASK_EVENT && providerId !== null) {
			const agent = agents.get(providerId);
			// Not our own question: it would have been asked directly.
			if (agent !== undefined && !waiting.has(subject)) void reply(subject, agent, detail as unknown as Question);
		}
	});

	async function reply(id: string, agent: AgentConnection, { name, request }: Question): Promise<void> {
		let answer: Answer;
		try {
			answer = { ok: true, value: ((await agent.ask(name, request as never)) ?? null) as unknown as Json };
		} catch (error) {
			const known = error instanceof AssayError;
			answer = { ok: false, code: known ? error.code : "RENTAL_FAILED", detail: known ? error.message : "failed" };
		}
		hub.tell({ kind: ANSWER_EVENT, subject: id, providerId: null, detail: answer as unknown as Json });
	}

	async function askElsewhere(providerId: string, question: Question): Promise<Json> {
		const holder = (await store.providers.get(providerId))?.connectedTo ?? null;
		if (holder === null || holder === store.process)
			throw new AssayError("AGENT_CLOSED", "the provider is not connected", {
				hint: "It dials again by itself; look at its log.",
			});
		const id = bytesToHex(env.randomBytes(16));
		const { promise, resolve } = Promise.withResolvers<Answer>();
		const detail = "no answer came from the process that holds the agent link";
		const cancel = env.after(ANSWER_WITHIN_MS, () => resolve({ ok: false, code: "AGENT_SILENT", detail }));
		waiting.set(id, resolve);
		hub.tell({ kind: ASK_EVENT, subject: id, providerId, detail: question as unknown as Json });
		const answer = await promise;
		cancel();
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
