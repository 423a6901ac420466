// Both halves of a question over an agent link: the asker sends it and waits for its answer, the other end
// runs its handler and answers. The rows are in agent-calls.ts, the order in agent-protocol.ts; what a
// question means is its handler's matter.
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { codes } from "../../protocol/codes.ts";
import { printable } from "../client/printable.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import type { AnswerMessage, AskMessage, CallName, CallReply, CallRequest, Refusal, Subject } from "./agent-calls.ts";
import { callOf, subjectOf } from "./agent-calls.ts";
import { type AgentMessage, errorToRefusal } from "./agent-messages.ts";
import type { AgentSocket } from "./agent-socket.ts";

interface Waiting {
	/** Null: there will be no answer, and none is needed. */
	resolve(answer: AnswerMessage | null): void;
	reject(error: AssayError): void;
}

/** The questions of this end that wait for their answers. */
export class AgentAsks {
	private readonly socket: AgentSocket;
	private readonly bounds: AgentBounds;
	private readonly waiting = new Map<Subject, Waiting>();

	constructor(socket: AgentSocket, bounds: AgentBounds) {
		this.socket = socket;
		this.bounds = bounds;
	}

	/** Throws AssayError: refused, silence, the connection's end. Null: an optional question got no answer. */
	async ask<N extends CallName>(name: N, request: CallRequest<N>): Promise<CallReply<N> | null> {
		const message = { type: name, ...request } as unknown as AskMessage;
		const { subject: field, deadline, isOptional, doneCode } = callOf(name);
		if (this.socket.isEnded) throw new AssayError("AGENT_CLOSED", "the agent link is closed");
		if (!this.socket.maySend(message))
			throw new AssayError("PROVIDER_BUSY", "an earlier request to this provider is still unanswered");
		const subject = subjectOf(message);
		const { promise, resolve, reject } = Promise.withResolvers<AnswerMessage | null>();
		this.waiting.set(subject, { resolve, reject });
		const timer = setTimeout(() => {
			if (isOptional) this.drop(subject);
			else this.socket.fail("AGENT_SILENT", `the provider did not answer to ${name} in time`);
		}, this.bounds[deadline]);
		try {
			this.socket.send(message);
			const answer = await promise;
			if (answer?.type === "refused" && answer.code !== doneCode) throw refusalToError(answer);
			if (answer === null) return null;
			const { type: _, [field]: __, ...reply } = answer as unknown as Record<string, unknown>;
			return reply as CallReply<N>;
		} finally {
			clearTimeout(timer);
		}
	}

	settle(answer: AnswerMessage): void {
		this.take(subjectOf(answer))?.resolve(answer);
	}

	/** Nobody will answer about this subject any more. */
	drop(subject: Subject): void {
		this.take(subject)?.resolve(null);
	}

	rejectAll(error: AssayError): void {
		for (const subject of [...this.waiting.keys()]) this.take(subject)?.reject(error);
	}

	private take(subject: Subject): Waiting | undefined {
		const waiting = this.waiting.get(subject);
		this.waiting.delete(subject);
		return waiting;
	}
}

/**
 * Answers with what the handler gives; an error refuses with its code. False: nobody waits for the answer any
 * more. A `detail` is free text, of programs on the host too, and is made harmless here.
 */
export async function answerAsk(
	socket: AgentSocket,
	message: AskMessage,
	run: () => Promise<unknown>,
): Promise<boolean> {
	const { subject, reply } = callOf(message.type);
	const about = { [subject]: subjectOf(message) };
	let answer: object;
	try {
		const given: object = (await run()) ?? {};
		const detail = "detail" in given ? { detail: printable(String(given.detail), 300) } : {};
		answer = { type: reply, ...about, ...given, ...detail };
	} catch (error) {
		answer = { type: "refused", ...about, ...errorToRefusal(error) };
	}
	if (!socket.maySend(answer as AgentMessage)) return false;
	socket.send(answer as AgentMessage);
	return true;
}

/** What a provider may refuse with; any other word of its own is told as AGENT_REFUSED. */
const REFUSALS = new Set([
	...["PROVIDER_BUSY", "PROVIDER_RENTED", "PROVIDER_LIMIT", "PROVIDER_STOPPING", "PUBLIC_KEY_BAD"],
	...["ROLL_CALL_TOO_OFTEN", "ROLL_CALL_NO_BLOCK", "ROLL_CALL_FAILED", "ROLL_CALL_OFF"],
	...["JOB_DECLINED", "JOB_STATE", "NO_ANSWER", "RUN_UNSTEADY"],
	...["ENGINE_NOT_STARTED", "RENTAL_UNAVAILABLE", "RENTAL_UNKNOWN", "RENTAL_TIME", "RENTAL_FAILED"],
]);

function refusalToError({ code, detail }: Refusal): AssayError {
	const known = REFUSALS.has(code) ? (code as keyof typeof codes) : "AGENT_REFUSED";
	return codedError(known, `the provider refused: ${printable(detail, 300)}`);
}
