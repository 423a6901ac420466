// Asks every host of a roll call at once and stamps what comes back: milliseconds from the moment that this
// validator saw the block, on its own clock. Nothing is judged before the deadline: judging ten thousand
// signatures would make this process late in hearing the last ones.
import type { RollCallReply, RollCallRequest } from "../../engine/agent/agent-calls.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { AgentAsker } from "../agents/ask-agent.ts";
import type { ValidatorContext } from "../validator-context.ts";

export interface CalledHost {
	readonly id: string;
	readonly isConnected: boolean;
	readonly request: RollCallRequest;
}

/** What came of a host: its reply, or the code it refused with; the time since the block was seen. */
type Heard = { readonly ms: number; readonly reply: RollCallReply } | { readonly ms: number; readonly code: string };

/** By host. */
export interface HeardHosts {
	/** At the deadline, or when all have said something. */
	readonly inTime: ReadonlyMap<string, Heard>;
	/** The same with what came since. */
	readonly ever: ReadonlyMap<string, Heard>;
}

export async function callHosts(
	{ env }: Pick<ValidatorContext, "env">,
	asker: Pick<AgentAsker, "ask">,
	hosts: readonly CalledHost[],
	{ seenAtUs, deadlineMs }: { readonly seenAtUs: number; readonly deadlineMs: number },
): Promise<HeardHosts> {
	const heard = new Map<string, Heard>();
	const sinceMs = () => Math.round((env.ratesClockUs() - seenAtUs) / 1000);
	const asking = hosts
		.filter(({ isConnected }) => isConnected)
		.map(async ({ id, request }) => {
			try {
				const reply = await asker.ask(id, "call", request);
				heard.set(id, { ms: sinceMs(), reply });
			} catch (error) {
				heard.set(id, { ms: sinceMs(), code: error instanceof AssayError ? error.code : "AGENT_CLOSED" });
			}
		});
	const { promise: late, resolve } = Promise.withResolvers<void>();
	const cancel = env.after(Math.max(0, deadlineMs - sinceMs()), resolve);
	await Promise.race([late, Promise.all(asking)]);
	cancel();
	const isInTime = ({ ms }: Heard) => ms <= deadlineMs;
	return { inTime: new Map([...heard].filter(([, one]) => isInTime(one))), ever: heard };
}
