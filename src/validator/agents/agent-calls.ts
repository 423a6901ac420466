// Asks a provider for rental matters wherever its agent link is held: here directly, at another process by events of the store. Answers hold access to
// hosts, so these events are for the validator itself only (event-hub.ts does not show them to anyone).
import type { AgentConnection, RentalHealth, RentedAccess, RentRequest } from "../../engine/agent/agent-connection.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { ValidatorContext } from "../validator-context.ts";

export type AgentAsk =
	| ({ readonly do: "rent" } & RentRequest)
	| { readonly do: "extend"; readonly rental: string; readonly untilMs: number }
	| { readonly do: "unrent"; readonly rental: string }
	| { readonly do: "check"; readonly rental: string };

export interface AgentCalls {
	rent(providerId: string, o: RentRequest): Promise<RentedAccess>;
	extend(providerId: string, o: { readonly rental: string; readonly untilMs: number }): Promise<void>;
	unrent(providerId: string, o: { readonly rental: string }): Promise<void>;
	check(providerId: string, o: { readonly rental: string }): Promise<RentalHealth>;
	close(): void;
}

const ASK_EVENT = "internal.ask";
const ANSWER_EVENT = "internal.answer";

type Answer =
	| { readonly ok: true; readonly value: Json }
	| { readonly ok: false; readonly code: string; readonly detail: string };

async function ask(agent: AgentConnection, asked: AgentAsk): Promise<Json> {
	switch (asked.do) {
		case "rent": {
			const { do: _, ...request } = asked;
			return (await agent.rent(request)) as unknown as Json;
		}
		case "extend":
			await agent.extend({ rental: asked.rental, untilMs: asked.untilMs });
			return null;
		case "unrent":
			await agent.unrent({ rental: asked.rental });
			return null;
		case "check": {
			const { healthy, detail } = await agent.checkRental({ rental: asked.rental });
			return { healthy, detail };
		}
	}
}

export function createAgentCalls(x: ValidatorContext & { readonly answerWithinMs: number }): AgentCalls {
	const { hub, env, store, agents } = x;
	const waiting = new Map<string, (answer: Answer) => void>();

	const unlisten = hub.listen(({ kind, subject, providerId, detail }) => {
		if (kind === ANSWER_EVENT) waiting.get(subject)?.(detail as unknown as Answer);
		else if (kind === ASK_EVENT && providerId !== null) {
			const agent = agents.get(providerId);
			// Asked by ourselves: answered directly, below.
			if (agent !== undefined && !waiting.has(subject)) void reply(subject, agent, detail as unknown as AgentAsk);
		}
	});

	async function reply(id: string, agent: AgentConnection, asked: AgentAsk): Promise<void> {
		let answer: Answer;
		try {
			answer = { ok: true, value: await ask(agent, asked) };
		} catch (error) {
			const known = error instanceof AssayError;
			answer = { ok: false, code: known ? error.code : "RENTAL_FAILED", detail: known ? error.message : "failed" };
		}
		hub.tell({ kind: ANSWER_EVENT, subject: id, providerId: null, detail: answer as unknown as Json });
	}

	async function call(providerId: string, asked: AgentAsk): Promise<Json> {
		const agent = agents.get(providerId);
		if (agent !== undefined && !agent.isClosed) return ask(agent, asked);
		const provider = await store.providers.get(providerId);
		const holder = provider?.connectedTo ?? null;
		if (holder === null || holder === store.process)
			throw new AssayError("AGENT_CLOSED", "the provider is not connected", {
				hint: "It dials again by itself; look at its log.",
			});
		const id = bytesToHex(env.randomBytes(16));
		const answer = await new Promise<Answer>((resolve) => {
			const cancel = env.after(x.answerWithinMs, () =>
				resolve({
					ok: false,
					code: "AGENT_SILENT",
					detail: "no answer came from the process that holds the agent link",
				}),
			);
			waiting.set(id, (one) => {
				cancel();
				resolve(one);
			});
			hub.tell({ kind: ASK_EVENT, subject: id, providerId, detail: asked as unknown as Json });
		}).finally(() => waiting.delete(id));
		if (!answer.ok) throw new AssayError(answer.code, answer.detail);
		return answer.value;
	}

	return {
		rent: async (providerId, o) => (await call(providerId, { do: "rent", ...o })) as unknown as RentedAccess,
		async extend(providerId, o) {
			await call(providerId, { do: "extend", ...o });
		},
		async unrent(providerId, o) {
			await call(providerId, { do: "unrent", ...o });
		},
		check: async (providerId, o) => (await call(providerId, { do: "check", ...o })) as unknown as RentalHealth,
		close: unlisten,
	};
}
