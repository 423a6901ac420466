// A process that holds many simulated providers. Started by startChild: `start` gives it their numbers, kinds
// and validators, `status` tells how many have dialled in and how often they were asked for an engine,
// `usage` what they cost.
import type { AgentBounds } from "../../src/engine/agent/agent-bounds.ts";
import { createSemaphore } from "../../src/platform/semaphore.ts";
import { answerParent, usageOfThis } from "./child-program.ts";
import { kindNamed } from "./simulated-kinds.ts";
import { runSimulatedProvider } from "./simulated-provider.ts";

export interface StartProviders {
	/** One dials the first, the next the second, and so on. */
	readonly urls: readonly string[];
	readonly providers: readonly { readonly number: number; readonly kind: string }[];
	/** Toys that may compute at once; default 1. */
	readonly atOnce?: number;
	readonly bounds?: Partial<AgentBounds>;
}

export interface ProvidersStatus {
	readonly dialled: number;
	readonly probes: number;
}

const DIALLING_AT_ONCE = 16;
const stopping = new AbortController();
const dialled = new Set<number>();
let probes = 0;

answerParent({
	start({ urls, providers, atOnce = 1, bounds }: StartProviders) {
		const turn = createSemaphore(atOnce);
		const dialling = createSemaphore(DIALLING_AT_ONCE);
		for (const { number, kind } of providers)
			void runSimulatedProvider({
				number,
				kind: kindNamed(kind),
				url: urls[number % urls.length]!,
				turn,
				dialling,
				signal: stopping.signal,
				onConnected: () => dialled.add(number),
				onProbe: () => {
					probes += 1;
				},
				...(bounds && { bounds }),
			});
	},
	status: (): ProvidersStatus => ({ dialled: dialled.size, probes }),
	usage: usageOfThis,
});
